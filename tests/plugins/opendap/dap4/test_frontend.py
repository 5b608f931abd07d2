"""Data responses of every type, in both byte orders, with and without checksums, and faults with their places."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from tests.support.opendap_responses import chunk, dap, dmr


def opened(tmp_path: Path, response: bytes) -> Any:
    path = tmp_path / "sample.dap"
    path.write_bytes(response)
    return nczarr.open(path)


def faults(response: bytes) -> list[tuple[str, str, str]]:
    report = Report()
    assert phases.read(Source("sample.dap", response), report, Options()) is None
    return [
        (found.code, found.message, span.source.place(span.start))
        for found in report.list_sorted()
        if (span := found.primary.span) is not None and span.source is not None
    ]


NUMBERS = {
    "Int8": ("b", "byte", -1), "UInt8": ("B", "ubyte", 255), "Byte": ("B", "ubyte", 200), "Int16": ("h", "short", -2),
    "UInt16": ("H", "ushort", 65535), "Int32": ("i", "int", -3), "UInt32": ("I", "uint", 1 << 31),
    "Int64": ("q", "int64", -(1 << 40)), "UInt64": ("Q", "uint64", 1 << 63), "Float32": ("f", "float", 1.5),
    "Float64": ("d", "double", -2.25), "Char": ("c", "char", b"x"),
}  # fmt: skip


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("checked", [True, False])
def test_numbers(tmp_path: Path, *, little: bool, checked: bool) -> None:
    order = "<" if little else ">"
    inner = "".join(f'<{name} name="v{name}"><Dim size="2"/></{name}>' for name in NUMBERS)
    values = [struct.pack(f"{order}2{code}", value, value) for code, _, value in NUMBERS.values()]
    found = opened(tmp_path, dap(inner, values, little=little, checked=checked))
    for name, (_, type_name, value) in NUMBERS.items():
        variable = found[f"/v{name}"]
        assert (variable.type, variable.shape) == (type_name, (2,))
        assert [each == value for each in variable[...].tolist()] == [True, True]


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_texts_opaques_structures_and_sequences(tmp_path: Path, *, little: bool, size: int) -> None:
    order = "<" if little else ">"

    def text(words: bytes) -> bytes:
        return struct.pack(order + "Q", len(words)) + words

    inner = """<Dimension name="x" size="2"/>
      <String name="s"><Dim name="/x"/></String><URL name="u"/>
      <Opaque name="o"/><Opaque name="p" _edu.ucar.opaque.size="3"/>
      <Structure name="c"><Int16 name="a"/><Float64 name="b"><Dim size="2"/></Float64>
        <Structure name="in"><UInt8 name="k"/></Structure><Dim name="/x"/></Structure>
      <Structure name="t"><Int16 name="a"/><String name="b"><Dim size="2"/></String></Structure>
      <Sequence name="q"><Int16 name="a"/><Int32 name="b"/></Sequence>
      <Sequence name="r"><String name="a"/><Sequence name="n"><Int8 name="k"/></Sequence><Dim name="/x"/></Sequence>
      <Sequence name="v" _edu.ucar.isvlen="1"><Int32 name="v"/></Sequence>"""
    one = struct.pack(order + "h2dB", -1, 0.5, 1.5, 9)
    count = struct.Struct(order + "Q").pack
    values = [
        text(b"") + text(b"abc"), text(b"http://x"), text(b"\1\2\3\4"), text(b"abc"), one + one,
        struct.pack(order + "h", 7) + text(b"x") + text(b"yy"),
        count(2) + struct.pack(order + "hihi", 1, 2, 3, 4),
        count(1) + text(b"k") + count(2) + b"\5\6" + count(0),
        count(3) + struct.pack(order + "3i", 1, 2, 3),
    ]  # fmt: skip
    found = opened(tmp_path, dap(inner, values, little=little, size=size))
    assert found["/s"][...].tolist() == ["", "abc"]
    assert found["/u"][()] == "http://x"
    assert found["/o"][()].tolist() == [1, 2, 3, 4]
    assert bytes(found["/p"][()]) == b"abc"
    compounds = found["/c"][...]
    assert compounds["a"].tolist() == [-1, -1]
    assert compounds["b"].tolist() == [[0.5, 1.5]] * 2
    assert compounds["in"]["k"].tolist() == [9, 9]
    assert found["/t"][()]["a"] == 7
    assert list(found["/t"][()]["b"]) == ["x", "yy"]
    assert found["/q"][()]["b"].tolist() == [2, 4]
    first, second = found["/r"][...]
    assert [first[0]["a"], first[0]["n"]["k"].tolist(), len(second)] == ["k", [5, 6], 0]
    assert found["/v"][()].tolist() == [1, 2, 3]


def test_groups_dimensions_enums_and_attributes(tmp_path: Path) -> None:
    inner = """<Dimension name="t" size="1" _edu.ucar.isunlimited="1"/>
      <Enumeration name="e" basetype="Int8"><EnumConst name="no" value="0"/><EnumConst name="yes" value="1"/>
      </Enumeration>
      <Enum name="flag" enum="/e"><Dim name="/t"/>
        <Attribute name="_FillValue" type="String"><Value value="yes"/></Attribute></Enum>
      <Int32 name="v"><Dim name="/t"/><Map name="/g/lat"/>
        <Attribute name="_ChunkSizes" type="UInt32"><Value value="4"/></Attribute>
        <Attribute name="c" type="Container">
          <Attribute name="d" type="Float64"><Value>NaN</Value></Attribute>
        </Attribute>
      </Int32>
      <Attribute name="_DAP4_Little_Endian" type="UInt8"><Value value="1"/></Attribute>
      <Group name="g"><Float32 name="lat"><Dim name="/t"/></Float32></Group>"""
    values = [b"\1", struct.pack("<i", 5), struct.pack("<f", 2.5)]
    found = opened(tmp_path, dap(inner, values))
    assert found.dimensions["t"].unlimited
    assert found["/flag"].attributes["_FillValue"] == 1
    assert list(found["/v"].attributes) == ["c.d", "_edu.ucar.maps"]
    assert found["/v"].chunks == (4,)
    assert not found.attributes
    assert found["/g/lat"][...].tolist() == [2.5]


def test_values_of_groups_may_come_first(tmp_path: Path) -> None:
    inner = '<Int32 name="a"/><Group name="g"><Int32 name="b"/></Group>'
    values = [struct.pack("<i", 1), struct.pack("<i", 2)]
    found = opened(tmp_path, dap(inner, values))
    assert [found["/a"][()], found["/g/b"][()]] == [1, 2]
    found = opened(tmp_path, dap(inner, values[::-1], version="1.0"))
    assert [found["/a"][()], found["/g/b"][()]] == [1, 2]
    marked = inner + '<Attribute name="_DAP4_Little_Endian" type="UInt8"><Value value="1"/></Attribute>'
    found = opened(tmp_path, dap(marked, values, version="1.0"))
    assert [found["/a"][()], found["/g/b"][()]] == [1, 2]


def test_another_order_is_taken_if_the_first_does_not_fit(tmp_path: Path) -> None:
    inner = '<Int32 name="a"/><Group name="g"><Int16 name="b"/></Group>'
    values = [struct.pack("<i", 1), struct.pack("<h", 2)]
    for version, order in (("1.0", values), ("2.0", values[::-1])):
        found = opened(tmp_path, dap(inner, order, version=version))
        assert [found["/a"][()], found["/g/b"][()]] == [1, 2]


ONE = '<Int32 name="a"><Dim size="2"/></Int32>'
GOOD = dap(ONE, [struct.pack("<2i", 1, 2)])
START = GOOD.index(b"</Dataset>") + 14


@pytest.mark.parametrize(
    ("response", "words", "place"),
    [
        (GOOD[:-1] + b"x", "variable `/a`: the checksum is", f"byte {START}"),
        (GOOD[:START] + b"\7" + GOOD[START + 1 :], "variable `/a`: the checksum is", f"byte {START}"),
        (GOOD[:-1], "a chunk has 12 bytes, but 11 are left", f"byte {START - 4}"),
        (GOOD[:2], "the header of a chunk is cut", "byte 0"),
        (GOOD[: START - 4], "the response ends without a last chunk", f"byte {START - 4}"),
        (GOOD + b"x", "1 bytes follow the last chunk", f"byte {len(GOOD)}"),
        (dap(ONE, [bytes(3)]), "an array of 2 elements needs 8 bytes", f"byte {START}"),
        (dap(ONE, [bytes(12)], checked=False), "4 bytes follow the last value", f"byte {START + 8}"),
        (chunk(b"<Dataset>", 5), "not well-formed XML", "1:10"),
        (chunk(b"<Error httpcode='404'>\n<Message>no such file</Message></Error>", 3), "no such file", "1:1"),
        (chunk(dmr(ONE), 4) + chunk(b"out of memory", 3), "the server reports an error: out of memory", "byte 0"),
        (dap('<Int32 name="a"><Dim name="/x"/></Int32>', []), "its dimension `/x` is not declared", "1:101"),
        (dap('<String name="a"/>', [struct.pack("<Q", 1 << 60)]), "a text of 1152921504606846976 bytes", "byte 144"),
        (dap('<Sequence name="a"><Int8 name="b"/></Sequence>', [struct.pack("<Q", 1 << 60)]), "a list has", "byte 164"),
        (dap('<Opaque name="a" _edu.ucar.opaque.size="3"/>', [bytes(11)]), "not have 3 bytes", "byte 162"),
    ],
)  # fmt: skip
def test_faults_have_a_place(response: bytes, words: str, place: str) -> None:
    (code, message, found) = faults(response)[0]
    assert code in ("bad-dap4", "unreadable-array")
    assert words in message
    assert found == place


def test_checksums_in_attributes(tmp_path: Path) -> None:
    attribute = '<Attribute name="_DAP4_Checksum_CRC32" type="Int32"><Value value="{}"/></Attribute>'
    inner = f'<Int32 name="a">{attribute.format(558161692)}</Int32>'  # of four zeros
    assert opened(tmp_path, dap(inner, [bytes(4)], checked=False))["/a"][()] == 0
    wrong = f'<Int32 name="a">{attribute.format(1)}</Int32>'
    ((code, message, _),) = faults(dap(wrong, [bytes(4)], checked=False))
    assert code == "bad-dap4"
    assert "the checksum is 00000001, but that of the values is 2144df1c" in message


def test_every_truncation_is_a_fault() -> None:
    for size in range(8, len(GOOD)):
        assert {code for code, _, _ in faults(GOOD[:size])} == {"bad-dap4"}
