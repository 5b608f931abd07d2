"""Chunks of different lengths: arrays of zarr-python as we read them, ours as zarr-python and icechunk read them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT, run_command
from tests.support.peers import SCRIPTS, newest_python
from tests.support.proof import share

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]
YEARS = {2019: 365, 2020: 366, 2021: 365, 2022: 365}
STORAGE: list[dict[str, Any]] = [
    {"zlib": True, "shuffle": True, "rows": 400},
    {"contiguous": True},
    {"zlib": True, "rows": 100},
    {"rows": 73},
]


def process(*arguments: object) -> str:
    """Run the newest zarr-python."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [newest_python(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def equal(found: Any, wanted: Any) -> bool:
    found = np.asarray(found)
    if found.dtype.names:
        found = found[found.dtype.names[0]] + 1j * found[found.dtype.names[1]]
    if wanted.dtype == object:
        found = np.array([text.decode() if isinstance(text, bytes) else text for text in found.ravel()], object)
        return bool(found.tolist() == wanted.ravel().tolist())
    return bool(np.array_equal(found, wanted))


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_random_grids_of_zarr_python(seed: int, tmp_path: Path) -> None:
    """Random ranks, lengths, types and codecs, with shards, missing chunks and transposed ones; there and back."""
    count = 4 if not seed else share(60)
    script = SCRIPTS / "rectilinear_zarr.py"
    process(script, "make", tmp_path, seed, count)
    pick = np.random.default_rng(seed)
    for number in range(count):
        path, wanted = tmp_path / f"{number}.zarr", np.load(tmp_path / f"{number}.npy", allow_pickle=True)
        with nczarr.open(path) as found:
            variable = next(iter(found.variables.values()))
            assert equal(variable[...], wanted)
            for _ in range(6):
                bounds = [sorted(pick.integers(0, length + 1, 2).tolist()) for length in wanted.shape]
                part = tuple(slice(*pair, int(pick.integers(1, 3))) for pair in bounds)
                assert equal(variable[part], wanted[part]), part
                rows = pick.integers(0, wanted.shape[0], 5).tolist()
                assert equal(variable[rows], wanted[rows]), rows
        for grid in ("regular", "rectilinear"):
            nczarr.convert(path, tmp_path / f"{number}.{grid}.zarr", "zarr3", grid=grid)
        assert nczarr.digest(path) == nczarr.digest(tmp_path / f"{number}.rectilinear.zarr")
    assert process(script, "read", tmp_path).split() == [str(2 * count)]


def year_files(folder: Path, peer: Peer, storage: dict[str, Any]) -> tuple[list[Path], Any]:
    """Write a netCDF-4 file for each year; return the paths and all values."""
    options = dict(storage)
    rows, days, paths = options.pop("rows", None), 0, []
    values = np.random.default_rng(5).integers(0, 999, (sum(YEARS.values()), 6, 4)).astype("f4")
    for year, length in YEARS.items():
        with peer("netCDF4").Dataset(folder / f"{year}.nc", "w") as file:
            for name, size in (("time", length), ("y", 6), ("x", 4)):
                file.createDimension(name, size)
            time = file.createVariable("time", "f8", ("time",))
            time.units, time[:] = "days since 2019-01-01", np.arange(days, days + length)
            chunks = {"chunksizes": (min(rows, length), 3, 4)} if rows else {}
            file.createVariable("tas", "f4", ("time", "y", "x"), **chunks, **options)[:] = values[days : days + length]
        paths.append(folder / f"{year}.nc")
        days += length
    return paths, values


READ = """
import sys, numpy, zarr
zarr.config.set({"array.rectilinear_chunks": True})
group = zarr.open_group(sys.argv[1], mode="r")
assert numpy.array_equal(group["tas"][...], numpy.load(sys.argv[2]))
assert numpy.array_equal(group["time"][...], numpy.arange(group["tas"].shape[0]))
print(group["tas"].metadata.chunk_grid.chunk_shapes[0])
"""


@pytest.mark.long
@pytest.mark.parametrize("storage", STORAGE, ids=str)
def test_years_of_two_lengths(storage: dict[str, Any], tmp_path: Path, peer: Peer) -> None:
    paths, values = year_files(tmp_path, peer, storage)
    np.save(tmp_path / "tas.npy", values)
    target = tmp_path / "all.zarr"
    done = nczarr.refs.combine(paths, target, "zarr3", along="time", grid="rectilinear")
    lengths = process("-c", READ, target, tmp_path / "tas.npy")
    rows = min(storage.get("rows", 366), 366)
    wanted = [
        each for length in YEARS.values() for each in [rows] * (length // rows) + [length % rows] * (length % rows > 0)
    ]
    if rows == 366:
        wanted = list(YEARS.values())
    assert lengths.strip() == str(tuple(wanted))
    padded = sum(length % rows > 0 for length in YEARS.values()) if rows < 365 else 0
    columns = 1 if storage.get("contiguous") else 2
    assert done.rechunked_chunks == 0
    assert done.transcoded_chunks + done.encoded_chunks == padded * columns
    assert done.copied_chunks == (len(wanted) - padded) * columns + len(YEARS)
    plain = nczarr.refs.combine(paths, tmp_path / "plain.zarr", "zarr3", along="time")
    assert not nczarr.diff(target, tmp_path / "plain.zarr")
    document = (tmp_path / "plain.zarr" / "tas" / "zarr.json").read_text()
    assert plain.copied_chunks < done.copied_chunks
    assert '"name": "regular"' in document


@pytest.mark.parametrize("storage", STORAGE[:3], ids=str)
def test_years_as_references(storage: dict[str, Any], tmp_path: Path, peer: Peer) -> None:
    """Documents of Zarr v3 refer to the chunks; those of Zarr v2 cannot, which is one message."""
    paths, values = year_files(tmp_path, peer, storage)
    writing = nczarr.refs.Writing(metadata="zarr3", inline=0)
    done = nczarr.refs.combine(paths, tmp_path / "all.json", along="time", grid="rectilinear", writing=writing)
    if storage.get("rows") != 100:  # no source ends within a chunk
        assert done.referenced_chunks == len(YEARS) * (2 if storage.get("contiguous") else 3)
        assert done.copied_chunks == done.transcoded_chunks == done.encoded_chunks == 0
    else:
        assert done.transcoded_chunks == 2 * len(YEARS)
    assert np.array_equal(nczarr.open(tmp_path / "all.json")["tas"][...], values)
    assert np.array_equal(nczarr.open(tmp_path / "all.json")["tas"][300:800, 2], values[300:800, 2])
    with pytest.raises(nczarr.CompileError, match="one length along each dimension"):
        nczarr.refs.combine(paths, tmp_path / "old.json", along="time", grid="rectilinear")
    nczarr.refs.combine(paths, tmp_path / "all.zarr", "zarr3", along="time", grid="rectilinear")
    writing = nczarr.refs.Writing(metadata="zarr3", embed=0)
    with pytest.raises(nczarr.CompileError, match="chunks differ in length"):
        nczarr.convert(tmp_path / "all.zarr", tmp_path / "regular.json", writing=writing)


ICECHUNK = """
import pathlib, sys, icechunk, numpy, zarr, nczarr
folder = pathlib.Path(sys.argv[1])
values = numpy.load(folder / "tas.npy")
zarr.config.set({"array.rectilinear_chunks": True})
for virtual in (False, True):
    place = f"icechunk:{folder}/repository{virtual}"
    writing = nczarr.refs.Writing(metadata="zarr3")
    done = nczarr.refs.combine(
        sorted(folder.glob("*.nc")), place, along="time", grid="rectilinear", virtual=virtual, writing=writing
    )
    assert (done.referenced_chunks > 0) is virtual, done
    with nczarr.open(place, following=nczarr.refs.Following(roots=(str(folder),))) as found:
        assert numpy.array_equal(found["tas"][...], values)
        assert found["tas"].chunks[0] == (365, 366, 365, 365)
    repository = icechunk.Repository.open(
        icechunk.local_filesystem_storage(f"{folder}/repository{virtual}"),
        authorize_virtual_chunk_access={
            each.url_prefix: None for each in icechunk.Repository.fetch_config(
                icechunk.local_filesystem_storage(f"{folder}/repository{virtual}")
            ).virtual_chunk_containers.values()
        } if virtual else {},
    )
    group = zarr.open_group(repository.readonly_session("main").store, mode="r")
    assert numpy.array_equal(group["tas"][...], values)
    assert group["tas"].metadata.chunk_grid.chunk_shapes[0] == (365, 366, 365, 365)
builder = nczarr.DatasetBuilder("")
axes = [builder.dimension("y", 10), builder.dimension("x", 7)]
builder.variable("v", "int", axes, chunks=([3, 7], 2))
try:
    nczarr.write(builder.finish(data={}), f"icechunk:{folder}/padded", grid="rectilinear")
except nczarr.CompileError as error:
    print(error)
"""


@pytest.mark.long
def test_years_in_icechunk(tmp_path: Path, peer: Peer) -> None:
    _, values = year_files(tmp_path, peer, STORAGE[0])
    np.save(tmp_path / "tas.npy", values)
    assert "chunks beyond its edge" in process("-c", ICECHUNK, tmp_path)
    assert not (tmp_path / "padded").exists()


def test_icechunk_1_refuses(tmp_path: Path, peer: Peer) -> None:
    if not peer("icechunk").__version__.startswith("1."):
        pytest.skip("icechunk 1 is not installed")
    paths, _ = year_files(tmp_path, peer, STORAGE[0])
    place = f"icechunk:{tmp_path}/repository"
    with pytest.raises(nczarr.CompileError, match=r"which icechunk 1[0-9.]* cannot store"):
        nczarr.refs.combine(paths, place, along="time", grid="rectilinear")
    assert not (tmp_path / "repository").exists()


def test_the_check_names_release_and_setting(tmp_path: Path, peer: Peer) -> None:
    paths, _ = year_files(tmp_path, peer, STORAGE[0])
    nczarr.refs.combine(paths, tmp_path / "all.zarr", "zarr3", along="time", grid="rectilinear")
    new, old = (
        run_command("check", "--for", f"zarr-python@{each}", str(tmp_path / "all.zarr")) for each in ("3.4", "3.1")
    )
    assert (new.status, old.status) == (1, 1)
    assert "without the setting `array.rectilinear_chunks`" in new.err
    assert "zarr-python cannot open it, nor list its group\n" in old.err
    assert "read it with zarr-python 3.3" in old.err


def test_xarray_prefers_the_chunks(tmp_path: Path, peer: Peer) -> None:
    xarray = peer("xarray")
    peer("dask")
    paths, values = year_files(tmp_path, peer, STORAGE[0])
    nczarr.refs.combine(paths, tmp_path / "all.zarr", "zarr3", along="time", grid="rectilinear")
    with xarray.open_dataset(tmp_path / "all.zarr", engine="nczarr", chunks={}) as found:
        assert found.tas.encoding["preferred_chunks"] == {"time": tuple(YEARS.values()), "y": 3, "x": 4}
        assert found.tas.chunks == (tuple(YEARS.values()), (3, 3), (4,))
        assert np.array_equal(found.tas.values, values)
        found.to_netcdf(tmp_path / "again.nc")
    assert np.array_equal(nczarr.open(tmp_path / "again.nc")["tas"][...], values)
