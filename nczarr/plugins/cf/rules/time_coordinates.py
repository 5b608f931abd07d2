"""4.4 Time coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from nczarr.arrays.values.time_units import CALENDARS, CF_CALENDARS, Units, date, date_text, dates
from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import has_values, is_time_coordinate, is_time_reference, read_pieces
from nczarr.plugins.cf.rule import Breach
from nczarr.plugins.cf.udunits import REFERENCE
from nczarr.plugins.cf.view import INTEGERS, CFDataset, CFVariable

# ---- 4.4.2 Time coordinate units (4.4 in older versions) --------------------------------------------------------
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


def check_time_units(dataset: CFDataset) -> Iterator[Breach]:
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
        yield from _check_time_unit(variable, match["unit"])
        yield from _check_reference_datetime(variable, match["datetime"])
        calendar = variable.text("calendar").lower() or "standard"
        is_real, metadata = calendar in REAL_WORLD, variable.attributes.get("units_metadata")
        if metadata is not None and not is_real:
            yield Breach(
                "leap-calendar", f"`{variable.path}` has `units_metadata`, and the calendar `{calendar}`", metadata
            )
        if metadata is None and is_real:
            yield Breach("leap-metadata", f"`{variable.path}` has no `units_metadata`", variable.node)


def _check_time_unit(variable: CFVariable, unit: str) -> Iterator[Breach]:
    node, what = variable.attributes["units"], f"`{variable.path}` counts `{unit}`"
    if _MONTHS.fullmatch(unit):  # 4.4: UDUNITS counts years of 365.242198781 days, and months of a twelfth
        yield Breach("month", what, node, unit)
    if _PREFIXED.fullmatch(unit):
        yield Breach("prefix", what, node, unit)
    if variable.text("calendar").lower() == "utc" and not re.fullmatch(r"s|secs?|seconds?", unit):
        yield Breach("utc-unit", f"{what} in the calendar `utc`", node, unit)


def _check_reference_datetime(variable: CFVariable, text: str) -> Iterator[Breach]:
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
    if int(match["year"]) == 0 and calendar in ("standard", "julian"):  # 4.4.2: deprecated in these calendars
        yield Breach("year-zero", f"the reference datetime of `{variable.path}` is in year 0", node, text)
        return
    clock = f"{match['hour'] or 0}:{match['minute'] or 0}:{(match['second'] or '0').rstrip('.')}"
    try:
        date(f"{match['year']}-{match['month'] or 1}-{match['day'] or 1} {clock}", calendar)
    except ValueError:
        what = f"the reference datetime `{text}` of `{variable.path}` does not exist in the calendar `{calendar}`"
        yield Breach("exists", what, node, text)


# ---- 4.4.3 Calendar, and 4.4.4 Explicitly defined calendar (4.4.1 in older versions) ----------------------------
ATOMIC = ("utc", "tai")
"""Calendars with or without leap seconds, since CF 1.12."""

EXPLICIT = ("month_lengths", "leap_year", "leap_month")


def check_calendar(dataset: CFDataset) -> Iterator[Breach]:
    """Find calendars that are unknown, or do not have the times."""
    for variable in dataset.variables.values():
        names_of = [name for name in ("calendar", *EXPLICIT) if name in variable.attributes]
        is_time = is_time_coordinate(dataset, variable)
        if names_of and not (is_time or is_time_reference(variable) or dataset.is_boundary(variable)):
            what = f"`{variable.path}` has `{names_of[0]}`, and no time since a datetime"
            yield Breach("place", what, variable.attributes[names_of[0]])
        if is_time and not {"calendar", "month_lengths"} & variable.attributes.keys():
            yield Breach("present", f"`{variable.path}` has no `calendar`", variable.node)
        yield from _check_calendar(dataset, variable)
        yield from _check_user_calendar(variable)
        if is_time and is_time_reference(variable) and has_values(dataset, variable):
            yield from _check_range_of_times(dataset, variable)


def _check_calendar(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes.get("calendar")
    if node is None:
        return
    calendar = variable.text("calendar").lower()
    allowed = {*CF_CALENDARS, "none", *(ATOMIC if dataset.version >= (1, 12) else ())}
    if calendar == "gregorian":  # 4.4: deprecated for `standard`
        yield Breach("gregorian", f"`calendar` of `{variable.path}` is `gregorian`", node)
    defined = [name for name in EXPLICIT if name in variable.attributes]
    if calendar in allowed and defined:
        what = f"`{variable.path}` has the calendar `{calendar}` and `{defined[0]}`"
        yield Breach("defined", what, variable.attributes[defined[0]])
    if calendar not in allowed and "month_lengths" not in variable.attributes:
        what = f"`calendar` of `{variable.path}` is `{variable.text('calendar')}`"
        name = CALENDARS.get(calendar)
        helps = suggest(calendar, allowed) if name is None else [f"write `{name}`, the name that CF has for it"]
        yield Breach("value", what, node, "", tuple(helps))


def _check_user_calendar(variable: CFVariable) -> Iterator[Breach]:
    for name, count, rule in (
        ("month_lengths", 12, "month-lengths"),
        ("leap_year", 1, "leap"),
        ("leap_month", 1, "leap"),
    ):
        node = variable.attributes.get(name)
        if node is None:
            continue
        numbers = variable.numbers(name)
        is_month = name != "leap_month" or all(1 <= number <= 12 for number in numbers)
        if node.value.type not in INTEGERS or len(numbers) != count or not is_month:
            yield Breach(rule, f"`{name}` of `{variable.path}` is not {'12 integers' if count > 1 else 'valid'}", node)
    if "leap_month" in variable.attributes and "leap_year" not in variable.attributes:
        what = f"`{variable.path}` has `leap_month` without `leap_year`"
        yield Breach("leap-month", what, variable.attributes["leap_month"])


FIRST = {"utc": "1972-01-01", "tai": "1958-01-01"}
SWITCH = date("1582-10-15", "standard")


def _check_range_of_times(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    """Check that times exist in the calendar, and that they and their reference are on one side of October 1582."""
    calendar = variable.text("calendar").lower() or "standard"
    encoding = dates(variable.text("units"), "proleptic_gregorian" if calendar in ATOMIC else calendar)
    if encoding is None or not (calendar in ATOMIC or CALENDARS[calendar] in ("standard", "julian")):
        return
    times = _read_extent(dataset, variable, encoding)
    if times is None:
        return
    earliest, latest = times
    node = variable.attributes.get("calendar", variable.node)
    if CALENDARS.get(calendar) == "standard":
        if earliest < SWITCH <= latest:  # ten days were left out in October 1582
            what = f"`{variable.path}` goes from {_show(earliest)} to {_show(latest)}"
            yield Breach("crossing", what, node)
        if (encoding.start < SWITCH) != (earliest < SWITCH) or (encoding.start < SWITCH) != (latest < SWITCH):
            what = f"`{variable.path}` goes from {_show(earliest)} to {_show(latest)}"
            what = f"{what}, and counts from {_show(encoding.start)}"
            yield Breach("side", what, node)
    first = (
        date(FIRST[calendar], "proleptic_gregorian") if calendar in FIRST else date("-0001-01-01", CALENDARS[calendar])
    )
    if earliest < first:
        what = f"`{variable.path}` has the time {_show(earliest)}, which the calendar `{calendar}` does not have"
        yield Breach("times", what, node)


def _show(seconds: Fraction) -> str:
    return date_text(seconds, "standard")


def _read_extent(dataset: CFDataset, variable: CFVariable, encoding: Units) -> tuple[Fraction, Fraction] | None:
    """Return the earliest and the latest time, in seconds; None without times."""
    low, high = [], []
    for values, missing in read_pieces(dataset, variable):
        present = values[~missing]
        if present.size:
            low.append(float(present.min()))
            high.append(float(present.max()))
    if not low or not all(abs(value) < 1e18 for value in (*low, *high)):
        return None
    earliest, latest = (encoding.start + encoding.unit * Fraction(value) for value in (min(low), max(high)))
    return earliest, latest
