"""Dates of CF's calendars are those of cftime."""

from __future__ import annotations

import random
import warnings
from fractions import Fraction

import pytest

from nczarr.arrays.time_units import CALENDARS, date, dates, parsed


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


def test_units_are_lengths_and_dates() -> None:
    assert parsed("days since 2000-01-01") == (Fraction(86400), "2000-01-01")
    assert parsed("6 Hours") == (Fraction(21600), None)
    assert parsed("fortnights since 2000-01-01") is None
    assert parsed("K") is None
    units = dates("milliseconds since 1970-01-01T00:00:01.5Z", "Gregorian")
    assert units is not None
    assert (units.unit, units.start) == (Fraction(1, 1000), Fraction(3, 2))
    assert dates("days", "standard") is None
    assert dates("days since 2000-13-01", "standard") is None
    assert dates("days since 2000-01-01", "lunar") is None
