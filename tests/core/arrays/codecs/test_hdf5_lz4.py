"""Chunks of HDF5's filters 32004 and 32008, encoded by definition, and broken ones."""

from __future__ import annotations

import struct
from pathlib import Path

import numcodecs
import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.bitshuffle import unpack_bitshuffle as bitshuffle
from nczarr.arrays.codecs.lz4 import unpack_blocks as lz4
from nczarr.diagnostics.report import CompileError
from tests.support.library import library

h5py = library("h5py")

LIMIT = 1 << 20


def planes(data: bytes, width: int) -> bytes:
    """Bit by bit: bit b of byte k of element n is bit n % 8 of byte n // 8 of plane 8k + b."""
    count = len(data) // width
    out = bytearray(len(data))
    for number in range(count):
        for place in range(width):
            for bit in range(8):
                if data[number * width + place] >> bit & 1:
                    out[(8 * place + bit) * (count // 8) + number // 8] |= 1 << number % 8
    return bytes(out)


def compress(block: bytes, compressor: int) -> bytes:
    if compressor == 3:
        return bytes(numcodecs.Zstd(1).encode(block))
    return bytes(numcodecs.LZ4().encode(block))[4:]


def bitshuffled(data: bytes, width: int, block: int, compressor: int) -> bytes:
    whole = len(data) // width // 8 * 8 * width
    step = block * width
    blocks = [planes(data[start : min(start + step, whole)], width) for start in range(0, whole, step)]
    if not compressor:
        return b"".join(blocks) + data[whole:]
    coded = [compress(each, compressor) for each in blocks]
    body = b"".join(struct.pack(">I", len(each)) + each for each in coded)
    return struct.pack(">QI", len(data), step) + body + data[whole:]


def lz4_frame(data: bytes, block: int) -> bytes:
    out = struct.pack(">QI", len(data), block)
    for start in range(0, len(data), block):
        piece = data[start : start + block]
        coded = compress(piece, 2)
        coded = coded if len(coded) < len(piece) else piece
        out += struct.pack(">I", len(coded)) + coded
    return out


def values(width: int, count: int) -> bytes:
    return np.random.default_rng(count).integers(0, 5, count * width, "u1").tobytes()


@pytest.mark.parametrize("compressor", [0, 2, 3])
@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("count", [0, 5, 16, 61, 128])
def test_bits_come_back(compressor: int, width: int, count: int) -> None:
    data = values(width, count)
    assert bitshuffle(bitshuffled(data, width, 16, compressor), width, 16, compressor, LIMIT) == data


@pytest.mark.parametrize("count", [1, 1000, 1024, 2500])
def test_lz4_blocks(count: int) -> None:
    data = values(1, count) + np.random.default_rng(0).integers(0, 255, 300, "u1").tobytes()
    assert lz4(lz4_frame(data, 1024), LIMIT) == data


@pytest.mark.parametrize("length", [0, 8, 12, 14, 30, -1])
def test_cut_chunks_are_refused(length: int) -> None:
    data = values(2, 64)
    for decode in (
        lambda cut: lz4(cut(lz4_frame(data, 64)), LIMIT),
        lambda cut: bitshuffle(cut(bitshuffled(data, 2, 16, 2)), 2, 16, 2, LIMIT),
    ):
        with pytest.raises((ValueError, RuntimeError)):
            decode(lambda chunk: chunk[:length])


@pytest.mark.parametrize("size", [1 << 40, (1 << 64) - 1])
def test_a_damaged_length_is_refused_before_memory_is_taken(size: int) -> None:
    for block in (0, 1, 1 << 31):
        with pytest.raises(ValueError, match="larger"):
            lz4(struct.pack(">QI", size, block) + bytes(20), LIMIT)
        with pytest.raises(ValueError, match="larger"):
            bitshuffle(struct.pack(">QI", size, block) + bytes(20), 4, 0, 2, LIMIT)


def write(path: Path, number: int, parameters: tuple[int, ...], chunk: bytes) -> None:
    """Write a dataset of 61 numbers with an encoded chunk; HDF5 needs no plug-in for an optional filter."""
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((61,))
        plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, parameters)
        space = h5py.h5s.create_simple((61,))
        dataset = h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_INT16, space, plist)
        dataset.write_direct_chunk((0,), chunk)


@pytest.mark.long
def test_files_are_read_and_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = np.arange(61, dtype="<i2")
    write(Path("b.h5"), 32008, (0, 3, 2, 16, 2), bitshuffled(data.tobytes(), 2, 16, 2))
    write(Path("l.h5"), 32004, (64,), lz4_frame(data.tobytes(), 64))
    for name in ("b.h5", "l.h5"):
        assert nczarr.open(name)["v"][:].tolist() == data.tolist()
        nczarr.convert(name, name + ".zarr", "zarr3", verify=True)
        nczarr.convert(name, name + ".json")
        assert nczarr.open(name + ".json")["v"][:].tolist() == data.tolist()


def test_another_filter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("z.h5"), 32013, (1,), b"some bytes")
    with pytest.raises(CompileError, match=r"`/v` cannot be read: HDF5 lacks filter 32013 \(zfp\)"):
        nczarr.open("z.h5")["v"][:]
