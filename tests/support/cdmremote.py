"""A server of CDM Remote on loopback, for tests: recorded answers of real ones, or any dataset of ours."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import nczarr
from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import Section
from nczarr.pipeline.select.selection_syntax import sections
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.semantics.checked import Checked


class Reply(NamedTuple):
    """Answer of the server."""

    status: int = 200
    data: bytes = b""
    type: str = "application/octet-stream"
    description: str | None = "ncstream"


Answering = Callable[[str, dict[str, str]], Reply]
"""From a path and a query to an answer."""


class Asked:
    """A server that runs: its address, and what it was asked."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.queries: list[dict[str, str]] = []
        self.under_way = 0
        self.most = 0

    def url(self, path: str) -> str:
        return f"cdmremote:http://127.0.0.1:{self.port}/{path.lstrip('/')}"

    @property
    def variables(self) -> list[str]:
        """The sections that were asked for."""
        return [query["var"] for query in self.queries if "var" in query]


@contextmanager
def serving(answering: Answering) -> Iterator[Asked]:
    """A server in threads of this process."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(split.query).items()}
            with lock:
                asked.queries.append(query)
                asked.under_way += 1
                asked.most = max(asked.most, asked.under_way)
            try:
                reply = answering(split.path, query)
            finally:
                with lock:
                    asked.under_way -= 1
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.type)
            self.send_header("Content-Length", str(len(reply.data)))
            if reply.description is not None:
                self.send_header("Content-Description", reply.description)
            self.end_headers()
            with suppress(ConnectionError):  # a client may have had enough
                self.wfile.write(reply.data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        asked = Asked(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def recorded(shared: Path) -> Answering:
    """The recorded answers: to questions for a whole variable, and for the sections that were asked for then."""
    folder = shared / "data" / "ncstream"
    known: dict[tuple[str, str], list[tuple[Any, bytes]]] = {}
    shapes: dict[tuple[str, str], tuple[int, ...]] = {}
    for each in json.loads((folder / "index.json").read_text("utf-8"))["payloads"]:
        data = (folder / each["file"]).read_bytes()
        path = urlsplit(each["request"]).path
        if each["req"] == "header" and each["first_magic"] == "HEADER":
            known[path, ""] = [(None, data)]
            [message] = nczarr.ncstream.read_messages(data)
            for variable in (*message.header.root.vars, *message.header.root.structs):
                lengths = tuple(dim.length for dim in variable.shape if not dim.isVlen)
                shapes[path, variable.name.decode()] = lengths
        elif each["req"] == "data" and each["first_magic"] in ("DATA", "DATA2"):
            [message] = nczarr.ncstream.read_messages(data)
            known.setdefault((path, message.name), []).append((message.section, data))

    def answer(path: str, query: dict[str, str]) -> Reply:
        if query.get("req") == "header":
            found = known.get((path, ""))
            return Reply(data=found[0][1]) if found else Reply(404, b"no such dataset", "text/plain", None)
        [section] = sections(query["var"], Report(), members=True)
        name = section.path[-1]
        for given, data in known.get((path, name), ()):
            if given in (None, _ranges(section, shapes.get((path, name), ()))):
                return Reply(data=data)
        return Reply(400, f"not recorded: {query['var']}".encode(), "text/plain", None)

    return answer


def _ranges(section: Section, shape: tuple[int, ...]) -> tuple[range, ...]:
    if section.extents is None:
        return tuple(map(range, shape))
    return tuple(
        range(length) if extent is None else range(extent.first, extent.last + 1, extent.stride)
        for extent, length in zip(section.extents, shape, strict=False)
    )


def given(checked: Checked, *, profile: str = "mixed", deflate: int | None = None, told: bool = True) -> Answering:
    """A dataset of ours, by either generation of messages. `told`: the header holds the model."""

    def answer(path: str, query: dict[str, str]) -> Reply:
        if query["req"] == "header":
            data = nczarr.ncstream.header_message(checked, location=path)
            return Reply(data=data if told else without_model(data))
        [section] = sections(query["var"], Report(), members=True)
        fqn = names.fqn(section.path)
        wanted = [(fqn, _ranges(section, checked.shapes[fqn]))]
        pieces = nczarr.ncstream.data_messages(checked, wanted, profile=profile, deflate=deflate)  # type: ignore[arg-type]
        return Reply(data=b"".join(pieces))

    return answer


def without_model(data: bytes) -> bytes:
    """A header message with the words alone that every reader knows."""
    [message] = nczarr.ncstream.read_messages(data)
    header = pb.Header()
    header.CopyFrom(message.header)
    header.ClearField("nczarr")
    header.ClearField("fills")
    return b"\xad\xec\xce\xda" + _block(header.SerializeToString())


def _block(data: bytes) -> bytes:
    from nczarr.plugins.ncstream.wire.protobuf import encode

    return encode(len(data)) + data
