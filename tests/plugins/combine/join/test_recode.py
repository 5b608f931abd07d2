"""Times of sources with other units: the same instants in one unit, exactly, or an error."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nczarr
from nczarr import refs
from nczarr.arrays.values.time_units import dates
from nczarr.plugins.combine.join.recode import in_units
from tests.conftest import Ran

CDL = """netcdf d {{
dimensions: time = UNLIMITED ; nv = 2 ;
variables:
  {type} time(time) ; time:units = "{units}" ;
  {type} bounds(time, nv) ;
  {attributes}
  float v(time) ;
data: time = {times} ; bounds = {bounds} ; v = {values} ;
}}
"""

SINCE_2000 = "days since 2000-01-01"


def day(units: str, times: list[float], **given: Any) -> nczarr.DatasetHandle:
    members = {
        "type": "double", "attributes": 'time:bounds = "bounds" ;', "times": ", ".join(map(str, times)),
        "bounds": ", ".join(f"{each}, {each}" for each in times), "values": ", ".join(map(str, times)), **given,
    }  # fmt: skip
    return nczarr.from_cdl(CDL.format(units=units, **members))


def refused(*sources: nczarr.DatasetHandle, **wanted: Any) -> str:
    with pytest.raises(nczarr.CompileError) as caught:
        refs.combine(sources, along="time", **wanted)
    return str(caught.value)


def test_times_get_the_units_of_the_first_source() -> None:
    sources = [day(f"hours since 2000-01-{number:02}", [0, 6.5, 18]) for number in (1, 2, 3)]
    found = refs.combine(sources, along="time", decode_times=True)
    assert found["time"][:].tolist() == [0, 6.5, 18, 24, 30.5, 42, 48, 54.5, 66]
    assert found["bounds"][:, 1].tolist() == found["time"][:].tolist()
    assert found["time"].attributes["units"] == "hours since 2000-01-01"
    assert found.diagnostics == ()


def test_times_get_the_units_that_are_given() -> None:
    sources = [day("days since 2000-01-01", [0, 0.5]), day("hours since 2000-01-02", [0, 6])]
    found = refs.combine(sources, along="time", units="minutes since 1999-12-31")
    assert found["time"][:].tolist() == [1440, 2160, 2880, 3240]
    assert found["time"].attributes["units"] == "minutes since 1999-12-31"


def test_integers_stay_integers() -> None:
    sources = [day("days since 2000-01-01", [0, 1], type="int"), day("hours since 2000-01-03", [0, 24], type="int")]
    found = refs.combine(sources, along="time", decode_times=True)
    assert (found["time"][:].tolist(), found["time"].dtype) == ([0, 1, 2, 3], np.dtype("i4"))


@pytest.mark.parametrize(
    ("units", "times", "told"),
    [
        ("hours since 2000-01-02", [6], "`/bounds`: 6 hours since 2000-01-02 in `d` is no exact int32"),
        ("seconds since 1000-01-01", [2**31 - 1], "is no exact int32"),
    ],
)
def test_times_that_are_no_such_numbers_are_refused(units: str, times: list[float], told: str) -> None:
    text = refused(day("days since 2000-01-01", [0], type="int"), day(units, times, type="int"), decode_times=True)
    assert "inexact-times" in text
    assert told in text


def test_missing_times_stay_missing() -> None:
    attributes = "time:_FillValue = -1. ; time:missing_value = -2. ;"
    first = day("hours since 2000-01-01", [0, -1, -2, "NaN", "_"], attributes=attributes)  # type: ignore[list-item]
    second = day("hours since 2000-01-02", [0, -1, -2, "NaN", "_"], attributes=attributes)  # type: ignore[list-item]
    found = refs.combine([first, second], along="time", decode_times=True, unsorted=True)["time"][:]
    np.testing.assert_array_equal(found, [0, -1, -2, np.nan, -1, 24, -1, -2, np.nan, -1])


def test_numbers_in_old_units_and_other_calendars_are_refused() -> None:
    first = day("hours since 2000-01-01", [0])
    odd = day("hours since 2000-01-02", [0], attributes="time:valid_min = 0. ;")
    assert "has the attribute `valid_min`" in refused(first, odd, decode_times=True)
    short = day("hours since 2000-01-02", [0], attributes='time:calendar = "360_day" ;')
    assert "dates of the calendar `360_day`" in refused(first, short, decode_times=True)
    assert "neither units of dates" in refused(first, units="once upon a time")
    assert "no variable has units in some sources that convert to `fortnights`" in refused(first, units="fortnights")


@pytest.mark.parametrize(
    ("types", "times"),
    [
        (("int64", "double"), ([0, 1], [2, 3])),
        (("double", "int"), ([0, 0.5], [2, 3])),
        (("float", "double"), ([0, 0.5], [2.25, 3])),
        (("ubyte", "int64"), ([0, 1], [2, 3])),
    ],
)
@pytest.mark.parametrize("wanted", [{}, {"sort": True}, {"join": "outer"}])
def test_times_get_the_type_of_the_first_source(
    types: tuple[str, str], times: tuple[list[float], ...], wanted: dict[str, Any]
) -> None:
    sources = [day("days since 2000-01-01", one, type=name) for one, name in zip(times, types, strict=True)]
    found = refs.combine(sources, along="time", decode_times=True, **wanted)
    assert found["time"][:].tolist() == [*times[0], *times[1]]
    assert found["bounds"][:, 0].tolist() == [*times[0], *times[1]]
    assert [found.dataset.variables[place].type for place in (0, 1)] == [types[0]] * 2


@pytest.mark.parametrize(
    ("types", "late", "told", "help_text"),
    [
        (("int", "double"), "2.5", "2.5 days", "finer units"),
        (("int", "double"), "2.3", "2.3 days", "whole numbers"),
        (("int", "double"), "NaN", "nan days", "whole numbers"),
        (("byte", "int"), "200", "200 days", "finer units"),
        (("float", "int"), "16777217", "16777217 days", "finer units"),
    ],
)
def test_times_without_an_equal_in_this_type_are_refused(
    types: tuple[str, str], late: Any, told: str, help_text: str
) -> None:
    sources = [
        day("days since 2000-01-01", [0], type=types[0]),
        day("days since 2000-01-01", [late], type=types[1]),
    ]
    text = refused(*sources, decode_times=True)
    assert (told in text, "is no exact" in text, help_text in text) == (True, True, True)


@pytest.mark.parametrize("late", [[2, 9], [2, 8]])  # missing in the source; missing with the mark of the first one
def test_missing_times_with_other_marks_are_refused(late: list[float]) -> None:
    sources = [
        day("days since 2000-01-01", [0, 1], type="int", attributes="time:_FillValue = 8 ;"),
        day("days since 2000-01-01", late, type="double", attributes="time:_FillValue = 9. ;"),
    ]
    assert "`/time` has missing values in " in refused(*sources, decode_times=True)


@pytest.mark.parametrize("types", [("int64", "double"), ("double", "double"), ("double", "int64")])
def test_times_get_the_marks_of_the_first_source(types: tuple[str, str]) -> None:
    """xarray gives floats, but not integers, the fill value NaN."""
    named = 'time:bounds = "bounds" ; '
    mark = "time:_FillValue = NaN ;" if types[1] == "double" else ""
    sources = [
        day("days since 2000-01-01", [0], type=types[0], attributes=named),
        day("days since 2000-01-01", [1], type=types[1], attributes=named + mark),
    ]
    for every in (sources, sources[::-1]):
        found = refs.combine(every, along="time", decode_times=True, sort=True)
        assert found["time"][:].tolist() == [0, 1]
        assert found["time"].attributes.keys() == every[0]["time"].attributes.keys()


@pytest.mark.parametrize("request_units", [{"decode_times": True}, {"units": "days since 2000-01-01"}])
def test_bounds_with_units_have_the_calendar_of_their_coordinate(request_units: dict[str, Any]) -> None:
    """2000 has 365 days in this calendar."""
    sources = [
        day(
            f"days since {year}-01-01", [0, 1],
            attributes=f'''time:bounds = "bounds" ; time:calendar = "noleap" ;
            bounds:units = "days since {year}-01-01" ;''',
        )
        for year in (2000, 2001)
    ]  # fmt: skip
    found = refs.combine(sources, along="time", **request_units)
    assert found["time"][:].tolist() == [0, 1, 365, 366]
    assert found["bounds"][:, 1].tolist() == [0, 1, 365, 366]


@pytest.mark.parametrize(
    ("calendar", "start"),
    [("proleptic_gregorian", "1582-10-14 23:59:59"), ("proleptic_gregorian", "1400-01-01"), ("noleap", "2000-01-02")],
)
def test_other_calendars_are_refused_with_what_to_do(calendar: str, start: str) -> None:
    odd = day(f"days since {start}", [0], attributes=f'time:calendar = "{calendar}" ;')
    assert "join the sources of each calendar apart" in refused(
        day("days since 1300-01-01", [0]), odd, decode_times=True
    )
    assert "correct it with `nczarr.edit(SRC, attributes=)`" in refused(day("days since 2000-01-02", [0]), odd)


MODERN = ["", "standard", "gregorian", "proleptic_gregorian"]
"""Calendars of the same dates since 1582-10-15; empty: without the attribute."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("given", MODERN)
@pytest.mark.parametrize("wanted", MODERN)
@pytest.mark.parametrize("start", ["2000-01-01", "1582-10-15", "0001-01-01"])
def test_calendars_agree_after_the_switch(start: str, given: str, wanted: str, tmp_path: Path) -> None:
    def source(calendar: str, first: str) -> nczarr.DatasetHandle:
        text = f'time:calendar = "{calendar}" ;' if calendar else ""
        origin = dates(f"days since {first}", calendar or "standard")
        modern = dates("days since 2000-02-01", "standard")
        assert origin is not None
        assert modern is not None
        number = int((modern.start - origin.start) / origin.unit) + (first == start)
        return day(f"days since {first}", [number], attributes=f'time:bounds = "bounds" ; {text}')

    sources = [source(wanted, "1990-01-01"), source(given, start)]
    found = refs.combine(sources, along="time", decode_times=True)
    assert found["time"][:].tolist() == [3683, 3684]
    assert found["bounds"][:, 1].tolist() == [3683, 3684]
    assert found["time"].attributes.get("calendar", "") == wanted
    nczarr.write(sources[0], tmp_path / "t.zarr")
    nczarr.append(sources[1], tmp_path / "t.zarr", along="time")
    target = nczarr.open(tmp_path / "t.zarr")["time"]
    assert target[:].tolist() == [3683, 3684]
    assert target.attributes.get("calendar", "") == wanted


def test_without_a_request_units_must_be_equal() -> None:
    sources = [day(f"hours since 2000-01-{number:02}", [0]) for number in (1, 2)]
    with pytest.raises(nczarr.CompileError) as caught:
        refs.combine(sources, along="time")
    assert any("--decode-times" in text for each in caught.value.diagnostics for text in each.helps)


def _days(units: str, first: int, own: str | None) -> nczarr.DatasetHandle:
    """Two days with cell bounds, which may state their units."""
    stated = "" if own is None else f'tb:units = "{own}" ; tb:calendar = "standard" ;'
    return nczarr.from_cdl(
        f"""netcdf a {{ dimensions: time = UNLIMITED ; nv = 2 ; variables: double time(time) ; time:units = "{units}" ;
        time:calendar = "standard" ; time:bounds = "tb" ; double tb(time, nv) ; {stated}
        data: time = {first}, {first + 1} ;
        tb = {first}, {first + 1}, {first + 1}, {first + 2} ; }}"""
    )


@pytest.mark.parametrize("own", [None, SINCE_2000], ids=["silent", "stated"])
@pytest.mark.parametrize("other", ["silent", "stated"])
@pytest.mark.parametrize("units", [SINCE_2000, "days since 1999-12-31"])
def test_bounds_have_the_units_of_their_coordinate(units: str, own: str | None, other: str, tmp_path: Path) -> None:
    sources = [_days(SINCE_2000, 0, own), _days(units, 2 + (units != SINCE_2000), units if other == "stated" else None)]
    for options in ({"decode_times": True}, {"units": "days since 2000-01-02"}):
        found = nczarr.combine(sources, along="time", **options)
        shift = 1 if "units" in options else 0
        assert found["time"][:].tolist() == [-shift, 1 - shift, 2 - shift, 3 - shift]
        assert found["tb"][:, 0].tolist() == found["time"][:].tolist()
    nczarr.write(sources[0], tmp_path / "t.zarr")
    nczarr.append(sources[1], tmp_path / "t.zarr", along="time")
    target = nczarr.open(tmp_path / "t.zarr")
    assert target["tb"][:, 0].tolist() == target["time"][:].tolist() == [0, 1, 2, 3]


def test_bounds_with_units_of_their_own_are_extended_in_these(tmp_path: Path) -> None:
    """As xarray writes those of dask arrays."""
    target = _days(SINCE_2000, 0, "days since 1970-01-01")
    nczarr.write(target, tmp_path / "t.zarr")
    nczarr.append(_days(SINCE_2000, 2, None), tmp_path / "t.zarr", along="time")
    found = nczarr.open(tmp_path / "t.zarr")
    assert found["tb"][:, 0].tolist() == [0, 1, 10957 + 2, 10957 + 3]
    assert found["tb"].attributes["units"] == "days since 1970-01-01"


def test_months_have_no_length_in_days() -> None:
    sources = [day("days since 2000-01-01", [0]), day("months since 2000-01-01", [1])]
    with pytest.raises(nczarr.CompileError) as caught:
        refs.combine(sources, along="time", decode_times=True)
    helps = [text for each in caught.value.diagnostics for text in each.helps]
    assert any("months and years, for example, have no fixed length" in text for text in helps)
    assert not any("--decode-times" in text for text in helps)


def test_the_command_line_recodes(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    for number in (1, 2):
        nczarr.write(day(f"hours since 2000-01-{number:02}", [0, 6]), tmp_path / f"{number}.nc")
    target = tmp_path / "all.json"
    done = nczarr_command("refs", "combine", str(tmp_path / "1.nc"), str(tmp_path / "2.nc"), "-o", str(target),
               "--along", "time", "--units", "hours since 1999-12-31")  # fmt: skip
    assert (done.status, done.err.count("error")) == (0, 0)
    assert nczarr.open(target)["time"][:].tolist() == [24, 30, 48, 54]


UNITS = st.sampled_from(["days", "hours", "seconds", "ms", "weeks", "3 hours"])


@given(
    st.lists(st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, width=32)), max_size=6),
    st.sampled_from(["f8", "f4", "i8", "i4", "i2", "u8"]),
    UNITS,
    UNITS,
    st.sampled_from(["standard", "noleap", "360_day", "julian"]),
)
def test_recoded_times_are_the_same_instants(
    numbers: list[float], dtype: str, one: str, other: str, calendar: str
) -> None:
    with np.errstate(all="ignore"):
        values = np.array([abs(each) if dtype == "u8" else each for each in numbers], "f8").astype(dtype)
    given_units, wanted = (
        dates(f"{unit} since {start}", calendar) for unit, start in ((one, "2000-02-28"), (other, "1996-03-01"))
    )
    assert given_units is not None
    assert wanted is not None
    made, fault = in_units(values, np.zeros(values.shape, bool), given_units, wanted)
    assert made.dtype == values.dtype
    exact = [
        (Fraction(value) * given_units.unit + given_units.start - wanted.start) / wanted.unit
        for value in values.tolist()
    ]
    if fault is None:
        assert [Fraction(value) for value in made.tolist()] == exact
    else:
        limits = None if values.dtype.kind == "f" else np.iinfo(values.dtype)
        assert any(
            Fraction(float(values.dtype.type(float(each)))) != each if limits is None
            else each.denominator != 1 or not limits.min <= each <= limits.max
            for each in exact
        )  # fmt: skip
