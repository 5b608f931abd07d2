"""Aggregation variables beside cfdm and cf-python: their files as we read them, ours as they do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT, missing_peer, run_command
from tests.support.peers.worker import Worker

pytestmark = [pytest.mark.peer, pytest.mark.program]

SCRIPT = ROOT / "tests" / "support" / "peers" / "aggregations.py"


@pytest.fixture(scope="module")
def interpreter() -> str:
    """The interpreter with cfdm and cf-python, which NCZARR_CFA names."""
    named = os.environ.get("NCZARR_CFA")
    if not named:
        missing_peer("cfdm and cf-python (NCZARR_CFA names their interpreter)")
    assert named
    return named


@pytest.fixture(scope="module", params=["cfdm", "cf"])
def written(interpreter: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder with aggregation files that cfdm or cf-python has written."""
    folder = tmp_path_factory.mktemp(request.param)
    subprocess.run([interpreter, SCRIPT, "write", request.param, folder], check=True, capture_output=True, text=True)
    return folder


@pytest.fixture(scope="session")
def reader() -> Iterator[Worker]:
    """A process of the interpreter with cfdm and cf-python."""
    worker = Worker("aggregations.py", interpreter=os.environ.get("NCZARR_CFA", ""))
    yield worker
    worker.close()


def read_by(reader: Worker, library: str, path: Path) -> dict[str, Any]:
    """Shape and values of each variable with data, as a peer reads them; None for missing values."""
    answer = reader.ask(f"{library} {path}")
    assert "error" not in answer, answer
    return answer


def compare(path: Path, theirs: dict[str, Any]) -> set[str]:
    """Compare the variables of a file as we read them with a peer's; return their names."""
    dataset = nczarr.open(path)
    names = {fqn.rpartition("/")[2]: fqn for fqn in dataset.checked.variables}
    for name, (shape, values) in theirs.items():
        ours = dataset[names[name]]
        assert list(ours.shape) in (shape, [] if shape == [1] else shape), name  # a scalar coordinate has an axis there
        filled = ours[...].reshape(shape)
        missing = np.array([value is None for value in values], bool).reshape(shape)
        if filled.dtype.kind in "OSU":
            assert filled.reshape(-1).tolist() == ["" if value is None else value for value in values], name
            continue
        numbers = np.array([0 if value is None else value for value in values], filled.dtype).reshape(shape)
        np.testing.assert_allclose(filled[~missing], numbers[~missing], rtol=1e-14, err_msg=name)
        fill = dataset[names[name]].attributes.get("_FillValue", 9.969209968386869e36)
        assert (filled[missing] == fill).all(), name
    return set(theirs)


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("library", ["cfdm", "cf"])
def test_files_of_cfdm_are_read_equal(
    reader: Worker, written: Path, library: str, peer: Callable[[str], ModuleType]
) -> None:
    peer("cf_units")
    paths = sorted(written.glob("all-*.nc"))
    assert len(paths) == 12
    names = set[str]()
    for path in paths:
        theirs = read_by(reader, library, path)
        assert theirs
        names |= compare(path, theirs)
    assert {"q", "ta", "v", "zero", "surface_altitude", "auxiliary"} <= names


@pytest.mark.long
def test_the_expanded_dataset_is_read_equal_in_every_format(reader: Worker, written: Path, tmp_path: Path) -> None:
    source = written / "all-absolute.nc"
    theirs = read_by(reader, "cfdm", source)
    for target in ("a.nc", "a.zarr", "a.json", "a.cdl", "a.ncs"):
        nczarr.convert(source, tmp_path / target)
        compare(tmp_path / target, theirs)


def test_the_structure_of_fragments_survives_a_store(reader: Worker, written: Path, tmp_path: Path) -> None:
    source = written / "all-absolute.nc"
    theirs = read_by(reader, "cfdm", source)
    for target in ("raw.zarr", "raw.cdl", "raw.nc"):
        place = tmp_path / target
        assert run_command("convert", str(source), str(place), "--aggregation", "keep").status == 0
        assert run_command("diff", str(source), str(place), "--aggregation", "keep").status == 0
        compare(place, theirs)
    assert read_by(reader, "cfdm", tmp_path / "raw.nc") == theirs


def test_xarray_reads_them(written: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray, netcdf = peer("xarray"), peer("netCDF4")
    expected = np.concatenate([netcdf.Dataset(written / name)["q"][:] for name in ("a.nc", "b.nc")])
    with xarray.open_dataset(written / "all-NETCDF4.nc", engine="nczarr") as dataset:
        assert dataset["q"].dims == ("lat", "lon")
        np.testing.assert_array_equal(dataset["q"].values, expected)
        assert not any(name.startswith("fragment") for name in dataset.variables)
    with xarray.open_dataset(written / "all-NETCDF4.nc", engine="nczarr", aggregation="keep") as dataset:
        assert dataset["q"].shape == ()
        assert dataset["fragment_uris"].shape == (2, 1)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> list[Path]:
    """Files of one series, as netCDF4-python writes them: packed, masked, with bounds."""
    netcdf = peer("netCDF4")
    folder, paths, start = tmp_path_factory.mktemp("pieces"), [], 0
    for number, count in enumerate((2, 3, 1)):
        paths.append(folder / f"{number}.nc")
        with netcdf.Dataset(paths[-1], "w", format="NETCDF3_64BIT_OFFSET" if number == 1 else "NETCDF4") as file:
            file.Conventions = "CF-1.8"
            for name, length in (("time", None), ("lat", 3), ("lon", 4), ("nv", 2)):
                file.createDimension(name, length)
            for name, values in (("lat", [10.0, 20.0, 30.0]), ("lon", [1.0, 2.0, 3.0, 4.0])):
                file.createVariable(name, "f8", (name,))[:] = values
                file[name].setncatts(
                    {"units": f"degrees_{'north' if name == 'lat' else 'east'}", "standard_name": f"{name}itude"}
                )
            file["lon"].standard_name, file["lat"].standard_name = "longitude", "latitude"
            time = file.createVariable("time", "f8", ("time",))
            time.setncatts({"units": "days since 2000-01-01", "standard_name": "time", "bounds": "time_bnds"})
            time[:] = np.arange(start, start + count)
            file.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.stack([time[:], time[:] + 1], 1)
            cells = np.arange(count * 12).reshape(count, 3, 4) + 100 * number
            masked = np.ma.masked_equal(cells, 105)
            tas = file.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=-1)
            tas.setncatts({"units": "K", "standard_name": "air_temperature"})
            tas[:] = masked
            packed = file.createVariable("ps", "i2", ("time", "lat", "lon"), fill_value=-9)
            packed.setncatts({"units": "Pa", "standard_name": "air_pressure", "scale_factor": 0.5, "add_offset": 1.0})
            packed[:] = masked
        start += count
    return paths


@pytest.mark.long
@pytest.mark.parametrize("library", ["cfdm", "cf"])
@pytest.mark.parametrize("relative", [False, True])
def test_our_files_are_read_equal(
    interpreter: str, reader: Worker, pieces: list[Path], library: str, relative: bool
) -> None:
    target = pieces[0].parent / f"all-{library}-{relative}.nc"
    options = ["--relative"] if relative else []
    ran = run_command("combine", *map(str, pieces), str(target), "--to", "cfa", "--along", "time", "--verify", *options)
    assert ran.status == 0, ran.err
    theirs = read_by(reader, library, target)
    assert {"tas", "ps", "time", "lat", "lon"} <= compare(target, theirs)
    whole = nczarr.combine(pieces, along="time")
    shape, values = theirs["tas"]
    assert shape == [6, 3, 4]
    expected = whole["tas"][...].reshape(-1).tolist()
    assert [-1 if value is None else value for value in values] == expected
    assert values.count(None) == 1


def test_our_files_with_groups_are_read_equal(reader: Worker, written: Path, tmp_path: Path) -> None:
    """The pieces of a field in a group, which cfdm has written, joined by us and read by it."""
    for number, values in enumerate(("1, 2", "3, 4")):
        text = f"""netcdf g {{ dimensions: x = 2 ; variables: double x(x) ; x:units = "m" ;
        x:standard_name = "projection_x_coordinate" ;
        :Conventions = "CF-1.13" ; data: x = {2 * number}, {2 * number + 1} ;
        group: forecast {{ dimensions: y = 2 ; variables: double y(y) ; y:units = "m" ;
        y:standard_name = "projection_y_coordinate" ;
        double q(x, y) ; q:standard_name = "specific_humidity" ; q:units = "1" ;
        data: y = 5, 6 ; q = {values}, {values} ; }} }}"""
        (tmp_path / "g.cdl").write_text(text)
        nczarr.convert(tmp_path / "g.cdl", tmp_path / f"{number}.nc")
    target = tmp_path / "all.nc"
    nczarr.combine([tmp_path / "0.nc", tmp_path / "1.nc"], target=target, format="cfa", along="x", verify=True)
    theirs = read_by(reader, "cfdm", target)
    assert theirs["q"] == [[4, 2], [1, 2, 1, 2, 3, 4, 3, 4]]
    compare(target, theirs)


EXAMPLES = """netcdf examples {
dimensions: time = 5 ; latitude = 3 ; longitude = 4 ; f_time = 2 ; f_latitude = 2 ; f_longitude = 1 ;
  j = 3 ; j_time = 1 ; i = 2 ;
variables:
  double temperature ; temperature:standard_name = "air_temperature" ; temperature:units = "K" ;
  temperature:ancillary_variables = "uid" ; temperature:coordinates = "place height" ;
  temperature:aggregated_dimensions = "time latitude longitude" ;
  temperature:aggregated_data = "uris: fragment_uris identifiers: fragment_identifiers map: fragment_map" ;
  string uid ; uid:long_name = "Fragment dataset unique identifiers" ; uid:missing_value = "" ;
  uid:aggregated_dimensions = "time" ;
  uid:aggregated_data = "unique_values: fragment_unique_values map: fragment_map_time" ;
  double time ; time:standard_name = "time" ; time:units = "days since 2001-01-01" ;
  time:aggregated_dimensions = "time" ;
  time:aggregated_data = "uris: fragment_uris_time identifiers: fragment_identifiers_time map: fragment_map_time" ;
  double place ; place:long_name = "distance" ; place:units = "m" ; place:aggregated_dimensions = "time" ;
  place:aggregated_data = "uris: fragment_uris_place identifiers: fragment_names map: fragment_map_time" ;
  double height ; height:standard_name = "height" ; height:units = "m" ; height:aggregated_dimensions = "" ;
  height:aggregated_data = "uris: fragment_uris_h identifiers: fragment_identifiers_h map: fragment_map_h" ;
  double latitude(latitude) ; latitude:standard_name = "latitude" ; latitude:units = "degrees_north" ;
  double longitude(longitude) ; longitude:standard_name = "longitude" ; longitude:units = "degrees_east" ;
  int fragment_map(j, i) ; string fragment_uris(f_time, f_latitude, f_longitude) ; string fragment_identifiers ;
  int fragment_map_time(j_time, i) ; string fragment_unique_values(f_time) ;
  string fragment_uris_time(f_time) ; string fragment_identifiers_time(f_time) ;
  string fragment_uris_place(f_time, f_longitude) ; string fragment_names ;
  int fragment_map_h ; string fragment_uris_h ; string fragment_identifiers_h ;
  :Conventions = "CF-1.13" ;
data:
  latitude = 1, 2, 3 ; longitude = 1, 2, 3, 4 ;
  fragment_map = 2, 3, 2, 1, 4, _ ; fragment_uris = "00.nc", "01.nc", "10.nc", "11.nc" ; fragment_identifiers = "tmp" ;
  fragment_map_time = 2, 3 ; fragment_unique_values = "04b9-7eb5", "05ee0-a183" ;
  fragment_uris_time = "00.nc", "10.nc" ; fragment_identifiers_time = "t0", "t1" ;
  fragment_uris_place = "00.nc", "10.nc" ; fragment_names = "place" ;
  fragment_map_h = 1 ; fragment_uris_h = "00.nc" ; fragment_identifiers_h = "height" ;
}
"""
"""What the examples of appendix L have: dimensions, coordinates, names of each fragment, unique values, a scalar."""


@pytest.mark.parametrize("form", ["cdl", "nc"])
def test_examples_of_the_conventions_are_read_equal(
    interpreter: str, reader: Worker, tmp_path: Path, peer: Callable[[str], ModuleType], form: str
) -> None:
    netcdf = peer("netCDF4")
    for row, count in enumerate((2, 3)):
        for column, width in enumerate((2, 1)):
            with netcdf.Dataset(tmp_path / f"{row}{column}.nc", "w") as file:
                for name, length in (("t", count), ("y", width), ("x", 4)):
                    file.createDimension(name, length)
                cells = np.arange(count * width * 4).reshape(count, width, 4) + 100 * row + 1000 * column
                file.createVariable("tmp", "f4", ("t", "y", "x"))[:] = cells
                for number, name in enumerate((f"t{row}", "place")):
                    file.createVariable(name, "f8", ("t",))[:] = np.arange(count) + 10 * row + number
                file.createVariable("height", "f8", ())[...] = 1.5
    (tmp_path / "all.cdl").write_text(EXAMPLES)
    assert run_command("compile", str(tmp_path / "all.cdl"), "-o", str(tmp_path / "all.nc")).status == 0
    theirs = read_by(reader, "cfdm", tmp_path / "all.nc")
    names = {"temperature", "uid", "time", "place", "height", "latitude", "longitude"}
    assert compare(tmp_path / f"all.{form}", theirs) == names
    assert {path.lstrip("/") for path in nczarr.open(tmp_path / f"all.{form}").checked.variables} == names
