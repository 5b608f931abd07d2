"""A proxy that counts: it passes HTTP requests on to a server of this machine, and remembers what became of each."""

from __future__ import annotations

import http.client
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread, local
from typing import NamedTuple
from urllib.parse import urlsplit

_HOP = {"connection", "expect", "keep-alive", "transfer-encoding", "proxy-connection"}


class Request(NamedTuple):
    method: str
    path: str
    status: int
    """502: the server was not there, or went away."""
    size: int = 0
    """Bytes of the answer."""


class Proxy:
    """One server in front of another. `requests`: all of them in the order of their answers; `most`: at once;
    `seconds`: how far away it is, so that what is under way at once does not hang on how busy the machine is.
    """

    def __init__(self, endpoint: str) -> None:
        self.host = urlsplit(endpoint).netloc
        self.requests: list[Request] = []
        self.active = self.most = 0
        self.seconds = 0.0
        self.lock = Lock()
        self.own = local()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # an answer leaves in one piece
            disable_nagle_algorithm = True

            def handle_expect_100(self) -> bool:
                self.send_response_only(100)
                self.end_headers()
                self.wfile.flush()
                return True

            def answer(self) -> None:
                proxy.answer(self)

            def log_message(self, *words: object) -> None:
                """Nothing."""

        for method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.answer)
        self.server = type("Server", (ThreadingHTTPServer,), {"request_queue_size": 256})(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *request: None  # type: ignore[method-assign]  # clients that are killed
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def clear(self) -> None:
        self.requests.clear()
        self.most = 0
        self.seconds = 0.0

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        with self.lock:
            self.active += 1
            self.most = max(self.most, self.active)
        try:
            body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            time.sleep(self.seconds)
            status, headers, data = self._asked(handler, body)
        finally:
            with self.lock:
                self.active -= 1
        with self.lock:
            self.requests.append(Request(handler.command, handler.path, status, len(data)))
        handler.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP and name.lower() != "content-length":
                handler.send_header(name, value)
        size = next((value for name, value in headers if name.lower() == "content-length"), "0")
        handler.send_header("Content-Length", size if handler.command == "HEAD" else str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)

    def _asked(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        server = getattr(self.own, "server", None) or http.client.HTTPConnection(self.host, timeout=30)
        self.own.server = None
        try:
            server.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():
                if name.lower() not in _HOP:
                    server.putheader(name, value)
            server.endheaders(body)
            found = server.getresponse()
            data = found.read()
            self.own.server = server  # for the next request of this thread
            return found.status, found.getheaders(), data
        except (OSError, http.client.HTTPException):
            server.close()
            return 502, [], b""
