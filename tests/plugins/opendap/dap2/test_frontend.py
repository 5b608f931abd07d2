"""DODS responses of every type, the quirks of servers, and faults with their places."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from tests.support.opendap_responses import END, ROW, dods, text, units


def opened(tmp_path: Path, response: bytes, das: str | None = None) -> Any:
    path = tmp_path / "sample.dods"
    path.write_bytes(response)
    if das is not None:
        (tmp_path / "sample.das").write_text(das)
    return nczarr.open(path)


def faults(response: bytes) -> list[tuple[str, str, str]]:
    report = Report()
    source = Source("sample.dods", response)
    assert phases.read(source, report, Options()) is None
    return [
        (found.code, found.message, span.source.place(span.start))
        for found in report.list_sorted()
        if (span := found.primary.span) is not None and span.source is not None
    ]


def test_single_values(tmp_path: Path) -> None:
    dds = "Byte b; Int16 i; UInt16 j; Int32 k; UInt32 l; Float32 f; Float64 d; String s; Url u;"
    values = [units(200, -3, 65533, -4, 4294967292), struct.pack(">fd", 1.5, -2.5), text(b"abcde"), text(b"http://x")]
    found = opened(tmp_path, dods(dds, *values))
    assert [variable.type for variable in found.variables.values()] == [
        "ubyte", "short", "ushort", "int", "uint", "float", "double", "string", "string",
    ]  # fmt: skip
    assert [variable[()] for variable in found.variables.values()] == [
        200, -3, 65533, -4, 4294967292, 1.5, -2.5, "abcde", "http://x",
    ]  # fmt: skip


def test_arrays_have_their_length_twice_and_bytes_are_padded(tmp_path: Path) -> None:
    dds = "Byte b[x = 5]; Int16 i[2][2]; Float64 d[x = 5]; String s[2];"
    values = [units(5, 5), b"\x01\x02\xff\x04\x05\0\0\0", units(4, 4, 1, -2, 0xFFFF, 4), units(5, 5)]
    values += [struct.pack(">5d", *range(5)), units(2), text(b""), text(b"xy")]
    found = opened(tmp_path, dods(dds, *values))
    assert found["/b"][...].tolist() == [1, 2, 255, 4, 5]
    assert found["/i"][...].tolist() == [[1, -2], [-1, 4]]
    assert found["/i"][1, 1:].tolist() == [4]
    assert found["/d"][1:3].tolist() == [1.0, 2.0]
    assert found["/s"][...].tolist() == ["", "xy"]
    assert found["/b"].dimensions == ("/x",)
    assert found["/i"].shape == (2, 2)


def test_structures_are_compounds(tmp_path: Path) -> None:
    dds = "Structure { Byte b; Byte c[3]; Int16 i[2]; Structure { Float64 d; } inner; } s[2];"
    one = units(7, 3, 3) + b"abc\0" + units(2, 2, -1, 2) + struct.pack(">d", 0.5)
    found = opened(tmp_path, dods(dds, units(2), one, one))["/s"]
    values = found[...]
    assert values["b"].tolist() == [7, 7]
    assert values["c"].tolist() == [[97, 98, 99]] * 2
    assert values["i"].tolist() == [[-1, 2]] * 2
    assert values["inner"]["d"].tolist() == [0.5, 0.5]


def test_sequences_are_lists_of_compounds(tmp_path: Path) -> None:
    dds = "Sequence { Int32 age; Sequence { Int16 foo; } inner; String name; } people; Int32 after;"
    row = ROW + units(1) + ROW + units(5) + ROW + units(6) + END + text(b"ab")
    other = ROW + units(2) + END + text(b"")
    found = opened(tmp_path, dods(dds, row, other, END, units(9)))
    people = found["/people"][...]
    assert [(each["age"], each["inner"]["foo"].tolist(), each["name"]) for each in people] == [
        (1, [5, 6], "ab"),
        (2, [], ""),
    ]
    assert found["/after"][()] == 9


def test_many_rows_of_fixed_size(tmp_path: Path) -> None:
    rows = [ROW + units(number) + struct.pack(">d", number / 2) for number in range(1000)]
    found = opened(tmp_path, dods("Sequence { Int32 n; Float64 d; } rows;", *rows, END))["/rows"][...]
    assert found["n"].tolist() == list(range(1000))
    assert found["d"].tolist() == [number / 2 for number in range(1000)]


GRIDS = """Float32 lat[lat = 2];
Grid { ARRAY: Int32 t[lat = 2][lon = 3]; MAPS: Float32 lat[lat = 2]; Float32 lon[lon = 3]; } t;
Grid { Array: Int32 u[2]; Maps: Float32 lat[lat = 2]; } u;"""


def grids(second: list[float]) -> bytes:
    lat, lon = units(2, 2) + struct.pack(">2f", 10, 20), units(3, 3) + struct.pack(">3f", 1, 2, 3)
    other = units(2, 2) + struct.pack(">2f", *second)
    return dods(GRIDS, lat, units(6, 6, *range(6)), lat, lon, units(2, 2, 8, 9), other)


def test_maps_of_grids_are_coordinate_variables_once(tmp_path: Path) -> None:
    found = opened(tmp_path, grids([10, 20]))
    assert list(found.variables) == ["lat", "t", "lon", "u"]
    assert [found[f"/{name}"].dimensions for name in ("t", "u", "lon")] == [("/lat", "/lon"), ("/lat",), ("/lon",)]


def test_maps_with_other_values_are_variables_of_their_own(tmp_path: Path) -> None:
    found = opened(tmp_path, grids([10, 30]))
    assert list(found.variables) == ["lat", "t", "lon", "u", "u.lat"]
    assert found["/u"].dimensions == ("/u.lat",)
    assert found["/u.lat"][...].tolist() == [10, 30]


def test_dimensions_of_one_name_with_other_lengths(tmp_path: Path) -> None:
    found = opened(tmp_path, dods("Byte a[x = 1]; Byte b[x = 2];", units(1, 1, 0), units(2, 2, 0)))
    assert {name: len(each) for name, each in found.dimensions.items()} == {"x": 1, "x_2": 2}


def test_names_lose_their_escapes(tmp_path: Path) -> None:
    found = opened(tmp_path, dods('Int32 a%20b; Int32 a/b; Int32 %23c; Int32 Grid; Int32 "x y";', units(1, 2, 3, 4, 5)))
    assert list(found.variables) == ["a b", "a%2fb", "#c", "Grid", "x y"]


DAS = r"""Attributes {
  t { Float32 _FillValue -9.0e0; Int32 n 1, 0x10; String one "a\"b\\012"; String two "x", y; Byte m -1;
      inner { Float64 deep NaN, -Inf; } }
  NC_GLOBAL { String title "T"; }
  DODS_EXTRA { String Unlimited_Dimension "x"; }
  other { String a "b"; }
}"""


def test_attributes(tmp_path: Path) -> None:
    found = opened(tmp_path, dods("Float32 t[x = 1];", units(1, 1), struct.pack(">f", 1)), DAS)
    attributes = found["/t"].attributes
    assert list(attributes) == ["_FillValue", "n", "one", "two", "m", "inner.deep"]
    assert attributes["n"].tolist() == [1, 16]
    assert attributes["one"] == 'a"b\\012'
    assert list(attributes["two"]) == ["x", "y"]
    assert attributes["m"] == 255
    assert np.isnan(attributes["inner.deep"][0])
    assert attributes["inner.deep"][1] == -np.inf
    assert dict(found.attributes) == {"title": "T", "other.a": "b"}
    assert found.dimensions["x"].unlimited


def test_numbers_that_do_not_fit_stay_texts(tmp_path: Path) -> None:
    report = Report()
    path = tmp_path / "sample.dods"
    path.write_bytes(dods("Int32 t;", units(1)))
    (tmp_path / "sample.das").write_text("Attributes { t { Int16 a 70000; Strange b c; } }")
    checked = phases.read_path(str(path), report, Options())
    assert checked is not None
    assert [found.code for found in report.list_sorted()] == ["foreign-member"] * 2
    values = {each.name: each.value.data for each in checked.dataset.variables[0].attributes}
    assert values == {"a": b"70000", "b": b"c"}


def test_invalid_attributes_are_left_out(tmp_path: Path) -> None:
    report = Report()
    path = tmp_path / "sample.dods"
    path.write_bytes(dods("Int32 t;", units(1)))
    (tmp_path / "sample.das").write_text('Attributes {\n t { String a "one" two; }\n}')
    checked = phases.read_path(str(path), report, Options())
    assert checked is not None
    assert checked.dataset.variables[0].attributes == ()
    (found,) = report.list_sorted()
    span = found.primary.span
    assert (found.code, span.source.place(span.start)) == ("foreign-member", "2:21")
    assert "the attributes are invalid, and left out" in found.message


@pytest.mark.parametrize(
    ("response", "words", "place"),
    [
        (dods("Int32 a[2];", units(2, 2, 1)), "needs 8 bytes, but 4 are left", "+8"),
        (dods("Int32 a[2];", units(2, 3, 1, 2)), "an array has 3 elements, but its declaration has 2", "+4"),
        (dods("Int32 a;", units(1, 2)), "4 bytes follow the last value", "+4"),
        (dods("Int16 a;", units(70000)), "a value does not fit in 16 bits", "+0"),
        (dods("String a;", units(1 << 31)), "a text of 2147483648 bytes", "+4"),
        (dods("Sequence { Int32 a; } s;", ROW, units(1), units(7)), "0x00000007 is neither", "+8"),
        (dods("Sequence { String a; } s;", ROW, text(b"x")), "the mark of a row needs 4 bytes", "+12"),
        (dods("Structure { Int32 a[2]; } s;", units(3, 2, 1, 2)), "the length of a member is not 2", "+0"),
        (dods("Int64 a;"), "`Int64` is not a type of DAP2", "2:7"),
        (dods("Int32 a[x = y];"), "`y` is not the length of a dimension", "2:9"),
        (dods("Int32 a b;"), "`b` is unexpected", "2:9"),
        (dods("Int32 a; Int32 a;", units(1, 2)), "two variables have the name `a`", "2:16"),
        (dods("Structure { } s;"), "structure `s` has no members", "2:15"),
        (dods("Grid { ARRAY: Int32 a[2]; MAPS: } g;", units(2, 2, 0, 0)), "has 0 maps for 1 dimensions", "2:35"),
        (b"Dataset {\n Int32 a;\n} x;\n", "no line `Data:`", "4:1"),
        (b'Error {\n code = 404;\n message = "no such file";\n};', "the server reports an error: no such file", "1:1"),
        (b"Dataset {" + b"Structure {" * 100 + b"\nData:\n", "nested more than 64 deep", "1:713"),
    ],
)  # fmt: skip
def test_faults_have_a_place(response: bytes, words: str, place: str) -> None:
    ((code, message, found),) = faults(response)
    assert code == "bad-dap2"
    assert words in message
    start = response.find(b"Data:\n") + 6
    assert found == (f"byte {start + int(place)}" if place.startswith("+") else place)


def test_16_bit_arrays_are_checked_when_they_are_read(tmp_path: Path) -> None:
    found = opened(tmp_path, dods("Int16 a[2];", units(2, 2, 1, 70000)))
    assert found["/a"][:1].tolist() == [1]
    with pytest.raises((OSError, nczarr.CompileError), match="does not fit in 16 bits"):
        found["/a"][...]


def test_every_truncation_is_a_fault() -> None:
    whole = grids([10, 20])
    for size in range(whole.index(b"Data:"), len(whole)):
        assert {code for code, _, _ in faults(whole[:size])} == {"bad-dap2"}
