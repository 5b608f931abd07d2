"""Attributes that xarray 2026.9.0 cannot decode by the CF conventions.

It decodes times with cftime; units and calendars are those of cftime 1.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

UNITS = frozenset(
    "nanosecond nanoseconds microsecond microseconds microsec microsecs millisecond milliseconds millisec millisecs "
    "msec msecs ms "
    "second seconds sec secs s minute minutes min mins hour hours hr hrs h day days d".split()
)
CALENDARS = frozenset(
    "standard gregorian proleptic_gregorian tai noleap julian all_leap 365_day 366_day 360_day".split()
)
_LONG = frozenset({"nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day"})
_USUAL = frozenset({"standard", "gregorian", "proleptic_gregorian"})
_DATE = re.compile(r"\s*([+-]?[0-9]{1,9})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?(?![0-9-])")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def faults(attributes: Mapping[str, Any], *, numeric: bool) -> Iterator[tuple[str, str]]:
    """Yield names and reasons of attributes that prevent decoding. `numeric`: the variable has numeric values."""
    units = attributes.get("units")
    if isinstance(units, str) and "since" in units:
        why = time_fault(units, attributes.get("calendar", "standard"), numeric=numeric)
        if why:
            yield "units", why
    yield from encoding_faults(attributes)


def encoding_faults(attributes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield invalid attributes for packing or for references to other variables."""
    for name in ("scale_factor", "add_offset"):
        value = attributes.get(name)
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        if name in attributes and single is not None and not isinstance(single, int | float):
            yield name, f"`{name}` is not a number"
    if not isinstance(attributes.get("coordinates", ""), str):
        yield "coordinates", "`coordinates` is not a string"


def time_fault(units: str, calendar: Any, *, numeric: bool) -> str | None:
    """Return why times in these units cannot be decoded; None if their syntax is valid."""
    parts = re.match(r"(.+) since (.+)", units)
    if parts is None:
        return "there is no unit before `since`, or no date after it"
    name = str(calendar).lower()
    if not isinstance(calendar, str) or name not in CALENDARS:
        return f"there is no calendar `{calendar}`"
    unit = parts[1].strip().lower()
    if unit not in UNITS and not (unit in ("month", "months") and name == "360_day"):
        return f"`{unit}` is not a time unit of constant length"
    if not numeric:
        return "the values are not numbers"
    date = _DATE.match(parts[2])
    whole = unit.removesuffix("s") not in _LONG or name not in _USUAL  # pandas does the others, and takes less
    if date is None or (whole and date[3] is None) or not _exists(date, name):
        return f"`{parts[2].strip()}` is not a date"
    return None


def _exists(date: re.Match[str], calendar: str) -> bool:
    """Return whether a calendar has the matched day; month and day may be missing."""
    if date[2] is None:
        return True
    year, month, day = int(date[1]), int(date[2]), int(date[3] or 1)
    if not 1 <= month <= 12 or day < 1 or (year == 0 and calendar in ("standard", "gregorian", "julian")):
        return False
    if calendar == "360_day":
        return day <= 30
    if month == 2 and day == 29:
        return calendar in ("all_leap", "366_day") or (
            calendar not in ("noleap", "365_day") and _is_leap(year, calendar)
        )
    return day <= _DAYS[month - 1]


def _is_leap(year: int, calendar: str) -> bool:
    old = calendar == "julian" or (calendar in ("standard", "gregorian") and year < 1582)
    return year % 4 == 0 and (old or year % 100 != 0 or year % 400 == 0)
