"""Values of levels by kind of variable: float16, bools, valid ranges, swaths, byte orders, dimensions in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command

RANGES = """netcdf ranges { dimensions: y = 4 ; x = 4 ; variables:
  byte low(y, x) ; low:valid_range = 0b, 10b ;
  byte unsigned(y, x) ; unsigned:_Unsigned = "true" ; unsigned:valid_max = -56b ;
  ubyte signed(y, x) ; signed:_Unsigned = "false" ; signed:valid_max = 100UB ;
  short packed(y, x) ; packed:valid_min = 0s ; packed:scale_factor = 2. ;
  float measured(y, x) ; measured:valid_range = 0.f, 1.f ; measured:_FillValue = -9.f ;
data:
  low = 99, 99, 1, 2, 99, 99, 3, 99, 5, 5, 6, 6, 5, 7, 6, 6 ;
  signed = 101, 101, 255, 1, 101, 101, 255, 101, 1, 1, 0, 0, 255, 255, 0, 0 ;
  unsigned = -1, -1, -56, -57, -1, -1, -56, -1, 1, 2, 3, 4, 5, 6, 7, 8 ;
  packed = -1, -1, 1, 2, -1, -1, -1, 3, 4, 4, 4, 4, 4, 4, 4, 4 ;
  measured = 2, 2, 0.5, 7, 2, 2, 7, 1, 0, 0, 0, 0, 0, 0, 0, NaN ; }"""


def test_values_beyond_the_valid_ones_are_missing(tmp_path: Path) -> None:
    """A cell without any has the fill value, or the next invalid integer."""
    nczarr.pyramid(nczarr.from_cdl(RANGES), tmp_path / "p.zarr", "zarr3", levels=1)
    level = nczarr.open(tmp_path / "p.zarr/1")
    assert level["low"][:].tolist() == [[-1, 2], [6, 6]]  # 5.5 to even
    assert level["unsigned"][:].tolist() == [[-55, -56], [4, 6]]
    assert level["signed"][:].tolist() == [[101, 0], [0, 0]]
    assert level["packed"][0].tolist()[1] == 2
    assert level["measured"][:].tolist() == [[-9, 0.75], [0, 0]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", ">f8", "bool", ">i2", "<u8", "<c8"])
@pytest.mark.parametrize("dims", [("y", "x"), ("x", "band", "y"), ("time", "y", "x", "band")])
def test_types_and_orders_of_dimensions(dims: tuple[str, ...], dtype: str, tmp_path: Path) -> None:
    """Each kind beside xarray; means are rounded once to the type."""
    xr = pytest.importorskip("xarray")
    lengths = {"time": 2, "y": 9, "x": 5, "band": 3}
    values = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, [lengths[name] for name in dims])
    dataset = xr.Dataset({"t": (dims, values.astype(dtype))}, {"y": np.linspace(3, -5, 9), "x": np.arange(5.0)})
    dataset.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
    nczarr.pyramid(tmp_path / "a.zarr", tmp_path / "p.zarr", "zarr3", levels=2)
    for level in (1, 2):
        found = xr.open_zarr(tmp_path / "p.zarr", group=str(level), consolidated=False)
        assert found["t"].dtype.newbyteorder("=") == np.dtype(dtype).newbyteorder("=")
        assert found["y"].values[0] > found["y"].values[-1]
        windows = {"y": 2**level, "x": 2**level}
        means = dataset["t"].astype("f8" if dtype != "<c8" else "c8").coarsen(windows, boundary="pad").mean().values
        if dtype == "<c8":
            means = dataset["t"].isel(y=slice(None, None, 2**level), x=slice(None, None, 2**level)).values
        elif dtype == "bool":
            continue  # the mode of modes, which is not that of all cells
        elif np.dtype(dtype).kind in "iu":
            means = np.rint(means)
        np.testing.assert_array_equal(found["t"].values, means.astype(dtype))


def test_swaths_have_the_dimensions_of_their_latitudes(tmp_path: Path) -> None:
    text = """netcdf swath { dimensions: line = 4 ; pixel = 4 ; channel = 2 ; variables:
      float lat(line, pixel) ; lat:units = "degrees_north" ; float lon(line, pixel) ; lon:units = "degrees_east" ;
      float t(channel, line, pixel) ; t:coordinates = "lat lon" ; float other(line) ;
      data: lat = 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4 ;
      lon = 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4 ; }"""
    nczarr.pyramid(nczarr.from_cdl(text), tmp_path / "p.zarr", "zarr3", levels=1)
    level: Any = nczarr.open(tmp_path / "p.zarr/1")
    assert level["lat"][:].tolist() == [[1.5, 1.5], [3.5, 3.5]]
    assert level["lon"][:].tolist() == [[1.5, 3.5], [1.5, 3.5]]
    assert level["t"].shape == (2, 2, 2)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 1), (17, 33), (129, 5), (1, 700)])
def test_odd_lengths(shape: tuple[int, int], tmp_path: Path) -> None:
    """Lengths that no factor divides, with any number of levels; `trim` stops before a level would be empty."""
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(1).normal(size=shape)
    xr.Dataset({"t": (("y", "x"), values)}).to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
    nczarr.pyramid(tmp_path / "a.zarr", tmp_path / "p.zarr", "zarr3", levels=4)
    for level in range(1, 5):
        windows = {"y": 2**level, "x": 2**level}
        expected = xr.DataArray(values, dims=("y", "x")).coarsen(windows, boundary="pad").mean().values
        np.testing.assert_allclose(nczarr.open(tmp_path / f"p.zarr/{level}")["t"][:], expected, rtol=1e-13, atol=1e-15)
    ran = run_command(
        "pyramid", str(tmp_path / "a.zarr"), str(tmp_path / "q.zarr"), "--to", "zarr3", "--boundary", "trim"
    )
    assert (ran.status == 0) == (min(shape) > 1), ran.err


@pytest.mark.parametrize("place", ["memory", "icechunk"])
def test_targets_that_are_no_folders(place: str, tmp_path: Path) -> None:
    """Levels are added and updated in every place that `append` extends."""
    pytest.importorskip("icechunk" if place == "icechunk" else "fsspec")
    text = """netcdf d {{ dimensions: time = UNLIMITED ; y = 2 ; x = 2 ;
      variables: double time(time) ; float t(time, y, x) ; data: time = {} ; t = {}, 2, 3, 4 ; }}"""
    url = f"icechunk:{tmp_path}/repository" if place == "icechunk" else f"memory://{tmp_path.name}/s.zarr"
    nczarr.convert(nczarr.from_cdl(text.format(0, 1)), url, "icechunk" if place == "icechunk" else "zarr3")
    nczarr.pyramid(url, levels=1)
    nczarr.append(nczarr.from_cdl(text.format(1, 5)), url, along="time")
    nczarr.pyramid(url, update=True)
    assert nczarr.open(url)["/1/t"][:].tolist() == [[[2.5]], [[3.5]]]
