"""3.1 Units."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.operations.cf.axes import is_time_reference
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.standard_name_table import find_standard_name
from nczarr.operations.cf.udunits import UNJUDGED, UnitSystem, unit_of
from nczarr.operations.cf.view import REALS, CFDataset, CFVariable

R = Rules("cf-units", "3.1")

METADATA = tuple(f"temperature: {word}" for word in ("on_scale", "difference", "unknown"))
LEAP_SECONDS = tuple(f"leap_seconds: {word}" for word in ("none", "utc", "unknown"))
VOLUME_FRACTIONS = frozenset(("ppv", "ppmv", "ppbv", "pptv", "ppqv"))
SQUARES = re.compile(r":\s+(?:variance|sum_of_squares)\b")
SPREADS = re.compile(r":\s+(?:range|standard_deviation|variance)\b")

RULES = (
    R.must("present", "Variables of dimensional quantities have `units`.",
        'float t ; t:standard_name = "air_temperature" ; «|t:units = "K" ;»', "write the units"),
    R.must("text", "`units` is a text.", 'float t ; t:units = «1|"1"» ;', "write a text"),
    R.must("valid", "UDUNITS recognises the units.", 'float t ; t:units = "«metter|meter»" ;',
        "write units such as `m s-1`, `degC` or `days since 2000-01-01`"),
    R.must("volume-fraction", "`ppv`, `ppmv`, `ppbv`, `pptv` and `ppqv` do not stand beside a standard name.",
        'float t ; t:standard_name = "mole_fraction_of_ozone_in_air" ; t:units = "«ppmv|1e-6»" ;',
        "write a number, such as `1e-6` for `ppmv`", since=(1, 11)),
    R.must("canonical", "The units are equivalent to those of the standard name.",
        'float t ; t:standard_name = "air_temperature" ; t:units = "«m|degC»" ;',
        "correct the units or the standard name"),
    R.must("metadata", "`units_metadata` has one of the words of this section.",
        'float t ; t:units = "K" ; t:units_metadata = "temperature: «scale|on_scale»" ;', "write one of these words",
        since=(1, 11)),
    R.must("metadata-units", "`units_metadata` stands beside units of temperature, or of time since a datetime.",
        'float t ; t:units = "«m|K»" ; t:units_metadata = "temperature: on_scale" ;', "remove `units_metadata`",
        since=(1, 11)),
    R.must("metadata-difference",
        "`units_metadata` of a range, deviation, variance or standard error of temperatures is a difference.",
        'float t ; t:units = "K" ; t:cell_methods = "area: range" ; '
        't:units_metadata = "temperature: «on_scale|difference»" ;', "write `temperature: difference`", since=(1, 11)),
    R.should("deprecated", "The units `level`, `layer` and `sigma_level` are deprecated.",
        'float z ; z:units = "«level|1»" ;', "write `1`"),
    R.should("stated", "Real numbers and coordinates say their units, also if these are `1`.",
        'float t ; «|t:units = "1" ;»', "write `units`; of a number without dimension they are `1`"),
    R.should("temperature", "Variables with units of temperature have `units_metadata`.",
        'float t ; t:units = "K" ; «|t:units_metadata = "temperature: on_scale" ;»',
        "write whether they are temperatures or differences: `temperature: on_scale` or `temperature: difference`",
        since=(1, 11)),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find missing, invalid and unsuited units."""
    for variable in dataset.variables.values():
        if not (dataset.is_boundary(variable) or dataset.is_container(variable) or dataset.is_structure(variable)):
            yield from _find_missing(dataset, variable)
        node, text = variable.attributes.get("units"), variable.text("units")
        if node is not None and variable.kind("units") != "text":
            yield Breach("text", f"`units` of `{variable.path}` is not a text", node)
        elif node is not None:
            if text in UNJUDGED:
                yield Breach("deprecated", f"the units of `{variable.path}` are `{text}`", node, text)
            if text in VOLUME_FRACTIONS and variable.standard_name:
                yield Breach("volume-fraction", f"the units of `{variable.path}` are `{text}`", node, text)
            if dataset.units is not None:
                yield from _judge(dataset.units, variable, text)
        yield from _find_metadata(dataset, variable)


def _find_missing(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
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


def _judge(system: UnitSystem, variable: CFVariable, text: str) -> Iterator[Breach]:
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


def _find_metadata(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
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


TOPIC = Topic(RULES, find)
