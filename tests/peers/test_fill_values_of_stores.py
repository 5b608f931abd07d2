"""Missing cells of Zarr v2 stores of xarray, which state a `_FillValue` as the fill value alone, in every target."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.stores.references import ReferenceStore
from tests.conftest import run_command

VALUES: dict[str, tuple[np.ndarray[Any, Any], dict[str, Any]]] = {
    "count": (np.array([1, 2, -9, 4], "i4"), {"_FillValue": -9}),
    "packed": (np.array([1, 2, np.nan, 4]), {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -1}),
    "class": (np.array([1, 255, 3, 4], "u1"), {"_FillValue": 255}),
    "zero": (np.array([0, 1, 2, 0], "i2"), {"_FillValue": 0}),
    "default": (np.array([1, -2147483647, 3, 4], "i4"), {"_FillValue": -2147483647}),
    "wind": (np.array([1, 9.969209968386869e36, 3, 4], "f4"), {"_FillValue": np.float32(9.969209968386869e36)}),
    "real": (np.array([1, np.nan, 3, 4]), {}),
    "flag": (np.array([True, False, True, False]), {}),
    "whole": (np.array([0, 1, 2, 3], "i8"), {"_FillValue": None}),
}
"""Values and xarray's encoding by variable."""


@pytest.fixture
def store(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    xarray = peer("xarray")
    made = xarray.Dataset({name: ("x", values) for name, (values, _) in VALUES.items()})
    for name, (_, encoding) in VALUES.items():
        made[name].encoding.update(encoding)
    made.to_zarr(tmp_path / "a.zarr", zarr_format=2)
    return tmp_path / "a.zarr"


@pytest.mark.parametrize("form", ["netcdf4", "zarr2", "zarr3", "nczarr", "nczarr3"])
def test_xarray_masks_the_same_cells_of_the_target(
    store: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    xarray, target = peer("xarray"), tmp_path / ("t.nc" if form == "netcdf4" else "t.zarr")
    nczarr.convert(store, target, form)
    engine: dict[str, Any] = {"engine": "netcdf4"} if form == "netcdf4" else {"engine": "zarr", "consolidated": False}
    with xarray.open_dataset(store, engine="zarr") as before, xarray.open_dataset(target, **engine) as after:
        for name in VALUES:
            np.testing.assert_array_equal(after[name].values, before[name].values, err_msg=name)
    assert nczarr.diff(store, target) == []


@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_xarray_masks_the_constant_of_an_enum(form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    text = """netcdf e {types: byte enum E {A = 0, U = 127}; dimensions: x = 3;
        variables: E v(x); E v:_FillValue = U; E v:other = A; data: v = A, U, A;}"""
    nczarr.write(nczarr.from_cdl(text), tmp_path / "e.zarr", form)
    with peer("xarray").open_dataset(tmp_path / "e.zarr", engine="zarr", consolidated=False) as opened:
        np.testing.assert_array_equal(opened["v"].values, [0, np.nan, 0])
    assert nczarr.diff(tmp_path / "e.zarr", nczarr.from_cdl(text)) == []


def test_the_engine_masks_as_that_of_zarr(store: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray = peer("xarray")
    with xarray.open_dataset(store, engine="zarr") as one, xarray.open_dataset(store, engine="nczarr") as other:
        for name in VALUES:
            np.testing.assert_array_equal(other[name].values, one[name].values, err_msg=name)


def test_netcdf_is_appended_to_the_store_of_its_values(store: Path, tmp_path: Path, peer: Any) -> None:
    xarray = peer("xarray")
    with xarray.open_dataset(store, engine="zarr") as opened:
        count = opened[["count"]].load()
    count.to_netcdf(tmp_path / "more.nc", unlimited_dims=["x"])
    count.to_zarr(tmp_path / "b.zarr", zarr_format=2)
    ran = run_command("append", str(tmp_path / "more.nc"), str(tmp_path / "b.zarr"), "--along", "x")
    assert (ran.status, "masking-fill" in ran.err) == (0, False)
    with xarray.open_dataset(tmp_path / "b.zarr", engine="zarr") as joined:
        np.testing.assert_array_equal(joined["count"].values, [1, 2, np.nan, 4] * 2)


def test_another_fill_value_beside_the_attribute_is_named(tmp_path: Path) -> None:
    """Netcdf masks the attribute and xarray the fill value: a change of it is not silent."""
    array = '{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": -5, "order": "C",'
    documents = {
        ".zgroup": '{"zarr_format": 2}',
        "v/.zarray": array + ' "filters": null, "compressor": null}',
        "v/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": -9}',
    }
    (tmp_path / "a.zarr/v").mkdir(parents=True)
    for name, text in documents.items():
        (tmp_path / "a.zarr" / name).write_text(text)
    for command in (("digest",), ("check",), ("dump", "-h")):
        assert "masking-fill" in run_command(*command, str(tmp_path / "a.zarr")).err


REFERENCES = [
    ([(-9, None), (0, None), (None, None)], [-9, 0, None]),  # of kerchunk: null where there is no `_FillValue`
    ([(-9, -9), (0, None), (7, None)], [-9, None, None]),  # the attributes tell: fill values are those of HDF5
    ([(-9, None), (0, None), (-2147483647, None)], [-9, None, None]),  # neither: not zeros, nor netCDF's defaults
]
"""Fill values and attributes `_FillValue` of three arrays, and the `_FillValue`s that are read."""


@pytest.mark.parametrize(("stated", "found"), REFERENCES)
def test_fill_values_of_references(stated: Any, found: Any, tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<i4", "order": "C"}
    array |= {"filters": None, "compressor": None}
    documents = {".zgroup": '{"zarr_format": 2}'}
    for name, (fill, attribute) in zip("abc", stated, strict=True):
        attributes: dict[str, Any] = {"_ARRAY_DIMENSIONS": ["x"]}
        attributes |= {} if attribute is None else {"_FillValue": attribute}
        documents[f"{name}/.zarray"] = json.dumps({**array, "fill_value": fill})
        documents[f"{name}/.zattrs"] = json.dumps(attributes)
        documents[f"{name}/0"] = "base64:BQAAAA=="
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": documents}))
    with nczarr.open(tmp_path / "refs.json") as opened:
        assert [opened[f"/{name}"].attributes.get("_FillValue") for name in "abc"] == found


def test_masks_of_references_list_no_keys_of_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator makes millions of them from few bytes."""
    array = '{"zarr_format": 2, "shape": [3], "chunks": [1], "dtype": "<i4", "fill_value": 7, "order": "C",'
    refs = {".zgroup": '{"zarr_format": 2}', "g/.zgroup": '{"zarr_format": 2}'}
    refs["g/a/.zarray"] = array + ' "filters": null, "compressor": null}'
    refs["g/a/.zattrs"] = '{"_ARRAY_DIMENSIONS": ["x"]}'
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("all keys are listed")

    monkeypatch.setattr(ReferenceStore, "keys", refuse)
    with nczarr.open(tmp_path / "refs.json") as opened:
        assert opened["/g/a"].attributes["_FillValue"] == 7
