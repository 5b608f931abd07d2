"""Arrays of other libraries given to the builder: masks are kept as netCDF4 sees them, the rest is a diagnostic."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

Load = Callable[[str], ModuleType]


def built(data: Any, kind: str, shape: tuple[int, ...] = (3,), **more: Any) -> nczarr.DatasetHandle:
    builder = nczarr.DatasetBuilder("t")
    dimensions = [builder.dimension(f"d{number}", length) for number, length in enumerate(shape)]
    builder.variable("v", kind, dimensions, **more)
    return builder.finish(data={"v": data})


def refused(data: Any, kind: str = "int", shape: tuple[int, ...] = (3,), **more: Any) -> nczarr.Diagnostic:
    with pytest.raises(nczarr.CompileError) as caught:
        built(data, kind, shape, **more)
    (found,) = caught.value.diagnostics
    source = found.primary.span.source
    assert source is not None
    assert source.name == __file__
    assert "finish" in source.line_text(source.position(found.primary.span.start)[0])
    return found


MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])


@pytest.mark.parametrize("kind", ["short", "int", "int64", "uint", "float", "double"])
@pytest.mark.parametrize("fill", [None, 9])
def test_masked_cells_are_masked_for_netcdf4(kind: str, fill: int | None, tmp_path: Path, peer: Load) -> None:
    more = {} if fill is None else {"fill_value": fill}
    nczarr.write(built(MASKED, kind, **more), tmp_path / "t.nc", kind="nc4")
    with peer("netCDF4").Dataset(tmp_path / "t.nc") as file:
        found = file["v"][...]
    assert np.ma.getmaskarray(found).tolist() == [False, True, False]
    assert found.compressed().tolist() == [1, 3]


@pytest.mark.parametrize("target", ["t.nc", "t3.nc", "t.zarr", "t3.zarr", "t.json"])
@pytest.mark.parametrize("kind", ["short", "int", "float", "double"])
def test_masked_cells_are_missing_for_xarray(kind: str, target: str, tmp_path: Path, peer: Load) -> None:
    """Readers of plain Zarr know declared fill values alone."""
    xarray = peer("xarray")
    data = built(MASKED, kind)
    formats = {"t3.nc": {"kind": "nc3"}, "t.zarr": {"format": "zarr2"}, "t3.zarr": {"format": "zarr3"}}
    if target == "t.json":
        nczarr.write(data, tmp_path / "of.nc", kind="nc4")
        data = nczarr.open(tmp_path / "of.nc")
    nczarr.write(data, tmp_path / target, **formats.get(target, {}))
    engine = None if target.endswith(".nc") else "nczarr" if target == "t.json" else "zarr"
    more = {"consolidated": False} if engine == "zarr" else {}
    with xarray.open_dataset(tmp_path / target, engine=engine, **more) as found:
        assert np.isnan(found["v"].values).tolist() == [False, True, False]
        assert np.asarray(found["v"].values)[[0, 2]].tolist() == [1, 3]
    (declared,) = [each for each in data.checked.variables["/v"].attributes if each.name == "_FillValue"]
    assert declared.value.count == 1
    assert declared.value.type == kind


def test_only_masked_numbers_declare_a_fill_value(peer: Load) -> None:
    plain = np.ma.array([1, 2, 3], mask=[False, False, False])
    assert "_FillValue" not in built(plain, "int")["v"].attributes
    assert built(MASKED, "int")["v"].attributes["_FillValue"] == -2147483647
    assert built(MASKED, "int", fill_value=9)["v"].attributes["_FillValue"] == 9
    peer("dask")
    import dask.array as da

    assert built(da.ma.masked_equal(da.arange(3, chunks=2), 1), "int")["v"].attributes["_FillValue"] == -2147483647
    assert "_FillValue" not in built(da.arange(3, chunks=2), "int")["v"].attributes


def test_masked_data_of_xarray_objects_declare_a_fill_value(tmp_path: Path, peer: Load) -> None:
    xarray = peer("xarray")
    data = xarray.Dataset({"v": ("x", np.ma.array([1.5, 2.5], mask=[0, 1]))})
    nczarr.write(data, tmp_path / "t.zarr", format="zarr2")
    with xarray.open_dataset(tmp_path / "t.zarr", engine="zarr", consolidated=False) as found:
        assert np.isnan(found["v"].values).tolist() == [False, True]


def test_masked_rows_and_unlimited_dimensions() -> None:
    builder = nczarr.DatasetBuilder("t")
    time = builder.dimension("time", 4, unlimited=True)
    builder.variable("v", "int", [time, 2], fill_value=-1)
    data = np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 1], [1, 0], [0, 0]])
    assert builder.finish(data={"v": data})["v"][...].tolist() == [[1, -1], [-1, 4], [5, 6], [-1, -1]]


@pytest.mark.parametrize("data", [[1, np.ma.masked, 3], [np.ma.array([1]), np.ma.array([2], mask=[1]), [3]]])
def test_lists_with_masked_items(data: list[Any]) -> None:
    shape = (3, 1) if isinstance(data[0], np.ma.MaskedArray) else (3,)
    assert built(data, "int", shape, fill_value=7)["v"][...].ravel().tolist() == [1, 7, 3]


@pytest.mark.parametrize("data", [np.ma.masked, np.ma.array(5, mask=True)])
def test_a_masked_scalar(data: Any) -> None:
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int", [], fill_value=7)
    assert builder.finish(data={"v": data})["v"][...] == 7


def test_large_integers_beside_masked_items_are_exact() -> None:
    assert built([2**63 + 1, np.ma.masked, 3], "uint64", fill_value=7)["v"][...].tolist() == [2**63 + 1, 7, 3]


@pytest.mark.parametrize("kind", ["byte", "ubyte", "char", "string"])
def test_masks_without_a_fill_value_that_readers_know(kind: str) -> None:
    values = ["a", "b", "c"] if kind == "string" else [b"a", b"b", b"c"] if kind == "char" else [1, 2, 3]
    found = refused(np.ma.array(values, mask=[0, 1, 0]), kind)
    assert found.code == "type-mismatch"
    assert "`fill_value`" in found.helps[0]


def test_a_value_that_equals_the_default_fill_value() -> None:
    found = refused(np.ma.array([-2147483647, 2, 3], mask=[0, 1, 0]))
    assert found.code == "value-range"
    assert built(np.ma.array([-2147483647, 2, 3]), "int")["v"][...].tolist() == [-2147483647, 2, 3]


def test_masked_strings_and_records() -> None:
    assert built(np.ma.array(["a", "b"], mask=[0, 1]), "string", (2,), fill_value="?")["v"][...].tolist() == ["a", "?"]
    dtype = [("x", "i4"), ("y", "f8")]
    whole = np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 0), (1, 1)], dtype=dtype)
    part = np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 0), (0, 1)], dtype=dtype)

    def record(data: Any) -> nczarr.DatasetHandle:
        builder = nczarr.DatasetBuilder("t")
        kind = builder.compound("c", {"x": "int", "y": "double"})
        builder.variable("v", kind, [2], fill_value={"x": -1, "y": -1})
        return builder.finish(data={"v": data})

    assert record(whole)["v"][...].tolist() == [(1, 2.0), (-1, -1.0)]
    with pytest.raises(nczarr.CompileError, match="masked in part"):
        record(part)


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "ms", "us", "ns", "ps", "as"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_attributes_and_lists_of_dates_are_refused(unit: str, kind: str) -> None:
    data = np.array([1, 2, 3], "i8").view(f"{kind}[{unit}]")
    assert refused(list(data), "int64").code == "type-mismatch"
    for value in (data, data[0], list(data)):
        builder = nczarr.DatasetBuilder("t")
        for kind_of_values in (None, "int64"):
            with pytest.raises(nczarr.CompileError, match=rf"{data.dtype.name.split('[')[0]}"):
                builder.attribute("a", value, type=kind_of_values)


def test_pandas(peer: Load) -> None:
    pandas = peer("pandas")
    assert built(pandas.Series([1, 2, 3]), "int")["v"][...].tolist() == [1, 2, 3]
    assert built(pandas.Index([1, 2, 3]), "int")["v"][...].tolist() == [1, 2, 3]
    assert built(pandas.Series([1, None, 3], dtype="Int64"), "int", fill_value=9)["v"][...].tolist() == [1, 9, 3]
    assert built(pandas.Series([1.5, None, 3], dtype="Float64"), "double", fill_value=9)["v"][...].tolist() == [
        1.5,
        9,
        3,
    ]
    assert built(pandas.Series(["a", None, "c"]), "string")["v"][...].tolist() == ["a", None, "c"]
    assert built(pandas.Series(["a", "b", "a"], dtype="category"), "string")["v"][...].tolist() == ["a", "b", "a"]
    assert np.isnan(built(pandas.Series([1, np.nan, 3]), "double")["v"][1])
    days = built(pandas.date_range("2000", periods=3), "int64")["v"]
    assert np.diff(days[...]).tolist() in ([86400 * 10**9] * 2, [86400 * 10**6] * 2)
    assert refused(pandas.date_range("2000", periods=3), "string").code == "type-mismatch"
    assert refused(pandas.Series(pandas.date_range("2000", periods=3, tz="UTC")), "int64").code == "type-mismatch"
    assert refused(pandas.Series([True, False, True]), "byte").code == "type-mismatch"
    assert refused(pandas.Series([object()] * 3), "int").code == "type-mismatch"
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int", [2])
    assert builder.finish(data=pandas.DataFrame({"v": [1, 2]}))["v"][...].tolist() == [1, 2]


@pytest.mark.slow
def test_dask_and_xarray(peer: Load) -> None:
    array, xarray = peer("dask.array"), peer("xarray")
    assert built(array.arange(3, chunks=2), "int")["v"][...].tolist() == [0, 1, 2]
    masked = array.ma.masked_equal(array.arange(3, chunks=2), 1)
    assert built(masked, "int", fill_value=9)["v"][...].tolist() == [0, 9, 2]
    assert built(xarray.DataArray([1.0, 2.0, 3.0]), "double")["v"][...].tolist() == [1, 2, 3]
    assert built(xarray.DataArray(array.arange(3)), "int")["v"][...].tolist() == [0, 1, 2]
    broken = array.map_blocks(lambda block: 1 / 0, array.arange(3), dtype="i4", meta=np.array([], "i4"))
    with pytest.raises(ZeroDivisionError):
        built(broken, "int")["v"][...]


def test_variables_of_netcdf4_keep_their_mask(tmp_path: Path, peer: Load) -> None:
    netcdf4 = peer("netCDF4")
    with netcdf4.Dataset(tmp_path / "s.nc", "w") as file:
        file.createDimension("x", 3)
        variable = file.createVariable("v", "i4", ("x",), fill_value=5)
        variable[...] = np.ma.array([1, 2, 3], mask=[0, 1, 0])
        assert built(variable, "int", fill_value=8)["v"][...].tolist() == [1, 8, 3]


def test_attributes_of_other_libraries(peer: Load) -> None:
    pandas, array, xarray = peer("pandas"), peer("dask.array"), peer("xarray")
    builder = nczarr.DatasetBuilder("t")
    given = (pandas.Series([1, 2]), array.arange(2) + 1, xarray.DataArray([1, 2]), pandas.Index([1, 2]))
    for number, value in enumerate(given):
        builder.attribute(f"a{number}", value)
    builder.attribute("texts", pandas.Series(["a", "b"]))
    found = {each.name: each.value for each in builder.finish().dataset.attributes}
    assert all(found[f"a{number}"].as_numbers() == (1, 2) for number in range(4))
    assert found["texts"].data == (b"a", b"b")


@pytest.mark.parametrize("value", [MASKED, np.ma.masked, [1, np.ma.masked]], ids=["array", "item", "list"])
def test_masked_attributes_are_refused(value: Any) -> None:
    builder = nczarr.DatasetBuilder("t")
    with pytest.raises(nczarr.CompileError, match="type-mismatch"):
        builder.attribute("a", value)
    with pytest.raises(nczarr.CompileError, match="type-mismatch"):
        builder.variable("v", "int", fill_value=value)


def test_values_that_are_no_data_at_all() -> None:
    for data in (object(), {1, 2, 3}, (each for each in range(3)), inspect):
        assert refused(data).code == "shape-mismatch"
    for mapping in (5, [1], "v"):
        builder = nczarr.DatasetBuilder("t")
        with pytest.raises(nczarr.CompileError, match="mapping"):
            builder.finish(data=mapping)  # type: ignore[arg-type]
