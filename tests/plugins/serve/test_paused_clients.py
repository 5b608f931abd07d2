"""A hundred clients that ask for much and read nothing: the memory of the server, and what other clients get."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.serving import serving

LENGTH = 6 << 20
MEMORY = 64 << 20
CLIENTS = 100
CONNECTION = 300_000
"""Bytes that a client may cost besides: its connection, and one piece."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    """One file: deflated chunks of 6 MB, and chunks that are made anew for Zarr."""
    numpy, h5py = peer("numpy"), peer("h5py")
    folder = tmp_path_factory.mktemp("paused")
    values = numpy.random.default_rng(1).integers(0, 1000, LENGTH, "i4")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("v", data=values, chunks=(LENGTH // 4,), compression="gzip", compression_opts=1)
        file.create_dataset("big", data=values, chunks=(LENGTH,), compression="gzip", compression_opts=1)
        file.create_dataset("made", data=numpy.zeros(LENGTH // 4, "i4"), chunks=(LENGTH // 4,), compression="lzf")
        file["small"] = numpy.arange(5)
    return folder


V, MADE = "/cdmremote/a.h5?req=data&var=v", "/zarr2/a.h5/made/0"
ASKED = {
    "sections": [f"GET {V}"],
    "deflated sections": [f"GET {V}&deflate=1"],
    "cells of large chunks": ["GET /cdmremote/a.h5?req=data&var=big(0:5000000:2)"],
    "chunks": [f"GET {MADE}"],
    "ranges": [f"GET {MADE}|Range: bytes=1-6000000"],
    "DAP2": ["GET /dap2/a.h5.dods?v"],
    "DAP2, text": ["GET /dap2/a.h5.asc?v"],
    "DAP4": ["GET /dap4/a.h5.dap?dap4.ce=/v"],
    "downloads": ["GET /download/a.h5?var=v&format=nc"],
    "pictures": ["GET /view/a.h5?var=v&format=png"],
    "a pipeline": [f"HEAD {MADE}", f"GET {V}", *[f"GET {V}"] * 2000],
}


@pytest.mark.long
@pytest.mark.sampled(11)
@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("spill", ["4GiB", pytest.param("1kB", marks=pytest.mark.slow)])
def test_clients_that_read_nothing_hold_no_memory(kind: str, spill: str, root: Path) -> None:
    message = "".join(
        "{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n".format(line, f"{header}\r\n" if header else "")
        for line, _, header in (each.partition("|") for each in ASKED[kind])
    ).encode()
    with serving(root, "--memory", str(MEMORY), "--spill", spill, "--timeout", "20") as served:
        whole = served.get("/cdmremote/a.h5?req=data&var=small").body
        assert served.get("/zarr2/a.h5/.zmetadata").status == 200
        base = served.resident()
        lines = []
        for number in range(CLIENTS):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((served.host, served.port))
            line.setblocking(False)  # the server does not read all of a pipeline
            line.send(message)
            if number % 10 == 9:  # gone without a word, or with one
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", number % 20 == 9, 0))
                line.close()
            else:
                lines.append(line)
        time.sleep(2)
        begun = time.monotonic()
        assert served.get("/cdmremote/a.h5?req=data&var=small").body == whole
        assert time.monotonic() - begun < 5
        assert served.resident() - base < MEMORY + CLIENTS * CONNECTION + (16 << 20)
        for line in lines:
            line.close()
        assert served.get("/").status == 200
