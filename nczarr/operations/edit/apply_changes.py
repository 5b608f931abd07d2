"""Application of changes to a tree, which keeps its storage and lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.dataset import map_groups
from nczarr.operations.edit.rename_tree import Renames, rename_tree
from nczarr.plan.header_changes import (
    NODE_KINDS,
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
)


def apply_changes(dataset: Dataset, changes: Sequence[HeaderChange], renamed: Renames) -> Dataset:
    """Return the tree after the changes; `renamed` is complete."""
    removed = {(change.kind, change.path) for change in changes if isinstance(change, NodeRemoval)}
    attributes: dict[str, list[AttributeChange | AttributeOrder]] = {}
    dimensions = {change.path: change.after for change in changes if isinstance(change, DimensionChange)}
    for change in changes:
        if isinstance(change, AttributeChange | AttributeOrder):
            attributes.setdefault(change.owner, []).append(change)

    def change_variable(variable: Variable, path: str) -> Variable:
        if path not in attributes:
            return variable
        return variable.model_copy(update={"attributes": change_attributes(variable.attributes, attributes[path])})

    def change_group(path: str, group: Group) -> dict[str, Any]:
        return {
            "types": tuple(
                declared for declared in group.types if ("type", names.join(path, declared.name)) not in removed
            ),
            "dimensions": tuple(
                dimensions[place].model_copy(update={"name": dimension.name}) if place in dimensions else dimension
                for dimension in group.dimensions
                if ("dimension", place := names.join(path, dimension.name)) not in removed
            ),
            "variables": tuple(
                change_variable(variable, place)
                for variable in group.variables
                if ("variable", place := names.join(path, variable.name)) not in removed
            ),
            "attributes": change_attributes(group.attributes, attributes.get(path, ())),
        }

    groups = frozenset(path for kind, path in removed if kind == "group")
    changed = rename_tree(map_groups(_drop_groups(dataset, "/", groups), change_group), renamed)
    additions = [change for change in changes if isinstance(change, NodeAddition)]
    return _add(changed, "/", additions) if additions else changed


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
            members[change.name] = Attribute(name=change.name, value=change.after)
        else:
            added.append(change)
    result = list(members.values())
    for change in sorted(added, key=lambda addition: addition.position):
        assert change.after is not None
        result.insert(change.position, Attribute(name=change.name, value=change.after))
    return tuple(result)


def _drop_groups(group: Any, path: str, gone: frozenset[str]) -> Any:
    """Return a group without those of the FQNs."""
    if not gone:
        return group
    remaining = []
    for child in group.groups:
        place = names.join(path, child.name)
        if place not in gone:
            remaining.append(_drop_groups(child, place, gone))
    return group.model_copy(update={"groups": tuple(remaining)})


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
