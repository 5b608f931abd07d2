"""Reads a store through zarr-python, xarray and tensorstore.

Answer: {"zarr": {path: {"dtype", "values", "dimensions", "attributes"}}, "xarray": the same or {"error"} by group,
"tensorstore": {path: values or {"error"}}}.
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


def members(group: zarr.Group, path: str, found: dict[str, Any], groups: list[str]) -> None:
    groups.append(path)
    for name, member in sorted(group.members()):
        inside = f"{path}{name}"
        if isinstance(member, zarr.Group):
            members(member, inside + "/", found, groups)
            continue
        found[inside] = {
            "dtype": str(member.dtype),
            "values": plain(member[...]) if member.size <= LARGEST else None,
            "dimensions": list(member.metadata.dimension_names or ())
            if member.metadata.zarr_format == 3
            else list(member.attrs.get("_ARRAY_DIMENSIONS", [])),
            "attributes": dict(member.attrs),
        }


def through_xarray(path: str, group: str) -> dict[str, Any]:
    found = {}
    options: dict[str, Any] = {"consolidated": False, "group": group or None}
    with xarray.open_zarr(path, decode_cf=False, chunks=None, **options) as dataset:
        for name in dataset.variables:
            variable = dataset[name]
            values = plain(variable.load().values) if variable.size <= LARGEST else None
            found[f"{group}{name}"] = {"dimensions": list(variable.dims), "values": values}
    with xarray.open_dataset(path, engine="zarr", decode_times=False, **options) as dataset:
        for name in dataset.variables:  # with fill values at work
            if dataset[name].size <= LARGEST:
                dataset[name].load()
    return found


def through_tensorstore(path: str, names: list[str], zarr_format: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    driver = "zarr3" if zarr_format == 3 else "zarr"
    for name in names:
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": os.path.join(path, name)}}
        try:
            store = tensorstore.open(spec).result()
            found[name] = store.read().result() if store.size <= LARGEST else {"error": "large"}
        except ValueError as error:
            found[name] = {"error": str(error)[:300]}
    return found


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    groups: list[str] = []
    zarr_format = 3 if os.path.exists(os.path.join(path, "zarr.json")) else 2
    members(zarr.open_group(path, mode="r", zarr_format=zarr_format, use_consolidated=False), "", found, groups)
    seen: dict[str, Any] = {}
    for group in groups:
        try:
            seen |= through_xarray(path, group)
        except Exception as error:
            seen[f"error in {group}"] = f"{type(error).__name__}: {error}"
    return {"zarr": found, "xarray": seen, "tensorstore": through_tensorstore(path, list(found), zarr_format)}


if __name__ == "__main__":
    serve(read)
