"""The convention NZ-1.0: what a Zarr v3 store lacks of it.

The faults are those of the requirements (2) to (6) of its text, and those of
its schema that the text does not contradict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nczarr.plugins.readers.documents import StoreDocuments, StoreNode, ZarrView, step
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults, of_arrays

TITLE = "NZ-1.0"
UUID = "d0a980b5-c644-4dcc-85a1-283799a58f40"

FAULTS = faults(
    "",
    ("undeclared-convention", "must be in the attribute `conventions` of the root",
     "convert it: `--to zarr3 --declare nz`"),
    ("undeclared-convention:entry", "has a schema that wants an entry of `zarr_conventions` on every node",
     "convert it, without an own `zarr_conventions`: `--to zarr3 --declare nz`"),
    ("undeclared-convention:names", "wants one name for each dimension, none empty or null",
     "write `dimension_names`"),
    ("undeclared-convention:lengths", "wants one length for each dimension name in a group",
     "rename one of the dimensions"),
    ("undeclared-convention:fill", "wants a `_FillValue` of the array's type", "write a value of the type"),
    ("undeclared-convention:type", "wants a data type with a name", "convert it to a number or string"),
    ("undeclared-convention:attributes", "wants no `/` in names and one type in the lists of attributes",
     "rename the attribute, or write a list of one type"),
)  # fmt: skip


def find_declarations(view: ZarrView) -> Iterator[Finding]:
    """Find nodes that do not declare the convention as its text or schema demand, and attributes of other forms."""
    for node in view.nodes:
        conventions = node.attrs.get("conventions", node.attrs.get("Conventions"))
        if not node.is_array and (not isinstance(conventions, str) or TITLE not in conventions.split()):
            does = "" if node is view.root else "has a schema that wants `conventions` of every group"
            text = f"group `{node.path}` does not declare the convention"
            yield node.at("undeclared-convention", "/attributes", text, does=does)
        entries = node.attrs.get("zarr_conventions")
        entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        if not any(entry.get("uuid") == UUID for entry in entries):
            text = f"`{node.path}` has no entry of the convention"
            yield node.at("undeclared-convention:entry", "/attributes", text)
        for name, value in node.attrs.items():
            what, where = f"attribute `{name}` of `{node.path}`", f"/attributes/{step(name)}"
            if "/" in name:
                yield node.at("undeclared-convention:attributes", where, f"{what} has a slash")
            if isinstance(value, list) and len({_kind(element) for element in value}) > 1:
                yield node.at("undeclared-convention:attributes", where, f"{what} is a list of several types")


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def find_types(array: StoreNode) -> Iterator[Finding]:
    """Find missing names of dimensions, fill values of another type, and data types without a name."""
    axis_names, path = array.meta.get("dimension_names"), array.path
    kind, fill, shape = array.meta.get("data_type"), array.attrs.get("_FillValue"), array.meta.get("shape")
    rank = len(shape) if isinstance(shape, list) else 0
    if not isinstance(axis_names, list):
        yield array.at("undeclared-convention:names", "", f"array `{path}` has no dimension names")
    elif len(axis_names) != rank:
        text = f"array `{path}` has {rank} dimensions and {len(axis_names)} names"
        yield array.at("undeclared-convention:names", "/dimension_names", text)
    else:
        for number, name in enumerate(axis_names):
            if not isinstance(name, str) or not name:
                text = f"dimension {number} of `{path}` has no name"
                yield array.at("undeclared-convention:names", f"/dimension_names/{number}", text)
    if "_FillValue" in array.attrs and not _suits(fill, kind):
        text = f"`_FillValue` of `{path}` is {json.dumps(fill)[:60]}, and its type {json.dumps(kind)[:60]}"
        yield array.at("undeclared-convention:fill", "/attributes/_FillValue", text)
    if not isinstance(kind, str):
        yield array.at("undeclared-convention:type", "/data_type", f"the data type of `{path}` is not a name")


def _suits(value: Any, kind: Any) -> bool:
    """Return whether a fill value is of a data type; floats may be texts such as `NaN` or xarray's base64."""
    name = kind if isinstance(kind, str) else ""
    if name == "bool":
        return isinstance(value, bool)
    if name.startswith(("int", "uint")):
        return type(value) is int
    if name.startswith("float"):
        return _kind(value) in ("number", "str")
    return isinstance(value, list) if name.startswith("complex") else True


def find_lengths(view: ZarrView) -> Iterator[Finding]:
    """Find names of dimensions with two lengths in one group."""
    for group in [node for node in view.nodes if not node.is_array]:
        lengths_by_name: dict[str, tuple[int, str]] = {}
        for array in [node for node in group.members if node.is_array]:
            axis_names, shape = array.meta.get("dimension_names"), array.meta.get("shape")
            if not isinstance(axis_names, list) or not isinstance(shape, list) or len(axis_names) != len(shape):
                continue
            for number, (name, length) in enumerate(zip(axis_names, shape, strict=True)):
                if not isinstance(name, str) or type(length) is not int:
                    continue
                first, other = lengths_by_name.setdefault(name, (length, array.path))
                if first != length:
                    text = f"`{name}` has length {length} in `{array.path}`, and {first} in `{other}`"
                    yield array.at("undeclared-convention:lengths", f"/dimension_names/{number}", text)


def declares(documents: StoreDocuments) -> bool:
    """Return whether the faults suit a store: one of Zarr v3."""
    return documents.tree(3).document is not None


FIND = (find_declarations, of_arrays(find_types), find_lengths)

PEER = Peer("nz", TITLE, "of April 2026, a proposal", FAULTS, FIND, ZarrView, convention="nz", reads=declares)
