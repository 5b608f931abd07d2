"""Files with many small chunks."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def make_chunky(path: Path, count: int, length: int, most: int = 100_000) -> None:
    import netCDF4

    random_numbers = np.random.default_rng(5)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", count + 5)
        file.createDimension("x", length)
        variable = file.createVariable("v", "i4", ("t", "x"), chunksizes=(1, length), zlib=True, complevel=1)
        variable.units = "K"
        for start in range(0, count, 50):
            stop = min(count, start + 50)
            variable[start:stop] = random_numbers.integers(0, most, (stop - start, length))
        file.createGroup("g").createVariable("s", str, ("t",))[0] = "text"
