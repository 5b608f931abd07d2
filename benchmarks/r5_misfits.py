"""Row R5: netCDF-4 files that do not quite fit, in no order, as one Zarr store, beside xarray's outer join.

Every third file lacks one of nine variables, and every tenth a part of the latitudes. Goal: a fifth of xarray's time,
whole processes. Compared: every value of both stores through xarray. Beside it the peak of memory for ten thousand
files as one document, and for as many that fit.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from harness import OURS, Side, execute, main, measure, need, show

MEASURES = ("link", "formats/netcdf4", "formats/reference", "formats/zarr", "plugins/combine")

MAKE = """
import sys, numpy as np, netCDF4
count, fit = int(sys.argv[1]), sys.argv[2] == "fit"
rng = np.random.default_rng(0)
for number in range(count):
    lats = np.arange(20) if fit or number % 10 else np.arange(2, 20)
    with netCDF4.Dataset(f"{sys.argv[2]}{number:05}.nc", "w") as file:
        file.createDimension("time", None)
        for name, values in (("lat", lats), ("lon", np.arange(30))):
            file.createDimension(name, len(values))
            file.createVariable(name, "f4", (name,))[:] = values
        time = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        time.units = "hours since 2000-01-01"
        time[:] = [number * 7919 % count]
        for each in range(9):
            if each == 3 and number % 3 == 1 and not fit:
                continue
            made = file.createVariable(f"v{each}", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 2, 30))
            made[0] = rng.random((len(lats), 30)).astype("f4")
"""
THEIRS = """
import glob, xarray
options = {"combine": "nested", "concat_dim": "time", "join": "outer", "data_vars": "minimal", "coords": "minimal"}
whole = xarray.open_mfdataset(sorted(glob.glob("odd*.nc")), compat="override", decode_times=False, **options)
whole.sortby("time").chunk(time=1, lat=2, lon=30).drop_encoding().to_zarr("theirs.zarr", zarr_format=2)
"""
COMPARE = """
import xarray
one, other = (xarray.open_zarr(f"{name}.zarr", decode_times=False).load() for name in ("theirs", "ours"))
xarray.testing.assert_equal(one, other[list(one.variables)])
"""
GOAL = 0.2
PEAK = 1.5


def row(folder: Path, quick: bool) -> bool:
    """Time of a store, then memory of a document."""
    need("netCDF4", "xarray", "zarr", "dask")
    count = 12 if quick else 300
    execute([sys.executable, "-c", MAKE, str(count), "odd"], folder)
    ours = [*OURS, "combine", "-q", *_names("odd", count), "ours.zarr", "--along", "time", "--join", "outer"]
    compare = functools.partial(_compare, folder)
    sides = Side([sys.executable, "-c", THEIRS], ["theirs.zarr"]), Side([*ours, "--to", "zarr2"], ["ours.zarr"])
    met = measure("R5", GOAL, *sides, folder, compare, 1 if quick else 3)
    many, peaks = 60 if quick else 10_000, {}
    for kind in ("odd", "fit"):
        execute([sys.executable, "-c", MAKE, str(many), kind], folder)
        command = [*OURS, "combine", "-q", *_names(kind, many), f"{kind}.json", "--along", "time", "--workers", "1"]
        peaks[kind] = execute([*command, *(["--join", "outer"] if kind == "odd" else ["--unsorted"])], folder).peak
    found = {kind: round(peak / 1e6) for kind, peak in peaks.items()}
    return show("R5, memory", [peaks["odd"] / peaks["fit"]], PEAK, files=many, peaks_mb=found) and met


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}{number:05}.nc" for number in range(count)]


def _compare(folder: Path) -> str:
    execute([sys.executable, "-c", COMPARE], folder)
    return "every value of both"


if __name__ == "__main__":
    main(row)
