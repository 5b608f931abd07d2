"""Changes between two schemas, each with its rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nczarr import names
from nczarr.pipeline.compare.diff import definition
from nczarr.plugins.schema.evolution import attributes
from nczarr.plugins.schema.evolution.rules import SchemaChange
from nczarr.sdk import ATOMIC, Checked, Dimension, EnumType, Group, UserType, Variable, np

_WIDTHS = {"byte": "i1", "ubyte": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_WIDTHS |= {"int64": "i8", "uint64": "u8", "float": "f4", "double": "f8"}


def list_changes(old: Checked, new: Checked) -> Iterator[SchemaChange]:
    """Yield the changes from a schema to another, by subject, in the order of the old one.

    What is gone and has come under one other name, and nothing else fits, counts as renamed; the parts that refer to
    it did not change.
    """
    yield from _Evolution(old, new).find()


class _Evolution:
    def __init__(self, old: Checked, new: Checked) -> None:
        self.old = old
        self.new = new
        self.renamed: dict[tuple[str, str], str] = {}
        """New FQNs of what was renamed, by its kind and the old FQN: a dimension and its coordinate share one."""

    def find(self) -> Iterator[SchemaChange]:
        old, new = self.old, self.new
        yield from self._compare_members("group", old.groups, new.groups, self._describe_group)
        yield from self._compare_members("type", old.types, new.types, self._describe_type)
        yield from self._compare_members("dimension", old.dimensions, new.dimensions, self._describe_dimension)
        yield from self._compare_members("variable", old.variables, new.variables, self._describe_variable)
        for path, here, there in _list_pairs(old.groups, new.groups):
            yield from attributes.list_changes(path, here, there)
        for path, one, other in _list_pairs(old.types, new.types):
            yield from self._compare_types(path, one, other)
        for path, short, long in _list_pairs(old.dimensions, new.dimensions):
            yield from _compare_dimensions(path, short, long)
        for path, before, after in _list_pairs(old.variables, new.variables):
            yield from self._compare_variables(path, before, after)

    def _compare_members(
        self, what: str, old: Mapping[str, Any], new: Mapping[str, Any], describe: Callable[[str, Any, str], object]
    ) -> Iterator[SchemaChange]:
        """Yield what is only on one side, or has another name; a group stands for its content."""
        both = self.old.groups.keys() & self.new.groups.keys()
        gone = [path for path in old if path not in new and names.parent(path) in both]
        come = [path for path in new if path not in old and names.parent(path) in both]
        found = {path: describe(path, old[path], "old") for path in gone}
        found |= {path: describe(path, new[path], "new") for path in come}
        for path in gone:
            alike = [other for other in come if _are_siblings(path, other) and found[other] == found[path]]
            rivals = [other for other in gone if _are_siblings(path, other) and found[other] == found[path]]
            if len(alike) == len(rivals) == 1 and found[path] is not None:
                self.renamed[what, path] = alike[0]
                come.remove(alike[0])
                yield SchemaChange(f"renamed-{what}", path, f"{what} is `{names.last(alike[0])}` now")
            else:
                yield SchemaChange(f"removed-{what}", path, f"{what} only in the first")
        for path in come:
            yield SchemaChange(f"added-{what}", path, f"{what} only in the second")

    def _now(self, what: str, path: str) -> str:
        """Return the FQN that something of a kind has in the new schema."""
        return self.renamed.get((what, path), path)

    def _place(self, what: str, path: str, side: str) -> str:
        return self._now(what, path) if side == "old" else path

    def _describe_type(self, path: str, node: UserType, side: str) -> object:
        return self._define(node, side)

    def _define(self, node: UserType, side: str) -> str:
        """Return the definition of a type in the names of the new schema."""
        text = definition(node, storage=False)
        renamed = {path: after for (what, path), after in self.renamed.items() if what == "type" and side == "old"}
        for before, after in renamed.items():
            text = after.join(re.split(rf"{re.escape(before)}(?=[ (])", text))
        return text

    def _describe_group(self, path: str, group: Group, side: str) -> object:
        """Return what a renamed group keeps; None of an empty one, of which there may be many."""
        tree = self.old if side == "old" else self.new
        inside = [
            (each.removeprefix(path), getattr(node, "type", None))
            for nodes in (tree.groups, tree.types, tree.dimensions, tree.variables)
            for each, node in nodes.items()
            if each.startswith(f"{path}/")
        ]
        return inside or None

    def _describe_dimension(self, path: str, dimension: Dimension, side: str) -> object:
        """Return what identifies a renamed dimension: its length (None: unlimited) and the axes that use it."""
        tree = self.old if side == "old" else self.new
        users = [
            (each, axis)
            for each, variable in tree.variables.items()
            for axis, reference in enumerate(variable.dimensions)
            if reference == path
        ]
        size = None if dimension.unlimited else dimension.size
        # a variable with the name of the dimension is renamed with it
        return size, [user for user in users if names.last(user[0]) != dimension.name]

    def _describe_variable(self, path: str, variable: Variable, side: str) -> object:
        """Return what a renamed variable keeps; None of one without dimensions and attributes, which any may be."""
        if not variable.dimensions and not variable.attributes:
            return None
        dimensions = tuple(self._place("dimension", str(each), side) for each in variable.dimensions)
        stated = [(each.name, each.value.type, each.value.data) for each in variable.attributes]
        return self._place("type", variable.type, side), dimensions, stated

    def _compare_types(self, path: str, old: UserType, new: UserType) -> Iterator[SchemaChange]:
        """Yield changes of a type: members removed from or added to an enum, else another definition."""
        before, after = self._define(old, "old"), self._define(new, "new")
        if before == after:
            return
        if isinstance(old, EnumType) and isinstance(new, EnumType) and old.base == new.base:
            here, there = ({each.name: each.value for each in side.constants} for side in (old, new))
            if all(there.get(name, value) == value for name, value in here.items()):
                for name in here.keys() - there.keys():
                    yield SchemaChange("removed-member", path, f"member `{name}` = {here[name]} only in the first")
                for name in there.keys() - here.keys():
                    yield SchemaChange("added-member", path, f"member `{name}` = {there[name]} only in the second")
                if here.keys() != there.keys():
                    return
        yield SchemaChange("other-definition", path, f"type: {before} | {after}")

    def _compare_variables(self, path: str, old: Variable, new: Variable) -> Iterator[SchemaChange]:
        before, after = self._now("type", old.type), new.type
        if before != after:
            rule = "other-type"
            if old.type in _WIDTHS and new.type in _WIDTHS:
                rule = _compare_widths(old.type, new.type)
            yield SchemaChange(rule, path, f"type: {old.type} | {new.type}")
        was = tuple(self._now("dimension", str(each)) for each in old.dimensions)
        now = tuple(map(str, new.dimensions))
        if was != now:
            rule = "reordered-dimensions" if sorted(was) == sorted(now) else "other-dimensions"
            texts = (f"({', '.join(map(str, variable.dimensions))})" for variable in (old, new))
            yield SchemaChange(rule, path, f"dimensions: {' | '.join(texts)}")
        yield from attributes.list_changes(path, old, new)
        fills = self.old.fills[path], self.new.fills[path]
        declared = any(each.name == attributes.FILL for side in (old, new) for each in side.attributes)
        if old.type in ATOMIC or new.type in ATOMIC or declared:
            yield from attributes.compare_fills(path, *fills, declared=declared)


def _list_pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    return ((path, old[path], new[path]) for path in old if path in new)


def _are_siblings(one: str, other: str) -> bool:
    return names.parent(one) == names.parent(other)


def _compare_widths(old: str, new: str) -> str:
    """Return the rule of another type of numbers: whether it has all values of the old one, or fewer."""
    before, after = _WIDTHS[old], _WIDTHS[new]
    if np.can_cast(before, after, "safe"):
        return "widened-type"
    return "narrowed-type" if np.can_cast(after, before, "safe") else "other-type"


def _compare_dimensions(path: str, old: Dimension, new: Dimension) -> Iterator[SchemaChange]:
    if old.unlimited != new.unlimited:
        rule = "closed-dimension" if old.unlimited else "opened-dimension"
        yield SchemaChange(
            rule, path, "dimension: unlimited | fixed" if old.unlimited else "dimension: fixed | unlimited"
        )
    elif old.size != new.size:
        rule = "other-records" if old.unlimited else "other-length"
        yield SchemaChange(rule, path, f"length: {old.size} | {new.size}")
