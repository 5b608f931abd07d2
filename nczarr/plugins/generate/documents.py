"""Documents of the stores that the compiler makes of a schema, by node, and what those of all programs share."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.plugins.generate.model import Schema, SchemaVariable
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


SPECIAL = ("NaN", "Infinity", "-Infinity")


class DocumentRules(NamedTuple):
    """Rules of the documents of one array or group."""

    allowed: dict[str, list[Any]]
    """Values that a member of the document may have, by member."""
    shape: tuple[int | None, ...] | None
    """Lengths of an array with dimensions; None where it can grow."""
    attributes: dict[str, list[Any]]
    """Values that an attribute may have, by attribute; none: any value."""


def list_rules(schema: Schema, zarr_format: int, target: str, report: Report) -> dict[str, DocumentRules]:
    """Return the rules by FQN; report variables that are no array of a store."""
    documents = read_documents(schema, zarr_format, report)
    if report.errors or schema.refuse(find_absent(schema, documents), target, report):
        return {}
    variables = {one.path: one for one in schema.variables}
    return {path: _make_rules(found, variables.get(path), zarr_format) for path, found in documents.items()}


def _make_rules(documents: PlannedDocuments, variable: SchemaVariable | None, zarr_format: int) -> DocumentRules:
    """Return the values that the members of a node's document may have; `variable`: None for a group."""
    allowed: dict[str, list[Any]] = {"zarr_format": [zarr_format]}
    attributes = dict(_list_attributes(documents.attributes))
    if zarr_format == 3:
        allowed["node_type"] = [documents.metadata["node_type"]]
    if variable is None:
        return DocumentRules(allowed, None, attributes)
    dimensions = [one if isinstance(one, int) else one.name for one in variable.dimensions]
    everywhere = [one.name for one in variable.schema.dimensions.values()]
    is_clear = all(everywhere.count(str(name)) == 1 for name in dimensions)  # else plain Zarr has another name
    if zarr_format == 3:
        allowed["data_type"] = [documents.metadata["data_type"]]
        allowed |= {"dimension_names": [dimensions] if is_clear else []} if variable.rank else {}
        allowed |= {"chunk_grid": [documents.metadata["chunk_grid"]]} if variable.storage.chunks else {}
    else:
        allowed["dtype"] = _list_types(documents.metadata["dtype"], variable)
        attributes["_ARRAY_DIMENSIONS"] = ([dimensions] if is_clear else []) if variable.rank else [[], ["_scalar_"]]
        allowed |= {"chunks": [documents.metadata["chunks"]]} if variable.storage.chunks and variable.rank else {}
    has_fill = any(one.name == "_FillValue" for one in variable.attributes)
    if has_fill and isinstance(documents.metadata["fill_value"], int | float):
        allowed["fill_value"] = [documents.metadata["fill_value"]]
    if not variable.rank:
        return DocumentRules(allowed | {"shape": [[], [1]] if zarr_format == 2 else [[]]}, None, attributes)
    grows = (not isinstance(one, int) and one.unlimited for one in variable.dimensions)
    shape = tuple(None if free else length for free, length in zip(grows, variable.shape, strict=True))
    return DocumentRules(allowed, shape, attributes)


def _list_types(dtype: Any, variable: SchemaVariable) -> list[Any]:
    """Return the types of Zarr v2 that hold the values: byte order is free, and texts have a length or none."""
    if variable.type == "string":
        return []
    return [f"{order}{dtype[1:]}" for order in "<>"] if isinstance(dtype, str) and dtype[0] in "<>" else [dtype]


def _list_attributes(attributes: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield names and values; programs write numbers that JSON lacks in several ways, and `_FillValue` as well."""
    for name, value in attributes.items():
        items = value if isinstance(value, list) else [value]
        is_special = any(one in SPECIAL or (isinstance(one, float) and math.isnan(one)) for one in items)
        if name != "_FillValue":
            yield name, [] if is_special else [value]
