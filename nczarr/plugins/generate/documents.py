"""Documents of the stores that the compiler makes of a schema, by node: generators describe, demand or repeat them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.plugins.generate.model import Schema
from nczarr.sdk import CompileError, Report, names


class PlannedDocuments(NamedTuple):
    """The documents of one array or group in one version of Zarr."""

    metadata: dict[str, Any]
    """The document: `.zarray`, `.zgroup` or `zarr.json`, without attributes."""
    attributes: dict[str, Any]
    """Attributes of the user, as JSON has them."""
    nczarr: dict[str, Any]
    """Attributes of NCZarr by their names in version 2, without `_nczarr_`: `array`, `group`, `attr`, `superblock`."""


def read_documents(schema: Schema, zarr_format: int, report: Report) -> dict[str, PlannedDocuments]:
    """Return the documents of an NCZarr store of the schema by FQN; nodes that are several arrays are missing."""
    found: dict[str, PlannedDocuments] = {}
    try:
        keys = schema.handle.to_keys("nczarr" if zarr_format == 2 else "nczarr3")
    except CompileError as error:  # such as a name that cannot be a key
        for diagnostic in error.diagnostics:
            report.add(diagnostic)
        return found
    for path in (*(group.path for group in schema.groups), *(variable.path for variable in schema.variables)):
        folder = "".join(f"{name}/" for name in names.split(path))
        is_group = path not in schema.checked.shapes
        if zarr_format == 3:
            document = _load(keys.get(f"{folder}zarr.json"))
            if document.get("node_type") == ("group" if is_group else "array"):
                found[path] = _split(document, document.pop("attributes", {}))
        elif document := _load(keys.get(f"{folder}{'.zgroup' if is_group else '.zarray'}")):
            found[path] = _split(document, _load(keys.get(f"{folder}.zattrs")))
    return found


def _load(text: bytes | None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text) if text else {}
    return document


def _split(metadata: dict[str, Any], attributes: dict[str, Any]) -> PlannedDocuments:
    """Separate hidden attributes (`_nczarr…`, `_ARRAY_DIMENSIONS`) from a node's metadata and own attributes."""
    metadata.pop("consolidated_metadata", None)
    nczarr = json.loads(attributes.pop("_nczarr", "{}"))
    for name in ("superblock", "group", "array", "attr"):
        if f"_nczarr_{name}" in attributes:
            nczarr[name] = attributes.pop(f"_nczarr_{name}")
    attributes.pop("_ARRAY_DIMENSIONS", None)
    return PlannedDocuments(metadata, attributes, nczarr)


def find_absent(schema: Schema, documents: dict[str, PlannedDocuments]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that a store does not have as one array or group: FQN and reason."""
    for variable in schema.variables:
        if variable.path not in documents:
            yield variable.path, "its lists are several arrays of a store"
    for group in schema.groups:
        if group.path not in documents:
            yield group.path, "its key in a store is not its name"
