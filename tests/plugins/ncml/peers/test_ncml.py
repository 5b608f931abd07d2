"""NcML documents of netCDF-Java's tutorial and cookbook, whose values are those that xarray makes of the same files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import Ran
from tests.support.ncml_files import write_examples, write_moment, write_month, write_ncml
from tests.support.serving import serving

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def folder(peer: Callable[[str], ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ncml")
    write_examples(peer("netCDF4"), made)
    return made


def our_values(path: str) -> Any:
    """A document as our engine of xarray reads it, undecoded."""
    import xarray

    return xarray.open_dataset(path, engine="nczarr", decode_cf=False)


def assert_same(ours: Any, theirs: Any) -> None:
    """Same variables, dimensions, types and values; attributes are compared by the tests."""
    assert set(ours.variables) == set(theirs.variables)
    for name, variable in theirs.variables.items():
        assert ours[name].dims == variable.dims, name
        assert ours[name].dtype.kind in "UO" if variable.dtype == object else ours[name].dtype == variable.dtype, name
        np.testing.assert_array_equal(ours[name].values, variable.values)


def their_files(peer: Callable[[str], ModuleType], paths: list[Path]) -> list[Any]:
    return [peer("xarray").open_dataset(path, decode_cf=False, engine="netcdf4") for path in paths]


CHANGES = """
<attribute name="title" type="String" value="Example Data using CF"/>
<attribute name="Conventions" value="CF-1.0"/>
<attribute name="Story" orgName="History"/>
<variable name="RelativeHumidity" orgName="rh">
  <attribute name="standard_name" type="String" value="relative humidity"/>
  <remove type="attribute" name="long_name"/>
</variable>
<variable name="T">
  <attribute name="units" value="degreesC"/>
  <attribute name="levels" type="int" value="1 2 3"/>
  <attribute name="words" type="String" separator="*" value="two words*three"/>
</variable>
<variable name="deltaLat" type="double" shape="lat"><values>.1 .1 .01</values></variable>
<variable name="lon"><values start="-67.95" increment="1.05"/></variable>
<remove type="variable" name="lat"/>
<dimension name="hours" orgName="time"/>
"""


def test_changes(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    ours = our_values(write_ncml(folder / "changes.ncml", CHANGES, 'location="example1.nc"'))
    (theirs,) = their_files(peer, [folder / "example1.nc"])
    theirs = theirs.rename_vars(rh="RelativeHumidity", time="t").rename_dims(time="hours").drop_vars("lat")
    theirs = theirs.rename_vars(t="time").reset_coords()
    theirs["deltaLat"] = ("lat", [0.1, 0.1, 0.01])
    theirs = theirs.drop_vars("lon").assign(lon=("lon", (-67.95 + 1.05 * np.arange(4)).astype("f4")))
    assert_same(ours, theirs)
    assert ours.attrs == {"title": "Example Data using CF", "Conventions": "CF-1.0", "Story": "written once"}
    assert ours["RelativeHumidity"].attrs == {"units": "percent", "standard_name": "relative humidity"}
    attributes = ours["T"].attrs
    assert (attributes["units"], attributes["long_name"]) == ("degreesC", "surface temperature")
    assert attributes["levels"].tolist() == [1, 2, 3]
    assert attributes["levels"].dtype == np.int32
    assert list(attributes["words"]) == ["two words", "three"]


def test_an_explicit_document_has_what_it_declares(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    content = """<explicit/>
    <dimension name="time" length="2" isUnlimited="true"/><dimension name="lat" length="3"/>
    <dimension name="lon" length="4"/>
    <variable name="T" shape="time lat lon" type="double"><attribute name="units" value="C"/></variable>"""
    ours = our_values(write_ncml(folder / "explicit.ncml", content, 'location="example1.nc"'))
    (theirs,) = their_files(peer, [folder / "example1.nc"])
    assert_same(ours, theirs[["T"]].drop_vars(["time", "lat", "lon"]))
    assert (ours.attrs, ours["T"].attrs) == ({}, {"units": "C"})


@pytest.mark.parametrize("scanned", [False, True])
def test_union(folder: Path, peer: Callable[[str], ModuleType], *, scanned: bool) -> None:
    members = '<scan location="nc/" suffix="mean.nc"/>'
    if not scanned:
        members = '<netcdf location="nc/cldc.mean.nc"/><netcdf location="nc/lflx.mean.nc"/>'
    title = '<attribute name="title" type="string" value="Union cldc and lflx"/>'
    path = write_ncml(folder / "union.ncml", f'{title}<aggregation type="union">{members}</aggregation>')
    ours = our_values(path)
    theirs = peer("xarray").merge(
        their_files(peer, [folder / "nc" / "cldc.mean.nc", folder / "nc" / "lflx.mean.nc"]), compat="equals"
    )
    assert_same(ours, theirs)
    assert ours.attrs == {"title": "Union cldc and lflx"}


def joined(peer: Callable[[str], ModuleType], folder: Path) -> Any:
    files = their_files(peer, [folder / "nc" / "jan.nc", folder / "nc" / "feb.nc"])
    return peer("xarray").concat(files, "time", data_vars="minimal", coords="minimal", compat="equals")


def existing(members: str, attributes: str = "") -> str:
    return f'<aggregation dimName="time" type="joinExisting" {attributes}>{members}</aggregation>'


JAN, FEB = '<netcdf location="nc/jan.nc" ncoords="31"/>', '<netcdf location="nc/feb.nc"/>'


def test_join_existing(folder: Path, peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran]) -> None:
    path = write_ncml(folder / "existing.ncml", existing(JAN + FEB))
    ours, theirs = our_values(path), joined(peer, folder)
    assert_same(ours, theirs)
    assert ours["time"].attrs == theirs["time"].attrs
    assert ours.attrs["title"] == "jan.nc"
    document = str(folder / "existing.json")
    ran = nczarr_command("convert", path, document, "--overwrite")
    assert ran.status == 0
    keys = json.loads(Path(document).read_text("utf-8"))
    chunks = [value for key, value in keys.get("refs", keys).items() if key.startswith(("T/", "P/"))]
    assert sum(isinstance(value, list) for value in chunks) == 118  # every chunk stays in its file
    assert_same(our_values(document), theirs)


def test_coordinates_of_an_existing_dimension(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    theirs = joined(peer, folder)
    january, february = " ".join(map(str, range(100, 131))), ",".join(map(str, range(200, 228)))
    members = (
        f'<netcdf location="nc/jan.nc" coordValue="{january}"/><netcdf location="nc/feb.nc" coordValue="{february}"/>'
    )
    changes = '<variable name="time"><attribute name="long_name" value="climatological time"/></variable>'
    ours = our_values(write_ncml(folder / "values.ncml", changes + existing(members)))
    assert_same(ours, theirs.assign_coords(time=np.array([*range(100, 131), *range(200, 228)], "i4")))
    assert ours["time"].attrs == {"units": "days since 2000-01-01", "long_name": "climatological time"}
    stated = '<variable name="time"><values start="0" increment="2"/></variable>'
    ours = our_values(write_ncml(folder / "start.ncml", stated + existing(JAN + FEB)))
    assert_same(ours, theirs.assign_coords(time=np.arange(0, 118, 2, dtype="i4")))


def test_a_coordinate_that_the_files_lack(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    for name, first, days in (("jan", 0, 31), ("feb", 31, 28)):
        write_month(peer("netCDF4"), tmp_path / f"{name}.nc", first, days, units=None)
    time = """<variable name="time" shape="time" type="int"><attribute name="units" value="days since 2000-01-01"/>
    <attribute name="_CoordinateAxisType" value="Time"/><values start="0" increment="1"/></variable>"""
    members = '<netcdf location="jan.nc" ncoords="31"/><netcdf location="feb.nc" ncoords="28"/>'
    ours = our_values(write_ncml(tmp_path / "a.ncml", time + existing(members)))
    files = their_files(peer, [tmp_path / "jan.nc", tmp_path / "feb.nc"])
    theirs = peer("xarray").concat(files, "time", data_vars="minimal", coords="minimal", compat="equals")
    assert_same(ours, theirs.assign_coords(time=np.arange(59, dtype="i4")))


def test_time_units_change(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path, units in zip(paths, ("days since 2000-01-01", "days since 2000-02-01"), strict=True):
        write_month(peer("netCDF4"), path, 0, 28, units)
    members = '<netcdf location="a.nc"/><netcdf location="b.nc"/>'
    path = write_ncml(tmp_path / "a.ncml", existing(members, 'timeUnitsChange="true"'))
    ours = peer("xarray").open_dataset(path, engine="nczarr")
    theirs = peer("xarray").open_mfdataset(paths, combine="nested", concat_dim="time", data_vars="minimal")
    np.testing.assert_array_equal(ours["time"].values, theirs["time"].values)
    np.testing.assert_array_equal(ours["T"].values, theirs["T"].values)


DATES = ["2006-06-07T12:00:00Z", "2006-06-07T13:00:00Z", "2006-06-07T14:00:00Z"]


def test_dates_in_file_names(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    members = """<promoteGlobalAttribute name="times" orgName="time_coverage_end"/>
    <scan dateFormatMark="CG#yyyyDDD_HHmmss" location="cg/" suffix=".nc" subdirs="false"/>"""
    ours = our_values(write_ncml(folder / "dates.ncml", existing(members, 'recheckEvery="4 sec"')))
    theirs = peer("xarray").concat(their_files(peer, sorted((folder / "cg").iterdir())), "time", data_vars="minimal")
    theirs = theirs.assign(times=("time", np.array(DATES, object)), time=("time", np.array(DATES, object)))
    assert_same(ours, theirs)
    expected = {"_CoordinateAxisType": "Time", "long_name": "time coordinate", "standard_name": "time"}
    assert ours["time"].attrs == expected
    units = '<attribute name="units" value="hours since 2006-06-07"/>'
    numbers = f'<variable name="time" type="int">{units}</variable>'
    ours = our_values(write_ncml(folder / "numbers.ncml", numbers + existing(members)))
    assert ours["time"].values.tolist() == [12, 13, 14]
    assert ours["time"].dtype == np.int32


def new(members: str) -> str:
    return f'<aggregation dimName="time" type="joinNew"><variableAgg name="T"/>{members}</aggregation>'


MOMENTS = "".join(f'<netcdf location="nc/time{number}.nc" {{}}/>' for number in range(3))


def stacked(peer: Callable[[str], ModuleType], folder: Path, time: Any) -> Any:
    files = their_files(peer, [folder / "nc" / f"time{number}.nc" for number in range(3)])
    whole = peer("xarray").concat(files, "time", data_vars=["T"], coords="minimal", compat="equals")
    return whole.assign_coords(time=("time", time))


VALUED = MOMENTS.format(*(f'coordValue="{value}"' for value in (0, 10, 99)))
TYPED = '<variable name="time" type="int"><attribute name="units" value="months since 2000-6-16 6:00"/>{}</variable>'


@pytest.mark.parametrize(
    ("content", "time"),
    [
        (new(VALUED), np.array([0, 10, 99], "f8")),
        (TYPED.format("") + new(VALUED), np.array([0, 10, 99], "i4")),
        (TYPED.format("<values>0 1 2</values>") + new(MOMENTS.format("", "", "")), np.array([0, 1, 2], "i4")),
        (
            TYPED.format('<values start="12.0" increment="25.0"/>')
            + new('<scan location="nc" regExp=".*time[0-9]\\.nc"/>'),
            np.array([12, 37, 62], "i4"),
        ),
        (new(MOMENTS.format("", "", "")), np.array(["time0.nc", "time1.nc", "time2.nc"], object)),
        (
            new(MOMENTS.format(*(f'coordValue="2000-01-0{day}"' for day in (1, 2, 3)))),
            np.array(["2000-01-01", "2000-01-02", "2000-01-03"], object),
        ),
    ],
    ids=["numbers", "typed", "values", "scan", "names", "dates"],
)
def test_join_new(folder: Path, peer: Callable[[str], ModuleType], content: str, time: Any) -> None:
    ours = our_values(write_ncml(folder / "new.ncml", content))
    assert_same(ours, stacked(peer, folder, time))
    assert ours["T"].dims == ("time", "lat", "lon")


def test_dates_of_a_new_dimension(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    for number, name in enumerate(("T_20061014_0030.nc", "T_20061013_1530.nc")):
        write_moment(peer("netCDF4"), tmp_path / name, number)
    scan = '<scan location="." suffix=".nc" dateFormatMark="T_#yyyyMMdd_HHmm"/>'
    time = '<variable name="time" type="double"><attribute name="units" value="hours since 2006-10-13"/></variable>'
    ours = our_values(write_ncml(tmp_path / "a.ncml", time + new(scan)))
    assert ours["time"].values.tolist() == [15.5, 24.5]
    assert ours["T"].values[:, 0, 0].tolist() == [1, 0]


def test_nested_aggregations(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray, netcdf = peer("xarray"), peer("netCDF4")
    for day in (1, 2):
        write_month(netcdf, tmp_path / f"both{day}.nc", day, 5)
        with xarray.open_dataset(tmp_path / f"both{day}.nc", decode_cf=False) as both:
            both.drop_vars("P").to_netcdf(tmp_path / f"T{day}.nc")
            both.drop_vars("T").to_netcdf(tmp_path / f"P{day}.nc")
    inner = '<aggregation type="union"><netcdf location="P{0}.nc"/><netcdf location="T{0}.nc"/></aggregation>'
    inner = f"<netcdf>{inner}</netcdf>"
    ours = our_values(write_ncml(tmp_path / "a.ncml", existing(inner.format(1) + inner.format(2))))
    files = their_files(peer, [tmp_path / "both1.nc", tmp_path / "both2.nc"])
    assert_same(ours, xarray.concat(files, "time", data_vars="minimal", coords="minimal", compat="equals"))


@pytest.mark.long
def test_a_served_document_by_opendap(folder: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """libnetcdf reads each document from our server, and has the values of the files; a new file of a scan appears."""
    netcdf, theirs = peer("netCDF4"), joined(peer, folder)
    peer("uvicorn")
    write_ncml(folder / "served.ncml", existing(JAN + FEB))
    write_ncml(folder / "typed.ncml", TYPED.format("") + new(VALUED))
    with serving(folder) as server:
        with netcdf.Dataset(f"{server.url}dap2/served.ncml") as dataset:
            assert set(dataset.variables) == set(theirs.variables)
            for name, variable in theirs.variables.items():
                np.testing.assert_array_equal(dataset[name][:], variable.values)
        located = tmp_path / "located.ncml"
        located.write_text(server.get("/cdmremote/served.ncml?req=NcML").text, "utf-8")
        assert f'location="{server.url}cdmremote/' in located.read_text("utf-8")
        assert_same(our_values(str(located)), theirs)
        opendap = write_ncml(tmp_path / "dap.ncml", "", f'location="dods:{server.url[5:]}dap2/served.ncml"')
        assert_same(our_values(opendap), theirs)
        with netcdf.Dataset(f"{server.url}dap2/typed.ncml") as dataset:
            assert dataset["time"][:].tolist() == [0, 10, 99]
            assert dataset["T"].dimensions == ("time", "lat", "lon")
            np.testing.assert_array_equal(dataset["T"][:], stacked(peer, folder, [0, 1, 2])["T"].values)


@pytest.mark.long
def test_targets_of_a_document(folder: Path, nczarr_command: Callable[..., Ran]) -> None:
    path = write_ncml(folder / "targets.ncml", existing(JAN + FEB))
    for target in ("out.zarr", "out.nc"):
        assert nczarr_command("convert", path, str(folder / target), "--verify", "--overwrite", "-q").status == 0
        assert nczarr_command("diff", path, str(folder / target)).status == 0
    with nczarr.open(path) as dataset:
        assert dataset["/T"].shape == (59, 3, 4)
