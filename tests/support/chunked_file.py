"""A netCDF-4 file with chunks of every kind, made by the libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

VALUES = np.arange(23 * 31, dtype="<i4").reshape(23, 31) * 7


def write(path: Path) -> None:
    """Write the file. One of its unlimited variables is shorter than its dimension."""
    import h5py
    import netCDF4

    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createDimension("n", None)
        dataset.createDimension("m", 31)
        dataset.createVariable("long", "i2", ("n", "m"), chunksizes=(4, 5))[:23] = VALUES
        dataset.createVariable("short", "i2", ("n", "m"), zlib=True, chunksizes=(4, 5))[:10] = VALUES[:10]
        dataset.createVariable("text", str, ("n",))[:3] = np.array(["a", "bc", ""], object)
    with h5py.File(path, "a") as opened:
        _variables(opened)


def _variables(file: Any) -> None:
    """Write chunked variables of every kind, whose chunks alternate in the file."""
    import h5py

    usual = file.create_dataset("usual", VALUES.shape, "<i4", chunks=(4, 5), compression=1, shuffle=True)
    plain = file.create_dataset("plain", VALUES.shape, ">i4", chunks=(4, 5))
    for start in range(0, 23, 4):
        usual[start : start + 4] = VALUES[start : start + 4]
        plain[start : start + 4] = VALUES[start : start + 4]
    file.create_dataset("contiguous", data=VALUES)
    missing = file.create_dataset("missing", VALUES.shape, "<i4", chunks=(4, 5), compression=1, fillvalue=-5)
    missing[9, 9] = 1
    missing[22, 30] = 2
    file.create_dataset("none", VALUES.shape, "<i4", chunks=(4, 5), compression=1)
    masked = file.create_dataset("masked", data=VALUES, chunks=(4, 5), compression=1, shuffle=True)
    for index in ((0, 0), (8, 10), (20, 30)):
        size = 4 * 5 * 4
        masked.id.write_direct_chunk(index, np.full(size // 4, 77, "<i4").tobytes(), filter_mask=3)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, plist).write(
        h5py.h5s.ALL, h5py.h5s.ALL, np.arange(4, dtype="<i4")
    )
