"""Application of changes to a tree, which keeps its storage and lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group
from nczarr.ast.dataset import map_groups
from nczarr.ast.renaming import NODE_KINDS, NodeKind, Renames, rename_tree
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
)
from nczarr.semantics.checked import tables


def apply_changes(dataset: Dataset, changes: Sequence[HeaderChange], renamed: Renames) -> Dataset:
    """Return the tree after the changes; `renamed` is complete."""
    removed = {(change.kind, change.path) for change in changes if isinstance(change, NodeRemoval)}
    attributes: dict[str, list[AttributeChange | AttributeOrder]] = {}
    dimensions = {change.path: change.after for change in changes if isinstance(change, DimensionChange)}
    for change in changes:
        if isinstance(change, AttributeChange | AttributeOrder):
            attributes.setdefault(change.owner, []).append(change)

    def change_node(kind: NodeKind, node: Any, path: str) -> Any:
        if kind == "group":
            return change_group(node, path)
        if kind == "dimension" and path in dimensions:
            return dimensions[path].model_copy(update={"name": node.name})
        if kind == "variable" and path in attributes:
            return node.model_copy(update={"attributes": change_attributes(node.attributes, attributes[path])})
        return node

    def change_group(group: Any, path: str) -> Any:
        """Return a group with its own changes and those of its members, without the removed ones."""
        members: dict[str, Any] = {"attributes": change_attributes(group.attributes, attributes.get(path, ()))}
        for kind in NODE_KINDS:
            members[f"{kind}s"] = tuple(
                change_node(kind, node, place)
                for node in getattr(group, f"{kind}s")
                if (kind, place := names.join(path, node.name)) not in removed
            )
        return group.model_copy(update=members)

    changed = rename_tree(change_group(dataset, "/"), renamed)
    additions = [change for change in changes if isinstance(change, NodeAddition)]
    return _add(changed, "/", additions) if additions else changed


def list_growing(dataset: Dataset) -> list[str]:
    """Return the FQNs of variables along unlimited dimensions whose layout does not grow."""
    found = tables(dataset)
    unlimited = {path for path, dimension in found.dimensions.items() if dimension.unlimited}
    return [
        path
        for path, variable in found.variables.items()
        if variable.storage.layout not in (None, "chunked") and not unlimited.isdisjoint(variable.dimensions)
    ]


def free_layout(dataset: Dataset, paths: Sequence[str]) -> Dataset:
    """Return the tree without the layouts of some variables."""

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the variables of a group."""
        freed = (
            variable.model_copy(update={"storage": variable.storage.model_copy(update={"layout": None})})
            if names.join(path, variable.name) in paths
            else variable
            for variable in group.variables
        )
        return {"variables": tuple(freed)}

    return map_groups(dataset, change)


def change_attributes(
    attributes: tuple[Attribute, ...], changes: Iterable[AttributeChange | AttributeOrder]
) -> tuple[Attribute, ...]:
    """Return the attributes of one owner after its changes."""
    members = {attribute.name: attribute for attribute in attributes}
    added = []
    for change in changes:
        if isinstance(change, AttributeOrder):
            members = {name: members[name] for name in change.after if name in members} | members
        elif change.after is None:
            members.pop(change.name, None)
        elif change.name in members:
            members[change.name] = Attribute(name=change.name, value=change.after, json=change.json)
        else:
            added.append(change)
    result = list(members.values())
    for change in sorted(added, key=lambda addition: addition.position):
        assert change.after is not None
        result.insert(change.position, Attribute(name=change.name, value=change.after, json=change.json))
    return tuple(result)


def _add(group: Any, path: str, additions: Sequence[NodeAddition]) -> Any:
    """Return a group with the nodes that are added below its FQN."""
    members: dict[str, Any] = {}
    for kind in NODE_KINDS:
        new = [change.node for change in additions if change.kind == kind and names.parent(change.path) == path]
        members[f"{kind}s"] = (*getattr(group, f"{kind}s"), *new)
    prefix = "/" if path == "/" else path + "/"
    deeper = [change for change in additions if change.path.startswith(prefix)]
    members["groups"] = tuple(_add(child, names.join(path, child.name), deeper) for child in members["groups"])
    return group.model_copy(update=members)
