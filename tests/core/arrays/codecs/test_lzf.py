"""LZF streams: those of h5py, by hand, and broken ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.lzf import unpack_lzf as lzf

STREAMS = {
    "nothing": (b"", b""),
    "as it is": (b"\x02abc", b"abc"),
    "a run of one byte": (b"\x00a\x20\x00\x00b", b"aaaab"),
    "a long repetition": (b"\x01ab\xe0\x0a\x01", b"ab" + b"ab" * 9 + b"a"),
    "from far back": (b"\x1f" + bytes(range(32)) + b"\x40\x1f", bytes(range(32)) + b"\0\1\2\3"),
}
BROKEN = {
    "a cut run": b"\x05abc", "a cut repetition": b"\x00a\x20", "a length without its byte": b"\x00a\xe0",
    "back to nothing": b"\x00a\x20\x05",
}  # fmt: skip


@pytest.mark.parametrize(("stream", "wanted"), STREAMS.values(), ids=STREAMS)
def test_a_stream(stream: bytes, wanted: bytes) -> None:
    assert lzf(stream, 1 << 10) == wanted


@pytest.mark.parametrize("stream", BROKEN.values(), ids=BROKEN)
def test_a_broken_stream(stream: bytes) -> None:
    with pytest.raises(ValueError, match="compressed data"):
        lzf(stream, 1 << 10)


def test_more_than_a_chunk_may_have() -> None:
    with pytest.raises(ValueError, match="larger than its shape allows"):
        lzf(b"\x00a" + b"\xe0\xff\x00" * 100, 1000)


@pytest.mark.peer
@pytest.mark.parametrize("shuffle", [False, True])
def test_what_h5py_makes(*, shuffle: bool, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    random = np.random.default_rng(5)
    arrays = {
        "steps": np.arange(5000, dtype="<i4"),
        "few": random.integers(0, 3, 5000, dtype="<i8"),
        "noise": random.integers(0, 256, 5000, dtype="u1"),
        "zeros": np.zeros(5000, "<f8"),
        "words": np.frombuffer(b"some words, and some words again; " * 147, "u1"),
    }
    with h5py.File(tmp_path / "t.nc", "w") as file:
        for name, values in arrays.items():
            file.create_dataset(
                name, data=values, chunks=(999,), compression="lzf", shuffle=shuffle, fletcher32=shuffle
            )
    found = nczarr.open(tmp_path / "t.nc")
    for name, values in arrays.items():
        assert found[name][...].tobytes() == values.tobytes()


@pytest.mark.peer
def test_what_only_the_library_reads(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    records = np.zeros(50, np.dtype([("a", "i1"), ("b", "<f8")], align=True))
    records["b"] = np.arange(50)
    texts = np.array([b"some", b"words"] * 20, "S6")
    with h5py.File(tmp_path / "t.nc", "w") as file:
        file.create_dataset("records", data=records, chunks=(20,), compression="lzf")
        file.create_dataset("texts", data=texts, chunks=(20,), compression="lzf", shuffle=True)
    found = nczarr.open(tmp_path / "t.nc")
    assert found["records"][...]["b"].tolist() == list(range(50))
    assert found["texts"][...].tolist() == ["some", "words"] * 20
