"""JSON Schemas of the documents of a store: an object of the documents by their keys, of Zarr v2 or v3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nczarr.plugins.generate.documents import DocumentRules, list_rules
from nczarr.plugins.generate.model import Schema
from nczarr.sdk import Checked, Report, names


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the schema by file name."""
    schema = Schema(checked, name)
    comments = {variable.path: variable.comment for variable in schema.variables}
    definitions = {}
    for version in (2, 3):
        rules = list_rules(schema, version, "JSON Schema", report)
        documents = {
            f"{''.join(f'{one}/' for one in names.split(path))}{key}": {"description": comments.get(path) or path}
            | rule
            for path, found in rules.items()
            for key, rule in _list_documents(found, version, path in comments).items()
        }
        definitions[f"v{version}"] = _describe_object({key: [rule] for key, rule in documents.items()}, wrap=False)
    if report.errors:
        return {}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.name,
        "description": "Documents of a Zarr store of this schema, as one object by key",
        "if": {"required": ["zarr.json"]},
        "then": {"$ref": "#/$defs/v3"},
        "else": {"$ref": "#/$defs/v2"},
        "$defs": definitions,
    }
    return {f"{schema.name}.schema.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def _list_documents(rules: DocumentRules, version: int, is_array: bool) -> dict[str, dict[str, Any]]:
    """Return the schemas of a node's documents by the last part of their keys."""
    document, attributes = _describe_object(rules.allowed), _describe_object(rules.attributes)
    if rules.shape is not None:
        lengths = [{"type": "integer", "minimum": 0} if one is None else {"const": one} for one in rules.shape]
        document["properties"]["shape"] = {"type": "array", "prefixItems": lengths, "items": False}
        document["properties"]["shape"]["minItems"] = len(lengths)
        document["required"].append("shape")
    if version == 2:
        key = ".zarray" if is_array else ".zgroup"
        return {key: document} | ({".zattrs": attributes} if rules.attributes else {})
    if rules.attributes:
        document["properties"]["attributes"] = attributes
        document["required"].append("attributes")
    return {"zarr.json": document}


def _describe_object(members: Mapping[str, Sequence[Any]], *, wrap: bool = True) -> dict[str, Any]:
    """Return the schema of an object with these members, each with one of some values; none: any value."""

    def describe(values: Sequence[Any]) -> Any:
        return {"const": values[0]} if len(values) == 1 else {"enum": [*values]} if values else {}

    properties = {name: describe(values) if wrap else values[0] for name, values in members.items()}
    return {"type": "object", "required": [*members], "properties": properties}
