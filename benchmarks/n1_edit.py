"""Row N1: one attribute of a netCDF-4 file of 20 GB, changed where it lies, against `ncatted` and netCDF4-python.

The values are contiguous, and 1,000 of them were written, so that the file takes little room on the disk. Goals: twice
the time of netCDF4-python, and 20 times that of `ncatted`, which ends before an interpreter has started; whole
processes, ours with an undo file. Compared: the attributes, the written values, and the size of the file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness import OURS, Side, apart, main, measure, need

MEASURES = ("plugins/edit",)

TYPICAL, SMALL = 5_000_000_000, 250_000_000
"""Values of four bytes."""
WRITTEN = 1000
GOALS = {"netCDF4": 2.0, "ncatted": 20.0}

NETCDF4 = """
import sys, netCDF4
with netCDF4.Dataset("peer.nc", "r+") as file:
    file["v"].setncattr("comment", sys.argv[1])
"""
TEXT = "text-$(date +%s%N)"
"""The new text of the attribute, in words of the shell: another one in each run."""


def make(path: Path, count: int) -> str:
    """Write the file; its length is that of the values."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w") as file:
        file.set_fill_off()
        file.createDimension("x", count)
        values = file.createVariable("v", "f4", ("x",), contiguous=True, fill_value=False)
        values.units, values.comment = "m s-1", "before"
        values[:: count // WRITTEN] = np.arange(WRITTEN)
    return ""


def compare(folder: Path, size: int) -> str:
    """Read both files by netCDF4-python. Raises AssertionError."""
    import netCDF4

    for name in ("ours.nc", "peer.nc"):
        with netCDF4.Dataset(folder / name) as file:
            values = file["v"]
            assert values.comment.startswith("text-"), name
            assert values.units == "m s-1", name
            assert values[:: values.size // WRITTEN].tolist() == list(range(WRITTEN)), name
    grown = (folder / "ours.nc").stat().st_size - size
    assert 0 <= grown < 1 << 16, f"{grown} bytes more"
    return f"the attribute, {WRITTEN} values, the size ({grown} bytes more)"


def row(folder: Path, quick: bool) -> bool:
    """The same attribute by each program."""
    need("netCDF4", "h5py", "ncatted")
    for name in ("ours.nc", "peer.nc"):
        apart(lambda name=name: make(folder / name, SMALL if quick else TYPICAL))
    size = (folder / "ours.nc").stat().st_size
    edit = f"exec {' '.join(OURS)} edit ours.nc --set '/v@comment=\"'{TEXT}'\"' --undo-file undo.json -q"
    peers = {
        "netCDF4": f"exec {sys.executable} -c '{NETCDF4}' {TEXT}",
        "ncatted": f"exec ncatted -h -O -a comment,v,o,c,{TEXT} peer.nc",
    }
    ours = Side(["sh", "-c", edit], ["undo.json"])
    met = True
    for name, peer in peers.items():
        side = Side(["sh", "-c", peer])
        met &= measure(f"N1, {name}", GOALS[name], side, ours, folder, lambda: compare(folder, size))
    return met


if __name__ == "__main__":
    main(row)
