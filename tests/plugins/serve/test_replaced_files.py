"""Files that are overwritten in place while they are sent: no process ends, and no answer mixes two states."""

from __future__ import annotations

import http.client
import itertools
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.serving import Served, serving

CELLS = 1_200_000
"""More than one piece of an answer, and an unfiltered chunk that would be mapped."""

NAMES = ("classic.nc", "contiguous.nc", "deflated.nc", "chunked.nc", "text.cdl")

PATHS = (
    "/dap2/{}.dods?v", "/dap4/{}.dap?dap4.ce=/v", "/zarr2/{}/v/0", "/zarr3/{}/v/c/0", "/cdmremote/{}?req=data&var=v",
    "/download/{}?var=v&format=nc", "/dap2/{}.dods?v%5B0:1000:1199999%5D", "/view/{}?var=v&format=json",
    "/browse/{}?format=json", "/dap4/{}.dmr", "/file/{}",
)  # fmt: skip

MORE = 100
"""Further exchanges of files on a busy machine, until answers from both versions were seen."""


def make(folder: Path, value: int) -> None:
    """Files whose values are all `value`, and whose lengths differ."""
    netcdf = pytest.importorskip("netCDF4")
    folder.mkdir()
    kinds = {
        "classic.nc": ("NETCDF3_64BIT_OFFSET", {}),
        "contiguous.nc": ("NETCDF4", {"contiguous": True}),
        "deflated.nc": ("NETCDF4", {"zlib": True, "complevel": 1, "chunksizes": (50_000,)}),
        "chunked.nc": ("NETCDF4", {"chunksizes": (CELLS,)}),
    }
    for name, (kind, storage) in kinds.items():
        with netcdf.Dataset(folder / name, "w", format=kind) as file:
            file.createDimension("x", CELLS)
            file.title = "t" * value
            noise = np.arange(CELLS) % 7 if name == "deflated.nc" else 0
            file.createVariable("v", "f8", ("x",), **storage)[:] = value * 100 + noise
    values = ", ".join([str(value)] * 5000)
    text = f"netcdf t {{ dimensions: x = 5000 ; variables: int v(x) ; data: v = {values} ; }}"
    (folder / "text.cdl").write_text(text, encoding="utf-8")


def answers(served: Served) -> dict[str, tuple[int, bytes]]:
    """The answers of a server by path."""
    found = {}
    for name, path in itertools.product(NAMES, PATHS):
        reply = served.get(path.format(name))
        found[path.format(name)] = reply.status, reply.body
    return found


class Clients:
    """Threads that ask for everything, again and again, until they are ended."""

    def __init__(self, served: Served, truth: list[dict[str, tuple[int, bytes]]], stamped: tuple[str, ...]) -> None:
        self.served, self.truth, self.stamped = served, truth, stamped
        self.ended = threading.Event()
        self.found: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.threads = [threading.Thread(target=self.ask, args=(number,)) for number in range(6)]

    def __enter__(self) -> Clients:
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for each in self.threads:
            each.join(60)

    def ask(self, number: int) -> None:
        paths = list(self.truth[0])
        places: Iterator[str] = itertools.islice(itertools.cycle(paths), number * 7, None)
        while not self.ended.is_set():
            path = next(places)
            line = http.client.HTTPConnection(self.served.host, self.served.port, timeout=60)
            try:
                line.request("GET", path)
                reply = line.getresponse()
                self.judge(path, reply.status, reply.read())
            except (http.client.HTTPException, ConnectionError) as error:
                self.found[f"cut: {type(error).__name__}"] += 1
            finally:
                line.close()

    def judge(self, path: str, status: int, body: bytes) -> None:
        if status != 200:
            self.found[str(status)] += 1
        elif any(body == truth[path][1] for truth in self.truth):
            self.found["old" if body == self.truth[0][path][1] else "new"] += 1
        elif path.startswith("/dap4/") and b"httpcode=" in body[-600:]:
            self.found["error chunk"] += 1
        elif not path.startswith(self.stamped):
            self.wrong.append(path)


@pytest.mark.long
@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_files_copied_over_served_ones(count: int, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    root, versions = tmp_path / "root", [tmp_path / "old", tmp_path / "new"]
    truth = []
    for number, folder in enumerate(versions, 1):
        make(folder, number)
        with serving(folder) as served:
            truth.append(answers(served))
        refused = {path for path, (status, _) in truth[-1].items() if status != 200}
        assert all(path.endswith("/v/c/0") or path.startswith("/dap2/text.cdl.dods?v%5B") for path in refused), refused
    shutil.copytree(versions[0], root)
    # the page has the time of the file, and files of downloads have the time when they are made
    stamped = ("/browse/", "/download/")
    with serving(root) as served:
        processes = served.children()
        with Clients(served, truth, stamped) as clients:
            for number in range(1, count + MORE):
                for name in NAMES:
                    shutil.copyfile(versions[number % 2] / name, root / name)
                clients.ended.wait(0.4)
                if number >= count and clients.found["old"] and clients.found["new"]:
                    break
        assert served.process.poll() is None
        assert served.children() == processes
        assert clients.wrong == []
        assert clients.found["old"] > 0, clients.found
        assert clients.found["new"] > 0, clients.found
        for name in NAMES:
            os.utime(root / name, (1, 1))
        for path, answer in truth[count % 2].items():
            if not path.startswith(stamped):
                assert served.get(path).body == answer[1], path
