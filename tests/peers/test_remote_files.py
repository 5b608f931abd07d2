"""Real files over HTTP: the tree of the local file, and its values, from a part of the bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.library import library
from tests.support.peers.exactness import real, real_folder
from tests.support.ranged_server import RangedServer

library("aiohttp", reason="aiohttp is not installed: nczarr[remote]")

REAL = real_folder()

SMALL = 4 << 20
"""Bytes of a file whose values are compared too."""

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")


@pytest.fixture
def server(shared: Path) -> Iterator[RangedServer]:
    made = RangedServer(Path("/"))
    yield made
    made.close()


def outcome(place: str) -> tuple[object, list[str]]:
    """The tree at a path or URL, None where it cannot be read, and the codes of the diagnostics."""
    try:
        found = nczarr.open(place)
    except nczarr.CompileError as error:
        return None, [each.code for each in error.diagnostics]
    return found.dataset, [each.code for each in found.diagnostics]


def headers_of(server: RangedServer, paths: list[Path]) -> tuple[int, int, int]:
    """Files, bytes of their headers as they were requested, and bytes of the files; each tree is the local one."""
    count = sent = size = 0
    for path in paths:
        server.asked.clear()
        near, far = (outcome(place) for place in (str(path), server.url + str(path)))
        assert far == near, path
        if near[0] is None:
            continue
        count, sent, size = count + 1, sent + server.sent, size + path.stat().st_size
        if path.stat().st_size <= SMALL:
            digests = [run_command("digest", place) for place in (server.url + str(path), str(path))]
            assert len({each.text.split()[0] for each in digests if each.text}) <= 1, path
            assert len({each.status for each in digests}) == 1, path
    return count, sent, size


@pytest.mark.plugin("remote")
@needs_files
@pytest.mark.slow
def test_headers_of_real_files(server: RangedServer) -> None:
    assert REAL is not None
    paths = [each.path for each in real(REAL) if each.path.suffix != ".cdl"]
    count, sent, size = headers_of(server, paths)
    print(f"{count} files of {size / 1e6:.1f} MB: {sent / 1e6:.1f} MB were requested to open them")
    assert count >= 60
    assert sent < size


@pytest.mark.plugin("remote")
def test_headers_of_hdf5_files(shared: Path, server: RangedServer) -> None:
    """Files of other writers, with what HDF5 knows and netCDF does not."""
    paths = sorted((shared / "data" / "dmrpp" / "targets").glob("*.h5"))[::10]
    count, _, _ = headers_of(server, paths)
    assert count >= 5
