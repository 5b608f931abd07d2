"""Repositories of real files: back through netCDF, and as xarray sees them through icechunk's own store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.peers import exactness, newest_python
from tests.support.repositories import icechunk

pytestmark = pytest.mark.peer

REAL = exactness.real_folder()
FILES = list(exactness.real(REAL)) if REAL is not None else []
SMALL = [subject for subject in FILES if subject.path.stat().st_size < 30_000_000 and subject.path.suffix == ".nc"]

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("virtual", [False, True], ids=["native", "virtual"])
@pytest.mark.parametrize("subject", SMALL, ids=lambda subject: subject.path.name)
def test_real_files_come_back(subject: exactness.Subject, virtual: bool, shared: Path, tmp_path: Path) -> None:
    icechunk()
    place, back = f"icechunk:{tmp_path / 'r'}", tmp_path / "back.nc"
    nczarr.convert(subject.path, place, virtual=virtual)
    nczarr.convert(place, back)
    program = shared / "tools" / "nc-same"
    done = subprocess.run([sys.executable, program, subject.path, back], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("virtual", [False, True], ids=["native", "virtual"])
@pytest.mark.parametrize("subject", SMALL[::4], ids=lambda subject: subject.path.name)
def test_xarray_sees_the_same(
    subject: exactness.Subject, virtual: bool, tmp_path: Path, peer: Callable[[str], Any]
) -> None:
    """xarray through icechunk's own store, beside a Zarr v3 store of the same file."""
    xarray = peer("xarray")
    ice = icechunk()
    path, store = tmp_path / "r", tmp_path / "s.zarr"
    nczarr.convert(subject.path, f"icechunk:{path}", virtual=virtual)
    nczarr.convert(subject.path, store, "nczarr3")
    storage = ice.local_filesystem_storage(str(path))
    config = ice.Repository.fetch_config(storage)
    prefixes = [] if config is None else list(config.virtual_chunk_containers or ())
    access = dict.fromkeys(prefixes, getattr(ice.credentials, "LocalFileSystemAccess", None))
    session = ice.Repository.open(storage, authorize_virtual_chunk_access=access).readonly_session("main")
    options = {"consolidated": False, "decode_cf": False}
    with xarray.open_zarr(session.store, **options) as found, xarray.open_zarr(store, **options) as wanted:
        for each in (*found.variables.values(), *wanted.variables.values()):
            each.attrs.pop("_nczarr", None)  # it has notes on storage, which references differ in
        xarray.testing.assert_identical(found.load(), wanted.load())


TESTS = """
import os, sys, pytest
status = pytest.main(sys.argv[1:])
sys.stdout.flush()
os._exit(status)  # icechunk may crash a process that ends
"""


@pytest.mark.long
def test_the_newest_icechunk() -> None:
    """The unit tests pass with the newest release as well, whose repositories have another form."""
    interpreter = newest_python()
    tests = sorted(map(str, Path(__file__).parents[1].glob("test_*.py")))
    command = [interpreter, "-c", TESTS, "-p", "no:cacheprovider", "-q", "-m", "not slow", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "passed" in done.stdout or "[100%]" in done.stdout
