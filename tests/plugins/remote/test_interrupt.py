"""An interrupt ends a run at once, although threads wait for a server that does not answer."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.signals import hear_interrupts

pytest.importorskip("aiohttp")

ARRAY = {"zarr_format": 2, "shape": [4000], "chunks": [4], "dtype": "<f4", "fill_value": None, "order": "C"}
ARRAY |= {"compressor": {"id": "zlib", "level": 1}, "filters": None}


class SilentServer(ThreadingHTTPServer):
    """A server that sends the document of an array, and nothing for its chunks."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.over = threading.Event(), threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, SilentServer)
        if self.path.rpartition("/")[2].isdigit():
            self.server.asked.set()
            self.server.over.wait(60)
            return
        body = json.dumps(ARRAY).encode() if self.path.endswith("/.zarray") else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[SilentServer]:
    with SilentServer() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.over.set()
        made.shutdown()


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="signals of POSIX")
def test_interrupt_does_not_wait_for_chunks(server: SilentServer, tmp_path: Path) -> None:
    command = ["convert", f"http://127.0.0.1:{server.server_port}/v", str(tmp_path / "o.zarr"), "--codec", "zstd:1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "nczarr", *command], env=environment, preexec_fn=hear_interrupts)
    try:
        assert server.asked.wait(60)
        time.sleep(0.3)  # until threads wait
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert time.monotonic() - begin < 20  # a request may take a minute, and is repeated
    finally:
        process.kill()
        process.wait()
    assert not list(tmp_path.iterdir())
