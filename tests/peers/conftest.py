"""Readers in processes of their own, one a session."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.conftest import missing_peer
from tests.support.peers.worker import Worker

READERS = {"netcdf": ("netCDF4",), "zarr": ("zarr", "xarray", "tensorstore")}


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
