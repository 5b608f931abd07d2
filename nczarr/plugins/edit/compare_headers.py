"""Comparison of two headers: the changes that lead from one to the other, and those that need values rewritten.

A node that vanished beside one that appeared in the same group is the same node
with a new name, if both are equal otherwise and no other node of the group could
be meant. Where that is uncertain, nothing is guessed: values are at stake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.dataset import DEFAULT_STORAGE, KIND_NAMES
from nczarr.ast.renaming import NODE_KINDS, NodeKind, Renames, complete_renames, rename_tree
from nczarr.diagnostics.report import Report
from nczarr.pipeline.compare.diff import definition
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
    NodeRename,
)
from nczarr.semantics.checked import Tables, tables


class RewriteNeed(NamedTuple):
    """A difference that needs values written again."""

    path: str
    """FQN before the edit."""
    what: str
    """Property that differs, such as `type`."""
    before: str
    """Old property in words."""
    after: str
    """New property in words."""


class HeaderComparison(NamedTuple):
    """Result of a comparison."""

    changes: tuple[HeaderChange, ...]
    """Changes of metadata, in the order of `HeaderEdit.changes`."""
    needs: tuple[RewriteNeed, ...]
    """Differences beyond metadata."""
    renamed: Mapping[NodeKind, Mapping[str, str]]
    """Complete new names, as `HeaderEdit.renamed`."""
    detected: tuple[NodeRename, ...]
    """New names that the comparison has concluded."""


def compare_headers(
    before: Dataset, after: Dataset, renames: Renames, deleted: Iterable[tuple[NodeKind, str]], report: Report
) -> HeaderComparison | None:
    """Return the changes from one header to another; None after an ambiguous-rename.

    `renames`: new simple names by kind and old FQN that the user states. `deleted`:
    nodes that the user removes, so that no other one is taken for them.
    """
    direct = {kind: dict(renames.get(kind, {})) for kind in NODE_KINDS}
    detected = _detect_renames(before, after, direct, frozenset(deleted), report)
    if detected is None:
        return None
    complete = complete_renames(before, direct)
    moved = tables(rename_tree(before, complete))
    old_paths = {kind: {new: old for old, new in complete[kind].items()} for kind in NODE_KINDS}
    comparison = _Comparison(moved, tables(after), old_paths)
    if before.kind != after.kind and after.kind is not None:
        kinds = (KIND_NAMES[side.kind] if side.kind else "none" for side in (before, after))
        comparison.needs.append(RewriteNeed("/", "kind of file", *kinds))
    comparison.compare()
    renaming = [
        NodeRename(kind, path, complete[kind].get(path, path))
        for kind in NODE_KINDS
        for path in direct[kind]
        if (kind, path) not in comparison.gone
    ]
    changes = (*comparison.removals, *renaming, *comparison.alterations, *comparison.additions)
    return HeaderComparison(changes, tuple(comparison.needs), complete, tuple(detected))


class _Comparison:
    """Comparison of two trees with the same names for the same nodes."""

    def __init__(self, before: Tables, after: Tables, old_paths: Renames) -> None:
        self.before = before
        self.after = after
        self.old_paths = old_paths
        self.removals: list[NodeRemoval] = []
        self.alterations: list[HeaderChange] = []
        self.additions: list[NodeAddition] = []
        self.needs: list[RewriteNeed] = []
        self.gone: set[tuple[NodeKind, str]] = set()

    def compare(self) -> None:
        """Collect all differences."""
        for kind in NODE_KINDS:
            self._compare_existence(kind)
        for path, group in self.before.groups.items():
            if path in self.after.groups:
                self._compare_attributes("group", path, group, self.after.groups[path])
                self._compare_order(path, group, self.after.groups[path])
        for path, declared in self.before.types.items():
            texts = [definition(node, storage=False) for node in (declared, self.after.types.get(path, declared))]
            if texts[0] != texts[1]:
                self._need("type", path, "definition", *texts)
        used = {reference for variable in self.before.variables.values() for reference in variable.dimensions}
        for path, dimension in self.before.dimensions.items():
            new = self.after.dimensions.get(path, dimension)
            if new.unlimited and dimension.unlimited:
                continue
            if new.size != dimension.size and not (new.unlimited or dimension.unlimited) and path in used:
                self._need("dimension", path, "length", str(dimension.size), str(new.size))
            elif new != dimension:
                self.alterations.append(DimensionChange(self._old("dimension", path), dimension, new))
        for path, variable in self.before.variables.items():
            if path in self.after.variables:
                self._compare_variables(path, variable, self.after.variables[path])

    def _old(self, kind: NodeKind, path: str) -> str:
        return self.old_paths[kind].get(path, path)

    def _need(self, kind: NodeKind, path: str, what: str, before: str, after: str) -> None:
        self.needs.append(RewriteNeed(self._old(kind, path), what, before, after))

    def _compare_existence(self, kind: NodeKind) -> None:
        """Collect nodes of one side alone; a removed group stands for its content, an added one does not."""
        member = f"{kind}s"
        before, after = getattr(self.before, member), getattr(self.after, member)
        for path in before:
            if path not in after and names.parent(path) in self.after.groups:
                old = self._old(kind, path)
                self.removals.append(NodeRemoval(kind, old))
                self.gone.add((kind, old))
        for path, node in after.items():
            if path not in before:
                empty = dict.fromkeys(("types", "dimensions", "variables", "groups"), ()) if kind == "group" else {}
                self.additions.append(NodeAddition(kind, path, node.model_copy(update=empty)))

    def _compare_attributes(self, kind: NodeKind, path: str, before: Any, after: Any) -> None:
        """Add the attributes that were removed, set or moved to the alterations."""
        old: dict[str, Attribute] = {attribute.name: attribute for attribute in before.attributes}
        new: dict[str, Attribute] = {attribute.name: attribute for attribute in after.attributes}
        owner = self._old(kind, path)
        for name, attribute in old.items():
            if name not in new:
                self.alterations.append(AttributeChange(owner, name, attribute.value, None, -1))
        for position, (name, attribute) in enumerate(new.items()):
            value, json = (old[name].value, old[name].json) if name in old else (None, None)
            if value != attribute.value or attribute.json not in (None, json):  # a text such as CDL has no JSON
                change = AttributeChange(owner, name, value, attribute.value, position, attribute.json)
                self.alterations.append(change)
        orders = (tuple(name for name in old if name in new), tuple(name for name in new if name in old))
        if orders[0] != orders[1]:
            self.alterations.append(AttributeOrder(owner, *orders))

    def _compare_order(self, path: str, before: Group, after: Group) -> None:
        """Collect other orders of definitions, in which values may be stored."""
        for member in ("types", "dimensions", "variables", "groups"):
            orders = [_list_names(group, member) for group in (before, after)]
            common = set(orders[0]) & set(orders[1])
            first, second = ([name for name in order if name in common] for order in orders)
            if first != second:
                self._need("group", path, f"{ORDER}{member}", ", ".join(first), ", ".join(second))

    def _compare_variables(self, path: str, before: Variable, after: Variable) -> None:
        """Add changes of attributes, and changes of type, shape and storage, which need values rewritten."""
        if before.type != after.type:
            self._need("variable", path, "type", before.type, after.type)
        if before.dimensions != after.dimensions:
            shapes = (f"({', '.join(map(str, variable.dimensions))})" for variable in (before, after))
            self._need("variable", path, "dimensions", *shapes)
        for member in _STORAGE:
            old, new = getattr(before.storage, member), getattr(after.storage, member)
            if new not in (old, getattr(DEFAULT_STORAGE, member)):
                self._need("variable", path, member.replace("_", " "), str(old), str(new))
        self._compare_attributes("variable", path, before, after)


ORDER = "order of "
"""Begin of the subject of a difference in the order of definitions."""

_STORAGE = ("layout", "chunks", "codecs", "endian", "no_fill", "quantize", "element")
"""Members of a storage, in which a header states only what differs from the default."""


# ---- names -----------------------------------------------------------------------------------------------------------
def _detect_renames(
    before: Dataset,
    after: Dataset,
    direct: dict[NodeKind, dict[str, str]],
    deleted: frozenset[tuple[NodeKind, str]],
    report: Report,
) -> list[NodeRename] | None:
    """Add the names that follow from the trees to `direct`, and return them; None after an ambiguous-rename."""
    errors, detected = report.errors, []
    for kind in NODE_KINDS:
        complete = complete_renames(before, direct)
        moved = rename_tree(before, complete)
        one, other = (getattr(tables(tree), f"{kind}s") for tree in (moved, after))
        gone, new = [path for path in one if path not in other], [path for path in other if path not in one]
        if not gone or not new:
            continue
        old_paths = {path: old for old, path in complete[kind].items()}
        for parent, paths in _by_parent(gone).items():
            there = _by_parent(new).get(parent, [])
            left = [path for path in paths if (kind, old_paths.get(path, path)) not in deleted]
            for path, new_path in _pair_up(kind, moved, one, other, left, there, report):
                old = old_paths.get(path, path)
                direct[kind][old] = names.last(new_path)
                detected.append(NodeRename(kind, old, new_path))
    return detected if report.errors == errors else None


def _by_parent(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return FQNs by that of their group."""
    grouped: dict[str, list[str]] = {}
    for path in paths:
        grouped.setdefault(names.parent(path), []).append(path)
    return grouped


def _pair_up(
    kind: NodeKind,
    tree: Dataset,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    gone: Sequence[str],
    new: Sequence[str],
    report: Report,
) -> Iterator[tuple[str, str]]:
    """Yield pairs of an old and a new FQN of the same node. Reports ambiguous-rename."""
    uses = _uses(tree) if kind == "dimension" else {}
    for path in gone:
        alike = [other for other in new if _is_alike(kind, before[path], after[other])]
        rivals = [other for other in gone if alike and _is_alike(kind, before[other], after[alike[0]])]
        if not alike or (kind == "dimension" and not uses.get(path)):
            continue
        same = [other for other in alike if _is_same(kind, before[path], after[other])]
        if len(alike) == len(rivals) == len(same) == 1:
            yield path, same[0]
            continue
        candidates = ", ".join(f"`{other}`" for other in alike)
        text = f"{kind} `{path}` is missing in the new header, and {candidates} could be its new name"
        prefix = "dim:" if kind == "dimension" else ""
        helps = [
            f"if it is, state it: `--rename '{prefix}{path}={alike[0]}'`",
            f"otherwise state that it is removed: `--delete '{prefix}{path}'`",
        ]
        report.error("ambiguous-rename", text, after[alike[0]].span, helps=helps)


def _uses(tree: Dataset) -> dict[str, int]:
    """Return how many variables use each dimension."""
    uses: dict[str, int] = {}
    for variable in tables(tree).variables.values():
        for reference in variable.dimensions:
            if isinstance(reference, str):
                uses[reference] = uses.get(reference, 0) + 1
    return uses


def _is_alike(kind: NodeKind, old: Any, new: Any) -> bool:
    """Return whether a node could be another one with a new name: type and shape are equal."""
    match kind:
        case "variable":
            return bool(old.type == new.type and old.dimensions == new.dimensions)
        case "dimension":
            return bool(old.unlimited == new.unlimited and (old.unlimited or old.size == new.size))
        case "type":
            return definition(old, storage=False) == definition(new, storage=False)
        case _:
            members = [f"{member}s" for member in NODE_KINDS]
            return all(_list_names(old, member) == _list_names(new, member) for member in members)


def _is_same(kind: NodeKind, old: Any, new: Any) -> bool:
    """Return whether two nodes that are alike are equal but for their names."""
    return kind not in ("variable", "group") or bool(old.attributes == new.attributes)


def _list_names(group: Group, member: str) -> list[str]:
    return [node.name for node in getattr(group, member)]
