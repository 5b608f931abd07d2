"""Damaged streams as datasets: a diagnostic with a place, or values; never another exception, never a hang."""

from __future__ import annotations

import math
import random

import pytest

import nczarr
from nczarr import registry
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read
from tests.support.every_type import CDL
from tests.support.ncstream_datasets import without_model
from tests.support.work import counted

CALLS = 20_000_000
"""No damaged stream may take longer."""

ALL = Options.of(allow_loss=frozenset({"all"}))


@pytest.fixture(scope="module")
def streams() -> list[bytes]:
    """One of ours, and the same as others write it."""
    form = registry.find_format("ncstream")
    assert form is not None
    pieces = phases.text(nczarr.from_cdl(CDL).checked, form, Report(), Options())
    assert pieces is not None
    whole = b"".join(pieces)
    return [whole, without_model(whole)]


def looked_at(data: bytes, options: Options) -> str:
    """Return the outcome of reading a stream, in few calls."""
    with counted(CALLS):
        return _looked_at(data, options)


def _looked_at(data: bytes, options: Options) -> str:
    """Return how a stream is answered: `refused`, `contradictory` (its values cannot be decoded) or `read`."""
    report = Report()
    checked = phases.read(Source("a.ncs", data), report, options, registry.find_format("ncstream"))
    found = "read"
    if checked is None or report.errors:
        assert report.errors
        for each in report.list_sorted():
            assert each.primary is not None, "a diagnostic of a stream has a place"
        return "refused"
    for path, shape in checked.shapes.items():
        if math.prod(shape) < 1 << 20:
            try:
                read(checked, path, ...)
            except CompileError as error:
                found = "contradictory" if error.diagnostics[0].primary.offset is not None else "placeless"
    return found


def damaged(whole: bytes, how: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(how.choice([1, 1, 2, 5])):
        place = how.randrange(len(data))
        match how.randrange(6):
            case 0:
                data[place] ^= 1 << how.randrange(8)
            case 1:
                data[place] = how.randrange(256)
            case 2:
                del data[place : place + how.randrange(1, 9)]
            case 3:
                data[place:place] = how.randbytes(how.randrange(1, 9))
            case 4:
                data[place : place + 4] = b"\xff\xff\xff\xff"
            case 5:
                other = how.randrange(len(data))
                data[place : place + 8] = data[other : other + 8]
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_damaged_streams(streams: list[bytes], seed: int) -> None:
    how = random.Random(1000 + seed)
    seen = {looked_at(damaged(how.choice(streams), how), how.choice([ALL, Options()])) for _ in range(1000)}
    assert {"refused", "read"} <= seen <= {"refused", "read", "contradictory"}


def truncate(streams: list[bytes], step: int) -> None:
    for whole in streams:
        for end in range(0, len(whole) - 4, step):
            if looked_at(whole[:end], Options()) == "read":
                report = Report()
                phases.read(Source("a.ncs", whole[:end]), report, Options(), registry.find_format("ncstream"))
                assert "unended-stream" in {each.code for each in report.list_sorted()}


def test_streams_that_end_too_soon(streams: list[bytes]) -> None:
    truncate(streams, 67)


@pytest.mark.slow
def test_streams_that_end_at_every_byte(streams: list[bytes]) -> None:
    truncate(streams, 1)
