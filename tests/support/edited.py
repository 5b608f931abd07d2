"""Descriptions of netCDF files by other readers, equal for equal datasets: order, types, attributes and values."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value for comparison: dtype, shape and bytes of arrays."""
    if value is np.ma.masked:
        return "masked"
    if isinstance(value, np.ma.MaskedArray):
        return "masked", plain(value.filled()), plain(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return str(value.dtype.newbyteorder("=")), value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return "objects", value.shape, [plain(item) for item in value.reshape(-1)]
    if isinstance(value, np.generic):
        return str(value.dtype), value.item()
    return type(value).__name__, value


def by_netcdf4(path: Path, *, values: bool = True) -> Any:
    """A file as netCDF4-python shows it."""
    import netCDF4

    def group(one: Any) -> Any:
        return {
            "dimensions": [(name, len(item), item.isunlimited()) for name, item in one.dimensions.items()],
            "types": [list(one.cmptypes), list(one.vltypes), list(one.enumtypes)] if hasattr(one, "cmptypes") else [],
            "attributes": [(name, plain(one.getncattr(name))) for name in one.ncattrs()],
            "variables": [
                (
                    name,
                    str(item.dtype),
                    item.dimensions,
                    [(each, plain(item.getncattr(each))) for each in item.ncattrs()],
                    plain(item[...]) if values else None,
                )
                for name, item in one.variables.items()
            ],
            "groups": [(name, group(item)) for name, item in one.groups.items()],
        }

    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_scale(False)
        return group(dataset)


def by_h5py(path: Path) -> Any:
    """An HDF5 file as h5py shows it: shapes, chunks, filters, values, and the scale of each dimension."""
    import h5py

    hidden = {"REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
    seen: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        attributes = {key: plain(item.attrs[key]) for key in item.attrs if key not in hidden}
        seen[name] = attributes
        if isinstance(item, h5py.Dataset):
            dimensions = [[scale.name for scale in each.values()] for each in item.dims] if not item.is_scale else []
            value = item[()] if item.dtype.kind in "iuf" else None
            facts = (item.shape, item.maxshape, item.dtype.newbyteorder("=").str, item.chunks, item.compression)
            seen[name] = (facts, attributes, dimensions, plain(value))

    with h5py.File(path) as file:
        file.visititems(visit)
    return seen


def by_xarray(path: Path, engine: str, group: str | None = None) -> Any:
    """A group as xarray shows it."""
    import xarray as xr

    with xr.open_dataset(path, engine=engine, group=group, decode_times=False) as dataset:
        return dataset.load()


def by_ncdump(path: Path) -> str:
    """The text of `ncdump -h` without the name."""
    done = subprocess.run(["ncdump", "-h", str(path)], capture_output=True, text=True, check=True)
    return re.sub(r"^netcdf \S+", "netcdf x", done.stdout)
