"""Zarr's convention `multiscales`: listed levels that do not exist, or whose lengths are not those of their scales.

Source: https://github.com/zarr-conventions/multiscales, version 0.1.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from nczarr.plugins.readers.documents import StoreNode
from nczarr.plugins.readers.rule import Finding

FAULT = "broken-multiscales"
"""Fault, and code."""

NAME = "multiscales"
"""Name of the convention, and of its attribute."""

UUID = "d35379db-88df-4056-af3a-620245f8e347"

ASSET = re.compile(r"(?!/)(?!.*\.\.)[^/]+(/[^/]+)*")


def find_levels(node: StoreNode) -> Iterator[Finding]:
    """Find faults of the levels that a group lists."""
    members = node.attrs.get(NAME)
    layout = members.get("layout") if isinstance(members, dict) else None
    if not isinstance(layout, list) or not layout:
        text = f"`{NAME}` of `{node.path}` has no list `layout` of levels"
        yield node.at_attribute(FAULT, NAME, text)
        return
    if node.is_array:
        yield node.at_attribute(FAULT, NAME, f"`{node.path}` is an array")._replace(
            does="allow `multiscales` in groups"
        )
        return
    entries = {
        entry["asset"]: entry for entry in layout if isinstance(entry, dict) and isinstance(entry.get("asset"), str)
    }
    for place, entry in enumerate(layout):
        pointer = f"{NAME}/layout/{place}"
        if not isinstance(entry, dict) or not ASSET.fullmatch(str(entry.get("asset") or "")):
            text = f"level {place} of `{node.path}` has no `asset`, the path of a group or array below it"
            yield node.at_attribute(FAULT, pointer, text)
            continue
        yield from _find_faults(node, entry, entries, pointer)


def _find_faults(node: StoreNode, entry: dict[str, Any], entries: dict[str, Any], pointer: str) -> Iterator[Finding]:
    """Find faults of one level."""
    asset, origin = entry["asset"], entry.get("derived_from")
    shown = f"level `{asset}` of `{node.path}`"
    level = find_node(node, asset)
    if level is None:
        yield node.at_attribute(FAULT, pointer, f"{shown} does not exist")
        return
    transform = entry.get("transform")
    members: dict[str, Any] = transform if isinstance(transform, dict) else {}
    scale = members.get("scale")
    if origin is not None and not isinstance(transform, dict):
        yield node.at_attribute(FAULT, pointer, f"{shown} has `derived_from` and no `transform`")
    for name in ("scale", "translation"):
        value = members.get(name)
        if value is not None and not is_numbers(value):
            yield node.at_attribute(FAULT, f"{pointer}/transform", f"`{name}` of {shown} is no list of numbers")
            return
    below = None if origin is None else find_node(node, str(origin))
    if origin is not None and (origin not in entries or below is None):
        yield node.at_attribute(FAULT, pointer, f"{shown} is derived from `{origin}`, which is no level")
        return
    pairs = list(_pair_arrays(level, below))
    shape = entry.get("spatial:shape")
    shape = shape if isinstance(shape, list) else []
    for array, _ in pairs if shape else ():
        lengths = array.shape or []
        if (array is level or "spatial:dimensions" in array.attrs) and not _has_lengths(array, shape):
            text = f"{shown} has `spatial:shape` {shape}, and `{array.path}` the shape {lengths}"
            yield node.at_attribute(FAULT, pointer, text)
    compared = [
        (array, other) for array, other in pairs if other is not None and len(array.shape or ()) >= len(scale or ())
    ]
    unfit = [(array, other) for array, other in compared if not _is_reduced(array, other, scale or [])]
    if len(unfit) == len(compared) or any("spatial:dimensions" in array.attrs for array, _ in unfit):
        for array, other in unfit:
            shapes = f"`{array.path}` the shape {array.shape} and `{other.path}` {other.shape}"
            yield node.at_attribute(FAULT, pointer, f"{shown} has the scale {scale}, but {shapes}")


def _is_reduced(array: StoreNode, other: StoreNode, scale: list[float]) -> bool:
    """Return whether an array is another one with larger cells along some dimensions, in their order."""
    lengths, before = array.shape or [], other.shape or []
    for axes in itertools.combinations(range(len(lengths)), len(scale)):
        whole = [1.0] * len(lengths)
        for axis, number in zip(axes, scale, strict=True):
            whole[axis] = number
        if fits(lengths, before, whole):
            return True
    return False


def _has_lengths(array: StoreNode, shape: list[Any]) -> bool:
    """Return whether these are the lengths of the dimensions that an array declares; else of some, in their order."""
    lengths, declared = array.shape or [], array.attrs.get("spatial:dimensions")
    dimensions = array.meta.get("dimension_names")
    if isinstance(declared, list) and isinstance(dimensions, list) and set(map(str, declared)) <= set(dimensions):
        return [lengths[dimensions.index(name)] for name in declared] == shape
    return any(list(chosen) == shape for chosen in itertools.combinations(lengths, len(shape)))


def is_numbers(value: Any) -> bool:
    """Return whether a value is a list of numbers."""
    return isinstance(value, list) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)


def fits(lengths: list[int], before: list[int], scale: list[float]) -> bool:
    """Return whether lengths are those of a level with cells of this scale, with or without a cell at the end."""
    if len(lengths) != len(before) or not all(one > 0 for one in scale):
        return False
    return all(abs(length - old / one) < 1 for length, old, one in zip(lengths, before, scale, strict=True))


def find_node(node: StoreNode, path: str) -> StoreNode | None:
    """Return the node at a path below another one; None without one."""
    found: StoreNode | None = node
    for name in path.split("/"):
        found = None if found is None else next((one for one in found.members if one.name == name), None)
    return found


def _pair_arrays(level: StoreNode, below: StoreNode | None) -> Iterator[tuple[StoreNode, StoreNode | None]]:
    """Yield the arrays of a level with several dimensions, each with that of the level from which it is derived."""
    for array in level.walk():
        if array.is_array and len(array.shape or ()) > 1:
            path = array.prefix.removeprefix(level.prefix).rstrip("/")
            yield array, below if not path or below is None else find_node(below, path)
