"""Objects of xarray as datasets: what `to_netcdf` writes we write, and it reads back identical."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

Load = Callable[[str], ModuleType]

pytestmark = pytest.mark.peer


@pytest.fixture
def xr(peer: Load) -> ModuleType:
    for name in ("netCDF4", "zarr", "dask", "cftime"):
        peer(name)
    return peer("xarray")


def _plain(xr: Any) -> Any:
    values = {
        f"v_{dtype}": ("x", np.array([0, 1, 2], dtype))
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", ">i2", ">f8")
    }
    return xr.Dataset(
        values, coords={"x": [1.5, 2.5, 3.5]}, attrs={"title": "ü", "n": 3, "r": 1.5, "l": [1, 2], "s": ["a", "b"]}
    )


def _times(xr: Any) -> Any:
    import cftime
    import pandas as pd

    return xr.Dataset(
        {
            "ns": ("t", np.array(["2000-01-01", "2001-01-01T00:00:00.000000001", "NaT"], "M8[ns]")),
            "s": ("t", np.array(["1700-01-01", "2200-01-01", "2000-01-01"], "M8[s]")),
            "d": ("t", np.array([1, 2, "NaT"], "m8[ms]")),
            "c": ("t", np.array([cftime.DatetimeNoLeap(1, 1, day) for day in (1, 2, 3)])),
        },
        coords={"t": pd.date_range("2000-01-01", periods=3, freq="6h"), "lead": pd.Timedelta("3h")},
    )


def _texts(xr: Any) -> Any:
    return xr.Dataset(
        {
            "u": ("x", ["a", "", "üä€😀"]),
            "o": ("x", np.array(["a", "bcd", "é"], object)),
            "b": ("x", np.array([b"a", b"bcd", b""])),
            "missing": ("x", np.array(["a", None, np.nan], object)),
            "one": ((), "text"),
            "onebyte": ((), b"z"),
            "as_chars": ("x", ["a", "bb", "ccc"], {}, {"dtype": "S1", "char_dim_name": "letters"}),
        }
    )


def _missing(xr: Any) -> Any:
    return xr.Dataset(
        {
            "nan": ("x", [1.0, np.nan, 3.0]),
            "packed": (
                "x",
                [1.0, np.nan, 3.0],
                {"units": "K"},
                {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -9},
            ),
            "unfilled": ("x", [1.0, 2.0, 3.0], {}, {"_FillValue": None}),
            "both": ("x", [1.0, np.nan, 3.0], {}, {"_FillValue": 5.0, "missing_value": 5.0}),
            "unsigned": ("x", [1.0, 254.0, np.nan], {}, {"dtype": "i1", "_Unsigned": "true", "_FillValue": -1}),
            "flag": ("x", [True, False, True]),
            "objects": ("x", np.array([1, 2, None], object)),
        }
    )


def _coordinates(xr: Any) -> Any:
    return xr.Dataset(
        {"a": (("y", "x"), np.arange(6.0).reshape(2, 3)), "b": ("y", [1, 2]), "z": ((), 5)},
        coords={
            "lat": (("y", "x"), np.ones((2, 3))),
            "lon": (("y", "x"), np.ones((2, 3))),
            "height": 2.0,
            "alone": ("w", [1, 2]),
            "x": [1, 2, 3],
        },
    )


def _empty(xr: Any) -> Any:
    return xr.Dataset(
        {"none": ("t", np.zeros(0)), "rows": (("t", "x"), np.zeros((0, 2), "i4")), "texts": ("t", np.array([], "U3"))},
        coords={"x": [1, 2]},
    )


def _enums(xr: Any) -> Any:
    dtype = np.dtype("u1", metadata={"enum": {"clear": 0, "cloudy": 1}, "enum_name": "cloud_t"})
    data = np.array([0, 1, 1], dtype)
    return xr.Dataset({"cloud": ("x", data, {}, {"dtype": dtype}), "again": ("x", data, {}, {"dtype": dtype})})


def _odd_names(xr: Any) -> Any:
    return xr.Dataset(
        {"a b": ("the x", [1, 2]), "ünï": ("the x", [1.0, 2.0]), "a.b-c@d+e": ((), 1), "1st": ((), 1)},
        attrs={"an attribute": 1, "_under": "x"},
    )


CASES = [_plain, _times, _texts, _missing, _coordinates, _empty, _enums, _odd_names]


def read(xr: Any, path: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xr.open_dataset(path, **options).load()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lazy", [False, True], ids=["memory", "dask"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.strip("_"))
@pytest.mark.filterwarnings("ignore")
def test_a_file_is_that_of_to_netcdf(case: Callable[[Any], Any], lazy: bool, tmp_path: Path, xr: Any) -> None:
    data = case(xr)
    data = data.chunk(2) if lazy else data
    data.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4")
    nczarr.write(data, tmp_path / "ours.nc")
    for options in ({}, {"decode_cf": False}):
        ours, theirs = (read(xr, tmp_path / name, engine="netcdf4", **options) for name in ("ours.nc", "theirs.nc"))
        xr.testing.assert_identical(ours, theirs)
        assert {name: each.dtype for name, each in ours.variables.items()} == {
            name: each.dtype for name, each in theirs.variables.items()
        }
        assert list(ours.variables) == list(theirs.variables)
    if case.__name__ == "_enums":  # dask arrays lose the metadata in `to_netcdf`
        found = nczarr.open(tmp_path / "ours.nc")
        assert found["cloud"].type == found["again"].type == "/cloud_t"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.strip("_"))
@pytest.mark.filterwarnings("ignore")
def test_a_classic_file_is_that_of_to_netcdf(case: Callable[[Any], Any], tmp_path: Path, xr: Any) -> None:
    data = case(xr)
    data.attrs.pop("s", None)  # texts in a list, which libnetcdf refuses
    try:
        data.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", format="NETCDF3_64BIT")
    except (ValueError, TypeError, RuntimeError):
        with pytest.raises(nczarr.CompileError):
            nczarr.write(data, tmp_path / "ours.nc", "netcdf3")
        return
    with_nil = case.__name__ == "_texts"
    if with_nil:
        with pytest.raises(nczarr.CompileError, match="lost-nil"):
            nczarr.write(data, tmp_path / "ours.nc", "netcdf3")
    nczarr.write(data, tmp_path / "ours.nc", "netcdf3", allow_loss=["lost-nil"] if with_nil else [])
    for options in ({}, {"decode_cf": False}):
        ours, theirs = (read(xr, tmp_path / name, engine="netcdf4", **options) for name in ("ours.nc", "theirs.nc"))
        xr.testing.assert_identical(ours, theirs)


WITHOUT_NIL = ("zarr2", "zarr3")
"""Formats in which a missing text is an empty one, a loss that the call allows."""


@pytest.mark.sampled(15)
@pytest.mark.parametrize("lazy", [False, True], ids=["memory", "dask"])
@pytest.mark.parametrize("form", ["nczarr", "zarr2", "zarr3", "nczarr3", "netcdf4", "ncstream", "cdl"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.strip("_"))
@pytest.mark.filterwarnings("ignore")
def test_every_format_holds_the_same(
    case: Callable[[Any], Any], form: str, lazy: bool, tmp_path: Path, xr: Any
) -> None:
    data = case(xr)
    handle = nczarr.from_xarray(data.chunk(2) if lazy else data)
    nczarr.write(data.chunk(2) if lazy else data, tmp_path / "t", form, allow_loss=["all"])
    want = nczarr.from_xarray(data)
    found = nczarr.open(tmp_path / "t")
    for path in want:
        if want[path].attributes.get("units") == handle[path].attributes.get("units"):  # of lazy times they differ
            np.testing.assert_array_equal(handle[path][...], want[path][...])
        expected = np.asarray(handle[path][...])
        if form in WITHOUT_NIL and expected.dtype == object:
            expected = np.where(np.equal(expected, None), "", expected)
        np.testing.assert_array_equal(found[path][...], expected, err_msg=path)


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr"])
@pytest.mark.parametrize(
    "value",
    [["a"], [7], [""], [], (), ("a",), np.True_, np.array([True, False]), np.float16(1.5)],
    ids=repr,
)
def test_attributes_of_a_store_are_those_of_to_zarr(value: Any, form: str, tmp_path: Path, xr: Any) -> None:
    data = xr.Dataset({"v": ("x", [1, 2], {"a": value})}, attrs={"a": value})
    nczarr.write(data, tmp_path / "ours.zarr", form)
    data.to_zarr(tmp_path / "theirs.zarr", zarr_format=3 if form == "zarr3" else 2, consolidated=False)
    ours, theirs = (xr.open_zarr(tmp_path / name, consolidated=False) for name in ("ours.zarr", "theirs.zarr"))
    for found, wanted in ((ours, theirs), (ours["v"], theirs["v"])):
        assert repr(found.attrs["a"]) == repr(wanted.attrs["a"])


def test_booleans_that_are_objects(tmp_path: Path, xr: Any) -> None:
    data = xr.Dataset({"v": ("x", np.array([True, False], object))})
    for name in ("t.zarr", "t.nc"):
        nczarr.write(data, tmp_path / name)
        with xr.open_dataset(tmp_path / name) as found:
            assert found["v"].dtype == bool
            assert found["v"].values.tolist() == [True, False]
