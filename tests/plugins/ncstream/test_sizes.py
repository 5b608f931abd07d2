"""Streams of many small things, and of variables that are mostly declared: time and memory follow what is given."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read import frontend
from tests.support import ncstream_streams as streams
from tests.support.ncstream_streams import RAGGED, header, variable

MANY = 20_000


def two_headers() -> bytes:
    """Every other variable is declared twice."""
    later = [variable(f"v{number}", pb.FLOAT) for number in range(1, 2 * MANY, 2)]
    return header(*(variable(f"v{number}", pb.INT) for number in range(MANY))) + header(*later)


def many_headers() -> bytes:
    return b"".join(header(variable(f"v{number}", pb.INT)) for number in range(MANY))


def enums() -> bytes:
    declared = [pb.EnumTypedef(name=b"e%d" % number) for number in range(MANY)]
    used = [variable(f"v{number}", pb.ENUM4, enumType=b"e%d" % number) for number in range(MANY)]
    return header(*used, enumTypes=declared)


def constants() -> bytes:
    codes = [pb.EnumTypedef.EnumType(code=number, value=b"c%d" % number) for number in range(MANY)]
    return header(enumTypes=[pb.EnumTypedef(name=b"e", map=codes)])


def no_header() -> bytes:
    one = np.ones(1, "i4")
    return b"".join(streams.numbers(pb.INT, one, name=b"v%d" % number) for number in range(MANY))


def groups_without_header() -> bytes:
    one = np.ones(1, "i4")
    return b"".join(streams.numbers(pb.INT, one, name=b"g%d/v" % number) for number in range(MANY))


@pytest.mark.slow
@pytest.mark.parametrize("make", [two_headers, many_headers, enums, constants, no_header, groups_without_header])
def test_time_is_in_proportion_to_what_is_given(make: object) -> None:
    """With what looks through all names for each of them this takes a minute."""
    data = make()  # type: ignore[operator]
    report, begin = Report(), time.process_time()
    found = frontend.read(Source("a.ncs", data, binary=True), report, Options())
    assert time.process_time() - begin < 8
    assert found is not None
    assert not report.errors
    assert len(found.dataset.variables) + len(found.dataset.groups) in (MANY, MANY * 3 // 2, 0)


def test_of_two_declarations_the_later_counts_in_groups_too() -> None:
    inner = [pb.Group(name=b"g", vars=[variable("a", pb.INT), variable("b", pb.INT)])]
    more = [
        pb.Group(name=b"g", vars=[variable("b", pb.FLOAT), variable("c", pb.INT)]),
        pb.Group(name=b"h"),
        pb.Group(name=b"h", vars=[variable("d", pb.INT)]),
    ]
    found = frontend.read(Source("a.ncs", header(groups=inner) + header(groups=more), binary=True), Report(), Options())
    assert found is not None
    told = {group.name: [(each.name, each.type) for each in group.variables] for group in found.dataset.groups}
    assert told == {"g": [("a", "int"), ("b", "float"), ("c", "int")], "h": [("d", "int")]}


@pytest.mark.parametrize("sizes", [(1 << 40,), (1 << 30, 1 << 30)])
def test_lists_of_a_variable_that_is_mostly_declared(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    def cell(place: int, *items: int) -> bytes:
        made = streams.column(pb.INT, (1,) * len(sizes), isVlen=True, vlens=[len(items)])
        made.primdata, made.nelems = np.array(items, "<i4").tobytes(), len(items)
        for each in made.section.range:
            each.start = place
        return streams.columns(made)

    data = header(variable("v", pb.INT, *sizes, RAGGED)) + cell(9, 3) + cell(7, 1, 2) + cell(9, 4, 5) + cell(8)
    (tmp_path / "a.ncs").write_bytes(data)
    found = nczarr.open(tmp_path / "a.ncs")
    assert found.checked.parts["/v"]["content"].read((slice(0, 4),)).tolist() == [1, 2, 4, 5]
    if len(sizes) == 1:
        assert [each.tolist() for each in found["/v"][7:10]] == [[1, 2], [], [4, 5]]


def test_lists_of_a_variable_whose_cells_have_no_numbers(tmp_path: Path) -> None:
    made = streams.column(pb.INT, (1, 1), isVlen=True, vlens=[1], nelems=1, primdata=bytes(4))
    made.section.range[0].start = 7
    (tmp_path / "a.ncs").write_bytes(header(variable("v", pb.INT, 1 << 40, 1 << 40, RAGGED)) + streams.columns(made))
    with pytest.raises(nczarr.CompileError, match="oversized-array"):
        nczarr.open(tmp_path / "a.ncs")


@pytest.mark.parametrize("length", [1 << 31, 1 << 62, 1 << 64])
@pytest.mark.parametrize("listed", [True, False])
def test_a_model_with_a_type_of_any_size_is_told(length: int, listed: bool) -> None:
    """The default fill value of such a type is not made."""
    types: list[dict[str, object]] = [
        {"kind": "vlen", "name": "l", "base": "int"},
        {
            "kind": "compound",
            "name": "c",
            "fields": [{"name": "a", "type": "/l" if listed else "int", "shape": [length]}],
        },
        {"kind": "vlen", "name": "w", "base": "/c"},
    ]
    report = Report()
    assert phases.read(Source("a.ncs", told(types, "/w"), binary=True), report, Options()) is None
    assert [each.code for each in report.list_sorted()] == ["oversized-type"]


def told(types: list[dict[str, object]], type_name: str, attributes: object = ()) -> bytes:
    """A stream whose header tells a model, with an empty list as the value of its variable."""
    v = {"name": "v", "type": type_name, "dimensions": [], "attributes": attributes}
    model = {"ast": 1, "dataset": {"name": "a", "types": types, "variables": [v]}}
    made = pb.Header(version=1, root=pb.Group(vars=[variable("v", pb.INT, RAGGED)]), nczarr=json.dumps(model).encode())
    one = streams.column(pb.INT, (), isVlen=True, vlens=[0])
    return streams.HEADER + streams.block(made.SerializeToString()) + streams.columns(one)


def test_a_model_with_two_members_of_one_name_is_told() -> None:
    fields = [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]
    types: list[dict[str, object]] = [
        {"kind": "compound", "name": "c", "fields": fields},
        {"kind": "vlen", "name": "w", "base": "/c"},
    ]
    report = Report()
    assert phases.read(Source("a.ncs", told(types, "/w"), binary=True), report, Options()) is None
    assert [each.code for each in report.list_sorted()] == ["duplicate-name"]


def test_a_model_with_records_of_nothing_is_told() -> None:
    types: list[dict[str, object]] = [
        {"kind": "compound", "name": "c", "fields": []},
        {"kind": "vlen", "name": "w", "base": "/c"},
    ]
    report = Report()
    assert phases.read(Source("a.ncs", told(types, "/w"), binary=True), report, Options()) is None
    assert [each.code for each in report.list_sorted()] == ["empty-type"]


@pytest.mark.parametrize("type_name", [["int"], {}, 3, None])
def test_a_model_with_a_constant_whose_type_is_no_name_is_told(type_name: object) -> None:
    report, attributes = Report(), [{"name": "a", "value": {"type": type_name, "values": [1]}}]
    assert phases.read(Source("a.ncs", told([], "int", attributes), binary=True), report, Options()) is None
    assert report.errors
    assert "internal-error" not in {each.code for each in report.list_sorted()}
