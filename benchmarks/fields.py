"""The input of rows B1 to B6: one large array in compressed chunks, and how others copy it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness import apart

HERE = Path(__file__).resolve().parent
SIDE = 500
"""Length of a chunk along the two inner dimensions; along the first it is one."""

TYPICAL, SMALL = 2000, 40
"""Chunks of 1 MB, at full size and in a quick run."""


def steps(quick: bool) -> int:
    """Chunks of the input."""
    return SMALL if quick else TYPICAL


def write_file(path: Path, count: int) -> None:
    """A netCDF-4 file of `count` chunks of float, shuffled and deflated to about a quarter, from a seed."""
    import netCDF4
    import numpy as np

    pick = np.random.default_rng(7)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] / 50
    with netCDF4.Dataset(str(path), "w") as dataset:
        dataset.createDimension("time", count)
        dataset.createDimension("y", SIDE)
        dataset.createDimension("x", SIDE)
        dataset.title = "a field"
        variable = dataset.createVariable(
            "t", "f4", ("time", "y", "x"), compression="zlib", complevel=4, shuffle=True, chunksizes=(1, SIDE, SIDE)
        )
        variable.units = "K"
        for number in range(count):
            field = 280 + 10 * np.sin(rows + number / 9) * np.cos(columns) + pick.normal(0, 0.1, (SIDE, SIDE))
            variable[number] = np.round(field, 1)


def make_file(path: Path, count: int) -> None:
    """`write_file` in a process of its own, whose memory would count for those that we start."""

    def work() -> str:
        write_file(path, count)
        return ""

    apart(work)


def xarray_to_zarr(source: str, target: str, compressor: str, *, dask: bool = False) -> list[str]:
    """A command by which xarray writes the same chunks with a codec: `zlib` (and shuffle) or `zstd`."""
    return [sys.executable, str(HERE / "xarray_copy.py"), source, target, compressor, "dask" if dask else ""]


def same_values(one: Any, other: Any, name: str = "t") -> str:
    """Compare the array of two opened datasets (netCDF4 or zarr), block by block. Raises AssertionError."""
    import numpy as np

    mine, theirs = one[name], other[name]
    assert tuple(mine.shape) == tuple(theirs.shape), (mine.shape, theirs.shape)
    for start in range(0, mine.shape[0], 100):
        left, right = np.asarray(mine[start : start + 100]), np.asarray(theirs[start : start + 100])
        assert left.dtype == right.dtype, (left.dtype, right.dtype)
        assert left.tobytes() == right.tobytes(), f"values from {start}"
    return f"{mine.shape[0] * SIDE * SIDE} values equal"


def open_file(path: Path) -> Any:
    """A netCDF file, values as they are."""
    import netCDF4

    dataset = netCDF4.Dataset(str(path))
    dataset.set_auto_maskandscale(False)
    return dataset


def open_store(path: Path, version: int) -> Any:
    """A Zarr group."""
    import zarr

    return zarr.open_group(str(path), mode="r", zarr_format=version)
