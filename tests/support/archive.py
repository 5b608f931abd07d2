"""A stand-in for an archive behind a login: data, a login server with redirections and cookies, and storage."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, quote, urlsplit

USER, PASSWORD, TOKEN = "reader", "open-sesame", "token-of-the-archive"


class Archive:
    """Files of a folder at `data`; people log in at another host, and big files are redirected to storage there."""

    def __init__(self, folder: Path, credentials: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.credentials = dict(credentials or {})
        self.seen: list[tuple[str, str, str]] = []
        """Host, path and header `Authorization` of each request."""
        archive = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                archive._answer(self)

            def do_HEAD(self) -> None:
                archive._answer(self)

            def log_message(self, *words: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        port = self._server.server_address[1]
        self.data, self.login = f"http://localhost:{port}", f"http://127.0.0.1:{port}"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        host, address = request.headers["Host"].partition(":")[0], urlsplit(request.path)
        authorization = request.headers.get("Authorization", "")
        self.seen.append((host, address.path, authorization))
        if host == "127.0.0.1":
            if address.path.startswith("/storage/"):
                return self._send_file(request, address.path.removeprefix("/storage/"))
            basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if authorization != basic:
                return self._send(request, 401, b"log in", {"WWW-Authenticate": 'Basic realm="the archive"'})
            place = parse_qs(address.query)["place"][0]
            return self._send(request, 302, b"", {"Location": f"{self.data}/callback?code=42&place={quote(place)}"})
        if address.path == "/callback":
            place = parse_qs(address.query)["place"][0]
            return self._send(request, 302, b"", {"Location": place, "Set-Cookie": "session=42; Path=/"})
        if authorization != f"Bearer {TOKEN}" and "session=42" not in request.headers.get("Cookie", ""):
            return self._send(request, 302, b"", {"Location": f"{self.login}/oauth?place={quote(request.path)}"})
        if address.path == "/s3credentials":
            return self._send(request, 200, json.dumps(self.credentials).encode(), {"Content-Type": "application/json"})
        if address.path.startswith("/stored/"):
            name = address.path.removeprefix("/stored/")
            return self._send(request, 303, b"", {"Location": f"{self.login}/storage/{name}?signature=1"})
        return self._send_file(request, address.path.lstrip("/"))

    def _send_file(self, request: BaseHTTPRequestHandler, name: str) -> None:
        path = self.folder / name
        if not path.is_file():
            return self._send(request, 404, b"not here", {})
        data = path.read_bytes()
        wanted = re.fullmatch(r"bytes=(-?\d+)(?:-(\d*))?", request.headers.get("Range", ""))
        headers = {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if wanted is None:
            return self._send(request, 200, data, headers)
        start = int(wanted[1])
        start = max(0, len(data) + start) if start < 0 else start
        stop = min(len(data), int(wanted[2]) + 1 if wanted[2] else len(data))
        return self._send(
            request, 206, data[start:stop], {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
        )

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)
