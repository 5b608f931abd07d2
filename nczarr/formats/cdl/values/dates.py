"""Dates in value lists: quoted dates, as `ncdump -t` prints times, become numbers again.

The variable's `units` ("days since 1900-1-1") and `calendar` (of the CF
conventions) define the conversion. ncgen silently stores the leading digits
(the year); here the intended time is stored, with a warning.
"""

import re
from fractions import Fraction

from nczarr.arrays.values.time_units import CALENDARS, Units, day_number, month_length, parse_unit
from nczarr.ast import Variable

_DATE = re.compile(
    r"\s*([+-]?\d{1,6})-(\d{1,2})(?:-(\d{1,2}))?"
    r"(?:[T ]\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?\s*(?:UTC|Z)?\s*"
)


def count_units(text: str, units: Units) -> Fraction | None:
    """Return a date as a number of units; None if the text is not a date of their calendar."""
    moment = _moment(text, units.calendar or "")
    return None if moment is None else (moment - units.start) / units.unit


def time_units(variable: Variable) -> Units | None:
    """Return the units of a time variable, or None."""
    texts = {
        attribute.name: attribute.value.data.decode("utf-8", "replace").strip("\0")
        for attribute in variable.attributes
        if attribute.name in ("units", "calendar") and isinstance(attribute.value.data, bytes)
    }
    calendar = CALENDARS.get(texts.get("calendar", "standard").lower())
    encoding = parse_unit(" ".join(texts.get("units", "").split()), calendar)
    if encoding is None or encoding[1] is None or calendar is None:
        return None
    epoch = _moment(encoding[1], calendar)
    return None if epoch is None else Units(encoding[0], epoch, texts["units"], calendar)


def _moment(text: str, calendar: str) -> Fraction | None:
    """Return the seconds from 1970 to a date of the calendar; here each calendar has a year 0."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 1)
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), Fraction((match[6] or "0").rstrip("."))
    origin = day_number(1970, 1, 1, calendar)
    if calendar == "standard" and (year, month, day) < (1582, 10, 15):  # then the Gregorian calendar begins
        calendar = "julian"  # also on the ten days that were left out
    year -= year <= 0 and calendar == "julian"
    if hour > 24 or minute > 59 or not 1 <= month <= 12 or not 1 <= day <= month_length(year, month, calendar):
        return None
    days = day_number(year, month, day, calendar) - origin
    return Fraction(days * 86400 + hour * 3600 + minute * 60) + second
