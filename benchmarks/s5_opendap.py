"""Row S5: 200 MB of float32 of a netCDF-4 file by OPeNDAP on loopback, from the request to the last byte.

DAP2 is beside pydap's server (goal 0.2), which has the values in memory: its handler of netCDF files fails for an
array of this size. DAP4 with its checksums is beside the same bytes as a file from Python's own HTTP server (goal 2).
The same values shuffled and deflated are beside pydap's server that reads them by netCDF4-python (goal 0.8), and DAP4
also beside the plain file after all chunks were inflated (goal 1.5).
All servers run all the time; a client that keeps nothing asks them in turn. Compared: every value of each answer, and
the checksum of DAP4.
"""

from __future__ import annotations

import http.client
import statistics
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness import ROOT, main, need, show

sys.path.insert(0, str(ROOT))

from tests.support.serving import serving

MEASURES = ("arrays", "formats/netcdf4", "plugins/opendap", "plugins/serve")

ROUNDS = 5
PIECE = 1 << 20

PYDAP = """
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
import numpy
from pydap.handlers.lib import BaseHandler
from pydap.model import BaseType, DatasetType

class Quiet(WSGIRequestHandler):
    def log_message(self, *given):
        pass

if sys.argv[2] == "values":
    values = numpy.fromfile(sys.argv[1] + "/plain.bin", "<f4").reshape(-1, 1000, 1000)
else:
    import netCDF4

    values = netCDF4.Dataset(sys.argv[1] + "/b.nc")["v"]
    values.set_auto_maskandscale(False)
dataset = DatasetType("a", dimensions={})
dataset["v"] = BaseType("v", values, dims=("t", "y", "x"))
server = make_server("127.0.0.1", 0, BaseHandler(dataset), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""

PLAIN = """
import functools, http.server, sys

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given):
        pass

handler = functools.partial(Quiet, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def running(script: str, folder: Path, *more: str) -> Iterator[str]:
    """A server of a folder that prints its port. Its address."""
    with subprocess.Popen([sys.executable, "-c", script, folder, *more], stdout=subprocess.PIPE, text=True) as made:
        try:
            assert made.stdout is not None
            yield f"http://127.0.0.1:{int(made.stdout.readline())}/"
        finally:
            made.terminate()


def taken(url: str) -> float:
    """Seconds from the request to the last byte of an answer, which is read and forgotten."""
    found, room = urlsplit(url), bytearray(PIECE)
    begun = time.perf_counter()
    line = http.client.HTTPConnection(found.netloc, timeout=600)
    line.request("GET", f"{found.path}?{found.query}" if found.query else found.path)
    answer = line.getresponse()
    while answer.readinto(room):
        pass
    line.close()
    assert answer.status == 200, answer.status
    return time.perf_counter() - begun


def body(url: str) -> bytes:
    """The whole answer."""
    import urllib.request

    with urllib.request.urlopen(url) as answer:
        return bytes(answer.read())


def of_dap2(data: bytes) -> bytes:
    """The big-endian values of an answer with one array, behind its length, which comes twice."""
    at = data.index(b"\nData:") + 6
    at += 2 if data[at : at + 2] == b"\r\n" else 1
    first, second = struct.unpack_from(">II", data, at)
    assert first == second
    return data[at + 8 :]


def of_dap4(data: bytes) -> bytes:
    """The little-endian values of an answer with one array; their checksum is that of the answer."""
    at, pieces = 0, []
    while at < len(data):
        (head,) = struct.unpack_from(">I", data, at)
        pieces.append(data[at + 4 : at + 4 + (head & 0xFFFFFF)])
        at += 4 + (head & 0xFFFFFF)
    whole = b"".join(pieces[1:])
    assert zlib.crc32(whole[:-4]) == struct.unpack("<I", whole[-4:])[0]
    return whole[:-4]


def inflated(path: Path) -> float:
    """Seconds to inflate all chunks of a file in a process of its own, which also starts."""
    begun = time.perf_counter()
    script = Path(__file__).with_name("inflate_chunks.py")
    subprocess.run([sys.executable, str(script), str(path)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def beside(row: str, goal: float, peer: str, ours: str, compared: str, deflated: Path | None = None) -> bool:
    """Ask both in turn, print the line. True if the goal is met. `deflated`: the peer inflates this file first."""
    pairs = [(taken(peer) + (0 if deflated is None else inflated(deflated)), taken(ours)) for _ in range(ROUNDS + 1)][
        1:
    ]
    return show(
        row,
        [mine / theirs for theirs, mine in pairs],
        goal,
        peer_seconds=round(statistics.median(theirs for theirs, _ in pairs), 4),
        our_seconds=round(statistics.median(mine for _, mine in pairs), 4),
        compared=compared,
    )


def row(folder: Path, quick: bool) -> bool:
    """One array of 200 MB by each protocol."""
    need("pydap", "netCDF4")
    import netCDF4
    import numpy as np

    steps = 5 if quick else 50
    values = np.random.default_rng(5).normal(size=(steps, 1000, 1000)).astype("<f4")
    storages: dict[str, dict[str, Any]] = {
        "a.nc": {"contiguous": True},
        "b.nc": {"compression": "zlib", "complevel": 4, "shuffle": True, "chunksizes": (1, 500, 500)},
    }
    for path, storage in storages.items():
        with netCDF4.Dataset(folder / path, "w") as file:
            for name, length in zip(("t", "y", "x"), values.shape, strict=True):
                file.createDimension(name, length)
            file.createVariable("v", "f4", ("t", "y", "x"), **storage)[:] = values
    (folder / "plain.bin").write_bytes(values.tobytes())
    with (
        serving(folder) as ours,
        running(PYDAP, folder, "values") as pydap,
        running(PYDAP, folder, "deflated") as reading,
        running(PLAIN, folder) as plain,
    ):
        theirs, read = f"{pydap}a.nc.dods?v", f"{reading}b.nc.dods?v"
        dap2 = {name: f"{ours.url}dap2/{name}.dods?v" for name in storages}
        dap4 = {name: f"{ours.url}dap4/{name}.dap?dap4.ce=/v&dap4.checksum=true" for name in storages}
        big = values.astype(">f4").tobytes()
        assert all(of_dap2(body(url)) == big for url in (*dap2.values(), theirs, read))
        assert all(of_dap4(body(url)) == values.tobytes() for url in dap4.values())
        words, summed = f"{values.size} values of both equal", f"{values.size} values equal, and their checksum"
        file = f"{plain}plain.bin"
        met = beside("S5, DAP2", 0.2, theirs, dap2["a.nc"], words)
        met &= beside("S5, DAP4", 2.0, file, dap4["a.nc"], summed)
        met &= beside("S5, DAP2, deflated", 0.8, read, dap2["b.nc"], words)
        met &= beside("S5, DAP4, deflated", 1.5, file, dap4["b.nc"], summed, folder / "b.nc")
        peak = ours.resident()
    return show("S5, memory", [peak / 1e6], 400.0, unit="MB") and met


if __name__ == "__main__":
    main(row)
