"""CF's units of time: `days since 2000-01-01` as exact seconds, in every calendar."""

import re
from fractions import Fraction
from typing import NamedTuple

SECONDS = {"W": Fraction(604800), "D": Fraction(86400), "h": Fraction(3600), "m": Fraction(60), "s": Fraction(1),
           "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12),
           "fs": Fraction(1, 10**15), "as": Fraction(1, 10**18)}  # fmt: skip
"""Seconds of NumPy's units of fixed length."""

_WORDS = {"week": "W", "day": "D", "d": "D", "hour": "h", "hr": "h", "h": "h", "minute": "m", "min": "m",
          "second": "s", "sec": "s", "s": "s", "millisecond": "ms", "msec": "ms", "millisec": "ms", "ms": "ms",
          "microsecond": "us", "microsec": "us", "us": "us", "nanosecond": "ns", "nanosec": "ns", "ns": "ns",
          "picosecond": "ps", "femtosecond": "fs", "attosecond": "as"}  # fmt: skip
_UNITS = re.compile(r"(?:([1-9][0-9]*) )?([a-z_]+?)s?(?: since (.+))?", re.ASCII | re.IGNORECASE)
_DATE = re.compile(
    r"([+-]?[0-9]{1,9})-([0-9]{1,2})-([0-9]{1,2})(?:[T ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(\.[0-9]+)?)?)?"
    r"(?: ?(?:Z|UTC|([+-])([0-9]{1,2})(?::?([0-9]{2}))?)| 0{1,2}(?::?00)?)?",
    re.ASCII,
)
"""Date, time and offset from UTC. Time and offset are optional; an offset without a sign is zero."""

_PERIOD = re.compile(
    r"([+-]?[0-9]{4,9})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[T ]([0-9]{1,2})(?::([0-9]{1,2})(:[0-9.]+)?)?"
    r"(?: ?(?:Z|UTC|[+-]?00?:?00))?)?)?)?",
    re.ASCII,
)

GREGORIAN = "proleptic_gregorian"
"""The calendar of NumPy's dates."""

MIXED = ("standard", "gregorian")
"""Names of the calendar that is Julian until 1582-10-04, and Gregorian from 1582-10-15."""

CF_CALENDARS = {**dict.fromkeys(MIXED, "standard"), GREGORIAN: GREGORIAN, "julian": "julian", "noleap": "noleap",
                "365_day": "noleap", "all_leap": "all_leap", "366_day": "all_leap", "360_day": "360_day"}  # fmt: skip
"""Calendars by each of their names in CF."""

CALENDARS = {**CF_CALENDARS, "thirty_day_months": "360_day", "360": "360_day", "360d": "360_day",
             "no_leap": "noleap", "365": "noleap", "365d": "noleap", "366": "all_leap", "366d": "all_leap"}  # fmt: skip
"""Calendars by these, and by the words of FMS and other models."""

_OF_CALENDARS = {"360_day": {"month": Fraction(30 * 86400), "year": Fraction(360 * 86400)},
                 "noleap": {"common_year": Fraction(365 * 86400)}}  # fmt: skip
"""Seconds of units that have a fixed length in one calendar alone."""

_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Units(NamedTuple):
    """Encoding of times: numbers of a unit since a date."""

    unit: Fraction
    """Seconds of the unit."""
    start: Fraction
    """The date in seconds since 1970-01-01 of its calendar; 0 for durations."""
    text: str
    """The attribute `units`."""
    calendar: str | None
    """The attribute `calendar`; None for durations."""


def parse_unit(text: str, calendar: str | None = None) -> tuple[Fraction, str | None] | None:
    """Return the seconds of a unit, and the text of its date if there is one; None for other units.

    `calendar`: a value of `CALENDARS`; months have a fixed length in `360_day` alone.
    """
    match = _UNITS.fullmatch(text.rstrip("\0").strip())
    word = match[2].lower() if match is not None else ""
    unit = _WORDS.get(word) or _WORDS.get(word + "s")
    seconds = SECONDS[unit] if unit else _OF_CALENDARS.get(calendar or "", {}).get(word)
    return None if match is None or seconds is None else (seconds * int(match[1] or 1), match[3])


def dates(text: str, calendar: str) -> Units | None:
    """Return the encoding of dates that `units` and `calendar` name; None if they are no such attributes."""
    calendar_name = CALENDARS.get(calendar.rstrip("\0").lower())
    encoding = parse_unit(text, calendar_name)
    if encoding is None or encoding[1] is None or calendar_name is None:
        return None
    try:
        return Units(encoding[0], date(encoding[1], calendar_name), text, calendar)
    except ValueError:
        return None


def date(text: str, calendar: str) -> Fraction:
    """Return a date in seconds since 1970-01-01 in UTC of its calendar. Raises ValueError for an invalid one."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date, such as 2000-01-01 12:00:00 or 2000-01-01 12:00:00 -06:00")
    year, month, day = (int(part) for part in match.groups()[:3])
    hour, minute, second = (int(part or 0) for part in match.groups()[3:6])
    hours, minutes = (int(part or 0) for part in match.groups()[8:10])
    if max(hour, hours) > 23 or max(minute, minutes, second) > 59:  # no leap seconds
        raise ValueError(f"{text!r} has no such time")
    if not 1 <= month <= 12 or not 1 <= day <= month_length(year, month, calendar):
        raise ValueError(f"{text!r} is not a date of the calendar {calendar!r}")
    days = day_number(year, month, day, calendar) - day_number(1970, 1, 1, calendar)
    seconds = Fraction("0" + (match[7] or ".0"))
    offset = (hours * 3600 + minutes * 60) * (-1 if match[8] == "-" else 1)
    return days * 86400 + hour * 3600 + minute * 60 + second + seconds - offset


def period(text: str, calendar: str) -> tuple[Fraction, Fraction]:
    """Return the first second of a date and of what follows it: `2000-01` is a month, `2000-01-01 12` an hour.

    Both are seconds since 1970-01-01 of a calendar (a value of `CALENDARS`). A date
    with seconds is an instant: both are equal. Raises ValueError for an invalid one.
    """
    match = _PERIOD.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date in UTC, such as 2000, 2000-01, 2000-01-31 or 2000-01-31T12:00")
    year, month, day, hour, minute, second = match.groups()
    if minute is not None:
        first = date(text, calendar)
        return first, first + (60 if second is None else 0)
    first = date(f"{year}-{month or '01'}-{day or '01'} {hour or '00'}:00", calendar)
    if hour is not None:
        return first, first + 3600
    if day is not None:
        return first, first + 86400
    number = int(year)
    if month is None or int(month) == 12:
        following = number + 1 if number != -1 or calendar not in ("standard", "julian") else 1
        return first, date(f"{following}-01-01", calendar)
    return first, date(f"{year}-{int(month) + 1:02}-01", calendar)


def date_text(seconds: Fraction, calendar: str) -> str:
    """Return a date of a calendar (a value of `CALENDARS`), to the millisecond: the inverse of `date`."""
    days_since_1970, rest = divmod(round(seconds * 1000), 86_400_000)
    days = days_since_1970 + day_number(1970, 1, 1, calendar)
    year = 1970 + days_since_1970 // 366  # an estimate; the year before 1 is 0 here
    while _first_day(year + 1, calendar) <= days:
        year += max(1, (days - _first_day(year + 1, calendar)) // 366)
    while _first_day(year, calendar) > days:
        year -= max(1, (_first_day(year, calendar) - days) // 366)
    named = _name_year(year, calendar)
    month = next(number for number in range(12, 0, -1) if day_number(named, number, 1, calendar) <= days)
    day = days - day_number(named, month, 1, calendar) + 1
    if calendar == "standard" and (named, month) == (1582, 10) and day > 4:  # the 4th was followed by the 15th
        day += 10
    text = f"{named:05}" if named < 0 else f"{named:04}"
    text += f"-{month:02}-{day:02}"
    if rest:
        minutes, milliseconds = divmod(rest, 60_000)
        text += f" {minutes // 60:02}:{minutes % 60:02}"
        text += f":{milliseconds // 1000:02}" if milliseconds else ""
        text += f".{milliseconds % 1000:03}" if milliseconds % 1000 else ""
    return text


def _name_year(year: int, calendar: str) -> int:
    """Return the name of a year, counted with a year 0: `standard` and `julian` have none."""
    return year - (year <= 0 and calendar in ("standard", "julian"))  # these calendars have no year 0


def _first_day(year: int, calendar: str) -> int:
    """Return the number of the first day of a year, counted with a year 0."""
    return day_number(_name_year(year, calendar), 1, 1, calendar)


def month_length(year: int, month: int, calendar: str) -> int:
    """Return the days of a month; 0 for a year that the calendar does not have."""
    if calendar == "360_day":
        return 30
    if calendar in ("standard", "julian") and year == 0:
        return 0
    return _MONTHS[month - 1] + (month == 2 and _is_leap(year, calendar))


def _is_leap(year: int, calendar: str) -> bool:
    if calendar in ("noleap", "all_leap"):
        return calendar == "all_leap"
    year += year < 0 and calendar in ("standard", "julian")  # the year before 1 is -1
    if calendar == "julian" or (calendar == "standard" and year < 1582):  # the Gregorian rule began then
        return year % 4 == 0
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def day_number(year: int, month: int, day: int, calendar: str) -> int:
    """Return the number of a day, counted from any fixed day of its calendar. Raises ValueError for a missing day."""
    if calendar == "360_day":
        return year * 360 + (month - 1) * 30 + day - 1
    before = sum(_MONTHS[: month - 1]) + day - 1
    if calendar in ("noleap", "all_leap"):
        return year * (365 + (calendar == "all_leap")) + before + (month > 2 and calendar == "all_leap")
    if calendar == "standard":
        if (1582, 10, 4) < (year, month, day) < (1582, 10, 15):
            raise ValueError(f"the calendar {calendar!r} has no days between 1582-10-04 and 1582-10-15")
        calendar = "julian" if (year, month, day) < (1582, 10, 15) else GREGORIAN
    years = year + (year < 0 and calendar == "julian") - (month <= 2)
    leaps = years // 4 if calendar == "julian" else years // 4 - years // 100 + years // 400
    first = (year + (year < 0 and calendar == "julian")) * 365 + before + leaps
    return first if calendar == GREGORIAN else first - 2
