"""Streams cut at every byte, and streams changed at random: messages, or a diagnostic with a byte offset."""

from __future__ import annotations

import io
import random
import resource
from typing import Any

import nczarr.ncstream as door
import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.scan import scan
from tests.support import ncstream_streams as make
from tests.support.ncstream_messages import OBS, lists, obs_rows, rewritten
from tests.support.ncstream_streams import RAGGED
from tests.support.work import counted

STRINGS = [b"", b"station", b"x" * 130, "Grüße".encode()]


def streams() -> dict[str, bytes]:
    """A stream of each kind of message, all of them small."""
    data, heap = obs_rows(">")
    definition = make.header(make.structure("v", OBS, 2), make.variable("w", pb.SHORT, 2, unsigned=True))
    rows = make.head(pb.STRUCTURE, (2,)) + make.rows(data, 2, len(data) // 2, heap)
    two = [make.variable("n", pb.INT), make.variable("s", pb.STRING)]
    sequence = make.header(make.structure("v", two, kind=pb.SEQUENCE)) + make.head(pb.SEQUENCE, None)
    for number in range(3):
        sequence += make.RECORD + make.rows(np.array([number, 0], ">i4").tobytes(), 1, 8, [[b"%d" % number]])
    records = list(door.read_messages(definition + rows))[-1].values  # type: ignore[attr-defined]
    nested = lists((2,), [lists((2,), [np.arange(3), np.arange(0)]), lists((1,), [np.arange(2)])])
    texts = lists((2,), [np.array(["a", None], object), np.array(["ü"], object)])
    return {
        "file": make.START + definition + make.numbers(pb.SHORT, np.arange(-2, 4, dtype="i2").reshape(2, 3)) + make.END,
        "deflated": make.deflated(pb.DOUBLE, np.arange(40.0).reshape(5, 8)),
        "strings": make.head(pb.STRING, (2, 2), nil=[0, 1]) + make.counted(STRINGS),
        "lists": make.head(pb.FLOAT, (2, RAGGED, 2), vdata=True) + make.counted([bytes(16), b"12345678"]),
        "rows": definition + rows,
        "unknown rows": rows,
        "sequence": sequence + make.LAST_RECORD,
        "records": rewritten([door.data("v", np.ones(4, [("a", "i4"), ("b", "f8")]), data_type="SEQUENCE")]),
        "columns": rewritten([door.data("v", records)]),
        "column of strings": make.columns(make.column(pb.STRING, (4,), stringdata=STRINGS, nil=[3, 1])),
        "column of lists": rewritten([door.data("v", nested), door.data("t", texts)]),
        "opaque": make.columns(make.column(pb.OPAQUE, (4,), opaquedata=STRINGS))
        + make.ERROR
        + make.block(b"\n\1a\20\7"),
    }


STREAMS = streams()


def outcome(stream: bytes) -> tuple[list[Any], Any]:
    """The messages, and the diagnostic that follows them or None."""
    found = []
    try:
        for message in door.read_messages(stream):
            getattr(message, "values", None)
            found.append(message)
    except CompileError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.primary.offset is not None
        assert 0 <= diagnostic.primary.offset <= len(stream)
        return found, diagnostic
    return found, None


def scanned(stream: bytes) -> tuple[int, list[Any]]:
    report = Report()
    return len(scan(Source("s", stream, binary=True), report)), report.list_sorted()


@pytest.mark.parametrize("name", STREAMS)
def test_cut_anywhere(name: str) -> None:
    """A stream is whole only where a message ends; the index says the same."""
    stream = STREAMS[name]
    whole, none = outcome(stream)
    assert none is None
    ends = {0, len(stream), *(each.offset for each in whole)}
    for cut in range(len(stream)):
        found, diagnostic = outcome(stream[:cut])
        assert (diagnostic is None) == (cut in ends)
        assert [each.offset for each in found] == [each.offset for each in whole[: len(found)]]
        if diagnostic is not None:
            assert diagnostic.code == "truncated-ncstream"
        count, said = scanned(stream[:cut])
        assert count == len(found)
        assert [each.code for each in said] == ([] if diagnostic is None else ["truncated-ncstream"])


def mutated(stream: bytes, rng: random.Random) -> bytes:
    data = bytearray(stream)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) or 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at:at] = rng.choice((b"\xff", b"\x80\x01", b"\xff" * 9 + b"\x01", b"\x00", rng.randbytes(4)))
            case 2:
                del data[at : at + rng.choice((1, 2, 8))]
            case 3:
                data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if data else b""
            case 4:
                other = rng.choice(list(STREAMS.values()))
                start = rng.randrange(len(other))
                data[at:at] = other[start : start + rng.randrange(1, 40)]
            case _:
                data[at : at + 1] = bytes([(data[at] + rng.choice((1, 255))) % 256]) if data else b""
    return bytes(data)


def check(stream: bytes) -> bool:
    """Whether a stream is one; nothing may happen but a diagnostic, and what is read is written and read again."""
    with counted(10_000_000):
        return _check(stream)


def _check(stream: bytes) -> bool:
    found, diagnostic = outcome(stream)
    count, _ = scanned(stream)
    assert count >= len(found)
    again = written(found)
    if again is None:
        return False
    twice, none = outcome(again)
    assert none is None
    assert [each.kind for each in twice] == [each.kind for each in found]
    assert rewritten(twice) == again
    return diagnostic is None


def written(messages: list[Any]) -> bytes | None:
    """What a writer makes of messages; None if one has no form."""
    try:
        return rewritten(messages)
    except CompileError as error:
        if [each.code for each in error.diagnostics] != ["unwritable-ncstream"]:
            raise
    return None


def run(count: int, seed: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = random.Random(seed)
    names = list(STREAMS)
    whole = 0
    for number in range(count):
        stream = mutated(STREAMS[names[number % len(names)]], rng)
        try:
            whole += check(stream)
        except Exception as error:
            raise AssertionError(f"mutation {number} of seed {seed}: {stream.hex()}") from error
    assert 0 < whole < count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_mutations() -> None:
    run(300, 1)


@pytest.mark.slow
def test_many_mutations() -> None:
    for seed in range(10):
        run(1000, 100 + seed)


def test_as_pieces_of_a_pipe() -> None:
    for name, stream in STREAMS.items():
        wanted = [repr(each) for each in outcome(stream)[0]]
        assert [repr(each) for each in door.read_messages(io.BytesIO(stream))] == wanted, name
