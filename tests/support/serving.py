"""A server of ours in a process of its own on loopback, and clients that send what they are told, byte for byte."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from nczarr.plugins.serve.answers import HttpAnswer, RefusedRequestError
from nczarr.plugins.serve.context import HeavyWork, ServerContext
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.request import Request
from tests.conftest import ROOT

SECONDS = 30


class Reply(NamedTuple):
    """What came back: headers by name in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


class Served:
    """A running server: `get` asks it, `raw` says whatever it is given."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
        self.port = int(port)
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str, method: str = "GET", /, **headers: str) -> Reply:
        """Ask for a path, as it stands; the connection stays open."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for attempt in range(2):
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)
            try:
                self._connection.request(method, path, headers=given)
                found = self._connection.getresponse()
                return Reply(found.status, {name.lower(): value for name, value in found.headers.items()}, found.read())
            except (ConnectionError, http.client.BadStatusLine, http.client.CannotSendRequest):
                self._connection.close()
                self._connection = None  # it was idle for too long
                if attempt:
                    raise
        raise AssertionError

    def raw(self, data: bytes, seconds: float = SECONDS) -> bytes:
        """Everything that comes back for these bytes, until the connection is closed or nothing comes any more."""
        found = b""
        with socket.create_connection((self.host, self.port), timeout=seconds) as line:
            try:
                line.sendall(data)
                while piece := line.recv(1 << 16):
                    found += piece
            except (TimeoutError, ConnectionError):
                pass
        return found

    def first_answer(self, data: bytes) -> tuple[int, bytes]:
        """Status and body of the first answer to these bytes, without waiting for the end of the connection."""
        with socket.create_connection((self.host, self.port), timeout=SECONDS) as line:
            line.sendall(data)
            answer = http.client.HTTPResponse(line)
            try:
                answer.begin()
                return answer.status, answer.read()
            finally:
                answer.close()

    def children(self) -> set[int]:
        """The processes that answer clients, not their helpers."""
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return set(map(int, place.read_text(encoding="ascii").split()))

    def resident(self) -> int:
        """Bytes of memory that the process that answers clients has, at its most."""
        (child,) = self.children()
        status = Path(f"/proc/{child}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end. The exit status."""
        if self._connection is not None:
            self._connection.close()
        self.process.send_signal(number)
        try:
            return self.process.wait(SECONDS)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(SECONDS)


class Shelf(NamedTuple):
    """A folder below the root of a server that has more of them."""

    folder: Path
    served: Served

    def get(self, path: str) -> Reply:
        """Ask for a path as if the folder were the root."""
        service, _, rest = path.removeprefix("/").partition("/")
        return self.served.get(f"/{service}/{self.folder.name}/{rest}")


def answer(context: ServerContext, asked: Request) -> HttpAnswer:
    """The answer of a route, without an event loop. Raises what the route and its work raise."""
    from nczarr.plugins.serve.application import ROUTES

    name = ROUTES[0].name if asked.segments == ("",) else asked.segments[0]
    row = next((row for row in ROUTES if row.name == name), None)
    if row is None:
        raise RefusedRequestError(404, "there is no such page")
    opened: CachedDataset | None = None
    for _ in range(3):
        found = row.answer(context, asked, opened)
        if isinstance(found, HttpAnswer):
            return found
        if isinstance(found, HeavyWork):
            return found.work()
        opened = context.load(found.place, None)
        if found.version is not None:
            opened = context.load(found.place, found.version, opened)
    raise RuntimeError(f"the dataset is opened again and again: {asked}")


@contextmanager
def serving(root: Path, *options: str) -> Iterator[Served]:
    """A server of a folder, or of one dataset, for as long as the block takes."""
    with running([sys.executable, "-m", "nczarr", "serve", str(root), "--port", "0", *options]) as served:
        yield served


@contextmanager
def running(command: list[str], **settings: str) -> Iterator[Served]:
    """The server that a command line starts, with more variables of the environment, for as long as the block takes."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as made:
        assert made.stdout is not None
        assert made.stderr is not None
        url = made.stdout.readline().strip()
        if not url:
            raise AssertionError(made.stderr.read())
        served = Served(made, url)
        try:
            yield served
        finally:
            if made.poll() is None:
                served.end()
