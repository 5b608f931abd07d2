"""Row R6: 58 monthly netCDF-4 files to one Zarr v3 store with other chunks, zstd and shards, beside xarray.

The files have a deflated chunk for each of 30 days; the store has chunks of (174, 60, 60) in shards of (348, 180, 360),
so that every value is decoded and encoded again. The peer is `open_mfdataset` and `to_zarr` with dask's threads, and
compares nothing that the files share. Goal: half of its time, whole processes. Compared: every value of both stores.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness import OURS, Side, apart, main, measure, need

MEASURES = ("arrays", "link", "formats/netcdf4", "formats/zarr", "plugins/combine")

MONTHS, DAYS, LAT, LON = 58, 30, 180, 360
GOAL, PEAK = 0.5, 1.3 * (1 << 30)
"""The memory that is allowed by default is 1 GiB."""

PEER = """
import glob, sys, xarray as xr
from zarr.codecs import ZstdCodec
chunks, shards = ([int(each) for each in words.split(",")] for words in sys.argv[1:])
own = {"chunks": chunks, "shards": shards, "compressors": ZstdCodec(level=3)}
options = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal", "coords": "minimal"}
files = sorted(glob.glob("m*.nc"))
with xr.open_mfdataset(files, compat="override", join="override", decode_cf=False, **options) as data:
    data = data.drop_encoding().chunk(dict(zip(("time", "lat", "lon"), shards)))
    data.to_zarr("peer.zarr", zarr_format=3, consolidated=False, encoding={"temp": own})
"""


def make(folder: Path, days: int) -> str:
    """Write the files, with one variable."""
    import netCDF4
    import numpy as np

    pick = np.random.default_rng(1)
    mean = pick.normal(280, 10, (LAT, LON))
    for month in range(MONTHS):
        with netCDF4.Dataset(folder / f"m{month:02}.nc", "w") as file:
            for name, length in (("time", None), ("lat", LAT), ("lon", LON)):
                file.createDimension(name, length)
                axis = file.createVariable(name, "f8", (name,), chunksizes=(length or 512,))
                axis.units = {"time": "days since 2000-01-01", "lat": "degrees_north", "lon": "degrees_east"}[name]
                axis[:] = np.arange(length or days) + (0 if length else month * days)
            options = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, LAT, LON)}
            values = file.createVariable("temp", "f4", ("time", "lat", "lon"), **options)
            values.units = "K"
            values[:] = (mean + pick.normal(0, 2, (days, LAT, LON))).round(1)
    return ""


def compare(folder: Path) -> str:
    """Every value of both stores, and the coordinates. Raises AssertionError."""
    import zarr

    ours, theirs = (zarr.open_group(folder / f"{name}.zarr", mode="r") for name in ("ours", "peer"))
    for name in ("time", "lat", "lon", "temp"):
        assert ours[name][:].tobytes() == theirs[name][:].tobytes(), name
    assert (ours["temp"].chunks, ours["temp"].shards) == (theirs["temp"].chunks, theirs["temp"].shards)
    return f"{ours['temp'].size} values equal"


def row(folder: Path, quick: bool) -> bool:
    """One store of all files."""
    need("netCDF4", "xarray", "zarr", "dask")
    days = 3 if quick else DAYS
    apart(lambda: make(folder, days))
    chunks, shards = f"{MONTHS * days // 10},60,60", f"{MONTHS * days // 5},{LAT},{LON}"
    files = [f"m{month:02}.nc" for month in range(MONTHS)]
    command = [*OURS, "combine", "-q", *files, "ours.zarr", "--along", "time", "--to", "zarr3", "--codec", "zstd:3"]
    ours = Side([*command, "--chunks", f"/temp={chunks}", "--shards", f"/temp={shards}"], ["ours.zarr"])
    peer = Side([sys.executable, "-c", PEER, chunks, shards], ["peer.zarr"])
    return measure("R6", GOAL, peer, ours, folder, lambda: compare(folder), rounds=3, peak_goal=PEAK)


if __name__ == "__main__":
    main(row)
