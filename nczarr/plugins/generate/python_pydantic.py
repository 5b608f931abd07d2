"""Models of the documents of stores for pydantic, one module for each version of Zarr."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping
from typing import Any

from nczarr.plugins.generate.documents import DocumentRules, list_rules
from nczarr.plugins.generate.model import Schema, SchemaGroup, SchemaVariable, UniqueIdentifiers, write_camel
from nczarr.plugins.generate.render import literal, render
from nczarr.sdk import Checked, Report

IMPORTED = (
    "Annotated Any Literal AfterValidator BaseModel ConfigDict Field NonNegativeInt Path Model ArraySpec GroupSpec"
)
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *IMPORTED.split(), "json", "sys", "one_of", "read_node"})
FIELDS = frozenset({*RESERVED, "schema", "copy", "construct", "validate", "dict", "parse_obj", "from_orm", "parse_raw"})
"""Names that fields of models cannot have, beside those that begin with `model_` or an underscore."""


def _annotate(values: list[Any]) -> str:
    """Return the type of a member that has one of some values; none: any value."""
    if values and all(type(value) in (str, int) for value in values):
        return f"Literal[{', '.join(map(literal, values))}]"
    return f"Annotated[Any, one_of({', '.join(map(literal, values))})]" if values else "Any"


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of the models by name."""
    files = {}
    for version in (2, 3):
        schema = Schema(checked, name, RESERVED)
        rules = list_rules(schema, version, "model of pydantic", report)
        if report.errors:
            return {}
        classes = UniqueIdentifiers(RESERVED)
        models = {
            node.path: classes.make(write_camel(node.identifier if node.path != "/" else schema.name))
            for node in schema.nodes
        }
        # members before their group
        ordered: list[SchemaVariable | SchemaGroup] = [
            *schema.variables,
            *reversed(schema.groups),
        ]
        context = {
            "schema": schema,
            "version": version,
            "NAME": f"{schema.name}_v{version}",
            "top": models["/"],
            "nodes": [_describe(node, rules[node.path], models) for node in ordered],
            "annotation": _annotate,
            "literal": literal,
        }
        files[f"{schema.name}_v{version}.py"] = render("python/pydantic.py.j2", context)
    return files


def _describe(node: SchemaVariable | SchemaGroup, rules: DocumentRules, models: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of the template for the model of a node; `models`: class names by path."""
    fields, members = UniqueIdentifiers(FIELDS), UniqueIdentifiers(FIELDS)
    inner = node.members if isinstance(node, SchemaGroup) else []
    return {
        "path": node.path,
        "name": models[node.path],
        "is_array": isinstance(node, SchemaVariable),
        "comment": node.comment if isinstance(node, SchemaVariable) else "",
        "allowed": [*rules.allowed.items()],
        "shape": rules.shape,
        "attributes": [(_make_field(fields, one), one, values) for one, values in rules.attributes.items()],
        "members": [(_make_field(members, one.name), one.name, models[one.path]) for one in inner],
    }


def _make_field(identifiers: UniqueIdentifiers, name: str) -> str:
    return identifiers.make(f"x_{name}" if name.startswith("model") else name)
