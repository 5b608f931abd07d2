"""Dates and durations given to the builder: whole numbers of their units, or a diagnostic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nczarr


def built(data: Any, kind: str = "int64", fill: Any = None, **attributes: str) -> nczarr.VariableHandle:
    builder = nczarr.DatasetBuilder("t")
    variable = builder.variable("v", kind, [builder.dimension("x", len(data))], fill_value=fill)
    for name, value in attributes.items():
        variable.attribute(name, value)
    return builder.finish({"v": data})["v"]


def texts(variable: nczarr.VariableHandle) -> dict[str, str]:
    return {name: value for name, value in variable.attributes.items() if name != "_FillValue"}


UNITS = {"W": "weeks", "D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds",
         "us": "microseconds", "ns": "nanoseconds", "ps": "picoseconds",
         "fs": "femtoseconds", "as": "attoseconds"}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_its_own_units(unit: str) -> None:
    numbers = np.array([-3, 0, 5], "i8")
    dates = built(numbers.view(f"M8[{unit}]"))
    assert dates[...].tolist() == [-3, 0, 5]
    assert texts(dates) == {"units": f"{UNITS[unit]} since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
    durations = built(numbers.view(f"m8[{unit}]"))
    assert durations[...].tolist() == [-3, 0, 5]
    assert texts(durations) == {"units": UNITS[unit]}
    swapped = built(numbers.astype(">i8").view(f">M8[{unit}]"))
    assert swapped[...].tolist() == [-3, 0, 5]


def test_years_and_months_are_days() -> None:
    assert built(np.array(["1970", "2000", "1900"], "M8[Y]"))[...].tolist() == [0, 10957, -25567]
    assert built(np.array(["1970-03"], "M8[M]"))[...].tolist() == [59]


def test_multiples_of_units() -> None:
    found = built(np.array([1, 2], "i8").view("M8[25us]"))
    assert found[...].tolist() == [1, 2]
    assert texts(found)["units"] == "25 microseconds since 1970-01-01 00:00:00"


@pytest.mark.parametrize(
    ("units", "wanted"),
    [
        ("hours since 2000-01-01", [0, 36]),
        ("Hours since 2000-1-1 12:00", [-12, 24]),
        ("day since 1999-12-31T12:00:00Z", None),
        ("12 hours since 1999-12-31T12:00:00 UTC", [1, 4]),
        ("ns since 2000-01-01", [0, 36 * 3600 * 10**9]),
        ("seconds since 1999-12-31 23:59:59.5", None),
        ("ms since 1999-12-31 23:59:59.5", [500, 129600500]),
        ("seconds since -0001-01-01", [63145526400 - 31622400 + 31536000 * 2 - 31536000, None]),
    ],
)
def test_declared_units_are_met_exactly_or_refused(units: str, wanted: list[int | None] | None) -> None:
    data = np.array(["2000-01-01T00", "2000-01-02T12"], "M8[h]")
    if wanted is None:
        with pytest.raises(nczarr.CompileError, match="not a whole number"):
            built(data, units=units)
        return
    found = built(data, units=units)
    start = np.datetime64(units.partition("since ")[2]) if units.startswith("seconds since -") else None
    if start is not None:
        wanted = [int((each.astype("M8[s]") - start.astype("M8[s]")).astype("i8")) for each in data]
    assert found[...].tolist() == wanted
    assert texts(found) == {"units": units, "calendar": "proleptic_gregorian"}


def test_large_numbers_are_exact() -> None:
    data = np.array([2**62 + 1, -(2**62) - 1], "i8").view("M8[s]")
    assert built(data, units="seconds since 2000-01-01")[...].tolist() == [
        2**62 + 1 - 946684800,
        -(2**62) - 1 - 946684800,
    ]
    with pytest.raises(nczarr.CompileError, match="64 bits"):
        built(data, units="ms since 2000-01-01")


@pytest.mark.parametrize(
    ("kind", "fill", "wanted"), [("int64", -1, -1), ("double", -1.0, -1.0), ("int64", None, -(2**63) + 2)]
)
def test_nat_becomes_the_fill_value(kind: str, fill: Any, wanted: Any) -> None:
    data = np.array(["2000-01-01", "NaT"], "M8[D]")
    assert built(data, kind, fill)[...].tolist() == [10957, wanted]
    masked = np.ma.masked_array(np.array(["2000-01-01", "2000-01-02"], "M8[D]"), [False, True])
    assert built(masked, kind, fill)[...].tolist() == [10957, wanted]
    for each in (data, masked):  # other readers, such as xarray, know declared fill values alone
        assert built(each, kind, fill).attributes["_FillValue"] == wanted
    assert fill is not None or "_FillValue" not in built(data[:1], kind, fill).attributes


def test_a_time_that_equals_the_fill_value_is_not_missing() -> None:
    data = np.array([-(2**63) + 2, -(2**63)], "i8").view("m8[s]")
    with pytest.raises(nczarr.CompileError, match="equal"):
        built(data)


def test_an_offset_of_the_units_counts() -> None:
    """As in UDUNITS and cftime: the reference is one hour before midnight, UTC."""
    units = "seconds since 2000-01-01 00:00 +01:00"
    found = built(np.array(["2000-01-01"], "M8[s]"), "int64", units=units)
    assert found[...].tolist() == [3600]


REFUSED = {
    "no fill value": (np.array(["NaT"], "M8[D]"), "byte", {}),
    "small type": (np.array(["2000-01-01"], "M8[s]"), "short", {}),
    "text": (np.array(["2000-01-01"], "M8[s]"), "string", {}),
    "no unit": (np.array([1], "i8").view("M8"), "int64", {}),
    "years of a duration": (np.array([1], "i8").view("m8[Y]"), "int64", {}),
    "unknown units": (np.array(["2000-01-01"], "M8[s]"), "int64", {"units": "fortnights since 2000-01-01"}),
    "units of a duration": (np.array(["2000-01-01"], "M8[s]"), "int64", {"units": "seconds"}),
    "units of a date": (np.array([1], "m8[s]"), "int64", {"units": "seconds since 2000-01-01"}),
    "no date": (np.array(["2000-01-01"], "M8[s]"), "int64", {"units": "seconds since 2000-02-30"}),
    "calendar": (np.array(["2000-01-01"], "M8[s]"), "int64", {"calendar": "noleap"}),
    "before Gregory": (np.array(["1500-01-01"], "M8[s]"), "int64", {"calendar": "standard"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_times_are_refused(case: str) -> None:
    data, kind, attributes = REFUSED[case]
    with pytest.raises(nczarr.CompileError) as caught:
        built(data, kind, **attributes)
    assert {each.code for each in caught.value.diagnostics} <= {"type-mismatch", "value-range"}


def test_finish_may_be_called_again() -> None:
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int64", [1])
    assert "units" in builder.finish({"v": np.array(["2000"], "M8[D]")})["v"].attributes
    assert "units" not in builder.finish({"v": [1]})["v"].attributes
