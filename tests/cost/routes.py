"""Routes of the server as operations: requests to the routes of one server in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.options import Following
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.context import ServerContext
from nczarr.plugins.serve.dataset_cache import Shelf
from nczarr.plugins.serve.delivery import DeliveredBody
from nczarr.plugins.serve.places import Root
from nczarr.plugins.serve.request import request
from nczarr.plugins.serve.resources import Disk, Limits
from nczarr.plugins.serve.search_index import SearchIndex
from tests.cost.sources import Shape
from tests.support.serving import answer

REPEATS = 4
"""How often a request is sent: the first one opens the dataset, the others cost what they ask for."""

REFUSALS = (400, 404, 413)
"""Statuses of requests that the limits, or the protocol, rule out."""

Ranges = tuple[range, ...]


class Request(NamedTuple):
    """A request for a part of a source."""

    path: str
    query: str = ""
    range: str = ""
    """Header `Range`."""
    accepts: str = "text/html"


def _slices(ranges: Ranges) -> str:
    """A section in the syntax of OPeNDAP."""
    return "".join(f"[{part[0]}:{part.step}:{part[-1]}]" for part in ranges)


def _view(name: str, ranges: Ranges) -> Request:
    axes = shown(ranges)
    query = ["var=v", f"x={axes[-1]}", f"y={axes[0] if len(axes) > 1 else 'none'}"]
    query += [f"a{axis}={ranges[axis][0]}&b{axis}={ranges[axis][-1]}" for axis in axes]
    query += [f"i{axis}={part[0]}" for axis, part in enumerate(ranges) if axis not in axes]
    return Request(f"/view/{name}", "&".join(query))


def shown(ranges: Ranges) -> tuple[int, ...]:
    """The axes of a view: the last two long ones."""
    long = [axis for axis, part in enumerate(ranges) if len(part) > 1]
    return tuple(long[-2:]) or (len(ranges) - 1,)


def viewed(ranges: Ranges) -> Ranges:
    """The indices of a view: one index along the axes that are not shown, all between the ends of the others."""
    axes = shown(ranges)
    return tuple(range(part[0], part[-1] + 1 if axis in axes else part[0] + 1) for axis, part in enumerate(ranges))


def _chunk(name: str, ranges: Ranges, shape: Shape) -> Request:
    key = ".".join(str(part[-1] // length) for part, length in zip(ranges, shape.chunks, strict=True))
    return Request(f"/zarr2/{name}/v/{key}")


def chunk_of(ranges: Ranges, shape: Shape) -> Ranges:
    """The indices of the chunk that is requested: that of the last cell."""
    firsts = [part[-1] // length * length for part, length in zip(ranges, shape.chunks, strict=True)]
    ends = zip(firsts, shape.chunks, shape.lengths, strict=True)
    return tuple(range(first, min(first + length, most)) for first, length, most in ends)


REQUESTS: dict[str, Callable[[str, Ranges, Shape], Request]] = {
    "serve page": lambda name, ranges, shape: Request(f"/browse/{name}"),
    "serve folder": lambda name, ranges, shape: Request("/browse/"),
    "serve view": lambda name, ranges, shape: _view(name, ranges),
    "serve dds": lambda name, ranges, shape: Request(f"/dap2/{name}.dds", f"v{_slices(ranges)}"),
    "serve das": lambda name, ranges, shape: Request(f"/dap2/{name}.das"),
    "serve dods": lambda name, ranges, shape: Request(f"/dap2/{name}.dods", f"v{_slices(ranges)}"),
    "serve dmr": lambda name, ranges, shape: Request(f"/dap4/{name}.dmr", f"dap4.ce=/v{_slices(ranges)}"),
    "serve dap": lambda name, ranges, shape: Request(f"/dap4/{name}.dap", f"dap4.ce=/v{_slices(ranges)}"),
    "serve documents": lambda name, ranges, shape: Request(f"/zarr2/{name}/.zmetadata"),
    "serve chunk": _chunk,
    "serve file": lambda name, ranges, shape: Request(f"/file/{name}", range="bytes=100-199"),
}
"""Requests by operation."""

OF_SECTIONS = ("serve view", "serve dds", "serve dods", "serve dmr", "serve dap", "serve chunk")
"""Operations whose cost depends on a section."""

OF_VALUES = ("serve view", "serve dods", "serve dap", "serve chunk")
"""Operations that read values."""


def context_of(folder: Path) -> ServerContext:
    """The context of a server of a folder, with its default limits."""
    root, limits = Root(str(folder)), Limits()
    shelf = Shelf(limits, Following(roots=(root.home,)), NO_OPTIONS)
    return ServerContext(root, shelf, limits, Disk(limits.spill), SearchIndex(root, shelf.read))


def send(operation: str, source: Path, ranges: Ranges, shape: Shape) -> None:
    """Send the request of an operation to one server, several times. Raises RuntimeError for a server's fault."""
    context = context_of(source.parent)
    asked = REQUESTS[operation](quote(source.name), ranges, shape)
    for _ in range(REPEATS):
        status = _answered(context, asked)
        if status not in (200, 206, *REFUSALS):
            raise RuntimeError(f"status {status}: {asked}")


def _answered(context: ServerContext, asked: Request) -> int:
    """Send a request, and take all of its answer. Return the status."""
    headers = [(b"accept", asked.accepts.encode())]
    headers += [(b"range", asked.range.encode())] if asked.range else []
    path, query = asked.path.encode(), asked.query.encode()
    made = request({"method": "GET", "path": "/", "raw_path": path, "query_string": query, "headers": headers})
    try:
        found = answer(context, made)
        body = DeliveredBody(found.body)
        while body.next() is not None:
            pass
    except RefusedRequestError as error:
        return error.status
    except CompileError:
        return 500
    return found.status
