"""JSON document of a dataset, with omitted defaults.

    {"ast": 1, "dataset": {"name": "ocean", "kind": "nc4",
      "dimensions": [{"name": "time", "size": 3, "unlimited": true}],
      "variables": [{"name": "t", "type": "float", "dimensions": ["/time", 4]}]}}

Members with default values (no groups, no storage hints, …) are omitted;
constants are in the readable form of `ast/values.py`.
"""

from typing import Any, Literal

from nczarr.ast import Dataset, Node
from nczarr.ast.node import node

VERSION = 1
"""Version of this document; readers refuse others."""

MAX_JSON_DEPTH = 195
"""Maximum nesting of braces and brackets: 64 groups take 130, constants of nested types the rest."""

_DEFAULTS: dict[str, Any] = {
    "types": [], "dimensions": [], "variables": [], "attributes": [], "groups": [], "codecs": [], "parameters": [],
    "shape": [], "axes": [], "unlimited": False, "no_fill": False, "storage": {},
}  # fmt: skip


@node
class AstDocument(Node):
    """A whole file: the document version and one dataset."""

    ast: Literal[1]
    """Version of the document."""
    dataset: Dataset
    """The dataset."""

    def __post_init__(self) -> None:
        self._validate_by_pydantic()


def dump(dataset: Dataset) -> dict[str, Any]:
    """Return the document of a dataset as plain JSON values, without defaults."""
    return {"ast": VERSION, "dataset": _prune(dataset.model_dump(mode="json"))}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the document (draft 2020-12), described by the docstrings of nodes and fields."""
    generated = AstDocument.model_json_schema()
    described = _field_docstrings()
    for name, definition in generated["$defs"].items():
        for field, text in described.get(name, {}).items():
            if field in definition.get("properties", {}):
                definition["properties"][field]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **generated, "title": "nczarr AST"}


def _field_docstrings() -> dict[str, dict[str, str]]:
    """Return the docstrings below the fields of each node class."""
    import ast
    import inspect
    import itertools

    from nczarr.ast import dataset, types, values

    docstrings: dict[str, dict[str, str]] = {}
    for module in (dataset, types, values):
        for part in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(part, ast.ClassDef):
                for field, below in itertools.pairwise(part.body):
                    match field, below:
                        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                            docstrings.setdefault(part.name, {})[name] = " ".join(text.split())
    return docstrings


def _prune(value: Any) -> Any:
    """Remove members with default values, except in constants."""
    if isinstance(value, list):
        return [_prune(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for key, item in value.items():
        inner = item if key == "value" and isinstance(item, dict) else _prune(item)
        if inner is not None and not (key in _DEFAULTS and inner == _DEFAULTS[key]):
            members[key] = inner
    return members
