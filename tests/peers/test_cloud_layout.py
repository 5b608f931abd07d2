"""netCDF-4 files and stores that are arranged for reading by ranges, as other programs see them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import missing_peer, run_command
from tests.support.ranged_server import RangedServer

Peer = Callable[[str], ModuleType]

BLOCK = 64 << 10


def many_chunks(netcdf: ModuleType, path: Path, *, variables: int = 1, steps: int = 900) -> None:
    """Write a file with small chunks, whose indexes lie between them."""
    with netcdf.Dataset(path, "w") as file:
        for name, length in (("time", None), ("lat", 30), ("lon", 40), ("bnds", 2)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        time.units, time.bounds = "days since 2000-01-01", "time_bnds"
        file.createVariable("time_bnds", "f8", ("time", "bnds"), chunksizes=(1, 2))[:] = np.ones((steps, 2))
        time[:] = np.arange(steps)
        for number in range(variables):
            variable = file.createVariable(f"v{number}", "f4", ("time", "lat", "lon"), zlib=True, fill_value=1e20)
            variable.long_name = "a quantity " * 9
            variable[:] = np.random.default_rng(number).normal(size=(steps, 30, 40)).round(1)


def ends_of_metadata(h5py: ModuleType, path: Path) -> tuple[int, int]:
    """Return the address of the first chunk, and the end of the last object header or node of an index."""
    first, last = path.stat().st_size, 0
    with h5py.File(path) as file:
        for dataset in file.values():
            last = max(last, h5py.h5o.get_info(dataset.id).addr)
            if dataset.chunks is not None and dataset.id.get_num_chunks():
                first = min(
                    first,
                    *(
                        dataset.id.get_chunk_info(number).byte_offset
                        for number in range(3)[: dataset.id.get_num_chunks()]
                    ),
                )
            elif dataset.chunks is None and dataset.id.get_offset() is not None:
                first = min(first, dataset.id.get_offset())
    return first, last


def packing(path: Path) -> tuple[int, str]:
    """Return the exit status of CMIP7's checker, and what it says."""
    if find_spec("pyfive") is None:
        missing_peer("cmip7_repack")
    command = [str(Path(sys.executable).parent / "check_cmip7_packing"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(("variables", "steps"), [(1, 900), (40, 60)])
def test_cmip7_accepts_the_packing(variables: int, steps: int, tmp_path: Path, peer: Peer) -> None:
    netcdf, h5py = peer("netCDF4"), peer("h5py")
    many_chunks(netcdf, tmp_path / "a.nc", variables=variables, steps=steps)
    assert packing(tmp_path / "a.nc")[0] == 1
    done = run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), "--layout", "cloud", "-q")
    assert (done.status, done.err) == (0, "")
    status, said = packing(tmp_path / "b.nc")
    assert status == 0, said
    first, last = ends_of_metadata(h5py, tmp_path / "b.nc")
    assert last < first
    assert nczarr.digest(tmp_path / "a.nc") == nczarr.digest(tmp_path / "b.nc")
    with netcdf.Dataset(tmp_path / "a.nc") as old, netcdf.Dataset(tmp_path / "b.nc") as new:
        for name in old.variables:
            np.testing.assert_array_equal(np.ma.getdata(old[name][:]), np.ma.getdata(new[name][:]))
        assert new["time"].chunking() == [steps]


def single_variable(netcdf: ModuleType, path: Path, lengths: tuple[int, int, int], time: int | None) -> None:
    """Write 300 steps of 64 × 64 floats; `time`: chunk length of the times, 0: in one piece, None: without times."""
    with netcdf.Dataset(path, "w") as file:
        for name, length in (("time", 300), ("y", 64), ("x", 64)):
            file.createDimension(name, length)
        file.variable_id = "v"
        if time is not None:
            times = file.createVariable("time", "f8", ("time",), chunksizes=(time,) if time else None)
            times.units = "days since 2000-01-01"
            times[:] = np.arange(300.0)
        variable = file.createVariable("v", "f4", ("time", "y", "x"), chunksizes=lengths, fill_value=1e20)
        variable.missing_value = np.float32(1e20)
        variable[:] = np.random.default_rng(0).normal(size=(300, 64, 64))


@pytest.mark.long
@pytest.mark.sampled(5)
@pytest.mark.parametrize("lengths", [(254, 64, 64), (255, 64, 64), (4, 64, 64), (300, 64, 64)])
@pytest.mark.parametrize("time", [None, 0, 1, 300])
def test_no_file_passes_whose_chunks_cmip7_refuses(
    time: int | None, lengths: tuple[int, int, int], tmp_path: Path, peer: Peer
) -> None:
    """Both agree, except for the small chunks that the checker passes without a time in chunks."""
    single_variable(peer("netCDF4"), tmp_path / "a.nc", lengths, time)
    chunks = ",".join(map(str, lengths))
    options = ["--layout", "cmip7", "--chunks", f"/v={chunks}", *(["--chunks", f"/time={time}"] if time else [])]
    assert run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), *options, "-q").status == 0
    for name in ("a.nc", "b.nc"):
        passes, said = packing(tmp_path / name)
        ours = run_command("check", str(tmp_path / name), "--for", "cmip7")
        codes = {line.partition("]")[0].removeprefix("error[") for line in ours.err.splitlines() if "error[" in line}
        is_small = lengths[0] < 255
        assert ("small-chunks" in codes) == is_small, ours.err
        if not is_small or time in (1, 300):
            assert (passes == 0) == (ours.status == 0), said + ours.err
        assert ("divided-coordinate" in codes) == (time == 1)
    assert "scattered-metadata" not in codes


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("del file.variable_id", "`variable_id` does not name a variable"),
        ("file['v'].missing_value = np.float32(-1)", "`missing_value` of `/v` has another value"),
        ("del file['v'].missing_value", "`/v` has no attribute `missing_value`"),
        ("file.variable_id = 'time'", "data variable `/time` has the type `double`"),
        ("file['time'].units = 'hours since 2000-01-01'", "the units of `/time` are `hours since 2000-01-01`"),
        ("file['time'][7] = 3", "the values of `/time` do not increase"),
        ("file.createVariable('y', 'f4', ('y',))", "coordinate `/y` has the type `float`"),
    ],
)
def test_demands_on_variables(change: str, text: str, tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    single_variable(netcdf, tmp_path / "a.nc", (300, 64, 64), 300)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc", layout="cmip7")
    assert run_command("check", str(tmp_path / "b.nc"), "--for", "cmip7").err == ""
    with netcdf.Dataset(tmp_path / "b.nc", "a") as file:
        exec(change, {"file": file, "np": np})
    checked = run_command("check", str(tmp_path / "b.nc"), "--for", "cmip7")
    assert (checked.status, checked.err.count("warning[unmet-requirement]")) == (1, 1)
    assert text in checked.err
    written = run_command("convert", str(tmp_path / "b.nc"), str(tmp_path / "c.nc"), "--layout", "cmip7")
    assert written.status == 0
    assert f"warning[unmet-requirement]: {checked.err.partition(']: ')[2].splitlines()[0]}" in written.err
    assert nczarr.digest(tmp_path / "b.nc") == nczarr.digest(tmp_path / "c.nc")
    refused = run_command("convert", str(tmp_path / "b.nc"), str(tmp_path / "c.zarr"), "--layout", "cmip7")
    assert (refused.status, "error[unmatched-chunks]" in refused.err) == (1, True)


@pytest.mark.long
def test_newer_indexes_are_those_that_the_checker_cannot_parse(tmp_path: Path, peer: Peer) -> None:
    with peer("h5py").File(tmp_path / "a.nc", "w", libver="latest") as file:
        file.create_dataset("v", data=np.ones((100, 64, 64), "f4"), chunks=(50, 64, 64))
        file.attrs["variable_id"] = "v"
    assert packing(tmp_path / "a.nc")[0] == 5
    ours = run_command("check", str(tmp_path / "a.nc"), "--for", "cmip7")
    assert "error[unread-format]: `/v` has a chunk index of HDF5 1.10" in ours.err
    assert run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), "--layout", "cmip7").status == 0
    assert packing(tmp_path / "b.nc")[0] == 0


@pytest.mark.long
def test_requests_are_those_that_a_server_counts(tmp_path: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    many_chunks(peer("netCDF4"), tmp_path / "a.nc", variables=40, steps=60)
    monkeypatch.chdir(tmp_path)
    assert "scattered-metadata" in run_command("check", "a.nc", "--for", "cloud").err
    counted = run_command("check", str(tmp_path / "a.nc"), "--for", "cloud")
    (text,) = [line for line in counted.err.splitlines() if "scattered-metadata" in line]
    server = RangedServer(tmp_path)
    try:
        data = nczarr.open(f"{server.url}/a.nc")
        for path, parts in data.checked.parts.items():
            list(parts[""].list_occupied(parts[""].layout.chunks))
            assert path in data.checked.variables
        assert f" take {len(server.asked)} requests " in text
        remote = run_command("check", f"{server.url}/a.nc", "--for", "cloud")
        assert text in remote.err
    finally:
        server.close()
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc", layout="cloud")
    assert run_command("check", str(tmp_path / "b.nc"), "--for", "cloud").status == 0


@pytest.mark.parametrize("chunks", [57, 58, 1000, 20_000])
def test_the_block_holds_every_index(chunks: int, tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", chunks)
        file.createVariable("v", "i1", ("x",), chunksizes=(1,))[:] = np.arange(chunks) % 100
    options = ["--layout", "cloud", "--chunks", "/v=1"]
    assert run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), *options, "-q").status == 0
    content = (tmp_path / "b.nc").read_bytes()
    with peer("h5py").File(tmp_path / "b.nc") as file:
        first = file["v"].id.get_chunk_info(0).byte_offset
    assert content.rfind(b"TREE") < first
    trees = content.count(b"TREE")
    assert first < 16384 + (trees * 1.15 + 2) * (24 + 65 * 24 + 64 * 8)  # little of the block stays empty


@pytest.mark.long
def test_headers_of_many_variables_come_with_few_requests(tmp_path: Path, peer: Peer) -> None:
    many_chunks(peer("netCDF4"), tmp_path / "a.nc", variables=120, steps=24)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc", layout="cloud", chunks={"time": 6})
    server = RangedServer(tmp_path)
    try:
        counts = []
        for name in ("a.nc", "b.nc"):
            server.asked.clear()
            references = nczarr.open(f"{server.url}/{name}")
            assert len(references.variables) == 122
            counts.append(len(server.asked))
        assert counts[1] <= 3 < counts[0]
    finally:
        server.close()


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["zarr3", "nczarr3"])
def test_stores_have_shards(form: str, tmp_path: Path, peer: Peer) -> None:
    zarr = peer("zarr")
    dataset: Any = nczarr.DatasetBuilder("t")
    dataset.dimension("t", 80)
    dataset.dimension("x", 500_000)
    dataset.variable("v", "float", ["t", "x"])
    values = np.arange(80, dtype="f4")[:, None] * np.ones(500_000, "f4")
    nczarr.write(dataset.finish({"v": values}), tmp_path / "t.zarr", form, layout="cloud", codecs="zstd:1")
    array = zarr.open_group(tmp_path / "t.zarr", mode="r")["v"]
    assert array.chunks == (3, 500_000)
    assert array.shards is not None
    assert 64 << 20 <= 4 * np.prod(array.shards) <= 256 << 20
    np.testing.assert_array_equal(array[:], values)
    assert "consolidated_metadata" in json.loads((tmp_path / "t.zarr" / "zarr.json").read_text())


def test_requests_go_before_the_layout(tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    many_chunks(netcdf, tmp_path / "a.nc", steps=100)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc", layout="cloud", chunks={"/v0": (9, 30, 40)}, codecs="none")
    with netcdf.Dataset(tmp_path / "b.nc") as file:
        assert file["v0"].chunking() == [9, 30, 40]
        assert not file["v0"].filters()["zlib"]
