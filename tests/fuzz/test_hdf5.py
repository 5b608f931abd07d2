"""Damaged HDF5 files: the process that reads them goes on, whatever the libraries do."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import shared_folder
from tests.support.damaged_hdf5 import changed, run_all, write_every_structure
from tests.support.proof import PART, PARTS

BATCH = 100


def sources(h5py: ModuleType, folder: Path) -> list[bytes]:
    """Two files with every structure, and the odd files of other projects."""
    for version in ("earliest", "latest"):
        write_every_structure(h5py, folder / f"{version}.h5", version)
    shared = shared_folder()
    odd = [] if shared is None else sorted((shared / "data" / "hdf5-odd").glob("*.*"))
    paths = [*sorted(folder.glob("*.h5")), *(path for path in odd if path.suffix != ".json")]
    return [path.read_bytes() for path in paths if path.stat().st_size < 100_000]


def run_batch(files: list[bytes], seed: int, count: int, folder: Path) -> None:
    """Read changed files in one process. Those that end it stay in the folder."""
    pick, paths = random.Random(seed), []
    for number in range(count):
        path = folder / f"{seed}-{number}.h5"
        path.write_bytes(changed(pick.choice(files), pick))
        paths.append(path)
    status, last, err = run_all(paths)
    assert status == 0, f"{last} (status {status}): {err[-2000:]}"


@pytest.mark.long
def test_damaged_files(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    run_batch(sources(peer("h5py"), tmp_path), 0, 40, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(PART, 101, PARTS))
def test_more_damaged_files(seed: int, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    run_batch(sources(peer("h5py"), tmp_path), seed, BATCH, tmp_path)
