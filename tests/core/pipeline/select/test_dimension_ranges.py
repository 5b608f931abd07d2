"""Cuts of dimensions by indices and by values of coordinates, compared with xarray."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError, Report
from nczarr.pipeline.select.selection_syntax import coordinate_range, dimension_range
from tests.support.library import library

xr = library("xarray")


def dataset(calendar: str = "standard", units: str = "days since 2000-01-01 12:00") -> xr.Dataset:
    """A grid with a descending latitude, an irregular level and daily times."""
    time = np.arange(800, dtype="f8")
    data = np.arange(800 * 7 * 4, dtype="i4").reshape(800, 7, 4)
    return xr.Dataset(
        {"tas": (("time", "lat", "lon"), data), "mask": (("lat", "lon"), data[0])},
        {
            "time": ("time", time, {"units": units, "calendar": calendar}),
            "lat": ("lat", np.arange(60, -80, -20.0, dtype="f4")),
            "lon": ("lon", np.array([0, 90, 180, 270], "i2")),
        },
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(source: xr.Dataset, **options: Any) -> xr.Dataset:
    """Return what netCDF4 reads of a converted part."""
    source.to_netcdf("a.nc")
    nczarr.convert("a.nc", "b.nc", overwrite=True, **options)
    with xr.open_dataset("b.nc", engine="netcdf4") as opened:
        return opened.load()


@pytest.mark.parametrize(
    "dims",
    [
        {"time": slice(0, 12)},
        {"time": slice(-12, None), "lat": slice(1, -2)},
        {"time": slice(3, 900, 7)},
        {"lon": slice(None, None, 2)},
        {"lon": slice(-2, -1)},
    ],
)
def test_indices_cut_all_variables_as_isel(folder: Path, dims: Mapping[str, slice]) -> None:
    source = dataset()
    xr.testing.assert_identical(convert(source, dims=dims), xr.decode_cf(source.isel(dims)))


@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day", "proleptic_gregorian", "julian"])
@pytest.mark.parametrize(
    ("low", "high"),
    [("2000-02", "2000-12"), ("2000-02-29", "2001"), (None, "2000-06-15"), ("2001-01-05T12:00", None)],
)
def test_dates_select_as_sel(folder: Path, calendar: str, low: str | None, high: str | None) -> None:
    if calendar == "noleap" and low == "2000-02-29":
        low = "2000-02-28"
    source = dataset(calendar)
    xr.testing.assert_identical(
        convert(source, sel={"time": (low, high)}), xr.decode_cf(source).sel(time=slice(low, high))
    )


@pytest.mark.parametrize("units", ["hours since 1850-01-01", "seconds since 1970-01-01", "days since 1900-03-01"])
@pytest.mark.parametrize("kind", ["f8", "i8", "f4"])
def test_exact_dates_in_any_units(folder: Path, units: str, kind: str) -> None:
    times = xr.date_range("2000-01-01", periods=90, freq="D")
    source = xr.Dataset({"v": ("time", np.arange(90))}, {"time": times})
    source.time.encoding = {"units": units, "dtype": kind}
    if kind == "f4" and units.startswith("s"):
        pytest.skip("float32 has no such seconds")
    found = convert(source, sel={"time": datetime.datetime(2000, 2, 3)})
    assert found.v.values.tolist() == [33]


@pytest.mark.parametrize(
    ("sel", "expected"),
    [
        ({"lat": (-30, 30)}, {"lat": slice(30, -30)}),
        ({"lat": (30, -30)}, {"lat": slice(30, -30)}),
        ({"lat": slice(None, 0)}, {"lat": slice(0, None)}),
        ({"lat": 20}, {"lat": [20]}),
        ({"lon": (90, 200.5)}, {"lon": slice(90, 200.5)}),
        ({"lon": np.int16(270), "lat": np.float32(-20)}, {"lon": [270], "lat": [-20]}),
    ],
)
def test_values_select_as_sel(folder: Path, sel: dict[str, Any], expected: dict[str, Any]) -> None:
    source = dataset()
    xr.testing.assert_identical(convert(source, sel=sel), xr.decode_cf(source).sel(expected))


@pytest.mark.parametrize("value", [45.3, -1000, 10, 59.9])
def test_the_nearest_value_as_sel(folder: Path, value: float) -> None:
    source = dataset()
    expected = xr.decode_cf(source).sel(lat=[value], method="nearest")
    xr.testing.assert_identical(convert(source, nearest={"lat": value}), expected)


def test_packed_coordinates_are_decoded(folder: Path) -> None:
    source = dataset().isel(time=slice(0, 2)).drop_vars("lat")
    source["lat"] = ("lat", np.arange(7) / 10)
    source.lat.encoding = {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}
    found = convert(source, sel={"lat": (0.1, 0.3)})
    np.testing.assert_allclose(found.lat, [0.1, 0.2, 0.3])
    assert convert(source, sel={"lat": "0.3"}).tas.values[0, 0].tolist() == source.tas.values[0, 3].tolist()


def test_values_of_an_auxiliary_coordinate_and_of_texts(folder: Path) -> None:
    source = xr.Dataset({"v": ("station", [1, 2, 3])}, {"name": ("station", np.array(["a", "b:c", "d"], object))})
    source["height"] = ("station", [3.0, 2.0, 9.0])
    assert convert(source, sel={"name": "b:c"}).v.values.tolist() == [2]
    assert convert(source, sel={"height": (0, 3)}).v.values.tolist() == [1, 2]


def test_only_the_coordinate_and_the_selection_are_read(folder: Path) -> None:
    """Chunks outside the selection are damaged: to read one would be an error."""
    dataset().to_netcdf("a.nc")
    nczarr.convert("a.nc", "a.zarr", "zarr3", chunks={"/tas": (10, 7, 4), "/time": (800,)}, codecs={"/tas": "zlib:1"})
    for path in Path("a.zarr/tas/c").glob("*/0/0"):
        if int(path.parts[-3]) > 3:
            path.write_bytes(b"damage")
    nczarr.convert("a.zarr", "b.nc", sel={"time": ("2000-01", "2000-01")}, variables=["tas"])
    assert nczarr.open("b.nc")["tas"].shape == (31, 7, 4)
    with pytest.raises(CompileError, match="tas/c/4/0/0"):
        nczarr.convert("a.zarr", "b.nc", overwrite=True, dims={"time": slice(0, 41)})


ERRORS = [
    ({"sel": {"lat": (21, 22)}}, "unmatched-selection", "its values go from -60 to 60"),
    ({"sel": {"lat": 21}}, "unmatched-selection", "the nearest value is 20"),
    ({"sel": {"lon": (270, 90)}}, "unmatched-selection", "above the second"),
    ({"sel": {"lot": 1}}, "unmatched-name", "did you mean"),
    ({"sel": {"tas": 1}}, "unmatched-selection", "3 dimensions"),
    ({"sel": {"time": "yesterday"}}, "bad-selection", "not a date"),
    ({"sel": {"time": "2000-02-30"}}, "bad-selection", "not a date"),
    ({"sel": {"lat": "north"}}, "bad-selection", "not a number"),
    ({"sel": {"lat": 20}, "dims": {"lat": 1}}, "unmatched-selection", "cut twice"),
    ({"dims": {"time": 800}}, "unmatched-selection", "the last index is 799"),
    ({"dims": {"time": slice(5, 3)}}, "unmatched-selection", "selects nothing"),
    ({"dims": {"tim": 1}}, "unmatched-name", "did you mean"),
    ({"dims": {"lat": 1}, "sections": ["tas(:, 0:1, :)"]}, "unmatched-section", "write `:`"),
]


@pytest.mark.parametrize(("options", "code", "words"), ERRORS)
def test_errors_have_codes_and_helps(folder: Path, options: dict[str, Any], code: str, words: str) -> None:
    dataset().to_netcdf("a.nc")
    with pytest.raises(CompileError) as failure:
        nczarr.convert("a.nc", "b.nc", **options)
    [diagnostic] = failure.value.diagnostics
    assert diagnostic.code == code
    assert words in diagnostic.message + " ".join(diagnostic.helps)
    assert not Path("b.nc").exists()


def test_a_gap_in_the_selection_is_refused(folder: Path) -> None:
    source = xr.Dataset({"v": ("x", [1, 2, 3])}, {"x": ("x", [1, 9, 2])})
    with pytest.raises(CompileError, match="not adjacent"):
        convert(source, sel={"x": (1, 2)})


@pytest.mark.parametrize("lats", [[20, 60], [20], np.array([20, 60])])
def test_a_list_is_no_range(folder: Path, lats: Any) -> None:
    source = dataset()  # xarray's `sel` selects each value of a list
    assert source.sel(lat=[20, 60]).lat.values.tolist() == [20, 60]
    with pytest.raises(TypeError, match="or the slice of a range"):
        convert(source, sel={"lat": lats})


@pytest.mark.parametrize("options", [{"dims": {"x": 1.5}}, {"sel": {"x": None, "y": {}}}, {"sel": 3}, {"dims": [1]}])
def test_other_types_are_type_errors(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        nczarr.convert(nczarr.from_cdl("netcdf a { }"), "b.nc", **options)


@pytest.mark.parametrize(
    ("text", "name", "indices"),
    [
        ("time=5", "time", slice(5, 6)),
        ("time=-1", "time", slice(-1, None)),
        ("/g/x = 0:11", "/g/x", slice(0, 12)),
        ("x=-3:-1", "x", slice(-3, None)),
        ("x=-3:-2:2", "x", slice(-3, -1, 2)),
        ("x=:", "x", slice(None)),
        ("x=::4", "x", slice(None, None, 4)),
        (r"a\=b=1:", "a=b", slice(1, None)),
    ],
)
def test_syntax_of_cuts(text: str, name: str, indices: slice) -> None:
    cut = dimension_range(text, Report())
    assert cut is not None
    assert (cut.name, range(100)[cut.indices]) == (name, range(100)[indices])


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("t=2000-01:2000-12", "2000-01", "2000-12"),
        ("t=2000:2001-06", "2000", "2001-06"),
        ("t=2000-01-01T12:00", "2000-01-01T12:00", "2000-01-01T12:00"),
        ("t=2000-01-01 12:00:00:2000-01-02T06:30", "2000-01-01 12:00:00", "2000-01-02T06:30"),
        ("t=2000-01-01T12:00:", "2000-01-01T12:00", None),
        ("t=:2000-01-01T12:00:05", None, "2000-01-01T12:00:05"),
        ("t=-30:30", "-30", "30"),
        ("t=:1e3", None, "1e3"),
        ("t=-0044-03-15:-0043", "-0044-03-15", "-0043"),
        ("t~45.3", "45.3", "45.3"),
    ],
)
def test_syntax_of_values(text: str, low: str | None, high: str | None) -> None:
    selection = coordinate_range(text, Report())
    assert selection is not None
    assert (selection.low, selection.high, selection.nearest) == (low, high, "~" in text)


@pytest.mark.parametrize("text", ["", "time", "time=", "=3", "time=a", "time=1:2:0", "time~3", "time=1:2:-1"])
def test_other_cuts_are_one_error(text: str) -> None:
    report = Report()
    assert dimension_range(text, report) is None
    assert [diagnostic.code for diagnostic in report.list_sorted()] == ["bad-selection"]


@pytest.mark.parametrize("text", ["", "lat", "lat=", "lat=:", "~3"])
def test_other_selections_are_one_error(text: str) -> None:
    report = Report()
    assert coordinate_range(text, report) is None
    assert [diagnostic.code for diagnostic in report.list_sorted()] == ["bad-selection"]
