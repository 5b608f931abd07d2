"""Row L1: a file of daily maps packed as CMIP7 demands it, against `cmip7repack`, which runs h5repack (goal 0.4)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("plan", "link", "formats/netcdf4")

PEER = "cp a.nc peer.nc && PATH={}:$PATH cmip7repack -o peer.nc"


def make_maps(path: Path, days: int) -> None:
    """Write a variable of 180 × 288 floats in a deflated chunk for each day, with times in chunks of one."""
    import netCDF4

    draw = np.random.default_rng(0)
    mean = draw.normal(280, 10, (180, 288))
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("lat", 180), ("lon", 288), ("bnds", 2)):
            file.createDimension(name, length)
        file.variable_id = "tas"
        time = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        time.units, time.bounds = "days since 1850-01-01", "time_bnds"
        limits = file.createVariable("time_bnds", "f8", ("time", "bnds"), chunksizes=(1, 2))
        for name, length in (("lat", 180), ("lon", 288)):
            file.createVariable(name, "f8", (name,))[:] = np.arange(float(length))
        options = {"zlib": True, "complevel": 4, "chunksizes": (1, 180, 288), "fill_value": np.float32(1e20)}
        maps = file.createVariable("tas", "f4", ("time", "lat", "lon"), **options)
        maps.missing_value = np.float32(1e20)
        time[:] = np.arange(float(days))
        limits[:] = np.arange(2.0 * days).reshape(days, 2)
        for day in range(days):
            maps[day] = (mean + draw.normal(0, 1, mean.shape)).round(1)


def row(folder: Path, quick: bool) -> bool:
    """One file of daily maps to chunks of 4 MiB behind all headers."""
    need("netCDF4", "pyfive", "h5repack", "cmip7_repack")
    import netCDF4

    make_maps(folder / "a.nc", 200 if quick else 2400)
    ours = Side([*OURS, "convert", "a.nc", "ours.nc", "--layout", "cmip7", "-q"], ["ours.nc"])
    tools = os.path.dirname(sys.executable)
    peer = Side(["bash", "-c", PEER.format(tools)], ["peer.nc"])

    def compare() -> str:
        execute([os.path.join(tools, "check_cmip7_packing"), "ours.nc", "peer.nc"], folder)
        with netCDF4.Dataset(folder / "ours.nc") as one, netCDF4.Dataset(folder / "peer.nc") as other:
            for name in one.variables:
                assert np.array_equal(one[name][...], other[name][...]), f"the values of {name} differ"
            return f"both pass the check of packing, {one['tas'].size} values equal"

    return measure("L1", 0.4, peer, ours, folder, compare, rounds=3, peak_goal=349e6)


if __name__ == "__main__":
    main(row)
