"""Columns and indexes of pandas with every dtype: an exact dataset, or an error that names the column and a remedy."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

MARKS = [None, np.nan, pd.NA, pd.NaT]


def columns_of_texts() -> dict[str, Any]:
    columns = {f"object {mark}": pd.Series(["a", mark, ""], dtype=object) for mark in MARKS}
    columns["all marks"] = pd.Series(["a", *MARKS], dtype=object)
    columns["str"] = pd.Series(["a", None, ""], dtype="str")
    columns["string[python]"] = pd.Series(["a", None, ""], dtype="string[python]")
    columns["category"] = pd.Series(["a", None, ""], dtype="category")
    try:
        import pyarrow
    except ImportError:
        return columns
    columns["string[pyarrow]"] = pd.Series(["a", None, ""], dtype="string[pyarrow]")
    columns["ArrowDtype"] = pd.Series(["a", None, ""], dtype=pd.ArrowDtype(pyarrow.string()))
    columns["large_string"] = pd.Series(["a", None, ""], dtype=pd.ArrowDtype(pyarrow.large_string()))
    return columns


TEXTS = columns_of_texts()


def texts_of(column: Any) -> list[str | None]:
    return [None if missing else text for text, missing in zip(column, column.isna(), strict=True)]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("suffix", "form"), [(".nc", None), (".zarr", "nczarr"), (".zarr", "nczarr3"), (".cdl", None)])
def test_missing_texts_are_nil(name: str, suffix: str, form: str | None, tmp_path: Path) -> None:
    column = TEXTS[name]
    nczarr.write(pd.DataFrame({"s": column}), tmp_path / f"a{suffix}", form)
    assert nczarr.open(tmp_path / f"a{suffix}")["s"][:].tolist() == texts_of(column)


@pytest.mark.parametrize("name", TEXTS)
def test_missing_texts_of_objects_of_xarray_and_the_builder_are_nil(name: str) -> None:
    column = TEXTS[name]
    dataset = xr.Dataset({"s": ("x", column.array)}, coords={"x": ("x", column.to_numpy(dtype=object))})
    assert nczarr.from_xarray(dataset)["s"][:].tolist() == texts_of(column)
    assert nczarr.from_xarray(dataset)["x"][:].tolist() == texts_of(column)
    for data in (column, column.array if column.dtype != object else column, dataset["s"]):
        builder = nczarr.DatasetBuilder()
        builder.variable("s", "string", [len(column)])
        assert builder.finish({"s": data})["s"][:].tolist() == texts_of(column)


def test_missing_texts_of_an_arrow_array_are_nil() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    builder = nczarr.DatasetBuilder()
    builder.variable("s", "string", [2])
    assert builder.finish({"s": pyarrow.array(["a", None])})["s"][:].tolist() == ["a", None]


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "netcdf3"])
@pytest.mark.parametrize("make", [pd.DataFrame, lambda columns: xr.Dataset({"s": ("x", columns["s"])})])
def test_targets_without_nil_lose_it_only_if_allowed(form: str, make: Any, tmp_path: Path) -> None:
    data = make({"s": np.array(["a", None, np.nan], object)})
    with pytest.raises(nczarr.CompileError, match=r"lost-nil.*[`/']s[`'](.*\n)*.*allow_loss"):
        nczarr.write(data, tmp_path / "a", form)
    assert list(tmp_path.iterdir()) == []
    warnings = nczarr.write(data, tmp_path / "a", form, allow_loss=["lost-nil"])
    assert "lost-nil" in {each.code for each in warnings}
    values = nczarr.open(tmp_path / "a")["s"][:].reshape(3, -1)[:, 0]
    assert [value.decode() if isinstance(value, bytes) else value for value in values] == ["a", "", ""]


def test_missing_bytes_and_texts_as_chars_are_a_loss(tmp_path: Path) -> None:
    with pytest.raises(nczarr.CompileError, match="'b' has 1 missing texts"):
        nczarr.write(pd.DataFrame({"b": [b"a", None]}), tmp_path / "a.nc")
    frame = pd.DataFrame({"s": ["a", None]})
    with pytest.raises(nczarr.CompileError, match="'s' has 1 missing texts"):
        nczarr.write(frame, tmp_path / "a.nc", encoding={"s": {"dtype": "S1"}})
    nczarr.write(frame, tmp_path / "a.nc", encoding={"s": {"_FillValue": "none"}})
    assert nczarr.open(tmp_path / "a.nc")["s"][:].tolist() == ["a", "none"]


def test_missing_texts_of_dask_arrays_are_nil(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask.array")
    texts = dask.from_array(np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan)), chunks=1)
    data = xr.Dataset({"s": ("x", texts)})
    assert nczarr.from_xarray(data)["s"][:].tolist() == ["a", None]
    with pytest.raises(nczarr.CompileError, match=r"^lost-nil: .*'s'"):
        nczarr.write(data, tmp_path / "a.nc", kind="nc3")
    objects = xr.Dataset({"s": ("x", dask.from_array(np.array(["a", np.nan], object), chunks=1))})
    with pytest.warns(xr.SerializationWarning, match="dask array with dtype=object"):
        assert nczarr.from_xarray(objects)["s"][:].tolist() == ["a", None]


BIG = 2**53 + 1

EXACT: dict[str, tuple[Any, Any, list[Any]]] = {
    "Int64": (pd.array([BIG, 2], dtype="Int64"), "int64", [BIG, 2]),
    "Int64 missing": (pd.array([BIG, None], dtype="Int64"), "int64", [BIG, None]),
    "Int8 missing": (pd.array([-127, -128, None], dtype="Int8"), "byte", [-127, -128, None]),
    "UInt8 full": (pd.array([*range(256), None], dtype="UInt8"), "short", [*range(256), None]),
    "UInt64 missing": (pd.array([2**63 + 1, None], dtype="UInt64"), "uint64", [2**63 + 1, None]),
    "objects": (pd.Series([BIG, None, pd.NA], dtype=object), "int64", [BIG, None, None]),
    "boolean missing": (pd.array([True, False, None], dtype="boolean"), "byte", [1, 0, None]),
    "object booleans": (pd.Series([True, None], dtype=object), "byte", [1, None]),
    "boolean": (pd.array([True, False], dtype="boolean"), "byte", [1, 0]),
    "Float32": (pd.array([1.5, None], dtype="Float32"), "float", [1.5, None]),
    "Float64": (pd.array([1.5, 2.5], dtype="Float64"), "double", [1.5, 2.5]),
    "numbers": (pd.Series([1, 1.5, None], dtype=object), "double", [1.0, 1.5, None]),
    "categories": (pd.Categorical([3, 1, None]), "int64", [3, 1, None]),
    "sparse": (pd.arrays.SparseArray([0, 0, 7]), "int64", [0, 0, 7]),
    "no rows": (pd.array([], dtype="string"), "string", []),
}


@pytest.mark.parametrize("name", EXACT)
def test_nullable_numbers_are_exact_with_a_fill_value(name: str, tmp_path: Path) -> None:
    column, type_name, expected = EXACT[name]
    frame = pd.DataFrame({"v": column})
    nczarr.write(frame, tmp_path / "a.nc")
    found = nczarr.open(tmp_path / "a.nc")["v"]
    fill = found.attributes.get("_FillValue")
    values = [None if value == fill or value != value else value for value in found[:].tolist()]
    assert (found.type, values) == (type_name, expected)
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as peer:
        assert peer["v"].isnull().values.tolist() == [value is None for value in expected]


def test_classic_files_have_nullable_integers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "u": pd.array([200, None], dtype="UInt8")})
    nczarr.write(frame, tmp_path / "a.nc", kind="nc3")
    with xr.open_dataset(tmp_path / "a.nc", engine="scipy") as peer:
        assert np.array_equal(peer["n"], [1, np.nan], equal_nan=True)
        assert np.array_equal(peer["u"], [200, np.nan], equal_nan=True)


def test_an_encoding_packs_nullable_integers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([10, None], dtype="Int64")})
    nczarr.write(frame, tmp_path / "a.nc", encoding={"n": {"dtype": "int16", "_FillValue": -1, "scale_factor": 10.0}})
    assert nczarr.open(tmp_path / "a.nc")["n"][:].tolist() == [1, -1]
    for values, encoding in (([-1, None], {"_FillValue": -1}), ([BIG, None], {"dtype": "int32", "_FillValue": -1})):
        frame = pd.DataFrame({"n": pd.array(values, dtype="Int64")})
        with pytest.raises(nczarr.CompileError, match=r"value-range: .*'n'"):
            nczarr.write(frame, tmp_path / "b.nc", encoding={"n": encoding})


def test_ordered_and_unused_categories_are_a_warning() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=["a", "b", "c"], ordered=True)})
    for dataset in (nczarr.open(frame), nczarr.from_xarray(frame.to_xarray())):
        assert dataset["c"][:].tolist() == ["b", "a"]
        messages = [each.message for each in dataset.diagnostics if each.code == "pandas-dtype"]
        assert ["order of its categories" in text or "1 of its categories" in text for text in messages] == [True, True]


ZONED = pd.Series(pd.to_datetime(["2000-03-26 00:59:59.123456789Z", None], utc=True)).dt.tz_convert("Europe/Berlin")


@pytest.mark.parametrize("column", [ZONED, ZONED.astype(object)])
def test_times_with_a_zone_are_those_of_utc(column: Any, tmp_path: Path) -> None:
    warnings = nczarr.write(pd.DataFrame({"t": column}), tmp_path / "a.nc")
    assert any("time zone Europe/Berlin" in each.message for each in warnings)
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as peer:
        assert peer["t"].values.tolist() == [954032399123456789, None]
    assert "since" in nczarr.open(tmp_path / "a.nc")["t"].attributes["units"]


def test_durations_and_dates_and_an_index_of_times(tmp_path: Path) -> None:
    index = pd.date_range("2000", periods=2, tz="Asia/Tokyo", name="when")
    frame = pd.DataFrame({"d": pd.to_timedelta([BIG, None], unit="ns")}, index=index)
    frame["day"] = [datetime.date(2000, 1, 1), None]
    nczarr.write(frame, tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4", decode_timedelta=True) as peer:
        assert peer["d"].values[0] == np.timedelta64(BIG, "ns")
        assert np.isnat(peer["d"].values[1])
        assert peer["when"].values[0] == np.datetime64("1999-12-31T15:00")
        assert peer["day"].values[0] == np.datetime64("2000-01-01")
    assert nczarr.open(tmp_path / "a.nc")["day"].attributes["_FillValue"] == np.iinfo("i8").min


def test_a_multi_index_is_a_grid_with_missing_cells(tmp_path: Path) -> None:
    index = pd.MultiIndex.from_tuples([("x", 1), ("y", 2), ("x", 2)], names=["k", "n"])
    frame = pd.DataFrame(
        {"i": [BIG, 2, 3], "s": ["a", None, ""], "b": [True, False, True], "f": [1.5, 2, 3]}, index=index
    )
    nczarr.write(frame, tmp_path / "a.nc")
    found = nczarr.open(tmp_path / "a.nc")
    fill = int(found["i"].attributes["_FillValue"])
    assert found["i"][:].tolist() == [[BIG, 3], [fill, 2]]
    assert found["s"][:].tolist() == [["a", ""], [None, None]]
    assert found["b"][:].tolist() == [[1, 1], [found["b"].attributes["_FillValue"], 0]]
    assert found["b"].attributes["flag_meanings"] == "false true"
    assert np.array_equal(found["f"][:], [[1.5, 3], [np.nan, 2]], equal_nan=True)
    assert (found["k"][:].tolist(), found["n"][:].tolist()) == (["x", "y"], [1, 2])


def test_an_index_beside_a_column_of_its_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"index": [5, 6]})
    nczarr.write(frame, tmp_path / "a.nc")
    found = nczarr.open(tmp_path / "a.nc")
    assert (found["index"][:].tolist(), found["level_0"][:].tolist()) == ([5, 6], [0, 1])
    same = pd.DataFrame({"a": [1, 2]}).set_index("a", drop=False)
    assert nczarr.open(same)["a"][:].tolist() == [1, 2]


TWICE = pd.MultiIndex.from_tuples([("x", 1), ("x", 1)], names=["k", "n"])
HOLE = pd.MultiIndex.from_tuples([("x", 1), (None, 2)], names=["k", "n"])
WIDE = pd.MultiIndex.from_arrays([range(5000), range(5000)], names=["k", "n"])

REFUSED: dict[str, tuple[Any, str, str]] = {
    "integer names": (pd.DataFrame([[1, 2]]), "column 0 is not a text", "columns.map(str)"),
    "tuples": (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("x", 1)])), r"column \('x', 1\)", "join"),
    "duplicates": (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "2 columns have the name 'a'", "frame.columns"),
    "index and column": (pd.DataFrame({"a": [1]}, index=pd.Index([5], name="a")), "have the name 'a'", "rename_axis"),
    "index name": (pd.DataFrame({"a": [1]}, index=pd.Index([5], name=3)), "index 3 is not a text", "rename_axis"),
    "index and series": (pd.Series([5, 6], pd.Index([10, 20], name="s"), name="s"), "have the name 's'", "rename_axis"),
    "lists": (pd.DataFrame({"l": [[1, 2], [3]]}), "column 'l' has values of class `list`", "vlen"),
    "list among numbers": (pd.DataFrame({"l": [1, [3]]}), "column 'l' has values of class `list`", "vlen"),
    "arrays": (pd.DataFrame({"l": [np.arange(2), None]}), "column 'l' has values of class `ndarray`", "vlen"),
    "repeated rows": (pd.DataFrame({"a": [1, 2]}, index=TWICE), r"the index \('x'", "reset_index"),
    "missing level": (pd.DataFrame({"a": [1, 2]}, index=HOLE), "index 'k' has missing", "reset_index"),
    "sparse grid": (pd.DataFrame({"a": range(5000)}, index=WIDE), "25000000 cells for 5000 rows", "reset_index"),
    "periods": (
        pd.DataFrame({"p": pd.period_range("2000", periods=2, freq="M")}),
        "column 'p' has periods",
        "to_times",
    ),
    "intervals": (pd.DataFrame({"p": pd.interval_range(0, 2)}), "column 'p' has intervals", "left"),
    "decimals": (pd.DataFrame({"p": [decimal.Decimal(1)]}), "column 'p' has decimal", "astype"),
    "mixed": (pd.DataFrame({"p": ["a", 1]}), "column 'p' has integers and other", "astype"),
    "text and float": (pd.DataFrame({"p": ["a", 1.5]}), "'p' cannot be encoded", "astype"),
    "beyond 64 bits": (pd.DataFrame({"p": [2**70, None]}, dtype=object), "column 'p' has integers", "astype"),
    "inexact": (pd.DataFrame({"p": [BIG, 1.5]}, dtype=object), "column 'p' has floats, and integers", "astype"),
    "mixed zones": (pd.DataFrame({"p": [ZONED[0], datetime.datetime(2000, 1, 1)]}), "column 'p' has times", "utc=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_dataset_cannot_have_names_the_column_and_a_remedy(name: str, tmp_path: Path) -> None:
    frame, message, remedy = REFUSED[name]
    with pytest.raises(nczarr.CompileError, match=message) as caught:
        nczarr.write(frame, tmp_path / "a.nc")
    assert any(remedy in text for each in caught.value.diagnostics for text in each.helps)
    assert "is already defined" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_names_of_xarray_that_are_not_texts_are_errors_of_their_own() -> None:
    for data in (xr.Dataset({0: ("x", [1]), 1: ("x", [2])}), xr.Dataset({"a": ((0, 1), [[1]])})):
        with pytest.raises(nczarr.CompileError, match=r"0 is not a text(.*\n)*.*rename\({0: '0'}\)") as caught:
            nczarr.from_xarray(data)
        assert {each.code for each in caught.value.diagnostics} == {"bad-name"}
    builder = nczarr.DatasetBuilder()
    with pytest.raises(nczarr.CompileError, match="bad-name: 0 is not a name for a dimension"):
        builder.dimension(0, 1)  # type: ignore[arg-type]


def test_lists_in_objects_of_xarray_name_the_variable_and_the_remedy() -> None:
    lists = np.empty(2, object)
    lists[:] = [[1, 2], [3]]
    dask = pytest.importorskip("dask.array")
    for data in (lists, dask.from_array(lists, chunks=1)):
        with pytest.raises(nczarr.CompileError, match=r"unencodable-variable: .*'l' has values of class `list`"):
            nczarr.from_xarray(xr.Dataset({"l": ("x", data)}))
    builder = nczarr.DatasetBuilder()
    builder.variable("l", builder.vlen("lists", "int64"), [2])
    found = builder.finish({"l": list(lists)})["l"][:]
    assert [each.tolist() for each in found] == [[1, 2], [3]]


def test_attributes_of_frames_and_series_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    frame.attrs = {"title": "T", "levels": [1, 2]}
    nczarr.write(frame, tmp_path / "frame.nc")
    with xr.open_dataset(tmp_path / "frame.nc", engine="netcdf4") as peer:
        assert (peer.attrs["title"], list(peer.attrs["levels"]), peer["a"].attrs) == ("T", [1, 2], {})
    for index in (pd.RangeIndex(2, name="x"), pd.Index([1, None], name="a", dtype="Int64")):
        series = pd.Series(pd.array([1, None], dtype="Int64"), index=index, name="a")
        series.attrs = {"units": "K", "valid_max": 9}
        nczarr.write(series, tmp_path / "series.nc", overwrite=True)
        with xr.open_dataset(tmp_path / "series.nc", engine="netcdf4", decode_cf=False) as peer:
            assert peer["a"].attrs.items() >= {"units": "K", "valid_max": 9, "_FillValue": -(2**63) + 2}.items()
            assert peer.attrs == {}


def test_attributes_that_no_dataset_has_are_errors_with_their_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    for value in (object(), datetime.date(2000, 1, 1), pd.Timestamp("2000"), {1, 2}, 1 + 2j):
        frame.attrs = {"odd": value}
        with pytest.raises(nczarr.CompileError, match="attribute `odd` of group `/`"):
            nczarr.write(frame, tmp_path / "a.nc")
        series = pd.Series([1, 2], name="v")
        series.attrs = {"odd": value}
        with pytest.raises(nczarr.CompileError, match="attribute `odd` of variable `/v`"):
            nczarr.write(series, tmp_path / "a.nc")
    frame.attrs = {3: "x"}
    with pytest.raises(nczarr.CompileError, match="bad-name: 3 is not a name for an attribute"):
        nczarr.write(frame, tmp_path / "a.nc")
    series = pd.Series(pd.array([1, None], dtype="Int64"), name="v")
    series.attrs = {"_FillValue": 1}
    with pytest.raises(nczarr.CompileError, match=r"duplicate-name: column 'v' .* `_FillValue`"):
        nczarr.write(series, tmp_path / "a.nc")
    times = pd.Series(pd.date_range("2000", periods=2), name="t")
    times.attrs = {"units": "K"}
    with pytest.raises(nczarr.CompileError, match=r"variable 't' cannot be encoded: .*units"):
        nczarr.write(times, tmp_path / "a.nc")
    assert list(tmp_path.iterdir()) == []


def test_objects_of_xarray_are_encoded_as_xarray_encodes_them(tmp_path: Path) -> None:
    columns = {
        "numbers": [BIG, 2, None],
        "booleans": [True, None, False],
        "none": [None, None, None],
        "bytes": [b"a", b"bc", b""],
        "texts": ["a", "", "bc"],
    }
    data = xr.Dataset({name: ("x", np.array(values, object)) for name, values in columns.items()})
    data.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4")
    nczarr.write(data, tmp_path / "ours.nc")
    with (
        xr.open_dataset(tmp_path / "theirs.nc", engine="netcdf4", decode_cf=False) as theirs,
        xr.open_dataset(tmp_path / "ours.nc", engine="netcdf4", decode_cf=False) as ours,
    ):
        xr.testing.assert_identical(ours, theirs)
        assert {name: each.dtype for name, each in ours.items()} == {name: each.dtype for name, each in theirs.items()}
    for refused in ([decimal.Decimal(1)], ["a", 1], [1, 1.5], [datetime.date(2000, 1, 1)]):
        with pytest.raises(nczarr.CompileError, match=r"unencodable-variable: .*'v'"):
            nczarr.from_xarray(xr.Dataset({"v": ("x", np.array(refused, object))}))
