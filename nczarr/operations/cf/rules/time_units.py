"""4.4.2 Time coordinate units (4.4 in older versions)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.arrays.values.time_units import CALENDARS, date
from nczarr.operations.cf.axes import is_time_coordinate
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.udunits import REFERENCE
from nczarr.operations.cf.view import CFDataset, CFVariable

_DATETIME = re.compile(
    r"(?P<year>[+-]?[0-9]{1,9})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?)?"
    r"(?:(?:\s+|T)(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2}(?:\.[0-9]*)?))?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]?[0-9]{1,2}(?::?[0-9]{1,2})?)?"
)
_MONTHS = re.compile(
    r"(?:(?:common|tropical|sidereal|Julian|Gregorian)_)?(?:years?|yrs?|months?|a|ans?)", re.IGNORECASE
)
_PREFIXED = re.compile(
    r"(?:deca|deka|hecto|kilo|mega|giga|tera|deci|centi|milli|micro|nano|pico)(?:days?|hours?|minutes?|hrs?|mins?)"
)
REAL_WORLD = ("standard", "gregorian", "proleptic_gregorian", "julian")


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find units of time that are incomplete, invalid or not recommended."""
    for variable in dataset.variables.values():
        if not is_time_coordinate(dataset, variable) or variable.kind("units") not in ("text", ""):
            continue
        units, node = variable.text("units"), variable.attributes.get("units", variable.node)
        match = REFERENCE.fullmatch(units)
        if match is None:
            shown = f"the units `{units}`" if units else "no units"
            what = f"`{variable.path}` has {shown}, which have no reference datetime"
            yield Breach("reference", what if units else f"`{variable.path}` has no units", node)
            continue
        if match["word"].lower() != "since":
            yield Breach("since", f"the units of `{variable.path}` are `{units}`", node, match["word"])
        yield from _find_units(variable, match["unit"])
        yield from _find_datetime(variable, match["datetime"])
        calendar = variable.text("calendar").lower() or "standard"
        is_real, metadata = calendar in REAL_WORLD, variable.attributes.get("units_metadata")
        if metadata is not None and not is_real:
            yield Breach(
                "leap-calendar", f"`{variable.path}` has `units_metadata`, and the calendar `{calendar}`", metadata
            )
        if metadata is None and is_real:
            yield Breach("leap-metadata", f"`{variable.path}` has no `units_metadata`", variable.node)


def _find_units(variable: CFVariable, unit: str) -> Iterator[Breach]:
    node, what = variable.attributes["units"], f"`{variable.path}` counts `{unit}`"
    if _MONTHS.fullmatch(unit):
        yield Breach("month", what, node, unit)
    if _PREFIXED.fullmatch(unit):
        yield Breach("prefix", what, node, unit)
    if variable.text("calendar").lower() == "utc" and not re.fullmatch(r"s|secs?|seconds?", unit):
        yield Breach("utc-unit", f"{what} in the calendar `utc`", node, unit)


def _find_datetime(variable: CFVariable, text: str) -> Iterator[Breach]:
    node, match = variable.attributes["units"], _DATETIME.fullmatch(text.strip())
    if match is None:
        yield Breach("datetime", f"`{text}` of `{variable.path}` is not a datetime", node, text)
        return
    if match["day"] is None or (match["zone"] and match["hour"] is None):
        yield Breach("complete", f"the reference datetime `{text}` of `{variable.path}` is incomplete", node, text)
    if match["zone"] and re.search(r"[1-9]", match["zone"]):
        yield Breach(
            "zone", f"the reference datetime of `{variable.path}` has the offset `{match['zone']}`", node, text
        )
        if variable.text("calendar").lower() in ("utc", "tai"):
            yield Breach("zone-calendar", f"`{variable.path}` has an offset from UTC", node, text)
    calendar = CALENDARS.get(variable.text("calendar").lower() or "standard")
    if variable.text("calendar").lower() in ("utc", "tai"):
        calendar = CALENDARS["proleptic_gregorian"]
    if calendar is None:
        return
    if int(match["year"]) == 0 and calendar in ("standard", "julian"):
        yield Breach("year-zero", f"the reference datetime of `{variable.path}` is in year 0", node, text)
        return
    clock = f"{match['hour'] or 0}:{match['minute'] or 0}:{(match['second'] or '0').rstrip('.')}"
    try:
        date(f"{match['year']}-{match['month'] or 1}-{match['day'] or 1} {clock}", calendar)
    except ValueError:
        what = f"the reference datetime `{text}` of `{variable.path}` does not exist in the calendar `{calendar}`"
        yield Breach("exists", what, node, text)


TOPIC = Topic(load_rules("time_units"), find)
