"""Dates in value lists: quoted dates, as `ncdump -t` prints times, become numbers again.

The variable's `units` ("days since 1900-1-1") and `calendar` (of the CF
conventions) define the conversion. ncgen silently stores the leading digits
(the year); here the intended time is stored, with a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from nczarr.ast import Variable

_SECONDS: dict[str, Fraction] = {
    **dict.fromkeys(("millisecond", "milliseconds", "millisec", "millisecs", "msec", "msecs", "ms"), Fraction(1, 1000)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), Fraction(1)),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), Fraction(60)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), Fraction(3600)),
    **dict.fromkeys(("day", "days", "d"), Fraction(86400)),
    **dict.fromkeys(("week", "weeks"), Fraction(7 * 86400)),
}
_UNITS = re.compile(r"\s*([A-Za-z]+)\s+since\s+(.+)", re.IGNORECASE | re.DOTALL)
_DATE = re.compile(
    r"\s*([+-]?\d{1,6})-(\d{1,2})(?:-(\d{1,2}))?"
    r"(?:[T ]\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?\s*(?:UTC|Z)?\s*"
)
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_GREGORIAN = (1582, 10, 15)
"""First day of the Gregorian calendar in the civil one, which is Julian until 4 October 1582."""

CALENDARS = frozenset(
    ("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day")
)


@dataclass(frozen=True, slots=True)
class TimeUnits:
    """Units of time since an epoch, in a calendar."""

    seconds: Fraction
    epoch: Fraction
    """Epoch in seconds."""
    calendar: str
    """Name of the calendar."""
    text: str
    """Units as written."""

    def number(self, text: str) -> Fraction | None:
        """Return a date in these units, None if the text is not a date of this calendar."""
        moment = _moment(text, self.calendar)
        return None if moment is None else (moment - self.epoch) / self.seconds


def time_units(variable: Variable) -> TimeUnits | None:
    """Return the units of a time variable, or None."""
    texts = {
        attribute.name: attribute.value.data.decode("utf-8", "replace").strip("\0")
        for attribute in variable.attributes
        if attribute.name in ("units", "calendar") and isinstance(attribute.value.data, bytes)
    }
    match = _UNITS.fullmatch(texts.get("units", ""))
    calendar = texts.get("calendar", "standard").lower()
    if match is None or match.group(1).lower() not in _SECONDS or calendar not in CALENDARS:
        return None
    epoch = _moment(match.group(2), calendar)
    if epoch is None:
        return None
    return TimeUnits(_SECONDS[match.group(1).lower()], epoch, calendar, texts["units"])


def _moment(text: str, calendar: str) -> Fraction | None:
    """Return the seconds from year 0 of the calendar to a date."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = match.groups()
    date = (int(year), int(month), int(day or 1))
    if not 1 <= date[1] <= 12 or not 1 <= date[2] <= _month_length(date[0], date[1], calendar):
        return None
    if int(hour or 0) > 24 or int(minute or 0) > 59:
        return None
    clock = int(hour or 0) * 3600 + int(minute or 0) * 60 + Fraction(second.rstrip(".") if second else 0)
    return _days(*date, calendar) * 86400 + clock


def _leap(year: int, calendar: str) -> bool:
    if calendar in ("noleap", "365_day"):
        return False
    if calendar in ("all_leap", "366_day"):
        return True
    if calendar == "julian" or (calendar in ("standard", "gregorian") and year < _GREGORIAN[0]):
        return year % 4 == 0
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_length(year: int, month: int, calendar: str) -> int:
    if calendar == "360_day":
        return 30
    return 29 if month == 2 and _leap(year, calendar) else _MONTHS[month - 1]


def _days(year: int, month: int, day: int, calendar: str) -> int:
    """Return the days from year 0 of the calendar to a date; Julian ones agree with the Gregorian count."""
    if calendar == "360_day":
        return 360 * year + 30 * (month - 1) + day - 1
    in_year = sum(_MONTHS[: month - 1]) + (month > 2 and _leap(year, calendar)) + day - 1
    if calendar in ("noleap", "365_day"):
        return 365 * year + in_year
    if calendar in ("all_leap", "366_day"):
        return 366 * year + in_year
    if calendar == "julian" or (calendar != "proleptic_gregorian" and (year, month, day) < _GREGORIAN):
        return 365 * year + (year + 3) // 4 + in_year - 2
    past = year - 1
    return 365 * year + past // 4 - past // 100 + past // 400 + 1 + in_year
