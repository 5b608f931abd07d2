"""Row K1: a time series at one point of a netCDF-4 file of 2 GB, against `ncks -d` and h5py (goal 2, within 150 MB)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from fields import make_file, steps
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "link", "formats/netcdf4")

SECTION = "(:,0:0,0:0)"

READ = """
import h5py, sys
import numpy as np
name = next(name for name, item in h5py.File("a.nc").items() if isinstance(item, h5py.Dataset) and item.ndim == 3)
np.save("peer.npy", h5py.File("a.nc")[name][:, 0, 0])
"""


def name_of(path: Path) -> str:
    """Return the first variable of three dimensions."""
    import netCDF4

    with netCDF4.Dataset(path) as file:
        return next(name for name, variable in file.variables.items() if variable.ndim == 3)


def row(folder: Path, quick: bool) -> bool:
    """One value of each chunk, against other programs."""
    need("netCDF4", "h5py", "ncks")
    import netCDF4

    make_file(folder / "a.nc", steps(quick))
    name = name_of(folder / "a.nc")
    with netCDF4.Dataset(folder / "a.nc") as file:
        axes = file[name].dimensions[1:]
    ours = Side([*OURS, "convert", "a.nc", "ours.nc", "--var", name, "--section", name + SECTION, "-q"], ["ours.nc"])
    cuts = [word for axis in axes for word in ("-d", f"{axis},0,0")]
    ncks = Side(["ncks", "-O", "-C", *cuts, "-v", name, "a.nc", "ncks.nc"], ["ncks.nc"])

    def values(path: Path) -> np.ndarray:
        if path.suffix == ".npy":
            return np.load(path)
        with netCDF4.Dataset(path) as file:
            return np.ma.getdata(file[name][...]).reshape(-1)

    def compare() -> str:
        one = values(folder / "ours.nc")
        peer = "ncks.nc" if (folder / "ncks.nc").exists() else "peer.npy"
        assert np.array_equal(one, values(folder / peer)), f"the values differ from those of {peer}"
        return f"{one.size} values equal"

    met = measure("K1, ncks", 2.0, ncks, ours, folder, compare, peak_goal=150e6)
    execute(["rm", "-f", "ncks.nc"], folder)
    h5py = Side([sys.executable, "-c", READ], ["peer.npy"])
    return measure("K1, h5py", 2.0, h5py, ours, folder, compare, peak_goal=150e6) and met


if __name__ == "__main__":
    main(row)
