"""A web server of ranges for files of a folder, which misbehaves as it is told to."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Literal, NamedTuple
from urllib.parse import unquote

Fault = Literal["whole", "short", "shifted", "more", "busy", "cut", "unsized", "other tag"]
"""All bytes; too few; those of another place; too many; status 503; a lost connection; no size; a new tag."""


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    start: int
    length: int
    """Bytes of the answer; 0 for HEAD."""


class RangedServer:
    """Server of a folder. `fault` is asked before each answer: it gets the running number of the request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[Asked] = []
        self.fault: Callable[[int], Fault | None] = lambda number: None
        self.seconds = 0.0
        self.has_tails = True
        """False for a server that knows no ranges from the end."""
        self._lock = Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server._answer(self, body=True)

            def do_HEAD(self) -> None:
                server._answer(self, body=False)

            def log_message(self, *words: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *request: None  # type: ignore[method-assign]  # connections that we cut
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def sent(self) -> int:
        """Bytes of all answers."""
        return sum(each.length for each in self.asked)

    def _answer(self, handler: BaseHTTPRequestHandler, *, body: bool) -> None:
        time.sleep(self.seconds)
        path = self.folder / unquote(handler.path.partition("?")[0]).lstrip("/")
        if not path.is_file():
            with self._lock:
                self.asked.append(Asked(handler.command, handler.path, 0, 0))
            self._send(handler, 404, {}, b"")
            return
        size = path.stat().st_size
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        start, stop = (int(found[1]), min(int(found[2]) + 1, size)) if found else (0, size)
        last = re.fullmatch(r"bytes=-(\d+)", handler.headers.get("Range", ""))
        if last and self.has_tails:
            found, start = last, max(0, size - int(last[1]))
        with self._lock:
            fault = self.fault(len(self.asked))
            self.asked.append(Asked(handler.command, handler.path, start, stop - start if body else 0))
        headers = {"ETag": f'"{path.stat().st_mtime_ns:x}{size:x}"', "Accept-Ranges": "bytes"}
        if fault == "other tag":
            headers["ETag"] = '"other"'
        if fault == "busy":
            self._send(handler, 503, {}, b"")
            return
        if not found or fault == "whole":
            self._send(handler, 200, headers, path.read_bytes() if body else b"", size)
            return
        told = "*" if fault == "unsized" else str(size)
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{told}"
        with path.open("rb") as file:
            file.seek(start)
            part = file.read(stop - start)
        if fault == "shifted":
            headers["Content-Range"] = f"bytes {start + 1}-{stop}/{told}"
        if fault in ("short", "more"):
            part = part[:-1] if fault == "short" else part + b"x"
        if fault == "cut":
            handler.close_connection = True
            self._send(handler, 206, headers, part[: len(part) // 2], len(part))
            return
        self._send(handler, 206, headers, part if body else b"", len(part))

    @staticmethod
    def _send(
        handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, size: int | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) if size is None else size))
        handler.end_headers()
        handler.wfile.write(body)
