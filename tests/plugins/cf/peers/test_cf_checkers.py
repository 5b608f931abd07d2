"""`check --cf` beside cf-checker and compliance-checker: broken files, shared corpora, the same in other formats."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from tests.conftest import ROOT, missing_peer
from tests.support.peers.cf_findings import CFFinding, PeerFindings, by_peers, by_us, section_of

pytestmark = pytest.mark.program

GOOD = (ROOT / "tests" / "support" / "peers" / "cf_good.cdl").read_text()

BROKEN: tuple[tuple[str, str, str], ...] = (
    ("2.3", "tas:long_name", "tas:a-b = 1 ; tas:long_name"),
    ("2.4", "float tas(time, lat, lon)", "float tas(time, lon, lat)"),
    ("2.5", "tas:valid_max = 400.f", "tas:valid_range = 0.f, 400.f"),
    ("2.5", "tas:valid_min = 0.f", "tas:valid_min = -1000.f"),
    ("2.5", "tas:missing_value = -999.f", "tas:missing_value = -99.f"),
    ("2.5", "tas:missing_value = -999.f", "tas:missing_value = -999."),
    ("2.6", 'Conventions = "CF-1.8"', 'Conventions = "none"'),
    ("2.6", ':title = "example"', ":title = 1"),
    ("2.6", ':title = "example"', ':title = "e" ; :external_variables = "tas"'),
    ("3.1", 'tas:units = "K"', 'tas:units = "Kelvinz"'),
    ("3.1", 'tas:units = "K"', 'tas:units = "m"'),
    ("3.1", 'tas:units = "K" ;', ""),
    ("3.1", 'b:units = "1"', 'b:units = "level"'),
    ("3", 'ap:long_name = "pressure part" ;', ""),
    ("3.3", 'tas:standard_name = "air_temperature"', 'tas:standard_name = "air_temprature"'),
    ("3.3", 'tas:standard_name = "air_temperature"', 'tas:standard_name = "air_temperature error"'),
    ("3.3", 'quality_flag"', 'air_temperature status_flag"'),
    ("3.4", 'ancillary_variables = "quality"', 'ancillary_variables = "qualty"'),
    ("3.5", "flag_values = 0b, 1b, 2b", "flag_values = 0, 1, 2"),
    ("3.5", "good doubtful bad", "good bad"),
    ("3.5", "flag_values = 0b, 1b, 2b", "flag_values = 0b, 1b, 1b"),
    ("3.5", 'quality:flag_meanings = "good doubtful bad" ;', ""),
    ("3.5", "good doubtful bad", "good doubtful! bad"),
    ("4", 'lat:axis = "Y"', 'lat:axis = "N"'),
    ("4", 'lat:axis = "Y"', 'lat:axis = "X"'),
    ("4.3", 'lev:positive = "down"', 'lev:positive = "below"'),
    ("4.3", 'height:positive = "up"', 'height:positive = "down"'),
    ("4.3", "ap: ap b: b", "ap: ap bb: b"),
    ("4.3", "ap: ap b: b", "ap: ap b: nob"),
    ("4.3", 'computed_standard_name = "air_pressure"', 'computed_standard_name = "altitude"'),
    ("4.4", "days since 2000-01-01", "days"),
    ("4.4", 'calendar = "standard"', 'calendar = "gregorain"'),
    ("4.4", 'time:calendar = "standard" ;', ""),
    ("4.4", "days since 2000-01-01", "months since 2000-01-01"),
    ("4.4", "days since 2000-01-01", "days since 2000-02-30"),
    ("5", "lat = -45, 0, 45", "lat = -45, 45, 0"),
    ("5", 'tas:coordinates = "height"', 'tas:coordinates = "heigth"'),
    ("5", 'tas:coordinates = "height"', 'tas:coordinates = "b"'),
    ("5", 'lat:axis = "Y"', 'lat:axis = "Y" ; lat:_FillValue = -999.'),
    ("5.6", 'tas:grid_mapping = "crs"', 'tas:grid_mapping = "csr"'),
    ("5.6", "latitude_longitude", "latitude_longtude"),
    ("5.6", "semi_major_axis = 6378137.", 'semi_major_axis = "6378137"'),
    ("7.1", 'lat:bounds = "lat_bnds"', 'lat:bounds = "lat_bounds"'),
    ("7.1", "lat_bnds(lat, nv)", "lat_bnds(nv, lat)"),
    ("7.1", "lat_bnds = -67.5, -22.5", "lat_bnds = -67.5, -62.5"),
    ("7.1", "double lat_bnds(lat, nv) ;", 'double lat_bnds(lat, nv) ; lat_bnds:units = "degrees" ;'),
    ("7.2", "area: cell_area", "aera: cell_area"),
    ("7.2", "area: cell_area", "area: cell_aera"),
    ("7.2", 'cell_area:units = "m2"', 'cell_area:units = "m"'),
    ("7.3", 'tas:cell_methods = "time: mean', 'tas:cell_methods = "time: average'),
    ("7.3", 'tas:cell_methods = "time: mean', 'tas:cell_methods = "tiem: mean'),
    ("7.3", "interval: 1 hour", "interval: 1 hoor"),
    ("7.3", 'tas:cell_methods = "time: mean', 'tas:cell_methods = "mean'),
    ("8.1", "scale_factor = 0.01f", "scale_factor = 0.01"),
    ("8.1", "short ta(", "double ta("),
)
"""Section that is broken, and the change that breaks it."""

EXPLAINED = {
    ("swan", "4"): "`axis` may be written in lower case",
    (
        "issue59",
        "4.3",
    ): "bounds of parametric coordinates have `formula_terms` since CF 1.7; its .check has no such error",
    ("grid-boundaries", "7.1"): "the file has no values, and long names of bounds may differ before CF 1.11",
    ("timeseries-non-static", "3.1"): "a dimensionless standard name needs no units",
    ("timeseries-single", "3.1"): "a dimensionless standard name needs no units",
}
"""Sections in which both peers find something that is no breach, by a part of the file's name."""

CHECKED = {
    ("CF_1_7", "sigma2", "units attribute should be present"): "a dimensionless standard name needs no units",
    ("CRM024_test1", "rgrid", "No standard_name"): "it lists gathered cells, and holds no coordinates",
    ("cell_measures", "", "Incorrect dimensions"): "`lon(cell)` is no coordinate variable of the dimension `lon`",
    ("cell_measures", "", "lies outside"): "the coordinates have no values",
    ("issue67", "", "_ChunkSizes"): "netCDF's own attributes may begin with an underscore",
}
"""Expectations of cf-checker's files that are met otherwise, with the reason."""


@pytest.fixture(scope="module")
def interpreter() -> str:
    """The interpreter with both checkers, which NCZARR_CF names."""
    named = os.environ.get("NCZARR_CF")
    if not named:
        missing_peer("cf-checker and compliance-checker (NCZARR_CF names their interpreter)")
    assert named
    return named


@pytest.fixture(autouse=True)
def units(peer: Callable[[str], ModuleType]) -> None:
    """The library that judges our units."""
    peer("cf_units")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    """Each broken dataset as CDL, with its section; the first one is whole."""
    folder = tmp_path_factory.mktemp("broken")
    files = []
    for number, (section, old, new) in enumerate((("", "", ""), *BROKEN)):
        assert old in GOOD
        path = folder / f"broken{number:02}.cdl"
        path.write_text(GOOD.replace(old, new, 1) if old else GOOD)
        files.append((section, path))
    return files


@pytest.fixture(scope="module")
def twins(broken: list[tuple[str, Path]]) -> list[Path]:
    """The broken datasets as netCDF."""
    twins = []
    for _, path in broken:
        twin = path.with_suffix(".nc")
        nczarr.convert(path, twin)
        twins.append(twin)
    return twins


@pytest.mark.long
def test_every_fault_is_found(broken: list[tuple[str, Path]]) -> None:
    missed = [path.name for section, path in broken[1:] if section not in {found.section for found in by_us(path)}]
    assert missed == []
    assert by_us(broken[0][1]) == []


OF_TYPES = r"has the type"
"""Findings about types of attributes, which JSON documents do not have."""


def keys(found: list[CFFinding]) -> list[tuple[str, str]]:
    return sorted((one.section, one.text) for one in found)


@pytest.mark.long
def test_other_formats_have_the_same_findings(
    broken: list[tuple[str, Path]], twins: list[Path], tmp_path: Path
) -> None:
    for (_, path), twin in zip(broken, twins, strict=True):
        ours = keys(by_us(path))
        assert keys(by_us(twin)) == ours
        store = tmp_path / f"{path.stem}.zarr"
        nczarr.convert(path, store, "nczarr")
        assert keys(by_us(store)) == ours
        pure = tmp_path / f"{path.stem}.v3.zarr"
        nczarr.convert(path, pure, "zarr3", allow_loss="all")
        assert keys(by_us(pure)) == [found for found in ours if not re.search(OF_TYPES, found[1])]


@pytest.mark.long
@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_faults_that_both_peers_find(
    step: int, broken: list[tuple[str, Path]], twins: list[Path], interpreter: str, tmp_path: Path
) -> None:
    chosen = list(zip(broken, twins, strict=True))[::step]
    peers = by_peers(interpreter, tmp_path, [("1.8", twin) for _, twin in chosen])
    assert peers[twins[0]].is_clean
    for (section, _), twin in chosen:
        assert peers[twin].common <= {found.section for found in by_us(twin, "1.8")}, section


def corpus(shared: Path, folder: Path) -> Iterator[Path]:
    """The shared files as netCDF."""
    for path in sorted((shared / "data" / "cf").iterdir()):
        if path.name.endswith(".nc.gz"):
            unpacked = folder / path.name.removesuffix(".gz")
            unpacked.write_bytes(gzip.decompress(path.read_bytes()))
            yield unpacked
        elif path.suffix == ".nc":
            yield Path(shutil.copy(path, folder))
        elif path.suffix == ".cdl":
            target = folder / f"{path.name}.nc"
            nczarr.convert(path, target)
            yield target


def declared(path: Path) -> str:
    """The version that a file declares, or 1.8."""
    with nczarr.open(path) as dataset:
        match = re.search(r"CF-1\.([0-9]+)", str(dataset.attributes.get("Conventions", "")))
    return f"1.{min(max(int(match[1]), 6), 11)}" if match else "1.8"


@pytest.mark.slow
def test_shared_files(shared: Path, interpreter: str, tmp_path: Path) -> None:
    files = [(declared(path), path) for path in corpus(shared, tmp_path)]
    peers = by_peers(interpreter, tmp_path, files)
    assert len(peers) == len(files) > 70
    for version, path in files:
        ours = {found.section for found in by_us(path, version)}
        missed = {section for section in peers[path].common - ours if not explained(path, section)}
        assert not missed, path.name
        if peers[path].is_clean:
            assert not [found for found in by_us(path, version) if found.is_error], path.name


def explained(path: Path, section: str) -> bool:
    return any(part in path.name and section == number for part, number in EXPLAINED)


@pytest.mark.long
def test_expectations_of_cf_checker(shared: Path, tmp_path: Path) -> None:
    """Each error and warning in a `.check` file has ours in the same section, about the same variable."""
    for check in sorted((shared / "data" / "cf").glob("*.check")):
        path = tmp_path / f"{check.stem}.nc"
        path.write_bytes(gzip.decompress(check.with_suffix(".nc.gz").read_bytes()))
        text = check.read_text()
        version = re.search(r"against CF Version CF-1\.([0-9]+)", text)
        assert version
        ours = by_us(path, f"1.{max(int(version[1]), 6)}")
        missed = [line for line in list_missed(text, ours) if not is_met(check.stem, *line)]
        assert missed == [], check.stem


def list_missed(text: str, ours: list[CFFinding]) -> Iterator[tuple[str, str, str]]:
    """Variables, sections and texts of expectations without a finding of ours."""
    variable = ""
    for line in text.splitlines():
        if line.startswith("Checking variable: "):
            variable = line.removeprefix("Checking variable: ")
        match = re.match(r"(?:ERROR|WARN): (?:\(([0-9.]+)\): )?(.*)", line)
        if match is None:
            continue
        section = section_of(match[1]) if match[1] else None
        about = [found for found in ours if section in (None, found.section)]
        if not any(found.concerns(variable) or not variable for found in about):
            yield variable, match[1] or "", match[2]


def is_met(stem: str, variable: str, section: str, text: str) -> bool:
    return any(part in stem and name in ("", variable) and words in text for part, name, words in CHECKED)


def test_the_peers_are_compared_at_all() -> None:
    """A comparison that finds nothing would prove nothing."""
    both = PeerFindings([CFFinding("5", "a", True)], [CFFinding("5", "b", True), CFFinding("4", "c", True)])
    assert both.common == {"5"}
    assert not both.is_clean
