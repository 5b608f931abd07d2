"""Files to combine, made with netCDF4-python and h5py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

TIMES = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))


Maker = Callable[[Any, tuple[int, ...]], None]


def records(dataset: Any, times: tuple[int, ...]) -> None:
    """A record dimension, whatever the format."""
    axes(dataset, None)
    dataset["time"][:] = times
    fill(dataset.createVariable("v", "i2", ("time", "y", "x")), times)
    fill(dataset.createVariable("odd", "i1", ("time",)), times)


def chunked(dataset: Any, times: tuple[int, ...]) -> None:
    """Chunks, filters, and a grid that ends within the last source."""
    axes(dataset, None)
    dataset["time"][:] = times
    made = dataset.createVariable(
        "v", "f4", ("time", "y", "x"), zlib=True, fletcher32=True, chunksizes=(4, 2, 5), fill_value=-1
    )
    fill(made, times)
    fill(dataset.createVariable("w", "u8", ("x", "time"), chunksizes=(3, 2)), times)


def contiguous(dataset: Any, times: tuple[int, ...]) -> None:
    """Fixed dimensions, nothing chunked."""
    axes(dataset, len(times))
    dataset["time"][:] = times
    fill(dataset.createVariable("v", ">f8", ("time", "y", "x"), endian="big"), times)
    fill(dataset.createVariable("w", "i4", ("y", "time")), times)
    dataset.createVariable("s", "i4", ())[...] = 7


def axes(dataset: Any, length: int | None) -> None:
    dataset.createDimension("time", length)
    dataset.createDimension("y", 3)
    dataset.createDimension("x", 5)
    dataset.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
    dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)


def fill(variable: Any, times: tuple[int, ...]) -> None:
    """Values that tell of their time and place."""
    variable.set_auto_maskandscale(False)
    axis = variable.dimensions.index("time")
    shape = [{"time": len(times), "y": 3, "x": 5}[name] for name in variable.dimensions]
    places = np.arange(int(np.prod(shape)) // len(times)).reshape([n for at, n in enumerate(shape) if at != axis])
    variable[:] = np.stack([places + 20 * time for time in times], axis)


def files(peer: Callable[[str], ModuleType], folder: Path, make: Maker, form: str = "NETCDF4") -> list[str]:
    found = []
    for number, times in enumerate(TIMES):
        path = str(folder / f"{number}.nc")
        with peer("netCDF4").Dataset(path, "w", format=form) as dataset:
            make(dataset, times)
        found.append(path)
    return found
