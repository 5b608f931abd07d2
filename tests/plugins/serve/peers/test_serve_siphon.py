"""Datasets over CDM Remote through siphon, a client of THREDDS servers: values are those that libnetcdf reads.

A few files here, all real ones in the proof. siphon's own limits: it drops groups between the root and a variable from
paths; texts and opaque values have one dimension; an attribute `name` renames
its variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.peers.served_files import FILES, REAL, SMALL, needs_files, same, truth
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def served(peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    for name in ("uvicorn", "netCDF4", "siphon", "google.protobuf"):
        peer(name)
    assert REAL is not None
    with serving(REAL) as found:
        yield found


def check(path: Path, served: Served) -> int:
    """Look at one file. How many variables were equal."""
    from siphon.cdmr import Dataset

    assert REAL is not None
    remote = Dataset(f"{served.url}cdmremote/{path.relative_to(REAL).as_posix()}")
    count = 0
    for name, values in truth(path).items():
        *groups, own = name.split("/")
        if len(groups) > 1:
            continue  # siphon leaves out all groups but the last
        group = remote
        for each in groups:
            group = group.groups[each]
        variable = group.variables[own]
        assert list(variable.shape) == list(values.shape), name
        if values.size == 0 or "name" in variable.ncattrs():
            continue
        got = np.asarray(variable[...] if values.shape else variable[:])
        wanted = np.asarray(values)
        assert alike(got, wanted), (name, got, wanted)
        if wanted.dtype.kind in "iuf" and wanted.ndim:
            step = tuple(slice(0, None, 2) for _ in wanted.shape)
            assert alike(np.asarray(variable[step]), wanted[step]), (name, step)
        count += 1
    return count


def alike(got: Any, wanted: Any) -> bool:
    """Whether values are equal; siphon drops dimensions of length 1, and gives texts one dimension."""
    if wanted.dtype.kind in "OU":
        return [as_text(each) for each in got.reshape(-1)] == [as_text(each) for each in wanted.reshape(-1)]
    return same(got.reshape(-1), wanted.reshape(-1))


def as_text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@needs_files
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_values(path: Path, served: Served) -> None:
    assert check(path, served)


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_values(path: Path, served: Served) -> None:
    check(path, served)
