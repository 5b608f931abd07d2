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


def test_headers_of_many_variables_come_with_few_requests(tmp_path: Path, peer: Peer) -> None:
    many_chunks(peer("netCDF4"), tmp_path / "a.nc", variables=300, steps=24)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.nc", layout="cloud", chunks={"time": 6})
    server = RangedServer(tmp_path)
    try:
        counts = []
        for name in ("a.nc", "b.nc"):
            server.asked.clear()
            references = nczarr.open(f"{server.url}/{name}")
            assert len(references.variables) == 302
            counts.append(len(server.asked))
        assert counts[1] <= 3 < counts[0]
    finally:
        server.close()


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
