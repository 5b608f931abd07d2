"""Reads a store, a folder or a zip archive, through zarr-python, xarray and tensorstore.

Answer: {"zarr": {path: {"dtype", "values", "dimensions", "attributes"}}, "groups": {path: attributes},
"xarray": as "zarr", or {"error"} by group, "tensorstore": {path: values or {"error"}}}.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import tensorstore
import xarray
import zarr
from worker import serve

LARGEST = 1 << 20
"""Arrays of more elements are opened, but not read."""


def plain(values: Any) -> Any:
    """Values without the peer's own dtypes: texts of any length become objects."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind == "T" else array


def members(group: zarr.Group, path: str, found: dict[str, Any], groups: dict[str, Any]) -> None:
    groups[path] = dict(group.attrs)
    for name, member in sorted(group.members()):
        inside = f"{path}{name}"
        if isinstance(member, zarr.Group):
            members(member, inside + "/", found, groups)
            continue
        version3 = member.metadata.zarr_format == 3
        names = member.metadata.dimension_names if version3 else member.attrs.get("_ARRAY_DIMENSIONS")
        found[inside] = {
            "dtype": str(member.dtype),
            "values": plain(member[...]) if member.size <= LARGEST else None,
            "dimensions": list(names or ()),
            "attributes": dict(member.attrs),
        }


def through_xarray(path: str, group: str) -> dict[str, Any]:
    found = {}
    options: dict[str, Any] = {"consolidated": False, "group": group or None}
    with xarray.open_zarr(opened(path), decode_cf=False, chunks=None, **options) as dataset:
        for name in dataset.variables:
            variable = dataset[name]
            values = plain(variable.load().values) if variable.size <= LARGEST else None
            attributes = {
                key: value.item() if hasattr(value, "item") else value for key, value in variable.attrs.items()
            }
            found[f"{group}{name}"] = {"dimensions": list(variable.dims), "values": values, "attributes": attributes}
    with xarray.open_dataset(opened(path), engine="zarr", decode_times=False, **options) as dataset:
        for name in dataset.variables:  # with fill values at work
            if dataset[name].size <= LARGEST:
                dataset[name].load()
    return found


def through_tensorstore(path: str, arrays: dict[str, Any], zarr_format: int) -> dict[str, Any]:
    """Values by path; a record of numbers comes field by field."""
    found: dict[str, Any] = {}
    driver = "zarr3" if zarr_format == 3 else "zarr"
    for name, array in arrays.items():
        where: dict[str, Any] = {"driver": "file", "path": os.path.join(path, name)}
        if path.endswith(".zip"):
            where = {"driver": "zip", "base": {"driver": "file", "path": path}, "path": name + "/"}
        spec = {"driver": driver, "kvstore": where}
        try:
            store = tensorstore.open(spec).result()
            found[name] = store.read().result() if store.size <= LARGEST else {"error": "large"}
        except ValueError as error:
            found[name] = {"error": str(error)[:300]}
            if '"field"' in str(error) and array["values"] is not None:
                record = by_field(spec, array["values"].dtype)
                found[name] = found[name] if record is None else record
    return found


def by_field(spec: dict[str, Any], dtype: np.dtype[Any]) -> Any:
    """A record through tensorstore, if all of its fields are numbers; else None."""
    if not all(dtype[name].kind in "iuf" for name in dtype.names or ()):
        return None
    fields = {name: tensorstore.open({**spec, "field": name}).result().read().result() for name in dtype.names or ()}
    made = np.empty(next(iter(fields.values())).shape, dtype)
    for name, values in fields.items():
        made[name] = values
    return made


def opened(path: str) -> Any:
    """The store at a path, as zarr-python wants it."""
    return zarr.storage.ZipStore(path, mode="r") if path.endswith(".zip") else path


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    group = zarr.open_group(opened(path), mode="r", use_consolidated=False)
    members(group, "", found, groups)
    seen: dict[str, Any] = {}
    for inside in groups:
        try:
            seen |= through_xarray(path, inside)
        except Exception as error:
            seen[f"error in {inside}"] = f"{type(error).__name__}: {error}"
    through = through_tensorstore(path, found, group.metadata.zarr_format)
    return {"zarr": found, "groups": groups, "xarray": seen, "tensorstore": through}


if __name__ == "__main__":
    serve(read)
