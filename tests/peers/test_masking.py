"""Values that equal netCDF's default fill values, in stores of Zarr v2: no reader masks what the source does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.semantics.check_types import DEFAULT
from tests.conftest import run_command

FORMATS = ("nczarr", "zarr2")
TYPES = {
    "byte": "i1", "ubyte": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "int64": "i8",
    "uint64": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
DTYPES = tuple(TYPES.values())


def values(dtype: str) -> Any:
    """Eight values of a type, with its default fill value, its limits, and integers that no float64 holds."""
    name = next(name for name, each in TYPES.items() if each == dtype)
    rest = [0, 1, 2, 3, 4]
    if dtype in ("i8", "u8"):
        rest[0] = 2**53 + 1
    limits = np.finfo(dtype) if dtype[0] == "f" else np.iinfo(dtype)
    return np.array([DEFAULT[name], limits.min, limits.max, *rest], dtype)


def source(netcdf4: ModuleType, path: Path, dtype: str, kind: str) -> None:
    """Write a file with one variable: dense or sparse, with a fill value, or in the mode without."""
    with netcdf4.Dataset(path, "w") as file:
        file.createDimension("x", 8)
        options: dict[str, Any] = {"chunksizes": (4,)} if kind == "sparse" else {}
        fill = {"filled": 1, "nofill": False}.get(kind)
        variable = file.createVariable("v", dtype, ("x",), fill_value=fill, **options)
        variable.set_auto_maskandscale(False)
        if kind == "sparse":
            variable[:4] = values(dtype)[:4]
        else:
            variable[:] = values(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "filled", "nofill"])
def test_readers_see_the_values_of_the_file(
    form: str, kind: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    netcdf4, xarray, zarr = peer("netCDF4"), peer("xarray"), peer("zarr")
    for dtype in DTYPES:
        path, target = tmp_path / f"{dtype}.nc", tmp_path / f"{dtype}.zarr"
        source(netcdf4, path, dtype, kind)
        with netcdf4.Dataset(path) as file:
            file.set_auto_mask(False)
            plain = file["v"][:]
        done = run_command("convert", str(path), str(target), "--to", form, "-q")
        assert (done.status, "masking-fill" in done.err) == (0, False)
        array = zarr.open_group(target)["v"]
        assert array.fill_value == (1 if kind == "filled" else None)
        np.testing.assert_array_equal(array[:], plain)
        with xarray.open_dataset(path, engine="netcdf4") as one, xarray.open_zarr(target, consolidated=False) as other:
            assert other["v"].dtype == one["v"].dtype
            np.testing.assert_array_equal(other["v"].values, one["v"].values)
        if form == "nczarr":
            with netcdf4.Dataset(f"{target.as_uri()}#mode=nczarr,file") as file:
                file.set_auto_mask(False)
                np.testing.assert_array_equal(file["v"][:], plain)
                assert ("_FillValue" in file["v"].ncattrs()) == (kind == "filled")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["dense", "sparse", "filled", "nofill"])
def test_stores_of_netcdf_are_exact(kind: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf4 = peer("netCDF4")
    for dtype in ("u1", "i8", "f4"):
        path, store, back = (str(tmp_path / f"{dtype}{suffix}") for suffix in (".nc", ".zarr", "-2.nc"))
        source(netcdf4, Path(path), dtype, kind)
        nczarr.convert(path, store)
        nczarr.convert(store, back)
        assert not nczarr.diff(path, store, storage=True)
        assert not nczarr.diff(path, back, storage=True)
        assert nczarr.digest(path) == nczarr.digest(store) == nczarr.digest(back)


@pytest.mark.parametrize("form", FORMATS)
def test_xarray_objects_come_back_as_from_their_own_writer(
    form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    xarray = peer("xarray")
    dataset = xarray.Dataset({dtype: ("x", values(dtype)) for dtype in DTYPES})
    dataset["empty"] = ("t", np.zeros(0, "u1"))
    dataset.to_zarr(tmp_path / "own.zarr", zarr_format=2)
    nczarr.write(dataset, tmp_path / "t.zarr", form)
    with (
        xarray.open_zarr(tmp_path / "own.zarr") as own,
        xarray.open_zarr(tmp_path / "t.zarr", consolidated=False) as other,
    ):
        xarray.testing.assert_identical(own.compute(), other.compute().drop_attrs())
        assert {name: each.dtype for name, each in own.items()} == {name: each.dtype for name, each in other.items()}


def test_a_fill_value_for_missing_chunks_is_announced(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """The missing chunks of a large array are not written, and their value is masked by xarray."""
    netcdf4, xarray = peer("netCDF4"), peer("xarray")
    path, target = tmp_path / "t.nc", tmp_path / "t.zarr"
    with netcdf4.Dataset(path, "w") as file:
        file.createDimension("x", 1 << 24)
        file.createVariable("v", "u2", ("x",), chunksizes=(1 << 20,))[: 1 << 20] = 7
    done = run_command("convert", str(path), str(target))
    assert done.status == 0
    assert "masking-fill" in done.err
    assert json.loads((target / "v" / ".zarray").read_text())["fill_value"] == 65535
    assert sorted(each.name for each in (target / "v").iterdir() if each.name[0] != ".") == ["0"]
    assert not nczarr.diff(path, target)
    with xarray.open_zarr(target, consolidated=False) as dataset:
        assert np.isnan(dataset["v"][-1])
