"""Tables of chunk indices: linear indices, and the chunks of another grid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nczarr.arrays.regions import (
    BATCH,
    distinct,
    indices_of,
    number_of,
    ravel,
    table_of,
    unravel,
)


@pytest.mark.parametrize("counts", [(), (7,), (3, 1, 5), (1, 70, 90)])
def test_linear_indices(counts: tuple[int, ...]) -> None:
    indices = list(product(*map(range, counts)))
    table = table_of(indices, len(counts))
    assert table.shape == (len(indices), len(counts))
    assert list(indices_of(table)) == indices
    assert ravel(table, counts).tolist() == [number_of(index, counts) for index in indices]
    assert unravel(np.arange(len(indices)), counts).tolist() == table.tolist()
    assert len(indices) < BATCH or counts == (1, 70, 90)


def test_no_chunks() -> None:
    table = table_of([], 2)
    assert list(indices_of(table)) == []


@pytest.mark.parametrize("values", [[], [3], [2, 2, 2], [5, 1, 5, 0, 1, -7]])
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    for dtype in (np.int64, np.uint32):
        given = np.array(values, np.int64).astype(dtype)
        found = distinct(given)
        assert found.dtype == dtype
        assert found.tolist() == np.unique(given).tolist()


def test_a_conversion_of_chunks_does_not_load_masked_arrays(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as made:
        made.createDimension("x", 6)
        made.createVariable("v", "i4", ("x",), zlib=True, chunksizes=(2,))[:] = range(6)
    code = "import sys; from nczarr.__main__ import main; status = main(sys.argv[1:]); "
    code += "sys.exit(status or ('numpy.ma' in sys.modules and 9))"
    command = ["convert", "a.nc", "b.zarr", "--to", "zarr3", "--shards", "/v=6", "-q"]
    assert subprocess.run([sys.executable, "-c", code, *command], cwd=tmp_path, check=False).returncode == 0
