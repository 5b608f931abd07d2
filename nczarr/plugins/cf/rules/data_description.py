"""3 Description of the data, and Appendix A."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import has_values, is_time_reference, read_texts
from nczarr.plugins.cf.rule import Breach, load_table
from nczarr.plugins.cf.standard_name_table import (
    area_types,
    find_standard_name,
    regions,
    standard_name_version,
    suggest_standard_name,
)
from nczarr.plugins.cf.udunits import UNJUDGED, UnitSystem, unit_of
from nczarr.plugins.cf.view import INTEGERS, REALS, CFDataset, CFVariable

# ---- 3.1 Units --------------------------------------------------------------------------------------------------
METADATA = tuple(f"temperature: {word}" for word in ("on_scale", "difference", "unknown"))
LEAP_SECONDS = tuple(f"leap_seconds: {word}" for word in ("none", "utc", "unknown"))
VOLUME_FRACTIONS = frozenset(("ppv", "ppmv", "ppbv", "pptv", "ppqv"))
SQUARES = re.compile(r":\s+(?:variance|sum_of_squares)\b")
SPREADS = re.compile(r":\s+(?:range|standard_deviation|variance)\b")


def check_units(dataset: CFDataset) -> Iterator[Breach]:
    """Find missing, invalid and unsuited units."""
    for variable in dataset.variables.values():
        if not (dataset.is_boundary(variable) or dataset.is_container(variable) or dataset.is_structure(variable)):
            yield from _find_missing_units(dataset, variable)
        node, text = variable.attributes.get("units"), variable.text("units")
        if node is not None and variable.kind("units") != "text":
            yield Breach("text", f"`units` of `{variable.path}` is not a text", node)
        elif node is not None:
            if text in UNJUDGED:
                yield Breach("deprecated", f"the units of `{variable.path}` are `{text}`", node, text)
            if text in VOLUME_FRACTIONS and variable.standard_name:
                yield Breach("volume-fraction", f"the units of `{variable.path}` are `{text}`", node, text)
            if dataset.units is not None:
                yield from _check_units(dataset.units, variable, text)
        yield from _check_units_metadata(dataset, variable)


def _find_missing_units(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    if "units" in variable.attributes or not variable.is_numeric:
        return
    entry = find_standard_name(variable.standard_name) if variable.standard_name else None
    modifier = variable.text("standard_name").split()[1:]
    if entry is not None and entry.units not in ("1", "") and not modifier:
        text = f"`{variable.path}` is `{entry.name}`, and has no units"
        yield Breach("present", text, variable.node, "", (f"write units that are equivalent to `{entry.units}`",))
    elif (
        entry is None
        and (variable.type in REALS or dataset.holds_coordinates(variable))
        and not ({"flag_values", "flag_masks", "cf_role"} & variable.attributes.keys())
    ):  # integers are often identifiers
        yield Breach("stated", f"`{variable.path}` has no units", variable.node)


def _check_units(system: UnitSystem, variable: CFVariable, text: str) -> Iterator[Breach]:
    node = variable.attributes["units"]
    unit = unit_of(text)
    if not system.is_valid(unit):
        yield Breach("valid", f"UDUNITS does not know the units `{unit}` of `{variable.path}`", node, unit)
        return
    entry = find_standard_name(variable.standard_name) if variable.standard_name else None
    if entry is None:
        return
    modifier = variable.text("standard_name").split()[1:]
    expected = entry.units
    if modifier in (["number_of_observations"], ["status_flag"]):
        expected = "1" if modifier == ["number_of_observations"] else ""
    for _ in SQUARES.findall(variable.text("cell_methods")):
        expected = f"({expected})2"
    if not expected:
        return
    if not system.is_equivalent(unit, expected):
        what = f"the units of `{variable.path}`, `{text}`, are not equivalent to `{expected}`, those of"
        yield Breach("canonical", f"{what} `{variable.text('standard_name')}`", node)


def _check_units_metadata(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node, text, units = (
        variable.attributes.get("units_metadata"),
        variable.text("units_metadata"),
        variable.text("units"),
    )
    is_time = is_time_reference(variable) and dataset.version >= (1, 12)
    is_temperature = dataset.units is not None and dataset.units.involves_temperature(units)
    if node is None:
        if is_temperature and not dataset.is_boundary(variable):
            yield Breach(
                "temperature", f"`{variable.path}` has the units `{units}`, and no `units_metadata`", variable.node
            )
        return
    allowed = (*METADATA, *LEAP_SECONDS) if dataset.version >= (1, 12) else METADATA
    if text not in allowed:
        text_of = ", ".join(f"`{word}`" for word in allowed)
        yield Breach("metadata", f"`units_metadata` of `{variable.path}` is `{text}`", node, "", (f"write {text_of}",))
    elif dataset.units is not None and not is_time and not is_temperature:
        what = f"the units `{units}`" if units else "no units"
        yield Breach("metadata-units", f"`{variable.path}` has `units_metadata`, and {what}", node)
    elif text.startswith("temperature:") and text != "temperature: difference":
        is_spread = SPREADS.search(variable.text("cell_methods")) is not None
        if is_spread or variable.text("standard_name").endswith(" standard_error"):
            yield Breach("metadata-difference", f"`units_metadata` of `{variable.path}` is `{text}`", node)


# ---- 3 and 3.2: names that describe variables -------------------------------------------------------------------
def check_long_name(dataset: CFDataset) -> Iterator[Breach]:
    """Find data variables and coordinates without a description."""
    for variable in dataset.variables.values():
        if "long_name" in variable.attributes or "standard_name" in variable.attributes:
            continue
        if dataset.is_boundary(variable) or dataset.is_container(variable) or dataset.is_structure(variable):
            continue
        yield Breach("described", f"`{variable.path}` has neither `long_name` nor `standard_name`", variable.node)


# ---- 3.3 Standard names -----------------------------------------------------------------------------------------
MODIFIERS = ("detection_minimum", "number_of_observations", "standard_error", "status_flag")
DEPRECATED = ("number_of_observations", "status_flag")


def check_standard_name(dataset: CFDataset) -> Iterator[Breach]:
    """Find names that are not in the table."""
    for variable, node in dataset.having("standard_name"):
        words = variable.text("standard_name").split()
        if variable.kind("standard_name") != "text" or not words:
            yield Breach("text", f"`standard_name` of `{variable.path}` is not a standard name", node)
            continue
        if find_standard_name(words[0]) is None:
            meant = suggest_standard_name("_".join(words) if len(words) > 2 else words[0])
            what = f"`{words[0]}` of `{variable.path}` is not in version {standard_name_version()} of the table"
            yield Breach("table", what, node, words[0], (f"did you mean `{meant}`?",) if meant else ())
        if len(words) > 2 or (words[1:] and words[1] not in MODIFIERS):
            what = f"`{' '.join(words[1:])}` of `{variable.path}` is not a modifier of standard names"
            yield Breach("modifier", what, node, words[1], tuple(suggest(words[1], MODIFIERS)))
        elif words[1:] and words[1] in DEPRECATED:
            yield Breach("deprecated", f"the modifier `{words[1]}` of `{variable.path}` is deprecated", node, words[1])
        if words[0] in ("region", "area_type"):
            yield from _find_standard_name_words(dataset, variable, words[0])


def _find_standard_name_words(dataset: CFDataset, variable: CFVariable, name: str) -> Iterator[Breach]:
    allowed = regions() if name == "region" else area_types()
    if variable.type in ("char", "string"):
        words = read_texts(dataset, variable) if has_values(dataset, variable) else []
    else:
        words = variable.text("flag_meanings").split()
    for word in dict.fromkeys(words):
        if word and word not in allowed and word.replace(" ", "_").lower() not in allowed:
            helps = tuple(suggest(word, allowed))
            yield Breach("words", f"`{variable.path}` has the unknown {name} `{word}`", variable.node, "", helps)


# ---- 3.4 Ancillary data -----------------------------------------------------------------------------------------
def check_ancillary_data(dataset: CFDataset) -> Iterator[Breach]:
    """Find names of missing variables."""
    for variable, node in dataset.having("ancillary_variables"):
        if variable.kind("ancillary_variables") != "text":
            yield Breach("text", f"`ancillary_variables` of `{variable.path}` is not a text", node)
        for name in variable.text("ancillary_variables").split():
            if dataset.resolve(name, variable.group) is None and name not in dataset.external:
                what = f"`ancillary_variables` of `{variable.path}` names `{name}`, which does not exist"
                yield Breach("exists", what, node, name, dataset.suggest(name, variable.group))


# ---- 3.5 Flags --------------------------------------------------------------------------------------------------
_WORD = re.compile(r"[A-Za-z0-9_\-.+@]+")


def check_flags(dataset: CFDataset) -> Iterator[Breach]:
    """Find flags that do not agree with their variable or their meanings."""
    for variable in dataset.variables.values():
        for name in ("flag_values", "flag_masks"):
            if name in variable.attributes:
                yield from _check_flag_values(variable, name)
        if "flag_meanings" in variable.attributes:
            yield from _find_flags_words(variable)
        yield from _find_flags_outside_masks(variable)


def _check_flag_values(variable: CFVariable, name: str) -> Iterator[Breach]:
    node, path = variable.attributes[name], variable.path
    if not variable.has_type(name, variable.type):
        text = f"`{name}` of `{path}` has the type `{node.value.type}`, not `{variable.type}`"
        yield Breach("type", text, node)
    count = node.value.count
    if variable.type == "char" and not variable.numbers(name):
        count = len(variable.text(name).split()) if " " in variable.text(name) else count
    words = variable.text("flag_meanings").split()
    if "flag_meanings" not in variable.attributes:
        if name == "flag_values":
            yield Breach("meanings", f"`{path}` has `flag_values` without `flag_meanings`", node)
    elif len(words) != count and variable.kind("flag_meanings") == "text":
        text = f"`{path}` has {count} `{name}`, and {len(words)} words in `flag_meanings`"
        yield Breach("count", text, variable.attributes["flag_meanings"])
    numbers = variable.numbers(name)
    if name == "flag_values" and len(set(numbers)) < len(numbers):
        repeated = next(number for number in numbers if numbers.count(number) > 1)
        yield Breach("distinct", f"`flag_values` of `{path}` has {repeated} twice", node, str(repeated))
    if name == "flag_masks" and 0 in numbers:
        yield Breach("zero", f"a mask of `{path}` is zero", node)
    if name == "flag_masks" and variable.type not in INTEGERS | {"char"}:
        yield Breach("bits", f"`{path}` has `flag_masks` and the type `{variable.type}`", node)


def _find_flags_words(variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["flag_meanings"]
    if variable.kind("flag_meanings") != "text":
        yield Breach("words", f"`flag_meanings` of `{variable.path}` is not a text", node)
    if not {"flag_values", "flag_masks"} & variable.attributes.keys():
        yield Breach("values", f"`{variable.path}` has `flag_meanings` without `flag_values` and `flag_masks`", node)
    for word in variable.text("flag_meanings").split():
        if not _WORD.fullmatch(word):
            yield Breach("words", f"`{word}` of `{variable.path}` has characters that no meaning has", node, word)


def _find_flags_outside_masks(variable: CFVariable) -> Iterator[Breach]:
    values, masks = variable.numbers("flag_values"), variable.numbers("flag_masks")
    if len(values) != len(masks):
        return
    for value, mask in zip(values, masks, strict=True):
        if isinstance(value, int) and isinstance(mask, int) and value & mask != value:
            text = f"the flag {value} of `{variable.path}` has bits outside of its mask {mask}"
            yield Breach("masked", text, variable.attributes["flag_values"], str(value))


# ---- Appendix A: types of attributes ----------------------------------------------------------------------------
def check_attributes(dataset: CFDataset) -> Iterator[Breach]:
    """Find texts that are numbers, and numbers that are texts."""
    table = load_table("attributes")
    for owner in dataset.owners:
        for name, attribute in owner.attributes.items():
            kind = owner.kind(name)
            if name in table["texts"] and kind != "text":
                yield Breach("text", f"`{name}` of `{owner.path}` is not a text", attribute)
            if name in table["numbers"] and kind == "text":
                yield Breach("number", f"`{name}` of `{owner.path}` is a text, not a number", attribute)
