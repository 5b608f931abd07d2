"""Small files of the examples in NcML's tutorial and cookbook, and documents about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

NAMESPACE = "http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"


def write_ncml(path: Path, content: str, attributes: str = "") -> str:
    """Write a document with this content of its root; return its path."""
    path.write_text(
        f'<?xml version="1.0"?>\n<netcdf xmlns="{NAMESPACE}" {attributes}>\n{content}\n</netcdf>\n', "utf-8"
    )
    return str(path)


def _axes(dataset: Any) -> None:
    for name, length in (("lat", 3), ("lon", 4)):
        dataset.createDimension(name, length)
        dataset.createVariable(name, "f4", (name,))[:] = np.arange(length)


def write_example1(netcdf: Any, path: Path) -> None:
    with netcdf.Dataset(path, "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("time", None)
        _axes(dataset)
        dataset.title, dataset.History = "Example Data", "written once"
        for name, kind, long_name in (("rh", "i4", "relative humidity"), ("T", "f8", "surface temperature")):
            variable = dataset.createVariable(name, kind, ("time", "lat", "lon"))
            variable.long_name, variable.units = long_name, "percent" if name == "rh" else "C"
            variable[:] = np.arange(24).reshape(2, 3, 4)
        time = dataset.createVariable("time", "i4", ("time",))
        time.units = "hours"
        time[:] = [6, 18]


def write_month(netcdf: Any, path: Path, first: int, days: int, units: str | None = "days since 2000-01-01") -> None:
    """A month with chunks, along the dimension `time`; without `units` it has no coordinate."""
    with netcdf.Dataset(path, "w") as dataset:
        dataset.createDimension("time", days)
        _axes(dataset)
        dataset.title = path.name
        for number, name in enumerate("PT"):
            values = np.random.default_rng(first + number).normal(size=(days, 3, 4))
            dataset.createVariable(name, "f8", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 3, 4))[:] = values
        if units is not None:
            time = dataset.createVariable("time", "i4", ("time",))
            time.units = units
            time[:] = np.arange(first, first + days)


def write_moment(netcdf: Any, path: Path, value: float, **attributes: str) -> None:
    """A file without time."""
    with netcdf.Dataset(path, "w") as dataset:
        _axes(dataset)
        dataset.createVariable("T", "f8", ("lat", "lon"))[:] = np.arange(12).reshape(3, 4) + value
        dataset.setncatts(attributes)


def write_mean(netcdf: Any, path: Path, name: str) -> None:
    with netcdf.Dataset(path, "w") as dataset:
        dataset.createDimension("time", None)
        _axes(dataset)
        dataset.createVariable("time", "f8", ("time",))[:] = [0, 31, 59]
        dataset.createVariable(name, "i2", ("time", "lat", "lon"))[:] = np.arange(36).reshape(3, 3, 4) + len(name)


def write_hour(netcdf: Any, path: Path, value: float, **attributes: str) -> None:
    """One time slice, whose date is in the name of the file alone."""
    with netcdf.Dataset(path, "w") as dataset:
        dataset.createDimension("time", 1)
        _axes(dataset)
        dataset.createVariable("CGusfc", "f4", ("time", "lat", "lon"))[:] = value
        dataset.setncatts(attributes)


def write_examples(netcdf: Any, folder: Path) -> None:
    """Write the files of all examples into a folder."""
    write_example1(netcdf, folder / "example1.nc")
    nc, cg = folder / "nc", folder / "cg"
    nc.mkdir()
    cg.mkdir()
    for name, first, days in (("jan", 0, 31), ("feb", 31, 28)):
        write_month(netcdf, nc / f"{name}.nc", first, days)
    for name in ("cldc", "lflx"):
        write_mean(netcdf, nc / f"{name}.mean.nc", name)
    for number in range(3):
        write_moment(netcdf, nc / f"time{number}.nc", number)
        hour = 12 + number
        end = f"2006-06-07T{hour}:00:00Z"
        write_hour(netcdf, cg / f"CG2006158_{hour}0000h_usfc.nc", number, time_coverage_end=end)
