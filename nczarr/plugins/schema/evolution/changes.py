"""Changes between two schemas, each with its rule; of attributes, those that change what values mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nczarr import names
from nczarr.pipeline.compare.diff import definition
from nczarr.pipeline.compare.difference import show_constant, show_pair
from nczarr.plugins.schema.contract.values import list_values
from nczarr.plugins.schema.evolution.rules import SchemaChange
from nczarr.sdk import ATOMIC, Attribute, Checked, Constant, Dimension, EnumType, Group, UserType, Variable, np

FILL = "_FillValue"

MEANING = frozenset(
    {
        *("units", "calendar", "missing_value", "valid_min", "valid_max", "valid_range", "scale_factor", "add_offset"),
        *("_Unsigned", "standard_name", "positive", "flag_values", "flag_masks", "flag_meanings", "cell_methods"),
        *("compress", "sample_dimension", "instance_dimension", "formula_terms", "computed_standard_name"),
    }
)
"""Attributes of CF and of the netCDF conventions by which a program understands values."""

WITHOUT_EFFECT: Mapping[str, tuple[object, ...]] = {
    "scale_factor": (1,),
    "add_offset": (0,),
    "_Unsigned": ("false",),
    "calendar": ("standard", "gregorian"),
}
"""Values that mean what the absence of the attribute means."""

HARMLESS = frozenset({"standard_name", "units", "cell_methods", "computed_standard_name", "formula_terms", "positive"})
"""Attributes of `MEANING` that may be added: a program that did not know them went without."""

FLAGS = ("flag_values", "flag_masks", "flag_meanings")


def list_attribute_changes(path: str, one: Group | Variable, other: Group | Variable) -> Iterator[SchemaChange]:
    """Yield the changes of the attributes of a node, except those of its fill value."""
    here, there = ({attribute.name: attribute for attribute in side.attributes} for side in (one, other))
    names = [name for name in {**here, **there} if name != FILL]
    renamed = _find_renamed(here, there)
    for name in names:
        if name in renamed:
            yield SchemaChange("renamed-attribute", path, f"attribute `{name}` is `{renamed[name]}` now")
        elif name in here and name in there:
            yield from _compare(path, here[name], there[name])
        elif name in here:
            yield _classify(path, here[name], "removed")
        elif name not in renamed.values():
            yield _classify(path, there[name], "added")


def _find_renamed(here: Mapping[str, Attribute], there: Mapping[str, Attribute]) -> dict[str, str]:
    """Return new names of attributes whose values are under exactly one new name, and under one old one."""
    gone = [name for name in here if name not in there and name != FILL]
    come = [name for name in there if name not in here and name != FILL]
    pairs = [(old, new) for old in gone for new in come if here[old].value == there[new].value]
    old_names, new_names = [old for old, _ in pairs], [new for _, new in pairs]
    return {old: new for old, new in pairs if old_names.count(old) == new_names.count(new) == 1}


def _classify(path: str, attribute: Attribute, verb: str) -> SchemaChange:
    """Return the change of an attribute that only one side has."""
    shown = f"attribute `{attribute.name}`: {show_constant(attribute.value)}"
    has_meaning = attribute.name in MEANING and not (verb == "added" and attribute.name in HARMLESS)
    if has_meaning and not _has_no_effect(attribute):
        rule = "other-units" if attribute.name == "units" else "other-meaning"
        return SchemaChange(rule, path, f"{verb} {shown}")
    return SchemaChange(f"{verb}-attribute", path, shown)


def _has_no_effect(attribute: Attribute) -> bool:
    values = list_values(attribute.value)
    usual = WITHOUT_EFFECT.get(attribute.name, ())
    return len(values) == 1 and (values[0].lower() if isinstance(values[0], str) else values[0]) in usual


def _compare(path: str, here: Attribute, there: Attribute) -> Iterator[SchemaChange]:
    if here.value == there.value:
        return
    name = here.name
    text = f"attribute `{name}`: {' | '.join(show_pair(here.value, there.value))}"
    if list_values(here.value) == list_values(there.value) != []:
        yield SchemaChange("other-attribute-type", path, text)
    elif name in FLAGS and _is_extended(name, here.value, there.value):
        yield SchemaChange("added-flag", path, text)
    elif name == "units":
        yield SchemaChange("other-units", path, text)
    elif name in MEANING:
        yield SchemaChange("other-meaning", path, text)
    else:
        yield SchemaChange("other-text", path, text)


def _is_extended(name: str, here: Constant, there: Constant) -> bool:
    """Return whether flags were added behind those that were there."""
    old, new = (_list_flags(name, value) for value in (here, there))
    return len(new) > len(old) and new[: len(old)] == old


def _list_flags(name: str, value: Constant) -> list[object]:
    values = list_values(value)
    return [*values[0].split()] if name == "flag_meanings" and values and isinstance(values[0], str) else [*values]


def compare_fills(
    path: str, here: Constant | None, there: Constant | None, *, declared: bool
) -> Iterator[SchemaChange]:
    """Yield the change of a fill value. `declared`: at least one side declares one."""
    if not declared or here == there:
        return
    old, new = ([] if value is None else list_values(value) for value in (here, there))
    if old != new or not old:
        shown = " | ".join("none" if value is None else show_constant(value) for value in (here, there))
        yield SchemaChange("other-fill", path, f"fill value: {shown}")


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
            yield from list_attribute_changes(path, here, there)
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
        yield from list_attribute_changes(path, old, new)
        fills = self.old.fills[path], self.new.fills[path]
        declared = any(each.name == FILL for side in (old, new) for each in side.attributes)
        if old.type in ATOMIC or new.type in ATOMIC or declared:
            yield from compare_fills(path, *fills, declared=declared)


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
