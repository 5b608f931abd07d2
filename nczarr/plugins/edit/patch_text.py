"""Changes of a header as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nczarr.ast import Constant, Dimension, Group, Variable
from nczarr.diagnostics.render import visible
from nczarr.pipeline.compare.diff import definition
from nczarr.pipeline.compare.difference import show_constant, show_pair
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
    NodeRename,
)


def patch_lines(changes: Iterable[HeaderChange], detected: Iterable[NodeRename] = ()) -> Iterator[str]:
    """Yield one line a change: `+` something is added, `-` removed, `~` changed."""
    concluded = set(detected)
    for change in changes:
        line = _describe(change)
        if change in concluded:
            line += "   (equal but for its name)"
        yield from map(visible, line.split("\n"))


def _describe(change: HeaderChange) -> str:
    match change:
        case AttributeChange(owner, name, None, Constant() as after):
            return f"+ {_place(owner)}@{name} = {_show(after)}"
        case AttributeChange(owner, name, Constant() as before, None):
            return f"- {_place(owner)}@{name} = {_show(before)}"
        case AttributeChange(owner, name, Constant() as before, Constant() as after):
            one, other = show_pair(before, after)
            return f"~ {_place(owner)}@{name}: {one} → {other}"
        case AttributeOrder(owner, _, after):
            return f"~ {_place(owner)}: order of attributes {', '.join(after)}"
        case NodeRename(kind, path, new_path):
            return f"~ {kind} {path} → {new_path}"
        case DimensionChange(path, before, after):
            return f"~ dimension {path}: {_size(before)} → {_size(after)}"
        case NodeRemoval(kind, path):
            return f"- {kind} {path}"
        case NodeAddition(kind, path, node):
            return f"+ {kind} {path}{_declare(node)}"
        case _:
            raise AssertionError(change)


def _place(owner: str) -> str:
    """Return the owner as instructions write it: the root is left out."""
    return "" if owner == "/" else owner


def _show(constant: Constant) -> str:
    suffix = "" if constant.type in ("char", "int", "double") else f"   ({constant.type})"
    return show_constant(constant) + suffix


def _size(dimension: Dimension) -> str:
    return f"unlimited ({dimension.size})" if dimension.unlimited else str(dimension.size)


def _declare(node: object) -> str:
    """Return a declaration behind its name."""
    match node:
        case Dimension():
            return f" = {_size(node)}"
        case Variable():
            shape = f"({', '.join(map(str, node.dimensions))})" if node.dimensions else ""
            attributes = "".join(f"\n    @{item.name} = {_show(item.value)}" for item in node.attributes)
            return f": {node.type}{shape}{attributes}"
        case Group():
            return "".join(f"\n    @{item.name} = {_show(item.value)}" for item in node.attributes)
        case _:
            return f": {definition(node, storage=False)}"  # type: ignore[arg-type]
