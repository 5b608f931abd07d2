"""Files that do not quite fit, joined and read by xarray, beside what NumPy and xarray make of the same files."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ran, missing_peer
from tests.support.peers import SCRIPTS
from tests.support.peers.misfit_files import MISFITS, PACKINGS, series, together
from tests.support.peers.references import others_interpreter
from tests.support.proof import WHOLE
from tests.support.ranged_server import RangedServer

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]

SIZES = [7, pytest.param(100 if WHOLE else 40, marks=pytest.mark.slow)]
"""Numbers of files of a series."""


def read(xarray: ModuleType, target: Path) -> Any:
    """Open a joined dataset by zarr-python, through fsspec for references."""
    if target.suffix == ".nc":
        return xarray.open_dataset(target, decode_times=True)
    if target.suffix == ".zarr":
        return xarray.open_zarr(target, consolidated=False)
    options = {"fo": str(target), "remote_protocol": "file", "asynchronous": True, "skip_instance_cache": True}
    backend = {"consolidated": False, "zarr_format": 2, "storage_options": options}
    return xarray.open_dataset("reference://", engine="zarr", **backend)


def joined(run: Callable[..., Ran], sources: list[str], target: Path, *options: str) -> Ran:
    metadata = ("--metadata", "zarr2") if target.suffix == ".json" else ()
    ran = run("combine", *sources, str(target), "--along", "time", *options, *metadata, "--inline", "0")
    assert ran.status == 0, ran.err
    return ran


def assert_equal(found: Any, truth: dict[str, Any]) -> None:
    for name, values in truth.items():
        own = found[name].values
        assert np.array_equal(own, values.astype(own.dtype), equal_nan=own.dtype.kind == "f"), name


@pytest.mark.long
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("suffix", [".json", ".zarr", ".nc"])
@pytest.mark.parametrize("kind", MISFITS)
@pytest.mark.sampled(22)
def test_the_outer_join_has_every_cell_at_its_place(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, kind: str, suffix: str, count: int
) -> None:
    netcdf4, xarray = peer("netCDF4"), peer("xarray")
    sources, target = series(tmp_path / "d", kind, count, netcdf4), tmp_path / f"out{suffix}"
    joined(nczarr_command, sources, target, "--join", "outer")
    truth = together(sources, netcdf4)
    with read(xarray, target) as found:
        assert_equal(found, truth)


@pytest.mark.long
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("kind", MISFITS)
@pytest.mark.sampled(6)
def test_xarray_makes_the_same_of_the_files(peer: Peer, tmp_path: Path, kind: str, count: int) -> None:
    """Files are concatenated by their variables and merged, as `combine_by_coords` does, which refuses some of them."""
    netcdf4, xarray = peer("netCDF4"), peer("xarray")
    sources = series(tmp_path, kind, count, netcdf4)
    groups: dict[tuple[str, ...], list[str]] = {}
    for number, path in enumerate(sources):
        groups.setdefault(MISFITS[kind](number).get("names", ("v", "w")), []).append(path)
    options = {"join": "outer", "combine": "nested", "concat_dim": "time", "coords": "minimal", "data_vars": "minimal"}
    options |= {"compat": "override", "preprocess": lambda dataset: dataset.drop_vars(["height", "time_bnds"])}
    opened = [xarray.open_mfdataset(every, **options) for every in groups.values()]
    whole = xarray.merge(opened, join="outer", compat="no_conflicts").sortby(["time", "lat", "lon"])
    truth = together(sources, netcdf4)
    axes = {name: truth[name] for name in ("time", "lat", "lon")}
    assert all(np.array_equal(whole[name].values, array) for name, array in axes.items())
    assert_equal(whole, {name: values for name, values in truth.items() if name != "height"})


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".json", ".zarr", ".nc"])
def test_the_coordinates_of_the_first_file_stand_for_all_as_in_xarray(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, suffix: str
) -> None:
    xarray = peer("xarray")
    sources, target = series(tmp_path / "d", "latitudes are slightly off", 7, peer("netCDF4")), tmp_path / f"o{suffix}"
    drop = ["height"]  # a variable that is not joined is compared
    ran = joined(nczarr_command, sources, target, "--join", "override", "--var", "v,w")
    assert "absent-cells" not in ran.err
    options = {"combine": "nested", "concat_dim": "time", "coords": "minimal", "data_vars": "minimal"}
    whole = xarray.open_mfdataset(sources, join="override", compat="override", drop_variables=drop, **options)
    with read(xarray, target) as found:
        assert_equal(found, {name: whole[name].values for name in ("time", "lat", "lon", "v", "w")})


def test_xarray_refuses_other_latitudes_by_coordinates(peer: Peer, tmp_path: Path) -> None:
    """It takes them for another dimension to concatenate along; `nested` concatenates along the named one."""
    xarray = peer("xarray")
    sources = series(tmp_path, "latitudes are shifted", 7, peer("netCDF4"))
    with pytest.raises(ValueError, match="monotonic global indexes"):
        xarray.open_mfdataset(sources, join="outer", combine="by_coords")


@pytest.mark.long
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("suffix", [".json", ".zarr", ".nc"])
@pytest.mark.parametrize("kind", PACKINGS)
@pytest.mark.sampled(22)
def test_decoded_values_are_equal_in_the_packing_of_most_files(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, kind: str, suffix: str, count: int
) -> None:
    netcdf4, xarray = peer("netCDF4"), peer("xarray")
    sources, target = series(tmp_path / "d", kind, count, netcdf4), tmp_path / f"out{suffix}"
    join = ("--join", "outer") if kind == "all at once" else ()
    joined(nczarr_command, sources, target, "--repack", *join)
    truth = together(sources, netcdf4)
    with read(xarray, target) as found:
        assert_equal(found, truth)
    with netcdf4.Dataset(sources[1 if kind == "another offset in the first file" else 2]) as usual:
        expected = {name: usual["v"].getncattr(name) for name in usual["v"].ncattrs()}
        with read(xarray, target) as found:
            encoding = {name: found["v"].encoding.get(name) for name in ("scale_factor", "add_offset", "_FillValue")}
            assert {name: value for name, value in encoding.items() if name in expected} == expected


@pytest.mark.long
def test_virtualizarr_joins_few_of_them_and_two_with_wrong_values(peer: Peer, tmp_path: Path) -> None:
    """It refuses unions, types, filters and chunks that differ, and joins files of other scales without a word."""
    interpreter = others_interpreter()
    if interpreter is None:
        missing_peer("virtualizarr (NCZARR_KERCHUNK names its interpreter)")
    netcdf4 = peer("netCDF4")
    files = {kind: series(tmp_path / kind, kind, 7, netcdf4) for kind in (*MISFITS, *PACKINGS)}
    cases = [f"{kind}={','.join(paths)}" for kind, paths in files.items()]
    script = [interpreter, str(SCRIPTS / "join_virtualizarr.py"), str(tmp_path), "--outer", *cases]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout.splitlines()[-1])
    found = {}
    for kind, answer in answers.items():
        if "error" not in answer:
            truth = together(files[kind], netcdf4)["v"]
            found[kind] = np.array_equal(np.array(answer["v"], float), truth, equal_nan=True)
    assert found == {
        "files are not in order": True,
        "times within files are not in order": True,
        "files take turns": True,
        "another scale": False,
        "another offset in the first file": False,
        "another fill value": True,  # no value is missing
        "other units of time": True,
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("a variable is missing", 0),
        ("files are not in order", 0),
        ("files take turns", 0),
        ("integers without a fill value", 0),
        ("a part is missing", 3),
        ("another scale", 3),
    ],
)
def test_a_remote_file_takes_one_request_unless_its_values_are_encoded_again(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, kind: str, odd: int
) -> None:
    """All chunks of a short file that are encoded again take one more."""
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: nczarr[remote]")
    sources = series(tmp_path / "d", kind, 9, peer("netCDF4"))
    server = RangedServer(Path("/"))
    try:
        urls = [server.url + source for source in sources]
        joined(nczarr_command, urls, tmp_path / "out.json", "--join", "outer", "--repack")
        counts = Counter(request.path for request in server.asked)
    finally:
        server.close()
    assert sorted(counts.values())[: 9 - odd] == [1] * (9 - odd)
    assert len(counts) == 9
    assert sorted(counts.values())[9 - odd :] == [2] * odd


def test_files_in_the_packing_of_most_stay_references(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    sources = series(tmp_path / "d", "another scale", 9, peer("netCDF4"))
    refused = nczarr_command("combine", *sources, str(tmp_path / "out.json"), "--along", "time")
    assert (refused.status, "attribute `scale_factor` of `/v`, `/w` differs" in refused.err) == (1, True)
    ran = joined(nczarr_command, sources, tmp_path / "out.json", "--repack")
    assert "`/v`: scale_factor 0.25 becomes 0.5, in `" in ran.err
    references = json.loads((tmp_path / "out.json").read_text())["refs"]
    chunks = {key: value for key, value in references.items() if key.startswith("v/") and key[2] != "."}
    inside = {int(key[2:].split(".")[0]) for key, value in chunks.items() if isinstance(value, str)}
    assert inside == {2, 3, 8, 9, 14, 15}
    assert len(chunks) == 36


def test_chunks_that_a_file_has_whole_are_references(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    """A quarter of the chunks of every third file begins within a chunk of the result."""
    sources = series(tmp_path / "d", "a part is missing", 9, peer("netCDF4"))
    ran = joined(nczarr_command, sources, tmp_path / "out.json", "--join", "outer")
    assert "`/v`: 12 of 36 chunks" in ran.err
    references = json.loads((tmp_path / "out.json").read_text())["refs"]
    chunks = {key: value for key, value in references.items() if key.startswith("v/") and key[2] != "."}
    assert sum(isinstance(value, list) for value in chunks.values()) == 24
    assert sum(isinstance(value, str) for value in chunks.values()) == 12


@pytest.mark.parametrize("rule", ["first", "last"])
@pytest.mark.parametrize("suffix", [".json", ".zarr"])
@pytest.mark.sampled(3)
def test_one_of_several_equal_times_is_kept(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, rule: str, suffix: str
) -> None:
    netcdf4 = peer("netCDF4")
    sources = series(tmp_path / "d", "files are not in order", 10, netcdf4)
    with netcdf4.Dataset(sources[3], "a") as file, netcdf4.Dataset(sources[6]) as other:
        file["time"][:] = other["time"][:]
    target = tmp_path / f"out{suffix}"
    refused = nczarr_command("combine", *sources, str(target), "--along", "time", "--sort")
    assert (refused.status, "repeated-coordinate" in refused.err, target.exists()) == (1, True, False)
    joined(nczarr_command, sources, target, "--sort", "--duplicates", rule)
    truth = together(sources, netcdf4, last=rule == "last")
    with read(peer("xarray"), target) as found:
        assert_equal(found, truth)


APPENDED = {
    "a variable is missing": ("--join", "outer"),
    "a part is missing": ("--join", "outer"),
    "every second latitude": ("--join", "outer"),
    "another scale": ("--repack",),
    "another type": ("--repack",),
    "other chunks": ("--repack",),
    "all at once": ("--repack", "--join", "outer"),
}
"""Options with which a target is extended by all files but the first."""


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".json", ".zarr", ".nc", "icechunk"])
@pytest.mark.parametrize("kind", APPENDED)
@pytest.mark.sampled(5)
def test_targets_are_extended_by_files_that_do_not_quite_fit(
    peer: Peer, nczarr_command: Callable[..., Ran], tmp_path: Path, kind: str, suffix: str
) -> None:
    netcdf4, xarray = peer("netCDF4"), peer("xarray")
    sources = series(tmp_path / "d", kind, 7, netcdf4, fill=-5)
    target = tmp_path / ("repo" if suffix == "icechunk" else f"out{suffix}")
    place = f"icechunk:{target}" if suffix == "icechunk" else str(target)
    metadata = ("--metadata", "zarr2") if suffix == ".json" else ()
    assert nczarr_command("combine", sources[0], place, "--along", "time", *metadata, "-q").status == 0
    ran = nczarr_command("append", *sources[1:], place, "--along", "time", *APPENDED[kind])
    assert ran.status == 0, ran.err
    truth = together(sources, netcdf4)
    if suffix == "icechunk":
        icechunk = peer("icechunk")
        storage = icechunk.local_filesystem_storage(str(target))
        store = icechunk.Repository.open(storage).readonly_session("main").store
        found = xarray.open_zarr(store, consolidated=False)
    else:
        found = read(xarray, target)
    with found:
        assert_equal(found, truth)
