"""Comparison of what two engines of xarray show of one dataset."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

SILENT = {"shards", "chunks"}
"""Members of an encoding that only stores have."""

WAYS: tuple[dict[str, Any], ...] = ({}, {"decode_times": False}, {"decode_cf": False})
"""Options of decoding, the first that netCDF4's engine accepts for a file counts."""


def opened(open_it: Callable[..., Any], path: Path, engine: str, **options: Any) -> Any:
    """Return the result of `open_it`, a function of xarray, without warnings about the data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return open_it(path, engine=engine, **options)


def as_netcdf4_has_it(open_it: Callable[..., Any], path: Path) -> tuple[Any, dict[str, Any]] | None:
    """Return the datasets that the netCDF4 engine loads, and the options used; None if it fails with all options."""
    for options in WAYS:
        try:
            found = opened(open_it, path, "netcdf4", **options)
            for each in found.values() if isinstance(found, dict) else [found]:
                each.load()
                each.close()
        except Exception:
            continue
        return found, options
    return None


def differences(
    ours: Any, theirs: Any, *, encoding: bool = True, dtypes: bool = True, excused: Callable[[str], bool] | None = None
) -> list[str]:
    """Differences between two datasets: names, order, dimensions, attributes, values, dtypes and encodings."""
    found = []
    wanted = [name for name in theirs.variables if excused is None or not excused(name)]
    names = [name for name in ours.variables if excused is None or not excused(name)]
    if names != wanted:
        found.append(f"variables: {sorted(set(names) ^ set(wanted)) or 'order'}")
    for name in set(names) & set(wanted):
        mine, other = ours.variables[name], theirs.variables[name]
        if mine.dims != other.dims:
            found.append(f"{name}: dimensions {mine.dims}, {other.dims}")
        if not same_attributes(mine.attrs, other.attrs):
            found.append(f"{name}: attributes {mine.attrs}, {other.attrs}")
        if not same_values(mine.values, other.values):
            found.append(f"{name}: values")
        if dtypes and mine.dtype != other.dtype:
            found.append(f"{name}: dtype {mine.dtype}, {other.dtype}")
        if encoding:
            found += [f"{name}: encoding {text}" for text in unequal(mine.encoding, other.encoding)]
    if set(ours.coords) != set(theirs.coords):
        found.append(f"coordinates: {set(ours.coords) ^ set(theirs.coords)}")
    if not same_attributes(ours.attrs, theirs.attrs):
        found.append(f"attributes: {ours.attrs}, {theirs.attrs}")
    if encoding and ours.encoding.get("unlimited_dims") != theirs.encoding.get("unlimited_dims"):
        found.append(f"unlimited: {ours.encoding}, {theirs.encoding}")
    return found


def same_attributes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether attributes are equal with their types; lists of numbers are arrays."""
    return list(ours) == list(theirs) and all(same_attribute(ours[name], theirs[name]) for name in ours)


def same_attribute(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, str | list) or isinstance(theirs, str | list):
        return type(ours) is type(theirs) and bool(ours == theirs)
    mine, other = np.asarray(ours), np.asarray(theirs)
    return mine.dtype == other.dtype and same_values(mine, other)


def same_values(ours: Any, theirs: Any) -> bool:
    """Whether values are equal bit by bit; NaN equals NaN, and lists are compared element by element."""
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.hasobject or theirs.dtype.hasobject:
        pairs = zip(ours.ravel().tolist(), theirs.ravel().tolist(), strict=True)
        return all(np.array_equal(mine, other) or (mine != mine and other != other) for mine, other in pairs)
    if ours.dtype.names:
        return all(same_values(ours[name], theirs[name]) for name in ours.dtype.names)
    return np.array_equal(ours, theirs, equal_nan=ours.dtype.kind in "fcmM")


def unequal(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Members of netCDF4's encoding that ours has not, or otherwise."""
    return [
        f"{name}: {ours.get(name)!r}, {theirs[name]!r}"
        for name in theirs
        if name != "source" and (name not in ours or repr(ours[name]) != repr(theirs[name]))
    ]


def repeated_axes(dataset: Any) -> Callable[[str], bool]:
    """Whether a variable has one dimension twice.

    Where such a dimension has grown, libnetcdf leaves the memory of the result
    as it was instead of filling it.
    """
    return lambda name: name in dataset.variables and len(set(dataset[name].dims)) < len(dataset[name].dims)
