"""`compile --emit ast` and `--emit analysed`: the tree, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.ast import Constant, walk
from nczarr.ast.json import dump
from nczarr.pipeline.emission import Emission
from nczarr.plugins.schema.analysis import Analysed, analyse
from nczarr.plugins.schema.records import make_record, show_span
from nczarr.sdk import Attribute, CompoundType, Dimension, EnumType, Group, Node, OpaqueType, Variable, VlenType


def list_documents(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield one record, the AST document of the tree, which `compile` reads again."""
    checked = emission.read()
    if checked is not None:
        yield dump(checked.dataset)


def list_declarations(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each node with its path, place, and what follows from the tree."""
    checked = emission.read()
    if checked is None:
        return
    found = analyse(checked.dataset)
    for path, node in walk(found.tree):
        yield make_record(
            path=path, node=type(node).__name__, **_describe(path, node, found), span=show_span(node.span)
        )


def _describe(path: str, node: Node, found: Analysed) -> dict[str, Any]:
    """Return what the analysis found out about a node, for its record."""
    match node:
        case Group():
            return {"dimensions": [dimension.name for dimension in node.dimensions]}
        case Variable():
            return {
                "type": node.type,
                "dimensions": list(node.dimensions),
                "shape": list(found.shapes[path]) or None,
                "fill": _show(found.fills[path]),
            }
        case Dimension():
            return {"length": node.size, "unlimited": node.unlimited or None, "uses": list(found.uses[path])}
        case Attribute():
            return {"value": _show(node.value)}
        case EnumType():
            return {"base": node.base, "uses": list(found.uses[path])}
        case VlenType():
            return {"base": node.base, "uses": list(found.uses[path])}
        case OpaqueType():
            return {"bytes": node.size, "uses": list(found.uses[path])}
        case CompoundType():
            return {"uses": list(found.uses[path])}
    return {name: value for name in ("type", "shape", "value") if (value := getattr(node, name, None)) is not None}


def _show(constant: Constant | None) -> Any:
    return None if constant is None else constant.model_dump(mode="json")
