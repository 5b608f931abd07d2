"""Chunks of zlib inflated by libdeflate: the same bytes, and the same messages, as by zlib-ng alone."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs import lengths
from nczarr.arrays.codecs.chain import DECODING_ERRORS, decode

pytest.importorskip("imagecodecs")

DATA = np.arange(5000, dtype="<f4").tobytes()
STREAM = zlib.compress(DATA, 4)
ZLIB, SHUFFLE = {"id": "zlib", "level": 4}, {"id": "shuffle", "elementsize": 4}

CHANGED: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda stream: stream,
    "trailing bytes": lambda stream: stream + b"more",
    "another stream behind": lambda stream: stream + zlib.compress(b"x"),
    "cut": lambda stream: stream[:-50],
    "cut checksum": lambda stream: stream[:-2],
    "wrong checksum": lambda stream: stream[:-4] + b"abcd",
    "wrong byte": lambda stream: stream[:400] + bytes([stream[400] ^ 0x55]) + stream[401:],
    "wrong header": lambda stream: b"\0\0" + stream[2:],
    "shorter content": lambda stream: zlib.compress(DATA[:-4]),
    "longer content": lambda stream: zlib.compress(DATA + bytes(8)),
    "far longer content": lambda stream: zlib.compress(bytes(1 << 23)),
    "no content": lambda stream: zlib.compress(b""),
    "nothing": lambda stream: b"",
}


def outcome(data: bytes, steps: list[dict[str, object]], size: int | None) -> bytes | str:
    """Return the decoded bytes, or the message."""
    try:
        return decode(data, steps, 4, size)
    except DECODING_ERRORS as error:
        return str(error)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that takes libdeflate away."""
    return lambda: monkeypatch.setattr(lengths, "_find_libdeflate", lambda: None)


@pytest.mark.parametrize("steps", [[ZLIB], [SHUFFLE, ZLIB], [SHUFFLE, {"id": "fletcher32"}, ZLIB], [ZLIB, ZLIB]])
@pytest.mark.parametrize("size", [len(DATA), None])
@pytest.mark.parametrize("case", CHANGED)
def test_same_as_without(
    case: str, size: int | None, steps: list[dict[str, object]], without: Callable[[], None]
) -> None:
    data = CHANGED[case](STREAM)
    found = outcome(data, steps, size)
    without()
    assert outcome(data, steps, size) == found
    if steps == [ZLIB] and case in ("whole", "trailing bytes"):
        assert found == DATA


def test_libdeflate_inflates_whole_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file is read without a call of zlib-ng."""
    target = tmp_path / "t.nc"
    schema = tmp_path / "t.cdl"
    numbers = ", ".join(str(number) for number in range(20_000))
    schema.write_text(f"netcdf t {{ dimensions: x = 20000 ; variables: int v(x) ; data: v = {numbers} ; }}")
    nczarr.convert(schema, target, codecs="zlib:4", chunks={"x": 5000})

    def refuse(*_: object) -> bytes:
        raise AssertionError("inflated by zlib-ng")

    monkeypatch.setattr("nczarr.arrays.codecs.deflate.inflate", refuse)
    with nczarr.open(target) as dataset:
        assert np.array_equal(dataset["v"][:], np.arange(20_000))
