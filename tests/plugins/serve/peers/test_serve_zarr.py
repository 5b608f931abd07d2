"""Datasets over HTTP through zarr-python, xarray and zarrita (JavaScript): values are those that libnetcdf reads.

A few files here, all real ones in the proof.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from tests.conftest import missing_peer
from tests.support.peers import SCRIPTS
from tests.support.peers.served_files import FILES, REAL, SMALL, needs_files, same, truth
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

ZARRITA = "0.7.5"


UNREADABLE = "dataType.match"
"""What zarrita stumbles over where the type of a Zarr v3 array has a configuration, as chars have."""


@pytest.fixture(scope="module")
def served(peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    for name in ("uvicorn", "netCDF4", "zarr", "xarray", "aiohttp"):
        peer(name)
    assert REAL is not None
    with serving(REAL) as found:
        yield found


class Node:
    """zarrita in a process of its own."""

    def __init__(self, node: str, folder: Path) -> None:
        script = SCRIPTS / "read_zarrita.mjs"
        self.process = subprocess.Popen(
            [node, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, url: str, version: int, paths: list[str]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"url": url, "version": version, "paths": paths}) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


@pytest.fixture(scope="module")
def zarrita(tool: Callable[[str], str]) -> Iterator[Node]:
    """zarrita under Node, installed once into a folder for temporary files (NCZARR_ZARRITA names another)."""
    node, npm = tool("node"), tool("npm")
    folder = Path(os.environ.get("NCZARR_ZARRITA") or Path(tempfile.gettempdir()) / f"nczarr-zarrita-{ZARRITA}")
    if not (folder / "node_modules" / "zarrita").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--prefix", folder, f"zarrita@{ZARRITA}"],
            capture_output=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            missing_peer("zarrita")
    made = Node(node, folder)
    yield made
    made.process.kill()
    made.process.wait()


def check_python(path: Path, served: Served) -> int:
    """Look at one file through zarr-python and xarray. How many arrays were compared."""
    import xarray
    import zarr

    assert REAL is not None
    wanted = truth(path)
    own = path.relative_to(REAL).as_posix()
    for version in (2, 3):
        url = f"{served.url}zarr{version}/{own}"
        group = zarr.open_group(url, mode="r", zarr_format=version)  # type: ignore[arg-type]
        for name, values in wanted.items():
            assert same(group[name][...], values), (version, name)  # type: ignore[index]
        seen = xarray.open_zarr(url, consolidated=True, decode_cf=False, chunks=None, zarr_format=version)
        for name, values in wanted.items():
            if "/" not in name and name in seen.variables:
                assert same(seen[name].values, values), (version, name)
    return len(wanted)


def check_zarrita(path: Path, served: Served, zarrita: Node) -> tuple[int, int]:
    """Look at one file through zarrita. How many arrays were equal, and how many it has no codec or type for."""
    assert REAL is not None
    wanted = truth(path)
    own = path.relative_to(REAL).as_posix()
    equal = unknown = 0
    for version in (2, 3):
        found = zarrita.ask(f"{served.url}zarr{version}/{own}", version, list(wanted))
        for name, values in wanted.items():
            got = found[name]
            if "error" in got:
                assert (version, values.dtype.kind) == (3, "S"), (name, got)
                assert UNREADABLE in got["error"]
                unknown += 1
                continue
            assert got["shape"] == list(values.shape), (version, name)
            assert got["sha256"] == hashed(values), (version, name, values.dtype)
            equal += 1
    return equal, unknown


def hashed(values: Any) -> str:
    """As read_zarrita.mjs hashes values."""
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind in "OU":
        data = "\0".join(map(str, array.reshape(-1).tolist())).encode()
    else:
        data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
    return hashlib.sha256(data).hexdigest()


@needs_files
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_values_through_zarr_python_and_xarray(path: Path, served: Served) -> None:
    check_python(path, served)


@needs_files
def test_values_through_zarrita(served: Served, zarrita: Node) -> None:
    found = [check_zarrita(path, served, zarrita) for path in SMALL]
    assert sum(equal for equal, _ in found) > 100
    assert sum(equal for equal, _ in found) > 5 * sum(unknown for _, unknown in found)


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_values(path: Path, served: Served, zarrita: Node) -> None:
    check_python(path, served)
    check_zarrita(path, served, zarrita)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lost", ["root", "dataset", "emptied"])
@pytest.mark.parametrize("version", ["zarr2", "zarr3"])
def test_chunks_of_a_lost_dataset_are_no_fill_values(lost: str, version: str, tmp_path: Path, peer: Any) -> None:
    """A client takes 404 for a chunk that was never written."""
    zarr = peer("zarr")
    root = tmp_path / "root"
    root.mkdir()
    text = "netcdf a { dimensions: x = 4 ; variables: int v(x) ; v:_ChunkSizes = 2 ; data: v = 1, 2, 3, 4 ; }"
    nczarr.write(nczarr.from_cdl(text), root / "a.nc", "netcdf4")
    with serving(root) as served:
        array = zarr.open_group(f"{served.url}{version}/a.nc", mode="r")["v"]
        assert array[:2].tolist() == [1, 2]
        if lost == "dataset":
            (root / "a.nc").unlink()
        else:
            root.rename(tmp_path / "gone")
        if lost == "emptied":
            root.mkdir()
        with pytest.raises(Exception, match=r"503|410"):
            array[2:]
        assert served.get(f"/{version}/none.nc/.zgroup").status == (503 if lost == "root" else 404)
