"""Changes of attributes: which of them change what values mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nczarr.pipeline.compare.difference import show_constant, show_pair
from nczarr.plugins.schema.contract.values import list_values
from nczarr.plugins.schema.evolution.rules import SchemaChange
from nczarr.sdk import Attribute, Constant, Group, Variable

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


def list_changes(path: str, one: Group | Variable, other: Group | Variable) -> Iterator[SchemaChange]:
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
