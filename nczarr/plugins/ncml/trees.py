"""Whole trees: new names that a document gives by `orgName`, before its other changes, and unions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset, Group
from nczarr.ast.dataset import map_groups
from nczarr.ast.renaming import NodeKind, complete_renames, rename_tree
from nczarr.diagnostics.report import suggest
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.ncml.vocabulary import NcmlDocument
from nczarr.semantics.checked import Checked, Tables, Unchecked, tables

_KINDS: dict[str, tuple[NodeKind, str]] = {
    "dimension": ("dimension", "dimensions"),
    "variable": ("variable", "variables"),
    "group": ("group", "groups"),
}
"""Kind of node, and member of a group, by the names of elements."""

Direct = dict[NodeKind, dict[str, str]]


def rename_nodes(draft: Unchecked, element: XmlElement, document: NcmlDocument) -> Unchecked:
    """Return a tree with the new names of a dataset element. Reports unmatched-ncml, bad-ncml."""
    before = document.report.errors
    direct: Direct = {"dimension": {}, "variable": {}, "group": {}}
    _collect(element, draft.dataset, "/", direct, document)
    if document.report.errors > before or not any(direct.values()):
        return draft
    renamed = complete_renames(draft.dataset, direct)
    variables = renamed["variable"]
    parts = {variables.get(path, path): arrays for path, arrays in draft.parts.items()}
    return Unchecked(rename_tree(draft.dataset, renamed), parts=parts)


def _collect(element: XmlElement, group: Group, path: str, direct: Direct, document: NcmlDocument) -> None:
    """Collect the new names in a group and below it."""
    new_names: dict[tuple[str, str], XmlElement] = {}
    for child in element.children:
        if child.tag not in _KINDS:
            continue
        kind, member = _KINDS[child.tag]
        nodes = {node.name: node for node in getattr(group, member)}
        name = names.normal(child.attributes["name"])
        old = names.normal(child.attributes.get("orgName") or name)
        if child.tag == "group" and old in nodes:
            _collect(child, nodes[old], names.join(path, old), direct, document)
        if old == name:
            continue
        span = document.span(child)
        if old not in nodes:
            helps = suggest(old, nodes)
            text = f"there is no {child.tag} `{names.join(path, old)}` to rename"
            document.report.error("unmatched-ncml", text, span, helps=helps)
        elif not names.is_segment(name) or names.join(path, old) in direct[kind]:
            text = f"`{old}` cannot be renamed to `{name[:80]}`: the name is not allowed, or it has another already"
            document.report.error("bad-ncml", text, span)
        else:
            direct[kind][names.join(path, old)] = name
            new_names[child.tag, name] = child
    for (tag, name), child in new_names.items():
        kind, member = _KINDS[tag]
        after = [direct[kind].get(names.join(path, node.name), node.name) for node in getattr(group, member)]
        if after.count(name) > 1:
            text = f"another {tag} has the name `{name}` already"
            document.report.error("bad-ncml", text, document.span(child))


_MEMBERS = ("types", "dimensions", "attributes")


class TreeUnion:
    """Union of datasets, added one by one."""

    def __init__(self) -> None:
        self.dataset = Dataset(name="")
        self.parts: dict[str, Parts] = {}
        self.faults: list[str] = []
        """Messages about variables that do not fit the declarations of earlier datasets."""

    def add(self, name: str, checked: Checked, without: Collection[str] = ()) -> None:
        """Add a dataset, without some of its variables."""
        taken = tables(self.dataset)
        for path in checked.variables:
            if path in taken.variables or path in without:
                continue
            self._check_fit(path, name, checked, taken)
            if path in checked.parts:
                self.parts[path] = checked.parts[path]
        self.dataset = _unite(self.dataset, checked.dataset, "/", without)

    def _check_fit(self, path: str, name: str, checked: Checked, taken: Tables) -> None:
        """Record why a variable does not fit the types and dimensions of earlier datasets."""
        variable = checked.variables[path]
        for reference in variable.dimensions:
            earlier = taken.dimensions.get(reference) if isinstance(reference, str) else None
            if earlier is not None and earlier.size != checked.dimensions[str(reference)].size:
                lengths = f"{checked.dimensions[str(reference)].size} in `{name}`, {earlier.size} before"
                self.faults.append(f"`{path}` has the dimension `{reference}`, whose length differs: {lengths}")
        if variable.type in taken.types and taken.types[variable.type] != checked.types[variable.type]:
            self.faults.append(
                f"`{path}` of `{name}` has the type `{variable.type}`, which differs from the one before"
            )


def _unite(first: Any, second: Any, path: str, without: Collection[str]) -> Any:
    """Return a group with what another one has besides."""
    members: dict[str, Any] = {}
    for member in _MEMBERS:
        there = {node.name for node in getattr(first, member)}
        new = tuple(node for node in getattr(second, member) if node.name not in there)
        if new:
            members[member] = (*getattr(first, member), *new)
    there = {node.name for node in first.variables}
    new = tuple(
        node for node in second.variables if node.name not in there and names.join(path, node.name) not in without
    )
    if new:
        members["variables"] = (*first.variables, *new)
    if second.groups:
        others = {group.name: group for group in second.groups}
        united = [
            _unite(group, others.pop(group.name, Group(name=group.name)), names.join(path, group.name), without)
            for group in first.groups
        ]
        new_groups = [
            _unite(Group(name=name), group, names.join(path, name), without) for name, group in others.items()
        ]
        members["groups"] = (*united, *new_groups)
    return first.model_copy(update=members) if members else first


def put_joined(union: TreeUnion, combined: Checked, order: Dataset) -> Unchecked:
    """Return a union with the joined variables, in the order of the first dataset.

    `combined`: the joined variables and their dimensions alone; `order`: the tree of the first dataset.
    """
    positions = {path: number for number, path in enumerate(tables(order).variables)}

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the changed members of a group: joined dimensions and variables, in the order of the first dataset."""
        joined = combined.groups.get(path)
        dimensions = {node.name: node for node in group.dimensions}
        if joined is not None:
            dimensions |= {node.name: node for node in joined.dimensions}
        variables = (*group.variables, *(() if joined is None else joined.variables))
        last = len(positions)
        ordered = sorted(variables, key=lambda node: positions.get(names.join(path, node.name), last))
        return {"dimensions": tuple(dimensions.values()), "variables": tuple(ordered)}

    return Unchecked(map_groups(union.dataset, change), parts={**union.parts, **combined.parts})
