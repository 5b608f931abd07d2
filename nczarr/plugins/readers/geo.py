"""Zarr's conventions CF, `proj:`, `spatial:` and `multiscales`: attributes that a store lacks, or has otherwise.

The faults are those of the specification of conventions (`zarr_conventions`) and of their first versions; those of
`multiscales` are of https://github.com/zarr-conventions/multiscales, version 0.1: listed levels that do not exist, or
whose lengths are not those of their scales.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from nczarr.plugins.readers.documents import StoreDocuments, StoreNode, ZarrView, integers
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults
from nczarr.plugins.readers.zarr_python import axes

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
    for places in itertools.combinations(range(len(lengths)), len(scale)):
        whole = [1.0] * len(lengths)
        for axis, number in zip(places, scale, strict=True):
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


UUIDS = {
    "77c308c7-4db2-4774-8b2d-aa37e9997db6": "CF",
    "f17cb550-5864-4468-aeb7-f3180cfb622f": "proj:",
    "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4": "spatial:",
    UUID: NAME,
}
"""Names of the conventions by what identifies them."""

MEMBERS = frozenset(("uuid", "schema_url", "spec_url", "name", "description"))
"""Members that an entry of `zarr_conventions` may have."""

FAULTS = faults(
    "",
    ("undeclared-convention", "must be declared in `zarr_conventions`", "convert it: `--to zarr3 --declare geo`"),
    (
        "undeclared-convention:entry",
        "demand a list of entries with `uuid`, `schema_url` or `spec_url`",
        "write a list of entries, each with the `uuid` of its convention, or remove the attribute",
    ),
    ("undeclared-convention:attributes", "demand it", "write it, or remove the entry of the convention"),
    (
        FAULT,
        "demand levels that exist, with the lengths of their scales",
        "write the levels again: `nczarr pyramid SRC DST`, or `nczarr pyramid STORE --update` after `append`",
    ),
)


def find_entries(view: ZarrView) -> Iterator[Finding]:
    """Find entries of other forms, attributes without an entry, and entries without attributes."""
    for node in view.nodes:
        declared = node.attrs.get("zarr_conventions")
        names = set()
        if declared is not None and not isinstance(declared, list):
            text = f"`zarr_conventions` of `{node.path}` is no list"
            yield node.at_attribute("undeclared-convention:entry", "zarr_conventions", text)
            continue
        for place, entry in enumerate(declared or ()):
            where = f"zarr_conventions/{place}"
            if not isinstance(entry, dict) or not entry.keys() & {"uuid", "schema_url", "spec_url"}:
                text = f"an entry of `{node.path}` does not say of which convention it is"
                yield node.at_attribute("undeclared-convention:entry", where, text)
                continue
            for name in entry.keys() - MEMBERS:
                finding = node.at_attribute(
                    "undeclared-convention:entry", where, f"an entry of `{node.path}` has the member `{name}`"
                )
                yield finding._replace(does="know no such member")
            names.add(UUIDS.get(str(entry.get("uuid")), ""))
        for prefix in ("proj:", "spatial:"):
            first = next((name for name in node.attrs if name.startswith(prefix)), None)
            if first is not None and prefix not in names:
                text = f"`{node.path}` has `{first}`, and no entry of its convention"
                yield node.at_attribute("undeclared-convention", first, text)
        if isinstance(node.attrs.get(NAME), dict) and NAME not in names:
            text = f"`{node.path}` has `{NAME}`, and no entry of its convention"
            yield node.at_attribute("undeclared-convention", NAME, text)
        if NAME in names:
            yield from find_levels(node)
        if names & {"proj:", "spatial:"}:
            yield from _find_values(node, names)


def _find_values(node: StoreNode, names: set[str]) -> Iterator[Finding]:
    """Find attributes of the conventions with other values than these allow."""
    checks: dict[str, tuple[Callable[[Any], bool], str]] = {
        "proj:code": (
            lambda value: value is None or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*:[0-9]+", str(value))),
            "a code such as `EPSG:4326`",
        ),
        "proj:wkt2": (lambda value: value is None or (isinstance(value, str) and "[" in value), "a text of WKT 2"),
        "proj:projjson": (lambda value: value is None or isinstance(value, dict), "an object of PROJJSON"),
        "spatial:dimensions": (
            lambda value: _is_list_of(str, value, 2, 3) and _suits_names(node, value),
            "two or three dimensions of the array",
        ),
        "spatial:bbox": (lambda value: _is_list_of(float, value, 4, 6), "4 or 6 numbers"),
        "spatial:transform": (lambda value: _is_list_of(float, value, 6), "6 numbers"),
        "spatial:transform_type": (lambda value: isinstance(value, str), "a text"),
        "spatial:registration": (lambda value: value in ("node", "pixel"), "`node` or `pixel`"),
        "spatial:shape": (
            lambda value: integers(value) is not None and _suits_shape(node, value),
            "the lengths of `spatial:dimensions`",
        ),
    }
    for name, (is_valid, demanded) in checks.items():
        if name.partition(":")[0] + ":" in names and name in node.attrs and not is_valid(node.attrs[name]):
            text = f"`{name}` of `{node.path}` is `{json.dumps(node.attrs[name])[:60]}`"
            finding = node.at_attribute("undeclared-convention:attributes", name, text)
            yield finding._replace(does=f"demand {demanded}")
    if "proj:" in names and all(node.attrs.get(name) is None for name in ("proj:code", "proj:wkt2", "proj:projjson")):
        text = f"`{node.path}` has neither `proj:code` nor `proj:wkt2` nor `proj:projjson`"
        yield node.at("undeclared-convention:attributes", "/attributes", text)._replace(does="demand one of them")
    if "spatial:" in names and node.is_array:
        is_affine = node.attrs.get("spatial:transform_type", "affine") == "affine"
        for name in ("spatial:dimensions", "spatial:transform") if is_affine else ("spatial:dimensions",):
            if name not in node.attrs:
                text = f"`{node.path}` has no `{name}`"
                yield node.at("undeclared-convention:attributes", "/attributes", text)


def _is_list_of(kind: type, value: Any, *counts: int) -> bool:
    """Return whether a value is a list of some of these lengths; integers are numbers as well."""
    kinds = (int, float) if kind is float else kind
    is_list = isinstance(value, list) and len(value) in counts
    return is_list and all(isinstance(item, kinds) and not isinstance(item, bool) for item in value)


def _suits_names(node: StoreNode, dimensions: list[str]) -> bool:
    known = axes(node)[0] if node.is_array else None
    return not isinstance(known, list) or all(name in known for name in dimensions)


def _suits_shape(node: StoreNode, lengths: list[int]) -> bool:
    known, dimensions, shape = axes(node)[0], node.attrs.get("spatial:dimensions"), node.shape
    if not node.is_array or not isinstance(known, list) or not isinstance(dimensions, list) or shape is None:
        return True
    sizes = dict(zip(known, shape, strict=False))
    return [sizes.get(name) for name in dimensions] == lengths


def declares(documents: StoreDocuments) -> bool:
    """Return whether a store is one that may declare conventions: of Zarr v3."""
    return documents.version == 3


PEER = Peer(
    "geo", "Conventions of Zarr", "version 1", FAULTS, (find_entries,), ZarrView, convention="geo", reads=declares
)
