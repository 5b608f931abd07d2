"""Chunks that inflate without end, in a process of its own whose memory is measured."""

from __future__ import annotations

import json
import lzma
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.chain import DECODING_ERRORS, decode
from nczarr.arrays.codecs.crc32c import crc32c
from nczarr.arrays.codecs.zstd import _zstd_sizes, unpack_zstd
from nczarr.arrays.regions import every_block

HUGE = 1 << 28
MOST = 160 << 20
"""Bytes that a process may take in all; the interpreter with numpy and numcodecs takes a third."""

RUN = """
import re, sys, nczarr
try:
    nczarr.open(sys.argv[1])["v"][...]
except nczarr.CompileError as error:
    print(error.diagnostics[0].code)
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024)
"""


def zstd_runs(count: int, size: int | None) -> bytes:
    """A frame of blocks that repeat one byte 128 KiB times each; `size`: what it declares."""
    head = b"\x28\xb5\x2f\xfd" + (b"\x00\x38" if size is None else b"\xe0" + struct.pack("<Q", size))
    block = (1 << 17) << 3 | 1 << 1
    blocks = [(block | (number == count - 1)).to_bytes(3, "little") + b"\0" for number in range(count)]
    return head + b"".join(blocks)


def blosc_claim(size: int) -> bytes:
    made = bytearray(numcodecs.Blosc(cname="zstd", clevel=9).encode(bytes(1 << 20)))
    made[4:8] = struct.pack("<I", size & 0xFFFFFFFF)
    return bytes(made)


BOMBS: dict[str, tuple[dict[str, Any], Callable[[], bytes]]] = {
    "zlib": ({"id": "zlib", "level": 1}, lambda: zlib.compress(bytes(HUGE), 1)),
    "zstd": ({"id": "zstd", "level": 1}, lambda: zstd_runs(HUGE >> 17, HUGE)),
    "zstd-untold": ({"id": "zstd", "level": 1}, lambda: zstd_runs(HUGE >> 17, None)),
    "zstd-lie": ({"id": "zstd", "level": 1}, lambda: zstd_runs(HUGE >> 17, 64)),
    "blosc": ({"id": "blosc"}, lambda: bytes(numcodecs.Blosc().encode(np.zeros(HUGE, np.uint8)))),
    "blosc-claim": ({"id": "blosc"}, lambda: blosc_claim(HUGE)),
    "blosc-negative": ({"id": "blosc"}, lambda: blosc_claim(-1)),
    "lz4": ({"id": "lz4", "acceleration": 1}, lambda: bytes(numcodecs.LZ4().encode(np.zeros(HUGE, np.uint8)))),
    "lz4-negative": ({"id": "lz4", "acceleration": 1}, lambda: b"\xff\xff\xff\xff" + bytes(64)),
    "lzma": ({"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
             lambda: lzma.compress(bytes(HUGE), preset=0)),
}  # fmt: skip


CODECS = [
    *(numcodecs.Zstd(), numcodecs.Zstd(checksum=True), numcodecs.Blosc(), numcodecs.LZ4()),
    *(numcodecs.LZMA(), numcodecs.LZMA(format=2)),
]


def measured(path: Path) -> tuple[list[str], int]:
    """What a process that reads the array says, and its greatest size."""
    ran = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    *said, size = ran.stdout.split()
    return said, int(size)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_no_codec_inflates_without_end(name: str, tmp_path: Path) -> None:
    config, make = BOMBS[name]
    array = {"zarr_format": 2, "shape": [16], "chunks": [16], "dtype": "<i4", "fill_value": 0, "order": "C",
             "filters": None, "compressor": config}  # fmt: skip
    (tmp_path / "v").mkdir()
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "v" / ".zarray").write_text(json.dumps(array))
    (tmp_path / "v" / "0").write_bytes(make())
    said, size = measured(tmp_path)
    assert said == ["unreadable-chunk"]
    assert size < MOST


@pytest.mark.slow
def test_a_shard_points_at_its_bytes_once(tmp_path: Path) -> None:
    """A few kilobytes stood for a gigabyte."""
    count, length = 1024, 1 << 20
    chunk = zlib.compress(bytes(length), 9, wbits=31)
    index = struct.pack("<2Q", 0, len(chunk)) * count
    codecs = [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 9}}]
    around = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    sharding = {"chunk_shape": [length], "codecs": codecs, "index_codecs": around}
    array = {"zarr_format": 3, "node_type": "array", "shape": [count * length], "data_type": "uint8", "fill_value": 0,
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count * length]}},
             "chunk_key_encoding": {"name": "default"}, "attributes": {},
             "codecs": [{"name": "sharding_indexed", "configuration": sharding}]}  # fmt: skip
    (tmp_path / "v" / "c").mkdir(parents=True)
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (tmp_path / "v" / "zarr.json").write_text(json.dumps(array))
    (tmp_path / "v" / "c" / "0").write_bytes(chunk + index + crc32c(index).to_bytes(4, "little"))
    run = RUN.replace("[...]", f"[:{4 * length}]")
    ran = subprocess.run([sys.executable, "-c", run, str(tmp_path)], capture_output=True, text=True, check=True)
    said, size = ran.stdout.split()
    assert said == "unreadable-chunk"
    assert int(size) < MOST


@pytest.mark.sampled(10)
@pytest.mark.parametrize("size", [0, 1, 100, 1 << 17, 3 << 20])
@pytest.mark.parametrize("codec", CODECS, ids=lambda each: each.codec_id)
def test_chunks_within_the_limit_are_decoded(codec: Any, size: int) -> None:
    data = np.random.default_rng(3).integers(0, 4, size, np.uint8).tobytes()
    if size == 0 and codec.codec_id in ("blosc", "lz4"):
        pytest.skip("numcodecs encodes no empty buffer")
    assert decode(bytes(codec.encode(data)), [codec.get_config()], 1, size) == data


def test_zstd_frames_that_tell_no_size() -> None:
    assert unpack_zstd(zstd_runs(4, None), 1 << 20) == bytes(4 << 17)
    two = bytes(numcodecs.Zstd().encode(b"a" * 100))
    assert _zstd_sizes(two + two) == (100, 2 * (1 << 17))


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\x20", b"no zstd", zstd_runs(3, 5)[:-3]])
def test_broken_zstd_frames(data: bytes) -> None:
    for cut in range(len(data) + 1):
        try:
            decode(data[:cut], [{"id": "zstd"}], 4, 64)
        except DECODING_ERRORS:
            continue
        assert not data[:cut]


def test_a_grid_of_any_size_is_gone_through_in_steps() -> None:
    for shape in ((1 << 62,), (1 << 31, 1 << 31), (3, 1 << 40)):
        grid = every_block(shape, (1,) * len(shape))
        assert [next(grid) for _ in range(3)] == [(0,) * (len(shape) - 1) + (place,) for place in range(3)]
    assert list(every_block((2, 5000), (1, 2500))) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(list(every_block((2, 5000), (1, 1)))) == 10000


NUMBERS: dict[str, dict[str, Any]] = {
    "division": {"id": "fixedscaleoffset", "dtype": "<f4", "astype": "<i2", "scale": 0, "offset": 0},
    "cast": {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<i4"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_no_warning_of_a_library_reaches_the_terminal(name: str, tmp_path: Path) -> None:
    dtype, data = ("<f4", b"\1\0" * 16) if name == "division" else ("<i4", np.full(16, np.nan, "<f4").tobytes())
    array = {"zarr_format": 2, "shape": [16], "chunks": [16], "dtype": dtype, "fill_value": 0, "order": "C",
             "filters": [NUMBERS[name]], "compressor": None}  # fmt: skip
    (tmp_path / "v").mkdir()
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "v" / ".zarray").write_text(json.dumps(array))
    (tmp_path / "v" / "0").write_bytes(data)
    assert measured(tmp_path)[0] == []


def test_a_region_of_many_chunks_asks_for_those_that_exist(tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [1 << 62], "chunks": [1], "dtype": "|u1", "fill_value": 0, "order": "C",
             "filters": None, "compressor": None}  # fmt: skip
    (tmp_path / "v").mkdir()
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "v" / ".zarray").write_text(json.dumps(array))
    for place in (0, 70_000, 1 << 40):
        (tmp_path / "v" / str(place)).write_bytes(b"\7")
    values = nczarr.open(tmp_path)["v"][: 1 << 23]
    assert np.flatnonzero(values).tolist() == [0, 70_000]
    assert nczarr.diff(tmp_path, tmp_path) == []
