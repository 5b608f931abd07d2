"""xarray's own tests of backends and of trees pass with our writer and engine (`xarray_suite.py`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

SUITE = Path(__file__).with_name("xarray_suite.py")

CLASSES = re.findall(r"^class (Test\w+)", SUITE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_the_suite(name: str, peer: Callable[[str], ModuleType]) -> None:
    """Each class runs in a process of its own; the message names the tests that fail."""
    for needed in ("netCDF4", "h5netcdf", "scipy", "dask", "zarr", "pytest_asyncio", "xarray"):
        peer(needed)
    environment = {key: value for key, value in os.environ.items() if key != "NCZARR_PROOF_PART"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", "-rfE"]
    command.append(f"{SUITE}::{name}")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout[-2000:]
