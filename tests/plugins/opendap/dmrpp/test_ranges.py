"""Chunks of the data file of a DMR++ document at a URL are fetched by ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.support.library import library
from tests.support.ranged_server import RangedServer

library("aiohttp", reason="aiohttp is not installed: nczarr[remote]")

LENGTH, CHUNK, ROWS = 2_000_000, 20_000, 1_000


@pytest.fixture
def server(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Iterator[RangedServer]:
    """A server of a document, and of its file of 40 MB with chunks and values in one piece."""
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", LENGTH)
        file.createDimension("y", ROWS)
        file.createDimension("z", LENGTH // ROWS)
        values = np.random.default_rng(5).random(LENGTH)
        file.createVariable("v", "f8", ("x",), chunksizes=(CHUNK,))[:] = values
        file.createVariable("d", "f8", ("x",), chunksizes=(CHUNK,), zlib=True)[:] = np.arange(LENGTH)
        file.createVariable("p", "f8", ("y", "z"), contiguous=True)[:] = values.reshape(ROWS, -1)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "a.nc.dmrpp")
    served = RangedServer(tmp_path)
    yield served
    served.close()


@pytest.mark.long
def test_requests_and_bytes(server: RangedServer) -> None:
    near = nczarr.open(server.folder / "a.nc")
    far = nczarr.open(f"{server.url}/a.nc.dmrpp")
    size = (server.folder / "a.nc.dmrpp").stat().st_size
    assert [(asked.method, asked.length) for asked in server.asked] == [("GET", size)]
    for name, region, most, length in (
        ("v", slice(5, 10), 1, 8 * CHUNK),
        ("v", slice(CHUNK + 5, 3 * CHUNK + 5), 1, 3 * 8 * CHUNK),  # adjacent chunks in one request
        ("d", slice(5, 10), 1, 8 * CHUNK // 10),
        ("p", (slice(3, 5), slice(0, 9)), 1, 8 * (LENGTH // ROWS + 9)),  # rows of values in one piece
        ("p", slice(None), 2, 8 * LENGTH),
        ("v", slice(None), 2, 8 * LENGTH + 100_000),
    ):
        server.asked.clear()
        np.testing.assert_array_equal(far[name][region], near[name][region])
        assert len(server.asked) <= most
        assert server.sent <= length
    assert nczarr.diff(server.folder / "a.nc", f"{server.url}/a.nc.dmrpp") == []


def test_a_file_that_is_too_short(server: RangedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plugins.remote.connection.FIRST_PAUSE", 0.001)
    far = nczarr.open(f"{server.url}/a.nc.dmrpp")
    content = (server.folder / "a.nc").read_bytes()
    (server.folder / "a.nc").write_bytes(content[: len(content) // 8])
    for name in ("d", "p"):
        with pytest.raises((OSError, CompileError), match="short-target"):
            far[name][LENGTH - 5 :] if name == "d" else far[name][ROWS - 1, 5:9]


def test_a_file_that_is_missing(server: RangedServer) -> None:
    far = nczarr.open(f"{server.url}/a.nc.dmrpp")
    (server.folder / "a.nc").unlink()
    with pytest.raises(OSError, match=r"a\.nc"):
        far["p"][0, 0]
