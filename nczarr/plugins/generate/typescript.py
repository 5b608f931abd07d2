"""Types of a store in TypeScript, and a reader over zarrita."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.plugins.generate.documents import SPECIAL, PlannedDocuments, find_absent, read_documents
from nczarr.plugins.generate.model import Schema, SchemaVariable, UniqueIdentifiers, write_camel
from nczarr.plugins.generate.render import render
from nczarr.sdk import NUMPY, Checked, Report, names, np

RESERVED = frozenset("TypedArray Text Promise Readonly Record Object Error JSON Attributes Array String Number".split())


def find_obstacles(schema: Schema, documents: Mapping[str, PlannedDocuments]) -> Iterator[tuple[str, str]]:
    """Yield what zarrita cannot express: FQN and reason."""
    yield from find_absent(schema, dict(documents))
    for node in schema.nodes:
        if any(re.search(r"[\\?#%]", name) for name in names.split(node.path)):
            yield node.path, "zarrita takes paths for URLs, in which `?`, `#`, `%` and a backslash mean something else"
    for group in schema.groups:
        reason = "`attributes` are those of its group"
        yield from ((one.path, reason) for one in group.members if one.name == "attributes")
    for variable in schema.variables:
        declared = schema.types.get(variable.type)
        if declared is not None and declared.kind in ("compound", "opaque"):
            yield variable.path, f"zarrita has no {declared.kind} types"


def write_string(value: Any) -> str:
    """Return a value of JSON as an expression, in ASCII."""
    return json.dumps(value)


def _write_type(value: Any) -> str:
    """Return the type of one value of JSON; numbers that JSON lacks are of any type."""
    items = value if isinstance(value, list) else [value]
    if any(one in SPECIAL or isinstance(one, dict) for one in items):
        return "unknown"
    return f"readonly {json.dumps(value)}" if isinstance(value, list) else json.dumps(value)


def _find_word(variable: SchemaVariable) -> str:
    """Return the type of zarrita."""
    if variable.type == "string":
        return "text"
    declared = variable.schema.types.get(variable.type)
    base = declared.base if declared is not None else variable.type
    return "v2:S1" if base == "char" else np.dtype(NUMPY[base]).name


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the module by file name."""
    schema = Schema(checked, name)
    documents = read_documents(schema, 2, report)
    if report.errors or schema.refuse(find_obstacles(schema, documents), "reader in TypeScript", report):
        return {}
    make = UniqueIdentifiers(RESERVED).make
    own_names = {one.path: make(write_camel(one.identifier)) for one in [*schema.types.values(), *schema.nodes]}
    own_names["/"] = make(write_camel(schema.name))

    def list_lengths(variable: SchemaVariable) -> list[int | None]:
        free = [not isinstance(one, int) and one.unlimited for one in variable.dimensions]
        return [None if is_free else length for is_free, length in zip(free, variable.shape, strict=True)]

    def list_attributes(path: str) -> dict[str, Any]:
        found = {name: value for name, value in documents[path].attributes.items() if name != "_FillValue"}
        return {name: value for name, value in found.items() if _write_type(value) != "unknown"}

    context: dict[str, Any] = {
        "schema": schema,
        "names": own_names,
        "attributes": {one.path: list_attributes(one.path) for one in schema.nodes},
        "string": write_string,
        "property": lambda name: name if re.fullmatch("[A-Za-z_]+[A-Za-z0-9_]*", name) else write_string(name),
        "type_of": _write_type,
        "word": _find_word,
        "dtype": lambda one: "Text" if one.type == "string" else write_string(_find_word(one)),
        "lengths": list_lengths,
    }
    return {f"{schema.name}.ts": render("typescript/reader.ts.j2", context)}
