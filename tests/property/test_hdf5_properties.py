"""Drawn HDF5 files over all creation properties: tree and values are h5py's, or HDF5 refuses the file too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.drawn_hdf5 import write_drawn
from tests.support.h5py_equality import compare
from tests.support.proof import share


def draw(h5py: ModuleType, folder: Path, seed: int) -> bool:
    """Compare a drawn file; return False if HDF5 does not combine its properties."""
    path = folder / "t.h5"
    try:
        write_drawn(h5py, path, seed)
    except (ValueError, OSError, RuntimeError):
        return False
    compare(h5py, path)
    return True


@pytest.mark.slow
def test_files_of_all_properties(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py, count = peer("h5py"), share(3000)
    drawn = [draw(h5py, tmp_path, seed) for seed in range(count)]
    assert sum(drawn) > 0.8 * count
