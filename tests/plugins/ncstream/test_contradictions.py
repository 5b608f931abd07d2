"""Messages that contradict themselves or the header: found at once, at their place, with status 1."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import registry
from nczarr.__main__ import main
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from tests.support.ncstream_streams import (
    END,
    LAST_RECORD,
    RAGGED,
    RECORD,
    START,
    block,
    column,
    columns,
    counted,
    head,
    header,
    numbers,
    rows,
    structure,
    variable,
)

STAR = pb.Dimension(name=b"*", isVlen=True, isPrivate=True)
A, B, C, LIST = variable("a", pb.INT), variable("b", pb.DOUBLE), variable("c", pb.STRING), variable("l", pb.INT, RAGGED)


def sequence(*members: Any) -> bytes:
    """A header with the sequence `s(*)`, as netCDF-Java declares it."""
    declared = structure("s", members, kind=pb.SEQUENCE)
    declared.shape.append(STAR)
    return header(declared)


def records(*each: tuple[str, tuple[Any, ...], list[list[bytes]]], member: tuple[int, ...] = ()) -> bytes:
    """The records of `s`: layout, values and heap of each."""
    packed = [(struct.pack(">" + layout, *values), heap) for layout, values, heap in each]
    made = (RECORD + rows(data, 1, len(data), heap, member=member) for data, heap in packed)
    return head(pb.SEQUENCE, None, name=b"s", bigend=True) + b"".join(made) + LAST_RECORD


def stream(*messages: bytes) -> bytes:
    return START + b"".join(messages) + END


def written(folder: Path, *messages: bytes) -> Path:
    path = folder / "a.ncs"
    path.write_bytes(stream(*messages))
    return path


V, S, LISTS = header(variable("v", pb.INT, 2)), header(variable("v", pb.STRING, 2)), variable("v", pb.INT, 2, RAGGED)
STRUCTURE = header(structure("s", [A, B], 2))
ROWS = head(pb.STRUCTURE, (2,), name=b"s", bigend=True)

WRONG: dict[str, tuple[str, bytes, bytes]] = {
    "too few bytes": ("contradictory-ncstream", V, head(pb.INT, (2,)) + block(bytes(7))),
    "too many bytes": ("contradictory-ncstream", V, head(pb.INT, (2,)) + block(bytes(9))),
    "another type": ("contradictory-ncstream", V, numbers(pb.FLOAT, np.ones(2, "f4"))),
    "another sign": ("contradictory-ncstream", V, numbers(pb.UINT, np.ones(2, "u4"))),
    "strings for numbers": ("contradictory-ncstream", V, head(pb.STRING, (2,)) + counted([b"a", b"b"])),
    "unknown type": ("bad-ncstream", V, head(99, (2,)) + block(bytes(8))),
    "unknown compression": ("bad-ncstream", V, head(pb.INT, (2,), compress=9) + block(bytes(8))),
    "another section": ("unreadable-array", V, numbers(pb.INT, np.zeros(3, "i4"))),
    "not deflated": ("bad-ncstream", V, head(pb.INT, (2,), compress=1) + block(b"junkjunk")),
    "deflated bytes": ("contradictory-ncstream", V, head(pb.INT, (2,), compress=1) + block(zlib.compress(bytes(7)))),
    "announced bytes": (
        "contradictory-ncstream",
        V,
        head(pb.INT, (2,), compress=1, uncompressedSize=7) + block(zlib.compress(bytes(8))),
    ),
    "bytes behind": ("bad-ncstream", V, head(pb.INT, (2,), compress=1) + block(zlib.compress(bytes(8)) + b"xx")),
    "one string": ("contradictory-ncstream", S, head(pb.STRING, (2,)) + counted([b"a"])),
    "part of an element": (
        "contradictory-ncstream",
        header(LISTS),
        head(pb.INT, (2,), vdata=True) + counted([bytes(4), bytes(6)]),
    ),
    "one list": ("contradictory-ncstream", header(LISTS), head(pb.INT, (2,), vdata=True) + counted([bytes(4)])),
    "no lists": ("contradictory-ncstream", header(LISTS), numbers(pb.INT, np.zeros(2, "i4"))),
    "lists": ("contradictory-ncstream", V, head(pb.INT, (2,), vdata=True) + counted([bytes(4), bytes(4)])),
    "length of rows": ("contradictory-ncstream", STRUCTURE, ROWS + rows(bytes(20), 2, 10)),
    "number of rows": ("contradictory-ncstream", STRUCTURE, ROWS + rows(bytes(36), 3, 12)),
    "bytes of rows": ("contradictory-ncstream", STRUCTURE, ROWS + rows(bytes(23), 2, 12)),
    "member": ("bad-ncstream", STRUCTURE, ROWS + rows(bytes(8), 2, 4, member=[9])),
    "string of a row": (
        "contradictory-ncstream",
        header(structure("s", [C], 2)),
        ROWS + rows(struct.pack(">2i", 0, 5), 2, 4, [[b"a"], [b"b"]]),
    ),
    "bytes of a column": ("contradictory-ncstream", V, columns(column(pb.INT, (2,), primdata=bytes(7), nelems=2))),
    "type of a column": ("contradictory-ncstream", V, columns(column(pb.FLOAT, (2,), primdata=bytes(8), nelems=2))),
    "strings of a column": ("contradictory-ncstream", S, columns(column(pb.STRING, (2,), stringdata=[b"a"], nelems=2))),
    "lists of a column": (
        "contradictory-ncstream",
        header(LISTS),
        columns(column(pb.INT, (2,), primdata=bytes(8), nelems=2, isVlen=True, vlens=[1, 2])),
    ),
    "magic in a sequence": ("bad-ncstream", sequence(A), head(pb.SEQUENCE, None, name=b"s") + b"\1\2\3\4"),
    "another variable": ("unreadable-array", header(variable("w", pb.INT, 2)), numbers(pb.INT, np.zeros(2, "i4"))),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_message_is_an_error_at_its_place(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` finds it; `convert` finds it too, and makes nothing."""
    code, head_of, message = WRONG[what]
    path = written(tmp_path, head_of, message)
    first, last = len(START) + len(head_of), path.stat().st_size
    for command in (["check", str(path)], ["convert", str(path), str(tmp_path / "out.zarr")]):
        assert main(command) == 1
        shown = capsys.readouterr().err
        assert f"error[{code}]" in shown
        places = [int(part.split()[0]) for part in shown.split("a.ncs@")[1:]]
        assert any(first <= place <= last for place in places), shown
        assert "Traceback" not in shown
        assert "unreachable-file" not in shown
    assert not (tmp_path / "out.zarr").exists()


GOOD: dict[str, tuple[bytes, ...]] = {
    "numbers": (V, numbers(pb.INT, np.arange(2, dtype="i4"))),
    "strings": (S, head(pb.STRING, (2,)) + counted([b"a", b"bc"])),
    "lists": (header(LISTS), head(pb.INT, (2,), vdata=True) + counted([bytes(4), bytes(8)])),
    "rows": (STRUCTURE, ROWS + rows(bytes(24), 2, 12)),
    "deflated": (V, head(pb.INT, (2,), compress=1) + block(zlib.compress(bytes(8)))),
    "records": (sequence(A, C), records(("ii", (1, 0), [[b"x"]]), ("ii", (2, 0), [[b"yy"]]))),
    "columns": (header(LISTS), columns(column(pb.INT, (2,), primdata=bytes(12), nelems=3, isVlen=True, vlens=[1, 2]))),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_message_cut_at_every_byte(kind: str) -> None:
    whole = stream(*GOOD[kind])
    message = GOOD[kind][-1]
    start = len(whole) - len(END) - len(message)
    form = registry.find_format("ncstream")
    assert _codes(whole, form) == set()
    for missing in range(1, len(message) + 1):
        for data in (whole[: start + len(message) - missing], whole[:start] + message[:-missing] + END):
            codes = _codes(data, form)
            if missing == len(message):
                assert codes <= {"unended-stream"}
            elif missing == len(END) and data.endswith(END):
                assert codes, "the end of the stream stands for the values"
            else:
                assert codes & {"truncated-ncstream", "contradictory-ncstream", "bad-ncstream"}, (missing, codes)


def _codes(data: bytes, form: Any) -> set[str]:
    """The codes that opening and reading report; those of errors have a place."""
    report = Report()
    checked = phases.read(Source("a.ncs", data), report, Options(), form)
    found = report.list_sorted()
    if checked is not None and not report.errors:
        try:
            for path in checked.shapes:
                read(checked, path, ...)
        except CompileError as error:
            found = [*found, *error.diagnostics]
    for one in found:
        assert one.primary.offset is not None, one
    return {one.code for one in found}


def test_a_sequence_with_a_star_is_one_list_of_records(tmp_path: Path) -> None:
    path = written(tmp_path, *GOOD["records"])
    found = nczarr.open(path)["/s"]
    assert found.dimensions == ()
    assert [(int(one["a"]), one["c"]) for one in found[...][()]] == [(1, "x"), (2, "yy")]


@pytest.mark.parametrize(
    ("messages", "left_out"),
    [
        (
            (sequence(A, B, C), records(("ii", (1, 0), [[b"x"]]), ("ii", (2, 0), [[b"y"]]), member=(0, 2))),
            "`b` of `/s`",
        ),
        ((sequence(A, LIST), records(("i", (1,), []), ("i", (2,), []))), "`l` of `/s`"),
        ((sequence(A, LIST), head(pb.SEQUENCE, None, name=b"s") + LAST_RECORD), "`l` of `/s`"),
        ((STRUCTURE, ROWS + rows(struct.pack(">2i", 1, 2), 2, 4, member=[0])), "`b` of `/s`"),
    ],
)
def test_members_that_messages_lack_are_left_out_by_name(
    messages: tuple[bytes, ...], left_out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = written(tmp_path, *messages), tmp_path / "out.nc"
    assert main(["convert", str(path), str(target)]) == 1
    assert f"member {left_out} is not in all messages of its records (omitted-object)" in capsys.readouterr().err
    assert main(["convert", str(path), str(target), "--allow-loss", "omitted-object"]) == 0
    with pytest.warns(nczarr.DataWarning):
        values = nczarr.open(path)["/s"][...]
    found = values[()] if values.dtype == object else values
    assert [int(one["a"]) for one in found] == [1, 2][: len(found)]


LITTLE = (V, head(pb.INT, (2,), bigend=False) + block(struct.pack("<2i", 1, -2)))


def test_numbers_that_claim_little_endian_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, option = written(tmp_path, *LITTLE), "ncstream.byte_order"
    assert main(["check", str(path)]) == 0
    assert "warning[disputed-byte-order]: the numbers of `v`" in capsys.readouterr().err
    for order, values in (("flag", [1, -2]), ("big", [0x01000000, -0x01000001])):
        found = nczarr.open(path, storage_options={option: order})
        assert not found.diagnostics
        assert found["/v"][...].tolist() == values
    target = tmp_path / "out.nc"
    assert main(["convert", str(path), str(target), "--storage-option", f"{option}=flag"]) == 0
    assert nczarr.open(target)["/v"][...].tolist() == [1, -2]
    assert main(["check", str(path), "--storage-option", f"{option}=middle"]) != 0
    assert "must be `big` or `flag`" in capsys.readouterr().err
