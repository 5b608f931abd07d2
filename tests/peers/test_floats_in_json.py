"""xarray masks and unpacks what lies in a store as it does in the netCDF file that the store was made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr

TEXT = """netcdf t {
dimensions:
  x = 6 ;
variables:
  float masked(x) ;
    masked:missing_value = 1e20f ;
  float filled(x) ;
    filled:_FillValue = 1e20f ;
  short packed(x) ;
    packed:scale_factor = 0.0024695806f ;
    packed:add_offset = 0.1f ;
    packed:missing_value = -32767s ;
data:
  masked = 1, 1e20, 3, 1e20, 0.1, -0 ;
  filled = 1, _, 3, 1e20, 0.1, -0 ;
  packed = 1, 2, -32767, 4, 32767, -32768 ;
}
"""


@pytest.mark.parametrize("form", ["zarr2", "nczarr", "zarr3", "nczarr3"])
def test_xarray_sees_the_values_of_the_netcdf_file(
    form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    xarray = peer("xarray")
    peer("netCDF4")
    peer("zarr")
    nczarr.write(nczarr.from_cdl(TEXT), tmp_path / "t.nc", "netcdf4")
    options = {"allow_loss": ["all"]} if form.startswith("zarr") else {}
    nczarr.convert(tmp_path / "t.nc", tmp_path / "t.zarr", format=form, **options)
    with (
        xarray.open_dataset(tmp_path / "t.nc", engine="netcdf4") as before,
        xarray.open_zarr(tmp_path / "t.zarr", consolidated=False) as after,
    ):
        for name in ("masked", "filled"):
            assert np.array_equal(before[name].values, after[name].values, equal_nan=True), name
        assert np.isnan(after["masked"].values).tolist() == [False, True, False, True, False, False]
        assert np.isnan(after["filled"].values).tolist() == [False, True, False, True, False, False]
        # JSON has no floats: xarray unpacks in doubles what it unpacks in floats of a netCDF file
        raw = np.array([1, 2, np.nan, 4, 32767, -32768])
        wanted = raw * np.float64(np.float32(0.0024695806)) + np.float64(np.float32(0.1))
        assert np.array_equal(after["packed"].values, wanted, equal_nan=True)
        assert np.allclose(before["packed"].values, wanted, rtol=2e-7, atol=0, equal_nan=True)
        for name in ("scale_factor", "add_offset"):
            assert float(before["packed"].encoding[name]) == float(after["packed"].encoding[name]), name
