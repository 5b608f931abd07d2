"""Dates of CF's calendars are those of cftime."""

from __future__ import annotations

import random
import warnings
from fractions import Fraction

import pytest

from nczarr.arrays.values.time_units import CALENDARS, date, date_text, dates, parse_unit


@pytest.mark.parametrize("calendar", sorted(set(CALENDARS.values())))
def test_dates_are_those_of_cftime(calendar: str) -> None:
    cftime = pytest.importorskip("cftime")
    choose = random.Random(calendar)
    found = 0
    for _ in range(3000):
        year = choose.choice([choose.randint(1, 4000), choose.randint(1575, 1590)])
        parts = year, choose.randint(1, 12), choose.randint(1, 31)
        text = "{}-{}-{} 3:04:05".format(*parts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = cftime.date2num(
                    cftime.datetime(*parts, 3, 4, 5, calendar=calendar), "seconds since 1970-01-01", calendar=calendar
                )
            except ValueError:
                with pytest.raises(ValueError, match=r"is not a date|has no days"):
                    date(text, calendar)
                continue
        assert date(text, calendar) == wanted, text
        found += 1
    assert found > 2000


@pytest.mark.long
@pytest.mark.parametrize("calendar", sorted(set(CALENDARS.values())))
def test_texts_of_dates_lead_back(calendar: str) -> None:
    cftime = pytest.importorskip("cftime")
    choose = random.Random(calendar)
    for _ in range(500):
        day = choose.choice([choose.randint(-4000 * 365, 6000 * 365), choose.randint(-141430, -141415)])
        seconds = Fraction(day * 86400 + choose.choice([0, 60, 3600, 86399]))
        text = date_text(seconds, calendar)
        assert date(text, calendar) == seconds, text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = cftime.num2date(int(seconds), "seconds since 1970-01-01", calendar=calendar)
        if wanted.year > 0:
            assert text.startswith(f"{wanted.year:04}-{wanted.month:02}-{wanted.day:02}"), text


def test_texts_of_dates_have_the_time_that_they_need() -> None:
    for seconds, text in (
        (Fraction(0), "1970-01-01"),
        (Fraction(3600), "1970-01-01 01:00"),
        (Fraction(61), "1970-01-01 00:01:01"),
        (Fraction(1, 3), "1970-01-01 00:00:00.333"),
        (Fraction(-1, 1000), "1969-12-31 23:59:59.999"),
        (Fraction(86400) - Fraction(1, 10000), "1970-01-02"),
    ):
        assert date_text(seconds, "standard") == text


def test_units_are_lengths_and_dates() -> None:
    assert parse_unit("days since 2000-01-01") == (Fraction(86400), "2000-01-01")
    assert parse_unit("6 Hours") == (Fraction(21600), None)
    assert parse_unit("fortnights since 2000-01-01") is None
    assert parse_unit("K") is None
    units = dates("milliseconds since 1970-01-01T00:00:01.5Z", "Gregorian")
    assert units is not None
    assert (units.unit, units.start) == (Fraction(1, 1000), Fraction(3, 2))
    assert dates("days", "standard") is None
    assert dates("days since 2000-13-01", "standard") is None
    assert dates("days since 2000-01-01", "lunar") is None


def test_offsets_from_utc() -> None:
    cftime = pytest.importorskip("cftime")
    for offset in ("-06:00", "-0600", " -06:00", " -0500", " +05:30", " +05", "Z", " UTC", " 0:00", " 00", " +00:00"):
        text = f"1990-01-01 12:30:00{offset}"
        found = cftime.date2num(cftime.num2date(0, f"days since {text}"), "seconds since 1970-01-01")
        assert date(text, "standard") == found, text
    # cftime ignores an offset with one digit of hours; UDUNITS does not
    assert date("1990-01-01 00:00:00 -6:00", "standard") == date("1990-01-01 06:00", "standard")
    for text in ("1990-01-01 00:00 06:00", "1990-01-010", "1990-01-01 00:00 +25:00", "1990-01-01 00:00 +01:60"):
        with pytest.raises(ValueError, match=r"is not a date|no such time"):
            date(text, "standard")


def test_nuls_at_the_end_are_padding() -> None:
    assert dates("days since 2000-01-01\0\0", "noleap\0") is not None


@pytest.mark.parametrize(
    ("units", "calendar", "months", "word"),
    [
        ("months", "360_day", 1, "months"),
        ("month", "360_day", 1, "months"),
        ("years", "360_day", 12, "months"),
        ("2 years", "360_day", 24, "months"),
        ("common_years", "noleap", 1, "common_years"),
    ],
)
def test_months_and_years_are_those_of_cftime(units: str, calendar: str, months: int, word: str) -> None:
    """They are counted where they have a fixed length alone."""
    cftime = pytest.importorskip("cftime")
    found = dates(f"{units} since 1961-02-28 06:00", calendar)
    assert found is not None
    for value in (0, 1, 3, -7):
        wanted = cftime.num2date(value * months, f"{word} since 1961-02-28 06:00", calendar=calendar)
        assert date_text(found.start + found.unit * Fraction(value), calendar) == wanted.strftime("%Y-%m-%d %H:%M")
    assert [dates(found.text, name) for name in ("standard", "julian", "all_leap")] == [None] * 3


@pytest.mark.parametrize(
    ("word", "calendar"),
    [
        ("THIRTY_DAY_MONTHS", "360_day"),
        ("360", "360_day"),
        ("NOLEAP", "noleap"),
        ("JULIAN", "julian"),
        ("365", "noleap"),
    ],
)
def test_calendars_by_words_of_models(word: str, calendar: str) -> None:
    one, other = dates("days since 1999-12-30", word), dates("days since 1999-12-30", calendar)
    assert one is not None
    assert other is not None
    assert (one.unit, one.start) == (other.unit, other.start)
