"""4.4.2 Time coordinate units (4.4 in older versions)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.arrays.values.time_units import CALENDARS, date
from nczarr.operations.cf.axes import is_time_coordinate
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.udunits import REFERENCE
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-time", "4.4.2")

_TIME = "dimensions: time = 1 ; variables: double time(time) ; time:units = "

RULES = (
    R.must("reference", "The units of a time coordinate have a reference datetime.", _TIME
        + '"days« | since 2000-01-01»" ; time:standard_name = "time" ;', "write units such as `days since 2000-01-01`"),
    R.must("datetime", "The reference datetime has the form of a date, and perhaps time and offset.", _TIME
        + '"days since «new year|2000-01-01»" ;', "write a date such as `2000-01-01` or `2000-01-01 12:00:00`"),
    R.must("complete", "The reference datetime has a complete date, and an offset only behind a time.", _TIME
        + '"days since «2000|2000-01-01»" ;', "write year, month and day", since=(1, 13)),
    R.must("exists", "The reference datetime exists in the calendar.", _TIME + '"days since 2001-02-«30|28»" ;',
        "write a date of the calendar"),
    R.must("zone-calendar", "The calendars `utc` and `tai` have no offset.", _TIME
        + '"s since 2000-01-01 00:00 «+1:00|»" ; time:calendar = "tai" ;',
        "convert the datetime, and remove the offset", since=(1, 13)),
    R.should("zone", "The reference datetime has no offset.", _TIME + '"days since 2000-01-01 00:00«+01:00|»" ;',
        "convert the datetime, and remove the offset", since=(1, 13)),
    R.should("year-zero", "There is no year 0 in the calendars `standard` and `julian`.", _TIME
        + '"days since «0000|0001»-01-01" ;',
        "use `climatology` for climatological time, and another reference datetime"),
    R.should("month", "Units are not years and months, whose length UDUNITS fixes.", _TIME
        + '"«months|days» since 2000-01-01" ;', "count days"),
    R.should("since", "The word before the reference datetime is `since`.", _TIME + '"days «after|since» 2000-01-01" ;',
        "write `since`", since=(1, 11)),
    R.should("prefix", "Only seconds have decimal prefixes.", _TIME + '"«kilodays|days» since 2000-01-01" ;',
        "remove the prefix", since=(1, 13)),
    R.should("utc-unit", "Times of the calendar `utc` are counted in seconds.", _TIME
        + '"«days|seconds» since 2000-01-01" ; time:calendar = "utc" ;', "count seconds", since=(1, 13)),
    Rules("cf-time", "4.4.3").must("leap-calendar", "Only times of the real-world calendars have `units_metadata`.",
        _TIME + '"days since 2000-01-01" ; time:calendar = "«360_day|standard»" ; time:units_metadata = '
        '"leap_seconds: none" ;', "remove `units_metadata`", since=(1, 12), until=(1, 12)),
    Rules("cf-time", "4.4.3").should("leap-metadata", "Times of the real-world calendars have `units_metadata`.", _TIME
        + '"days since 2000-01-01" ; «|time:units_metadata = "leap_seconds: unknown" ;»',
        "write `leap_seconds: none`, `leap_seconds: utc` or `leap_seconds: unknown`", since=(1, 12), until=(1, 12)),
)  # fmt: skip

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


TOPIC = Topic(RULES, find)
