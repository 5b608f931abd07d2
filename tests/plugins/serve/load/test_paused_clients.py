"""Two thousand clients that ask for 128 MB and read nothing, and honest clients beside them."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.proof import PARTS
from tests.support.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.peer]
CLIENTS, LENGTH, MEMORY = 2000, 1 << 25, 512 << 20
CONNECTION = 200_000
"""Bytes that a client may cost besides: its connection, and one piece."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    """A file with 128 MB in deflated chunks of 16 MB, and as much in one chunk."""
    numpy, netcdf = peer("numpy"), peer("netCDF4")
    folder = tmp_path_factory.mktemp("paused")
    values = numpy.arange(LENGTH, dtype="i4")
    with netcdf.Dataset(folder / "a.nc", "w") as file:
        file.createDimension("x", LENGTH)
        file.createVariable("v", "i4", ("x",), zlib=True, complevel=1, chunksizes=(LENGTH // 8,))[:] = values
        file.createVariable("one", "i4", ("x",), zlib=True, complevel=1, chunksizes=(LENGTH,))[:] = values
    return folder


@pytest.mark.parametrize("spill", ["1GiB", "1kB"])
def test_two_thousand_clients_that_read_nothing(spill: str, root: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * CLIENTS:
        pytest.skip("a process may not have so many files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3 * CLIENTS, hard))
    asked = [
        "/cdmremote/a.nc?req=data&var=v",
        "/cdmremote/a.nc?req=data&var=one",
        "/cdmremote/a.nc?req=data&var=v(0:33554430:2)&deflate=1",
        "/zarr2/a.nc/one/0",
    ]
    options = ("--memory", str(MEMORY), "--spill", spill, "--connections", str(CLIENTS + 100))
    lines = []
    try:
        with serving(root, *options) as served:
            first = served.get("/cdmremote/a.nc?req=data&var=v(0:9)").body
            assert served.get("/zarr2/a.nc/.zmetadata").status == 200
            base = served.resident()
            for number in range(CLIENTS):
                line = socket.socket()
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                line.settimeout(60)
                line.connect((served.host, served.port))
                line.sendall(f"GET {asked[number % len(asked)]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                lines.append(line)
            ends = time.monotonic() + (40 if PARTS == 1 else 15)
            while time.monotonic() < ends:
                begun = time.monotonic()
                assert served.get("/zarr2/a.nc/.zmetadata").status == 200
                assert time.monotonic() - begun < 15
                time.sleep(1)
            assert served.get("/cdmremote/a.nc?req=data&var=v(0:9)").body == first
            assert served.resident() - base < MEMORY + CLIENTS * CONNECTION
    finally:
        for line in lines:
            line.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
