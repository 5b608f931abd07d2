"""Combined files as an aggregation file: what it stores, and what it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command
from tests.support.library import library

xr = library("xarray")

PART = """netcdf part {{ dimensions: time = UNLIMITED ; x = 3 ; y = 2000000 ; nv = 2 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:bounds = "tb" ;
  double tb(time, nv) ;
  double x(x) ;
  float v(time, x) ; v:units = "K" ; v:_FillValue = -1.f ;
  short p(time, x) ; p:scale_factor = 0.5f ; p:add_offset = 1.f ; p:_FillValue = -9s ;
  float h(time) ;
  float grid(y) ;
  :Conventions = "CF-1.6, ACDD-1.3" ;
data: time = {0} ; tb = {1} ; x = 1, 2, 3 ; v = {2} ; p = {2} ; h = {0} ;
group: g {{ variables: int v(time, x) ; data: v = {2} ; }}
}}
"""
COUNTS = (2, 1, 3)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three netCDF files, one in a folder whose name has a blank."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "more files").mkdir()
    paths, start = [], 0
    for number, count in enumerate(COUNTS):
        times = range(start, start + count)
        values = ", ".join(f"{10 * time}, {3 * row + 1}, 2" for row, time in enumerate(times))
        text = PART.format(", ".join(map(str, times)), ", ".join(f"{time}, {time + 1}" for time in times), values)
        path = folder / ("more files/1.nc" if number == 1 else f"{number}.nc")
        (folder / "part.cdl").write_text(text)
        nczarr.convert(folder / "part.cdl", path, kind="nc4")
        paths.append(str(path))
        start += count
    return paths


@pytest.mark.long
def test_it_stands_for_the_whole(sources: list[str], tmp_path: Path) -> None:
    target = tmp_path / "all.cfa"
    ran = run_command("combine", *sources, str(target), "--along", "time", "--verify")
    assert ran.status == 0, ran.err
    assert target.stat().st_size < 100_000
    dataset = nczarr.open(target)
    expected = [[10 * time, 3 * row + 1, 2] for time, row in enumerate((0, 1, 0, 0, 1, 2))]
    assert dataset["v"][...].tolist() == dataset["/g/v"][...].tolist() == expected
    assert dataset["p"].dtype == np.dtype("f4")
    assert dataset["p"][...].tolist() == [[0.5 * value + 1 for value in row] for row in expected]
    assert set(dataset["p"].attributes) == {"_FillValue"}
    assert dataset["grid"].shape == (2_000_000,)
    assert dataset.attributes["Conventions"] == "CF-1.13, ACDD-1.3"
    raw = nczarr.open(target, aggregation="keep")
    described = [path for path in raw.checked.variables if "aggregated_data" in raw[path].attributes]
    assert described == ["/v", "/p", "/grid", "/g/v"]
    assert {raw[path].shape for path in described} == {()}
    assert raw["fragment_map"][...].tolist() == [[2, 1, 3], [3, -2147483647, -2147483647]]
    assert raw["fragment_uris"][1, 0] == "file://" + sources[1].replace(" ", "%20")
    assert raw["/g/v"].attributes["aggregated_data"].startswith("identifiers: /fragment_identifiers")
    assert raw["time"][...].tolist() == [0, 1, 2, 3, 4, 5]
    whole = nczarr.combine(sources, along="time", variables=["v", "time"])
    for name in ("v", "time", "tb"):
        np.testing.assert_array_equal(dataset[name][...], whole[name][...])
    assert run_command("check", str(target), "--cf", "--select", "cf-aggregation").status == 0


def test_relative_names_move_with_the_files(sources: list[str], tmp_path: Path) -> None:
    folder = Path(sources[0]).parent
    for arguments in (["--relative"], ["--base", "https://example.org/d"]):
        target = folder / "relative.cfa"
        ran = run_command("combine", *sources, str(target), "--along", "time", "--overwrite", *arguments)
        assert ran.status == 0, ran.err
        uris = nczarr.open(target, aggregation="keep")["fragment_uris"][:, 0].tolist()
        prefix = "" if arguments == ["--relative"] else "https://example.org/d/"
        assert uris == [f"{prefix}{name}" for name in ("0.nc", "more%20files/1.nc", "2.nc")]
    target.unlink()
    run_command("combine", *sources, str(target), "--along", "time", "--relative")
    folder.rename(tmp_path / "moved")
    try:
        assert nczarr.open(tmp_path / "moved/relative.cfa")["v"][5].tolist() == [50, 7, 2]
    finally:
        (tmp_path / "moved").rename(folder)


def test_a_new_dimension(sources: list[str], tmp_path: Path) -> None:
    for number, value in enumerate((1, 2)):
        (tmp_path / "m.cdl").write_text(
            f"netcdf m {{ dimensions: x = 2 ; variables: int v(x) ; data: v = {value}, 5 ; }}"
        )
        nczarr.convert(tmp_path / "m.cdl", tmp_path / f"{number}.nc")
    paths = [tmp_path / "0.nc", tmp_path / "1.nc"]
    done = nczarr.combine(paths, target=tmp_path / "all.nc", format="cfa", new_dim="run", verify=True)
    assert done.verified_with
    assert nczarr.open(tmp_path / "all.nc")["v"][...].tolist() == [[1, 5], [2, 5]]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--dim", "x=0:1"], "of whole sources that are paths or URLs"),
        (["-k", "nc3"], "which needs netCDF-4"),
        (["part.cdl", "--unsorted"], "cannot name `part.cdl`, which is neither a netCDF file nor a Zarr store"),
    ],
)
def test_refusals(
    sources: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.cdl").write_text((Path(sources[0]).parent / "part.cdl").read_text())
    target = tmp_path / "all.cfa"
    ran = run_command("refs", "combine", *sources, *extra, "-o", str(target), "--along", "time")
    assert ran.status != 0
    assert message in ran.err
    assert not target.exists()


def test_combine_alone_writes_it(sources: list[str], tmp_path: Path) -> None:
    ran = run_command("convert", sources[0], str(tmp_path / "a.cfa"))
    assert ran.status == 2
    assert "`nczarr combine` alone writes it" in ran.err


def test_a_fragment_that_changes_is_found_by_verify(
    sources: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finished file is read through its fragments, not as it was written."""
    from nczarr.plugins.combine.aggregation import fragments

    def refuse(reader: object, place: str) -> None:
        raise fragments.UnfitFragmentError("it has gone")

    monkeypatch.setattr(fragments.FragmentReader, "open_dataset", refuse)
    target = tmp_path / "all.cfa"
    assert run_command("combine", *sources, str(target), "--along", "time").status == 0
    ran = run_command("combine", *sources, str(target), "--along", "time", "--verify", "--overwrite")
    assert ran.status == 1
    assert "it has gone" in ran.err


def write_pieces(folder: Path, *pieces: tuple[list[int], list[int]]) -> list[str]:
    """Write files of some times and places, with values that tell of both; return their paths."""
    text = """netcdf s {{ dimensions: t = UNLIMITED ; x = 2 ;
    variables: int t(t) ; int x(x) ; short v(t, x) ; string s(t, x) ;
    v:scale_factor = 0.5 ; v:_FillValue = -1s ; data: t = {} ; x = {} ; v = {}, -1 ; s = {}, "" ; }}"""
    paths = []
    for number, (times, places) in enumerate(pieces):
        rows = [[10 * time + place for place in places] for time in times]
        values = ", ".join(str(value) for row in rows for value in row).rpartition(",")[0]
        quoted = ", ".join(f'"{value}"' for value in values.split(", "))
        (folder / f"{number}.cdl").write_text(text.format(str(times)[1:-1], str(places)[1:-1], values, quoted))
        paths.append(str(folder / f"{number}.nc"))
        nczarr.convert(folder / f"{number}.cdl", paths[-1], kind="nc4")
    return paths


@pytest.mark.long
@pytest.mark.parametrize("option", ["--sort", "--join=outer", "--unsorted"])
def test_fragments_have_the_order_of_the_result(tmp_path: Path, option: str) -> None:
    paths = write_pieces(tmp_path, ([4, 5], [1, 2]), ([1], [1, 2]), ([2, 3], [1, 2]))
    ran = run_command("combine", *paths, str(tmp_path / "all.cfa"), "--along", "t", option, "--verify")
    assert ran.status == 0, ran.err
    combined = nczarr.open(tmp_path / "all.cfa")
    times = [4, 5, 1, 2, 3] if option == "--unsorted" else [1, 2, 3, 4, 5]
    assert combined["t"][...].tolist() == times
    assert combined["v"][:, 0].tolist() == [(10 * time + 1) / 2 for time in times]


@pytest.mark.parametrize(
    ("pieces", "option"),
    [
        ([([1, 3], [1, 2]), ([2], [1, 2])], "--sort"),
        ([([1, 2], [1, 2]), ([2, 3], [1, 2])], "--duplicates=last"),
        ([([1], [1, 2]), ([2], [2, 3])], "--join=outer"),
    ],
)
def test_cut_sources_are_no_fragments(tmp_path: Path, pieces: list[tuple[list[int], list[int]]], option: str) -> None:
    paths = write_pieces(tmp_path, *pieces)
    ran = run_command("combine", *paths, str(tmp_path / "all.cfa"), "--along", "t", option)
    assert (ran.status, (tmp_path / "all.cfa").exists()) == (2, False)
    assert "an aggregation file has whole sources one after the other" in ran.err


def test_missing_values_are_seen_by_every_reader(tmp_path: Path) -> None:
    paths = write_pieces(tmp_path, ([1], [1, 2]), ([2], [1, 2]))
    nczarr.combine(paths, target=tmp_path / "all.cfa", along="t")
    nczarr.convert(tmp_path / "all.cfa", tmp_path / "all.nc")
    values = xr.open_dataset(tmp_path / "all.nc", engine="netcdf4")["v"].values
    np.testing.assert_array_equal(values, [[5.5, np.nan], [10.5, np.nan]])


def test_strings_are_stored(tmp_path: Path) -> None:
    paths = write_pieces(tmp_path, ([1], [1, 2]), ([2], [1, 2]))
    nczarr.combine(paths, target=tmp_path / "all.cfa", along="t")
    assert nczarr.open(tmp_path / "all.cfa", aggregation="keep")["s"][...].tolist() == [["11", ""], ["21", ""]]
