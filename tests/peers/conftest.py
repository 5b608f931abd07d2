"""Readers in processes of their own, one a session."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.conftest import missing_peer
from tests.support.peers.worker import Worker

READERS = {"netcdf": ("netCDF4",), "zarr": ("zarr", "xarray", "tensorstore")}


def pytest_configure(config: pytest.Config) -> None:
    """Know the markers of xarray's test suite, which test_xarray_suite.py runs."""
    for marker in ("flaky", "network", "skip_if_param", "skip_with_dask_array"):
        config.addinivalue_line("markers", f"{marker}: of xarray's own tests")


@pytest.fixture(scope="session")
def readers() -> Iterator[dict[str, Worker]]:
    """The peers that look at what we write; a visible skip where one is missing."""
    for names in READERS.values():
        for name in names:
            if importlib.util.find_spec(name) is None:
                missing_peer(name)
    workers = {reader: Worker(f"read_{reader}.py") for reader in READERS}
    yield workers
    for worker in workers.values():
        worker.close()


@pytest.fixture(scope="session")
def awkward0() -> str:
    """The interpreter that NCZARR_AWKWARD0 names; awkward0 needs a Python that most machines do not have any more.

    Under NCZARR_REQUIRE_PEERS=1 it may be missing only where no python3.8 runs.
    """
    named = os.environ.get("NCZARR_AWKWARD0")
    if named:
        return named
    old = shutil.which("python3.8")
    runs = old is not None and subprocess.run([old, "-c", ""], capture_output=True, check=False).returncode == 0
    if runs and os.environ.get("NCZARR_REQUIRE_PEERS") == "1":
        pytest.fail("peer awkward0 is missing, and NCZARR_REQUIRE_PEERS=1 requires it where python3.8 runs")
    pytest.skip("peer awkward0 is not installed (NCZARR_AWKWARD0 names an interpreter that has it)")
