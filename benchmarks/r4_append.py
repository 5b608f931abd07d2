"""Row R4: twelve monthly files appended one by one to a Zarr v3 store, beside xarray's `to_zarr(append_dim=)`.

Goal: half of xarray's time, whole processes that append all twelve in turn. The files are netCDF-4 with zlib, the
store has their chunks and codecs, so that we copy chunks and xarray decodes and encodes them. The last chunk of a month
is incomplete, except for some months. Compared: every value of both stores through xarray.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from harness import Side, execute, main, measure, need

MEASURES = ("link", "formats/netcdf4", "formats/zarr", "plugins/combine")

MAKE = """
import sys, numpy as np, xarray as xr
days, y, x = int(sys.argv[1]), 180, 360
for month in range(13):
    rng, time = np.random.default_rng(month), np.arange(days) + month * days
    base = rng.normal(280, 10, (1, y, x)).astype("f4")
    temp = (base + np.round(rng.normal(0, 2, (days, y, x)), 1)).astype("f4")
    data = xr.Dataset({"temp": (("time", "lat", "lon"), temp, {"units": "K"}),
                       "rain": (("time", "lat", "lon"), np.round(temp - 270, 0).astype("i2"), {"units": "mm"})},
                      coords={"time": ("time", time.astype("f8"), {"units": "days since 2000-01-01"}),
                              "lat": np.arange(y, dtype="f4"), "lon": np.arange(x, dtype="f4")})
    own = {"zlib": True, "complevel": 4, "chunksizes": (CHUNK, 90, 180)}
    data.to_netcdf(f"month{month}.nc", encoding={"temp": own, "rain": own}, unlimited_dims=["time"])
"""
THEIRS = """
import shutil, xarray as xr
shutil.copytree("start.zarr", "theirs.zarr")
for month in range(1, 13):
    with xr.open_dataset(f"month{month}.nc", decode_times=False) as data:
        data.drop_encoding().to_zarr("theirs.zarr", append_dim="time", consolidated=False)
"""
OURS = """
import shutil, nczarr
shutil.copytree("start.zarr", "ours.zarr")
for month in range(1, 13):
    nczarr.append(f"month{month}.nc", "ours.zarr", along="time")
"""
COMPARE = """
import numpy as np, xarray as xr
one, other = (xr.open_zarr(f"{name}.zarr", consolidated=False, decode_times=False) for name in ("theirs", "ours"))
assert one.sizes["time"] == 13 * xr.open_dataset("month0.nc").sizes["time"]
xr.testing.assert_identical(one.load(), other.load())
"""
GOAL = 0.5


def row(folder: Path, quick: bool) -> bool:
    """Chunks that fit the months, which are copied; and chunks that do not."""
    need("netCDF4", "xarray", "zarr")
    days = 6 if quick else 30
    met = []
    for name, chunk in (("R4, chunks that fit", 3), ("R4, incomplete chunks", 4)):
        place = folder / f"chunk{chunk}"
        place.mkdir()
        execute([sys.executable, "-c", MAKE.replace("CHUNK", str(chunk)), str(days)], place)
        execute([sys.executable, "-m", "nczarr", "convert", "-q", "month0.nc", "start.zarr", "--to", "zarr3"], place)
        theirs = Side([sys.executable, "-c", THEIRS], ["theirs.zarr"])
        ours = Side([sys.executable, "-c", OURS], ["ours.zarr"])
        compare = functools.partial(_compare, place)
        met.append(measure(name, GOAL, theirs, ours, place, compare, rounds=3 if quick else 5))
    return all(met)


def _compare(folder: Path) -> str:
    execute([sys.executable, "-c", COMPARE], folder)
    return "every value"


if __name__ == "__main__":
    main(row)
