"""The convention NZ-1.0: what a Zarr v3 store lacks of it.

The rules are the requirements (2) to (6) of its text, and those of its schema
that the text does not contradict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nczarr.operations.readers.documents import StoreDocuments, ZarrView
from nczarr.operations.readers.rule import FindingPlace, Peer, Rules
from nczarr.syntax.json.positions import pointer

TITLE = "NZ-1.0"
UUID = "d0a980b5-c644-4dcc-85a1-283799a58f40"
CODE = "undeclared-convention"
RULES = Rules("")


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


@RULES.add(CODE, "must be in the attribute `conventions` of the root", "convert it: `--to zarr3 --declare nz`")
def conventions(view: ZarrView) -> Iterator[FindingPlace]:
    """Find groups that do not declare the convention."""
    for node in view.nodes:
        conventions = node.attrs.get("conventions", node.attrs.get("Conventions"))
        if node.is_array:
            continue
        if not isinstance(conventions, str) or TITLE not in conventions.split():
            does = "" if node is view.root else "has a schema that wants `conventions` of every group"
            yield FindingPlace(
                node.key, "/attributes", f"group `{node.path}` does not declare the convention", does=does
            )


@RULES.add(CODE, "has a schema that wants an entry of `zarr_conventions` on every node", "")
def entries(view: ZarrView) -> Iterator[FindingPlace]:
    """Find nodes without the entry that the schema wants."""
    for node in view.nodes:
        entries = node.attrs.get("zarr_conventions")
        if not isinstance(entries, list) or not any(
            isinstance(entry, dict) and entry.get("uuid") == UUID for entry in entries
        ):
            yield FindingPlace(node.key, "/attributes", f"`{node.path}` has no entry of the convention")


@RULES.add(CODE, "wants one name for each dimension, none empty or null", "write `dimension_names`")
def dimension_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find arrays with missing names of dimensions."""
    for array in view.arrays:
        dimension_names, shape = array.meta.get("dimension_names"), array.meta.get("shape")
        rank = len(shape) if isinstance(shape, list) else 0
        if not isinstance(dimension_names, list):
            yield FindingPlace(array.key, "", f"array `{array.path}` has no dimension names")
        elif len(dimension_names) != rank:
            yield FindingPlace(
                array.key,
                "/dimension_names",
                f"array `{array.path}` has {rank} dimensions and {len(dimension_names)} names",
            )
        else:
            for number, name in enumerate(dimension_names):
                if not isinstance(name, str) or not name:
                    text = f"dimension {number} of `{array.path}` has no name"
                    yield FindingPlace(array.key, f"/dimension_names/{number}", text)


@RULES.add(CODE, "wants one length for each dimension name in a group", "rename one of the dimensions")
def lengths(view: ZarrView) -> Iterator[FindingPlace]:
    """Find names of dimensions with two lengths in one group."""
    for group in [node for node in view.nodes if not node.is_array]:
        lengths_by_name: dict[str, tuple[int, str]] = {}
        for array in [node for node in group.members if node.is_array]:
            dimension_names, shape = array.meta.get("dimension_names"), array.meta.get("shape")
            if (
                not isinstance(dimension_names, list)
                or not isinstance(shape, list)
                or len(dimension_names) != len(shape)
            ):
                continue
            for number, (name, length) in enumerate(zip(dimension_names, shape, strict=True)):
                if not isinstance(name, str) or type(length) is not int:
                    continue
                first = lengths_by_name.setdefault(name, (length, array.path))
                if first[0] != length:
                    text = f"`{name}` has length {length} in `{array.path}`, and {first[0]} in `{first[1]}`"
                    yield FindingPlace(array.key, f"/dimension_names/{number}", text)


@RULES.add(CODE, "wants a `_FillValue` of the array's type", "write a value of the type")
def fill_values(view: ZarrView) -> Iterator[FindingPlace]:
    """Find fill values of another type."""
    for array in view.arrays:
        kind, fill = array.meta.get("data_type"), array.attrs.get("_FillValue")
        if "_FillValue" in array.attrs and not _suits(fill, kind):
            text = f"`_FillValue` of `{array.path}` is {json.dumps(fill)[:60]}, and its type {json.dumps(kind)[:60]}"
            yield FindingPlace(array.key, "/attributes/_FillValue", text)


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


@RULES.add(CODE, "wants a data type with a name", "convert it to a number or string")
def data_types(view: ZarrView) -> Iterator[FindingPlace]:
    """Find data types that are not a text, as the schema wants."""
    for array in view.arrays:
        if not isinstance(array.meta.get("data_type"), str):
            yield FindingPlace(array.key, "/data_type", f"the data type of `{array.path}` is not a name")


@RULES.add(CODE, "wants no `/` in names and one type in the lists of attributes", "")
def attributes(view: ZarrView) -> Iterator[FindingPlace]:
    """Find lists of several types."""
    for node in view.nodes:
        for name, value in node.attrs.items():
            if "/" in name:
                yield FindingPlace(
                    node.key, pointer("attributes", name), f"attribute `{name}` of `{node.path}` has a slash"
                )
            if isinstance(value, list) and len({_kind(element) for element in value}) > 1:
                text = f"attribute `{name}` of `{node.path}` is a list of several types"
                yield FindingPlace(node.key, pointer("attributes", name), text)


def declares(documents: StoreDocuments) -> bool:
    """Return whether the rules can read a store: one of Zarr v3."""
    return documents.tree(3).document is not None


PEER = Peer("nz", TITLE, "of April 2026, a proposal", tuple(RULES), ZarrView, convention="nz", reads=declares)
