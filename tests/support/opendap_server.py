"""A server of DAP2 and DAP4 on loopback: arrays by constraint expressions, and answers that tests replace."""

from __future__ import annotations

import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from tests.support.opendap_responses import chunk

DAP2 = {"u1": "Byte", "i2": "Int16", "u2": "UInt16", "i4": "Int32", "u4": "UInt32", "f4": "Float32", "f8": "Float64"}
DAP4 = {**DAP2, "i1": "Int8", "u1": "UInt8", "i8": "Int64", "u8": "UInt64"}

Arrays = dict[str, np.ndarray[Any, Any]]


class Reply(NamedTuple):
    """Answer of the server."""

    status: int
    data: bytes
    headers: Mapping[str, str] = MappingProxyType({})


Change = Callable[[str, Reply], Reply]
"""From a request and its answer to the answer that is sent."""


class Asked:
    """A server that runs: its port, and what it was asked."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[str] = []

    def url(self, protocol: str, path: str = "data/a.nc") -> str:
        return f"{protocol}:http://127.0.0.1:{self.port}/{path}"


def kind(values: np.ndarray[Any, Any]) -> str:
    return values.dtype.str[1:]


def selected(expression: str, arrays: Arrays) -> tuple[str, np.ndarray[Any, Any]]:
    """Return name and values of one projection, as a server selects them."""
    name = expression.partition("[")[0]
    slices = []
    for part in re.findall(r"\[([^\]]*)\]", expression):
        numbers = [int(each) for each in part.split(":")]
        start, step, stop = (numbers[0], 1, numbers[-1]) if len(numbers) < 3 else numbers
        slices.append(slice(start, stop + 1, step))
    return name, np.asarray(arrays[name][tuple(slices)])


def declared(name: str, values: np.ndarray[Any, Any]) -> str:
    return f"{DAP2[kind(values)]} {name}" + "".join(f"[d{n} = {each}]" for n, each in enumerate(values.shape)) + ";\n"


def xdr(values: np.ndarray[Any, Any]) -> bytes:
    head = struct.pack(">II", values.size, values.size) if values.ndim else b""
    if values.dtype.itemsize == 1 and values.ndim:
        return head + values.tobytes() + bytes(-values.size % 4)
    wide = values.astype(">i4") if values.dtype.itemsize < 4 else values.astype(values.dtype.newbyteorder(">"))
    return head + wide.tobytes()


def dap2(path: str, query: str, arrays: Arrays) -> Reply:
    """Answer a request of DAP2."""
    if path.endswith(".dds"):
        return Reply(200, f"Dataset {{\n{''.join(declared(*each) for each in arrays.items())}}} a.nc;\n".encode())
    if path.endswith(".das"):
        return Reply(200, b'Attributes {\n NC_GLOBAL { String title "served"; }\n}\n')
    name, values = selected(query, arrays)
    return Reply(200, f"Dataset {{\n{declared(name, values)}}} a.nc;\n\nData:\n".encode() + xdr(values))


def document(arrays: Arrays) -> bytes:
    inner = ""
    for name, each in arrays.items():
        dims = "".join(f"<Dim size='{length}'/>" for length in each.shape)
        inner += f'<{DAP4[kind(each)]} name="{name}">{dims}</{DAP4[kind(each)]}>'
    return (
        f'<Dataset name="a.nc" dapVersion="4.0" xmlns="http://xml.opendap.org/ns/DAP/4.0#">{inner}</Dataset>'.encode()
    )


def dap4(path: str, query: str, arrays: Arrays) -> Reply:
    """Answer a request of DAP4. Only `.dmr` is known, as of THREDDS."""
    if path.endswith(".dmr.xml"):
        return Reply(404, b"<html>not found</html>", {"Content-Type": "text/html"})
    if path.endswith(".dmr"):
        return Reply(200, document(arrays))
    expression = dict(each.split("=", 1) for each in query.split("&"))["dap4.ce"]
    name, values = selected(expression.removeprefix("/"), arrays)
    data = values.astype(values.dtype.newbyteorder(">")).tobytes()
    data += struct.pack(">I", zlib.crc32(data))
    half = len(data) // 2
    return Reply(200, chunk(document({name: values}), 0) + chunk(data[:half], 0) + chunk(data[half:], 1))


@contextmanager
def serving(arrays: Arrays, change: Change = lambda request, reply: reply) -> Iterator[Asked]:
    """A server in threads of this process: `/data/…`, and `/moved/…`, which redirects there."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.requests.append(self.path)
            split = urlsplit(self.path)
            path, query = unquote(split.path), unquote(split.query)
            if path.startswith("/moved/"):
                reply = Reply(302, b"", {"Location": self.path.replace("/moved/", "/data/", 1)})
            else:
                answer = dap4 if re.search(r"\.(dmr|dap|dmr\.xml)$", path) else dap2
                reply = change(self.path, answer(path, query, arrays))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.data)))
            self.end_headers()
            self.wfile.write(reply.data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Asked(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
