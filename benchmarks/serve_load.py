"""Row S4: `nczarr serve` under load on loopback: 32 clients for 60 s, each with its own connection, who ask in turn for
metadata, chunks that are moved and chunks that are made, headers and sections of CDM Remote, documents and values of
DAP2 and DAP4, pages, pictures and downloads.

Goals: no error, a peak of memory of 400 MB, the slowest hundredth of the answers within 1 s; and the same with 16 more
clients who read a byte a second from large answers: the slowest hundredth within 1.5 times of that. Every answer is
compared with what came first for its URL. Processes of clients share the processors with the server.

    python benchmarks/serve_load.py [--quick]
"""

from __future__ import annotations

import hashlib
import http.client
import multiprocessing
import random
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.serving import Served, serving  # noqa: E402

MEASURES = ("plugins/ncstream", "plugins/opendap", "plugins/serve")
CLIENTS, SLOW, PROCESSES = 32, 16, 2
PEAK, SECONDS, SHARE = 400e6, 1.0, 1.5
VALUES = 4_000_000
LARGE = "/cdmremote/a.nc?req=data&var=plain", "/dap2/a.nc.dods?plain", "/dap4/a.nc.dap?dap4.ce=/plain"
"""URLs of what slow clients read."""

PASSING = b"The index is being built"
"""What a search says until the server has read every dataset; such an answer is compared with no other."""


class Load(NamedTuple):
    """What all clients saw: answers, errors, seconds of an answer in the middle and of the slowest hundredth."""

    answers: int
    errors: list[str]
    p50: float
    p99: float
    slowest: float
    bytes: int


def make(folder: Path) -> None:
    """The datasets: one file with deflated chunks and plain values, one store in other chunks, a text."""
    import h5py
    import netCDF4
    import numpy as np

    values = np.random.default_rng(1).normal(size=VALUES).astype("f4").round(2).reshape(400, 100, 100)
    with netCDF4.Dataset(folder / "a.nc", "w") as file:
        for name, length in zip(("time", "lat", "lon"), values.shape, strict=True):
            file.createDimension(name, length)
        shape = ("time", "lat", "lon")
        file.createVariable("moved", "f4", shape, zlib=True, shuffle=True, chunksizes=(20, 100, 100))[:] = values
        file.createVariable("plain", "f4", shape, contiguous=True)[:] = values
        file.createVariable("time", "f8", ("time",))[:] = range(400)
    with h5py.File(folder / "b.h5", "w") as file:  # a filter that Zarr has no name for: each chunk is made anew
        file.create_dataset("made", data=values, chunks=(1, 50, 50), compression="lzf")
    text = "netcdf t {\ndimensions:\n  x = 1000 ;\nvariables:\n  int v(x) ;\n  string s(x) ;\ndata:\n  v = "
    text += ", ".join(map(str, range(1000))) + " ;\n  s = " + ", ".join(f'"t{n}"' for n in range(1000)) + " ;\n}\n"
    (folder / "t.cdl").write_text(text, encoding="utf-8")


def urls() -> list[str]:
    """What is asked for."""
    found = ["/", "/?format=json", "/browse/a.nc", "/zarr2/a.nc/.zmetadata", "/zarr3/a.nc/zarr.json"]
    found += [f"/zarr2/a.nc/moved/{n}.0.0" for n in range(20)] + [f"/zarr3/a.nc/moved/c/{n}/0/0" for n in range(20)]
    found += [f"/zarr2/b.h5/made/{n}.0.1" for n in range(20)] + ["/zarr2/a.nc/time/0", "/zarr3/t.cdl/v/c/0"]
    found += [f"/cdmremote/{name}?req={what}" for name in ("a.nc", "t.cdl") for what in ("header", "CDL", "NcML")]
    found += [f"/cdmremote/a.nc?req=data&var=moved({n}:{n + 9},:,0:99:3)" for n in range(0, 100, 10)]
    found += [f"/cdmremote/b.h5?req=data&var=made({n},:,:)&deflate=5" for n in range(10)]
    found += [f"/cdmremote/a.nc?req=data&var=plain({n},:,:);time" for n in range(10)]
    found += [f"/dap2/{name}.{suffix}" for name in ("a.nc", "t.cdl") for suffix in ("dds", "das")]
    found += [f"/dap4/{name}.dmr" for name in ("a.nc", "t.cdl")] + ["/dap2/t.cdl.dods", "/dap4/t.cdl.dap"]
    found += [f"/dap2/a.nc.dods?moved[{n}:1:{n + 9}][0:1:99][0:3:99]" for n in range(0, 100, 10)]
    found += [f"/dap4/a.nc.dap?dap4.ce=/moved[{n}:1:{n + 9}][][0:3:99]" for n in range(0, 100, 10)]
    found += [f"/dap4/a.nc.dap?dap4.ce=/plain[{n}][][];/time" for n in range(10)]
    found += [f"/dap2/b.h5.asc?made[{n}][0:9][0:9]" for n in range(10)]
    found += [f"/view/a.nc?var=moved&i0={n}&format={form}" for n in range(5) for form in ("png", "json", "html")]
    found += [f"/download/a.nc?var=time&format={form}" for form in ("csv", "cdl", "nc")]
    found += ["/browse/t.cdl", "/browse/b.h5", "/catalog/catalog.xml", "/?q=moved", "/static/pages.css"]
    return [*found, "/cdmremote/t.cdl?req=data&var=s;v", "/zarr2/t.cdl/s/0", "/zarr2/a.nc/moved/99.0.0"]


def settled(served: Served) -> dict[str, bytes]:
    """Every answer of a server by its URL, once the index that searches use is whole."""
    while PASSING in served.get("/?q=moved").body:
        time.sleep(0.05)
    return {url: served.get(url).body for url in urls()}


def client(place: tuple[str, int], seed: int, over: Callable[[], bool], out: list[Any]) -> None:
    """Ask for one address after another, and note each answer in `out`, until `over` says so."""
    chosen, known, links = random.Random(seed), dict[str, str](), urls()
    connection = http.client.HTTPConnection(*place, timeout=60)
    while not over():
        url = chosen.choice(links)
        begun = time.perf_counter()
        try:
            connection.request("GET", url)
            reply = connection.getresponse()
            body = reply.read()
        except Exception as error:
            out.append((url, 0.0, 0, f"{type(error).__name__}: {error}"))
            connection.close()
            continue
        took = time.perf_counter() - begun
        wrong = "" if reply.status == (404 if "99.0.0" in url else 200) else f"status {reply.status}: {body[:100]!r}"
        hashed = hashlib.sha256(body).hexdigest()
        if PASSING not in body and known.setdefault(url, hashed) != hashed:
            wrong = wrong or "not what it was before"
        out.append((url, took, len(body), wrong))
    connection.close()


def clients(place: tuple[str, int], first: int, count: int, ends: float, queue: Any) -> None:
    """Several clients, each in a thread, in a process of their own."""
    import threading

    found: list[list[Any]] = [[] for _ in range(count)]

    def over() -> bool:
        return time.time() >= ends

    threads = [threading.Thread(target=client, args=(place, first + n, over, found[n])) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.put([each for some in found for each in some])


def load(served: Served, seconds: float, count: int = CLIENTS) -> Load:
    """What so many clients see in so many seconds."""
    ends = time.time() + seconds
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    share = count // PROCESSES
    place = served.host, served.port
    made = [context.Process(target=clients, args=(place, n * share, share, ends, queue)) for n in range(PROCESSES)]
    for process in made:
        process.start()
    seen = [each for _ in made for each in queue.get()]
    for process in made:
        process.join()
    times = sorted(took for _, took, _, wrong in seen if not wrong) or [0.0]
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [times[0]] * 99
    errors = [f"{url}: {wrong}" for url, _, _, wrong in seen if wrong]
    return Load(len(seen), errors, cuts[49], cuts[98], times[-1], sum(size for _, _, size, _ in seen))


@contextmanager
def slow_clients(served: Served, paths: Sequence[str], count: int = SLOW) -> Iterator[list[socket.socket]]:
    """Clients who ask for something large, and read a byte a second."""
    import threading

    lines, over = [], threading.Event()
    for path in islice(cycle(paths), count):
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((served.host, served.port))
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        lines.append(line)

    def read() -> None:
        while not over.wait(1.0):
            for line in lines:
                line.recv(1)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        yield lines
    finally:
        over.set()
        reading.join()
        for line in lines:
            line.close()


def row(folder: Path, quick: bool) -> bool:
    """Measure without slow clients, then with them."""
    from harness import need, show

    need("uvicorn", "starlette", "netCDF4", "h5py")
    seconds = 8.0 if quick else 60.0
    make(folder)
    with serving(folder) as served:
        settled(served)
        alone = load(served, seconds)
        with slow_clients(served, LARGE):
            time.sleep(2)
            beside = load(served, seconds / 2)
        whole = served.resident()
    for error in (alone.errors + beside.errors)[:5]:
        print(error, file=sys.stderr)
    met = show(
        "S4",
        [alone.p99 * 1000],
        SECONDS * 1000,
        unit="ms",
        missed=[f"{len(alone.errors)} errors"] if alone.errors else [],
        clients=CLIENTS,
        seconds=seconds,
        answers=alone.answers,
        megabytes_per_second=round(alone.bytes / seconds / 1e6),
        p50_ms=round(alone.p50 * 1000, 1),
        our_peak_mb=round(whole / 1e6),
        peak_goal_mb=PEAK / 1e6,
    )
    missed = [f"{len(beside.errors)} errors"] if beside.errors else []
    return show("S4, beside slow clients", [beside.p99 / max(alone.p99, 0.1)], SHARE, missed=missed) and met


if __name__ == "__main__":
    from harness import main

    main(row)
