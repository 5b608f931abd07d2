"""Archives of Awkward arrays as datasets: written and read whole, and those of others read as far as netCDF goes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import (
    ArrayPieces,
    BitMasked,
    Column,
    Flat,
    Indexed,
    ListNode,
    Masked,
    Objects,
    Spans,
    Sparse,
    TableNode,
    TextNode,
    Union,
)
from nczarr.plugins.awkward0.read import frontend
from nczarr.stores import ranges
from nczarr.stores.directory import DirectoryStore
from tests.support.every_type import CDL


@pytest.fixture
def dataset() -> Any:
    return nczarr.from_cdl(CDL)


@pytest.mark.parametrize("tables", [False, True])
def test_a_dataset_comes_back_whole(dataset: Any, tmp_path: Path, tables: bool) -> None:
    nczarr.write(dataset, tmp_path / "d.awkd", tables=tables)
    with nczarr.open(tmp_path / "d.awkd") as found:
        assert found.diagnostics == ()
        assert found.dataset == dataset.dataset
        assert nczarr.diff(dataset, found, storage=True) == []
    assert nczarr.digest(tmp_path / "d.awkd") == nczarr.digest(dataset)


def test_the_same_dataset_is_the_same_bytes(dataset: Any, tmp_path: Path) -> None:
    for name in ("one.awkd", "two.awkd"):
        nczarr.write(dataset, tmp_path / name)
    assert (tmp_path / "one.awkd").read_bytes() == (tmp_path / "two.awkd").read_bytes()


def test_every_variable_is_an_array(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.awkd", tables=True)
    with nczarr.awkward0.load(tmp_path / "d.awkd") as found:
        assert set(found) == {path.lstrip("/") for path in dataset}
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        values = {
            name: nczarr.awkward0.items(nczarr.awkward0.columns(_Members(archive), f"{name}.json"))
            for name in ("i", "s", "r2", "p", "v")
        }
        assert json.loads(archive.read("r2.json"))["metadata"] == {"shape": [3, 2]}
    assert values["i"] == [[1, 2], [-1, 4], [5, 6]]
    assert values["s"] == ["one", None, ""]
    assert values["r2"] == [[1], [], [2, 3], [], [], [4]]
    assert values["p"][0] == {"x": 1, "y": [1, 2], "c": [b"x", b"y"], "f": 1}
    assert values["v"][1]["w"] == []


class _Members:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def __getitem__(self, key: str) -> bytes:
        return self._archive.read(key)


def test_groups_and_odd_names(tmp_path: Path) -> None:
    dataset = nczarr.from_cdl(
        "netcdf d { variables: int x ; data: x = 1 ; group: g { variables: int x ; int xy ; data: x = 2 ; xy = 3 ;"
        " group: h { variables: int a%b ; data: a%b = 4 ; } } }"
    )
    nczarr.write(dataset, tmp_path / "d.awkd")
    assert nczarr.diff(dataset, nczarr.open(tmp_path / "d.awkd")) == []
    assert set(nczarr.awkward0.load(tmp_path / "d.awkd")) == {"x", "g/x", "g/xy", "g/h/a%25b"}


@pytest.mark.slow
def test_large_values_come_in_pieces(tmp_path: Path) -> None:
    builder = nczarr.DatasetBuilder("large")
    n = builder.dimension("n", 3_000_000)
    builder.variable("v", "int", [n])
    builder.variable("f", "double", [n])
    values = {"/v": np.arange(3_000_000, dtype="i4"), "/f": np.arange(3_000_000) / 7}
    dataset = builder.finish(data=values)
    nczarr.write(dataset, tmp_path / "d.awkd")
    assert nczarr.diff(dataset, nczarr.open(tmp_path / "d.awkd")) == []
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    assert sizes["f-0.raw"] == 24_000_000
    assert sizes["v-0.raw"] < 6_000_000  # integers are compressed, as awkward0 does


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda members: members.pop("r-1.raw"), "missing-blob"),
        (lambda members: members.pop("r.json"), "bad-metadata"),
        (lambda members: members.update({"r-2.raw": b"123"}), "bad-blob"),
        (lambda members: members.update({"r.json": members["s.json"]}), "unreadable-array"),
        (lambda members: members.update({"i.json": members["scalar.json"]}), "unreadable-array"),
        (lambda members: members.update({"nczarr.ast": b"{"}), "bad-ast"),
    ],
)
def test_what_does_not_fit_is_said(dataset: Any, tmp_path: Path, change: Any, code: str) -> None:
    nczarr.write(dataset, tmp_path / "d.awkd")
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(tmp_path / "e.awkd", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(CompileError) as caught:
        nczarr.convert(tmp_path / "e.awkd", tmp_path / "e.nc")
    assert [each.code for each in caught.value.diagnostics] == [code]
    assert not (tmp_path / "e.nc").exists()


def test_an_array_beside_the_model_is_said(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.awkd")
    nczarr.awkward0.save(tmp_path / "d.awkd", Flat(np.arange(3)), "zzz")
    found = nczarr.open(tmp_path / "d.awkd")
    assert [each.code for each in found.diagnostics] == ["stale-extension"]


# ---- archives of others --------------------------------------------------------------------------------------------
NUMBERS = Flat(np.array([1.5, 2.5, 3.5]))
LISTS = ListNode(np.array([0, 2, 2, 3]), NUMBERS)
TEXTS = TextNode(ListNode(np.array([0, 1, 1, 3]), Flat(np.frombuffer(b"abc", "u1"))))
MASK = np.array([False, True, False])

SAYABLE: dict[str, tuple[Column, str, Any]] = {
    "numbers": (NUMBERS, "double", [1.5, 2.5, 3.5]),
    "rows": (Flat(np.arange(6, dtype=">i2").reshape(3, 2)), "short", [[0, 1], [2, 3], [4, 5]]),
    "truth": (Flat(np.array([True, False, True])), "/bool", [1, 0, 1]),
    "halves": (Flat(np.array([0.5, 1], "<f2")), "float", [0.5, 1]),
    "complex": (Flat(np.array([1 + 2j])), "/complex128", [(1, 2)]),
    "opaque": (Flat(np.array([b"ab\0"], "V3")), "/opaque_3", [b"ab\0"]),
    "bytes": (Flat(np.array([b"a\0b", b"c"])), "char", [[b"a", b"", b"b"], [b"c", b"", b""]]),
    "unicode": (Flat(np.array(["é", ""])), "string", ["é", ""]),
    "texts": (TEXTS, "string", ["a", "", "bc"]),
    "some texts": (Masked(MASK, TEXTS), "string", ["a", None, "bc"]),
    "some numbers": (Masked(MASK, Flat(np.array([1, 2, 3]))), "int64", [1, -9223372036854775806, 3]),
    "bits": (
        BitMasked(np.array([0b101], "u1"), NUMBERS, masked_when=False),
        "double",
        [1.5, 9.969209968386869e36, 3.5],
    ),
    "chosen": (Indexed(np.array([2, 0]), NUMBERS), "double", [3.5, 1.5]),
    "some chosen": (Indexed(np.array([2, -1]), NUMBERS, optional=True), "double", [3.5, 9.969209968386869e36]),
    "chunks": (ArrayPieces((NUMBERS, NUMBERS)), "double", [1.5, 2.5, 3.5, 1.5, 2.5, 3.5]),
    "sparse": (Sparse(4, np.array([1, 3]), Flat(np.array([7, 8])), 5), "int64", [5, 7, 5, 8]),
    "objects": (Objects(NUMBERS, ("fractions", "Fraction")), "double", [1.5, 2.5, 3.5]),
    "one of a union": (Union(np.array([1, 1], "u1"), np.array([0, 2]), (TEXTS, NUMBERS)), "double", [1.5, 3.5]),
    "years": (Flat(np.array(["2001", "NaT"], ">M8[Y]")), "int64", [11323, -(2**63)]),
    "some bytes": (Masked(MASK, Flat(np.array([b"a", b"b", b"c"]))), "string", ["a", None, "c"]),
    "records of texts": (
        Flat(np.array([("é", True, 0.5, [1j, 2])], [("t", "U2"), ("b", "?"), ("h", ">f2"), ("c", "c8", (2,))])),
        "/d_t",
        [("é", 1, 0.5, [(0, 1), (2, 0)])],
    ),
    "records": (
        Flat(np.array([(1, [2, 3], b"x")], [("a", "i4"), ("b", "f8", (2,)), ("c", "S2")])),
        "/d_t",
        [(1, [2.0, 3.0], [b"x", b""])],
    ),
}


def converted(column: Column, folder: Path, *allowed: str) -> Any:
    nczarr.awkward0.save(folder / "d.awkd", column, "d", mode="w")
    nczarr.convert(folder / "d.awkd", folder / "d.nc", allow_loss=allowed)
    return nczarr.open(folder / "d.nc")


@pytest.mark.parametrize("name", SAYABLE)
def test_what_netcdf_can_say(name: str, tmp_path: Path) -> None:
    column, type_name, values = SAYABLE[name]
    found = converted(column, tmp_path)
    assert found["/d"].type == type_name
    assert _plain(found["/d"][...]) == _plain(values)
    nczarr.convert(tmp_path / "d.nc", tmp_path / "back.awkd")
    assert nczarr.diff(tmp_path / "d.nc", tmp_path / "back.awkd") == []


def test_units_of_dates_within(tmp_path: Path) -> None:
    days = Flat(np.array(["2001-01-01", "2002-01-01", "2003-01-01"], "M8[D]"))
    found = converted(Masked(np.zeros(3, bool), ListNode(np.array([0, 2, 2, 3]), days)), tmp_path)
    assert [(each.name, each.value.data) for each in found.dataset.variables[0].attributes] == [
        ("units", b"days since 1970-01-01")
    ]


def test_units_of_dates_in_records(tmp_path: Path) -> None:
    records = np.zeros(1, [("at", "M8[W]"), ("x", [("took", "m8[5fs]"), ("n", "u1"), ("g", "m8")])])
    found = converted(Flat(records), tmp_path)
    assert [(each.name, each.value.data) for each in found.dataset.variables[0].attributes] == [
        ("awkward0_units", b"at: weeks since 1970-01-01, x.took: 5 femtoseconds")
    ]


def test_names_that_types_would_take(tmp_path: Path) -> None:
    lists = ListNode(np.array([0, 1, 2, 3]), NUMBERS)
    truth = Flat(np.array([True, False, True]))
    columns = {"l": lists, "bool": truth, "l_t": NUMBERS, "e\u0301": NUMBERS, "\u00e9": truth, "x" * 255: lists}
    found = converted(TableNode(tuple(columns), tuple(columns.values()), 3), tmp_path, "duplicate-name")
    assert [each.rpartition("/")[2] for each in found] == ["l", "bool", "l_t", "é", "é_", "x" * 255]
    assert [each.name for each in found.dataset.groups[0].types] == ["l_t_", "bool_", "x" * 200]


def test_members_of_one_name(tmp_path: Path) -> None:
    nczarr.awkward0.save(tmp_path / "d.awkd", Flat(np.zeros(1, [("e\u0301", "i4"), ("\u00e9", "i4")])), "d")
    assert [each.code for each in nczarr.open(tmp_path / "d.awkd").diagnostics] == ["duplicate-name"]


def test_missing_values_are_zeros_where_that_is_accepted(tmp_path: Path) -> None:
    table = TableNode(("x", "t"), (NUMBERS, TEXTS), 3)
    found = converted(Indexed(np.array([2, -1]), table, optional=True), tmp_path, "lost-mask")
    assert _plain(found["/d"][...]) == [[3.5, "bc"], [0, None]]
    (tmp_path / "d.nc").unlink()
    found = converted(Indexed(np.array([-1, 1]), Flat(np.array([1j, 2j])), optional=True), tmp_path, "lost-mask")
    assert _plain(found["/d"][...]) == [[0, 0], [0, 2]]


def _plain(values: Any) -> Any:
    if isinstance(values, np.ndarray | np.generic):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [_plain(each) for each in values]
    return values


def test_lists_and_tables(tmp_path: Path) -> None:
    inner = TableNode(("x", "l"), (Flat(np.arange(3)), LISTS), 3)
    table = TableNode(
        ("a", "b", "c", "e"),
        (NUMBERS, ListNode(np.array([0, 1, 1, 3]), inner), inner, Flat(np.arange(8, dtype="i2").reshape(4, 2))),
        3,
    )
    found = converted(table, tmp_path)
    assert list(found) == ["/d/a", "/d/b", "/d/e", "/d/c/x", "/d/c/l"]
    assert found["/d/a"].dimensions == found["/d/b"].dimensions == ("/d/row",)
    assert [each.tolist() for each in found["/d/c/l"][...]] == [[1.5, 2.5], [], [3.5]]
    assert found["/d/e"].shape == (3, 2)
    assert "compound b_item_t" in found.to_cdl()


def test_a_table_without_a_name_is_the_root(tmp_path: Path) -> None:
    nczarr.awkward0.save(tmp_path / "t.awkd", TableNode(("row", "y"), (NUMBERS, LISTS), 3))
    found = nczarr.open(tmp_path / "t.awkd")
    assert list(found) == ["/row", "/y"]
    assert found["/y"].dimensions == ("/row_",)


def test_dates_have_a_unit(tmp_path: Path) -> None:
    found = converted(Flat(np.array(["2001-01-01", "NaT"], "M8[ms]")), tmp_path)
    (units,) = found.dataset.variables[0].attributes
    assert (units.name, units.value.data) == ("units", b"milliseconds since 1970-01-01")
    assert found["/d"][...].tolist() == [978307200000, -(2**63)]


UNSAYABLE: dict[str, tuple[Column, str]] = {
    "union": (Union(np.array([0, 1], "u1"), np.array([0, 0]), (TEXTS, NUMBERS)), "lost-union"),
    "union in lists": (
        ListNode(np.array([0, 2]), Union(np.array([0, 1], "u1"), np.array([0, 0]), (TEXTS, NUMBERS))),
        "lost-union",
    ),
    "masked lists": (Masked(MASK, LISTS), "lost-mask"),
    "masked in lists": (ListNode(np.array([0, 3]), Masked(MASK, NUMBERS)), "lost-mask"),
    "masked truth": (Masked(MASK, Flat(np.array([True, False, True]))), "lost-mask"),
    "masked bytes of every value": (
        Masked(np.arange(257) == 256, Flat(np.append(np.arange(256), 0).astype("u1"))),
        "lost-mask",
    ),
    "masked table": (Masked(MASK, TableNode(("x",), (NUMBERS,), 3)), "lost-mask"),
    "union of nothing": (ListNode(np.array([0, 0]), Union(np.zeros(0, "u1"), np.zeros(0, "i8"), ())), "lost-union"),
    "chunks of records": (
        ArrayPieces((Flat(np.zeros(1, [("a", "i4")])), Flat(np.zeros(1, [("b", "f8"), ("c", "u1")])))),
        "lost-union",
    ),
    "chunks of dates": (ArrayPieces((Flat(np.array(["3000"], "M8[Y]")), Flat(np.array([1], "M8[ns]")))), "lost-union"),
    "chunks of opaques": (ArrayPieces((Flat(np.zeros(1, "V3")), Flat(np.zeros(1, "V5")))), "lost-union"),
}


@pytest.mark.parametrize("name", UNSAYABLE)
def test_what_netcdf_cannot_say_has_a_name(name: str, tmp_path: Path) -> None:
    column, code = UNSAYABLE[name]
    with pytest.raises(CompileError) as caught:
        converted(column, tmp_path)
    assert [each.code for each in caught.value.diagnostics] == [code]
    assert not (tmp_path / "d.nc").exists()
    found = converted(column, tmp_path, code)
    assert list(found) == ([] if code == "lost-union" else ["/d"])


def test_missing_lists_are_empty_where_that_is_accepted(tmp_path: Path) -> None:
    found = converted(Masked(np.array([True, False, False]), LISTS), tmp_path, "lost-mask")
    assert [each.tolist() for each in found["/d"][...]] == [[], [], [3.5]]


def test_a_fill_value_is_none_of_the_values(tmp_path: Path) -> None:
    default = 9.969209968386869e36
    values = np.array([default, np.nan, np.inf, -np.inf, 0.0, 1.0, 4.0])
    found = converted(Masked(np.arange(7) == 6, Flat(values)), tmp_path)
    (fill,) = found.dataset.variables[0].attributes
    assert fill.name == "_FillValue"
    assert fill.value.as_numbers() == (2.0,)
    assert found["/d"][6] == 2.0


def test_what_is_no_array_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.awkd", "w") as archive:
        archive.writestr("a.json", '{"awkward0": "1", "schema": {"json": 1}}')
        archive.writestr("b.json", '{"awkward0": "1", "schema": {"dtype": "<i4"}}')
        archive.writestr("other.json", "{}")
    found = nczarr.open(tmp_path / "x.awkd")
    assert [each.code for each in found.diagnostics] == ["unreadable-array"] * 3
    assert list(found) == []


def test_a_folder_is_read_as_well(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.awkd")
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        archive.extractall(tmp_path / "folder")
    assert nczarr.diff(dataset, nczarr.open(tmp_path / "folder")) == []


def _often(content: Column, count: int) -> Spans:
    """So many lists, each of all items of the content."""
    return Spans(np.zeros(count, "i8"), np.full(count, len(content)), content)


def test_what_is_named_again_and_again_has_a_limit(tmp_path: Path) -> None:
    items = Flat(np.zeros(20_000))
    table = TableNode(("small", "large"), (_often(NUMBERS, 3), _often(items, 20_000)), 3)
    nczarr.awkward0.save(tmp_path / "d.awkd", {"v": _often(items, 20_000), "t": table, "w": _often(NUMBERS, 2)})
    found = nczarr.open(tmp_path / "d.awkd")
    assert [each.code for each in found.diagnostics] == ["unreadable-array"]
    assert "occur several times" in found.diagnostics[0].message
    assert list(found) == ["/w", "/t/small", "/t/large"]


def test_unions_in_a_table_within_a_longer_column(tmp_path: Path) -> None:
    def buffer(key: str, dtype: str, count: int) -> Any:
        read = [{"read": key}, {"dtype": dtype}, {"json": count}]
        return {"call": ["awkward0", "numpy", "frombuffer"], "args": read}

    tags = buffer("0", "|u1", 4)
    contents = {"list": [tags, buffer("0", "|V1", 4)]}
    union = {"call": ["awkward0", "UnionArray", "fromtags"], "args": [tags, contents]}
    inner = {"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": [["x", tags], ["u", union]]}, {"json": 0}]}
    pairs = {"pairs": [["t", inner], ["s", buffer("1", "|u1", 3)]]}
    schema = {"call": ["awkward0", "Table", "frompairs"], "args": [pairs, {"json": 0}]}
    with zipfile.ZipFile(tmp_path / "d.awkd", "w") as archive:
        archive.writestr("d.json", json.dumps({"awkward0": "1", "schema": schema}))
        archive.writestr("0", bytes([0, 1, 1, 0]))
        archive.writestr("1", b"abc")
    found = nczarr.open(tmp_path / "d.awkd")
    assert [each.code for each in found.diagnostics] == ["lost-union"]
    assert list(found) == ["/d/s", "/d/t/x"]
    assert found["/d/t/x"].shape == (3,)


@pytest.mark.parametrize("type_name", ["double", "string", "l"])
def test_values_that_nobody_gave_are_counted(type_name: str, tmp_path: Path) -> None:
    dataset = nczarr.from_cdl(
        f"netcdf d {{ types: int(*) l ; dimensions: n = 10000000000 ; variables: {type_name} v(n) ; }}"
    )
    with pytest.raises(CompileError) as caught:
        nczarr.write(dataset, tmp_path / "d.awkd")
    assert [each.code for each in caught.value.diagnostics] == ["oversized-target"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mask", [[False, False, False], [False, True, False]])
def test_halves_stay_halves_in_stores(mask: list[bool], tmp_path: Path) -> None:
    halves = Flat(np.array([0.5, 1, 65504], "<f2"))
    nczarr.awkward0.save(tmp_path / "d.awkd", Masked(np.array(mask), halves) if any(mask) else halves, "d")
    nczarr.convert(tmp_path / "d.awkd", tmp_path / "d.zarr", format="zarr2")
    assert json.loads((tmp_path / "d.zarr/d/.zarray").read_bytes())["dtype"] == "<f2"
    first, second = (nczarr.open(tmp_path / name)["/d"][...] for name in ("d.awkd", "d.zarr"))
    assert np.array_equal(first, second, equal_nan=True)


def test_of_other_json_files_in_a_folder_the_first_bytes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of references may have gigabytes of them."""
    (tmp_path / "a.json").write_bytes(b'{"version": 1, "refs": {' + b" " * 100_000 + b"}}")
    real, taken = ranges.read, list[int]()
    monkeypatch.setattr(ranges, "read", lambda place: taken.append(place.length) or real(place))
    monkeypatch.setattr(DirectoryStore, "get", lambda store, key: pytest.fail(key))
    assert not frontend.holds(DirectoryStore(str(tmp_path)))
    assert taken == [frontend.HEAD]
