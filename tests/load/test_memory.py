"""Memory of whole runs: bounded by `--memory`, and small where encoded chunks move, whatever the size of the data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.peer]
Peer = Callable[[str], ModuleType]

MIB = 1 << 20
BASE = 150 * MIB
STEPS, SIDE = 400, 500

LAUNCHER = """
import json, os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "nczarr", *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024]))
"""


def run(folder: Path, *arguments: str) -> tuple[int, int, str]:
    """Status, peak of memory and messages of a run. It is started by a small process: peaks are inherited."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *arguments],
        cwd=folder, capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    status, peak = json.loads(done.stdout.splitlines()[-1])
    return status, peak, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 400 MB of values: in compressed chunks, in one piece, in one chunk."""
    netcdf4, h5py = pytest.importorskip("netCDF4"), pytest.importorskip("h5py")
    made = tmp_path_factory.mktemp("load")
    field = np.random.default_rng(1).integers(0, 100, (SIDE, SIDE)).astype("f4")
    shuffled = np.ascontiguousarray(field.view("u1").reshape(-1, 4).T).tobytes()
    kinds: dict[str, dict[str, Any]] = {
        "chunks": {"compression": "zlib", "shuffle": True, "chunksizes": (1, SIDE, SIDE)},
        "piece": {"contiguous": True},
        "chunk": {"chunksizes": (STEPS, SIDE, SIDE), "fill_value": False},
    }
    for name, how in kinds.items():
        with netcdf4.Dataset(str(made / f"{name}.nc"), "w") as dataset:
            for dimension, length in (("t", STEPS), ("y", SIDE), ("x", SIDE)):
                dataset.createDimension(dimension, length)
            variable = dataset.createVariable("v", "f4", ("t", "y", "x"), **how)
            if name == "piece":
                for start in range(0, STEPS, 50):
                    variable[start : start + 50] = np.broadcast_to(field, (50, SIDE, SIDE))
    with h5py.File(made / "chunks.nc", "r+") as file:
        for step in range(STEPS):
            file["v"].id.write_direct_chunk((step, 0, 0), zlib.compress(shuffled, 1))
    with h5py.File(made / "chunk.nc", "r+") as file:
        file["v"].id.write_direct_chunk((0, 0, 0), np.tile(field, (STEPS, 1, 1)).tobytes())
    return made


@pytest.mark.parametrize("name", ["chunks", "chunk"])
@pytest.mark.parametrize("target", ["a.zarr", "a.nc", "a.zip"])
def test_copies_take_next_to_nothing(folder: Path, name: str, target: str) -> None:
    status, peak, said = run(folder, "convert", f"{name}.nc", f"{name}-{target}", "--memory", "16MiB")
    assert status == 0, said
    assert "copied, not decoded)" in said
    assert peak <= BASE


@pytest.mark.parametrize("target", ["b.zarr", "b.nc"])
@pytest.mark.parametrize(
    "options",
    [["chunks.nc", "--codec", "zstd:1"], ["chunks.nc", "--chunks", "/v=100,50,50", "--codec", "none"], ["piece.nc"]],
    ids=["transcode", "rechunk", "gather"],
)
def test_memory_is_what_was_given(folder: Path, target: str, options: list[str]) -> None:
    limit = 64 * MIB
    status, peak, said = run(
        folder, "convert", options[0], target, *options[1:], "--memory", str(limit), "--overwrite", "-q"
    )
    assert status == 0, said
    assert peak <= limit + BASE


@pytest.mark.parametrize("target", ["c.zarr", "c.nc"])
def test_a_huge_chunk_is_refused_where_it_must_be_decoded(folder: Path, target: str) -> None:
    status, peak, said = run(folder, "convert", "chunk.nc", target, "--codec", "zlib:1", "--memory", "256MiB")
    assert status == 1
    assert "oversized-chunk" in said
    assert "`/v`" in said
    assert peak <= BASE
    assert not (folder / target).exists()


def test_digests_take_what_was_given(folder: Path) -> None:
    limit = 64 * MIB
    status, _, said = run(folder, "convert", "chunks.nc", "tall.zarr", "--chunks", "/v=400,50,50", "-q", "--overwrite")
    assert status == 0, said
    for names in (["chunks.nc", "tall.zarr"], ["piece.nc"], ["chunk.nc"]):
        status, peak, said = run(folder, "digest", *names, "--memory", str(limit))
        assert status == 0, said
        assert peak <= limit + BASE, names


def test_the_digest_of_a_huge_array_takes_what_is_stored(folder: Path) -> None:
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        store=str(folder / "huge.zarr"), name="v", shape=(1_000_000, 1_000_000), chunks=(1000, 1000), dtype="f4",
        zarr_format=2, fill_value=-1.0, overwrite=True,
    )  # fmt: skip
    array[500_000:500_900, 10:900] = 3
    array[-1, -1] = 4
    status, peak, said = run(folder, "digest", "huge.zarr", "--memory", str(64 * MIB))
    assert status == 0, said
    assert peak <= 64 * MIB + BASE
