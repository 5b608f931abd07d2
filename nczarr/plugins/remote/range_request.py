"""One request for a range of a remote object, with the object's size and tag from the same answer.

Servers that ignore ranges are distinguished from those that answer with other
bytes than requested: a wrong range is an error, never data.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nczarr.plugins.common.raw_file import ChangedError
from nczarr.stores.places import at_interrupt

if TYPE_CHECKING:
    import asyncio

    from fsspec import AbstractFileSystem

_TELLING = ("ETag", "etag", "md5Hash", "content_settings", "version_id", "VersionId", "generation", "mtime",
            "LastModified", "last_modified", "updated", "created")  # fmt: skip
"""Members of libraries' records that change with the object."""


def describe_object(info: dict[str, Any]) -> str:
    """Return the properties in a library's record that change with an object."""
    return " ".join([str(info.get("size")), *(str(info[name]) for name in _TELLING if name in info)])


T = TypeVar("T")

HURRIED = 5.0
"""Timeout in seconds after an interruption, when started work may have to be removed."""

_under_way: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
_interrupted = False


class GivenUpError(OSError):
    """A request cancelled because the run was interrupted."""


def execute_request(
    system: AbstractFileSystem, what: str, arguments: tuple[Any, ...], named: dict[str, Any], seconds: float
) -> Any:
    """Execute one request. Raises the library's errors; if asynchronous, also TimeoutError and GivenUpError."""
    if not getattr(system, "async_impl", False) or not hasattr(system, f"_{what}"):
        return getattr(system, what)(*arguments, **named)
    return await_request(system, partial(getattr(system, f"_{what}"), *arguments, **named), seconds)


def await_request(system: AbstractFileSystem, request: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Execute one asynchronous request. Raises its errors, TimeoutError, GivenUpError."""
    import asyncio

    from fsspec.asyn import sync

    async def limited() -> T:
        """Await the request within the time limit, which an interruption of the run shortens."""
        task = asyncio.current_task()
        assert task is not None
        _under_way[task] = asyncio.get_running_loop()
        try:
            limit = min(seconds, HURRIED) if _interrupted else seconds
            return await asyncio.wait_for(request(), limit)
        except asyncio.CancelledError:
            raise GivenUpError(errno.EINTR, "the run was interrupted") from None
        finally:
            del _under_way[task]

    answer: T = sync(system.loop, limited)
    return answer


def is_interrupted() -> bool:
    """Return whether the run was interrupted, so that nothing is retried."""
    return _interrupted


def give_up() -> None:
    """Cancel all pending requests of an interrupted run, and shorten later ones. Signal handlers may call it."""
    global _interrupted
    _interrupted = True
    for task, loop in list(_under_way.items()):
        loop.call_soon_threadsafe(task.cancel)


at_interrupt.append(give_up)


class UnrangedError(OSError):
    """A server that sends whole objects only."""


class RangeAnswer(NamedTuple):
    """Answer to a request for a range."""

    data: bytes
    """Bytes of the range, fewer at the object's end."""
    info: dict[str, Any]
    """Listed properties of the object: `size`, and what the library tells of its tag and time."""


# RFC 9110 allows `*` for an unknown size, which no caller could use
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")

_ENCRYPTED = "ServerSideEncryption", "SSECustomerAlgorithm"
"""Properties of objects whose tag is no digest."""


PARTIAL, UNSATISFIABLE = 206, 416
"""HTTP status of a range, and of one beyond the object's end."""


async def by_http(system: Any, url: str, start: int, stop: int) -> RangeAnswer:
    """Request the bytes from `start` to `stop` of a URL; for a negative `start` the last ones, as in `read_range`.

    Raises the library's errors, UnrangedError, OSError.
    """
    session = await system.set_session()
    named = dict(system.kwargs)
    # ranges of a compressed answer would count other bytes
    headers = {**named.pop("headers", {}), "Range": _range_header(start, stop), "Accept-Encoding": "identity"}
    async with session.get(system.encode_url(url), headers=headers, **named) as answer:
        if answer.status == UNSATISFIABLE:
            raise UnrangedError(errno.EINVAL, "the object ends before the range")
        system._raise_not_found_for_status(answer, url)
        # RFC 9110: 206 is a range, 200 the whole object
        if answer.status != PARTIAL or answer.headers.get("Content-Encoding", "identity") != "identity":
            raise UnrangedError(errno.ENOTSUP, "the server sends whole files only")
        content_range = answer.headers.get("Content-Range", "")
        names = {"ETag": "ETag", "LastModified": "Last-Modified"}
        info = {name: answer.headers[header] for name, header in names.items() if header in answer.headers}
        return _check(await answer.read(), content_range, info, start, stop)


async def by_s3(system: Any, path: str, start: int, stop: int) -> RangeAnswer:
    """Request bytes of an S3 object, as `by_http`. Raises the library's errors, UnrangedError, OSError."""
    bucket, key, version = system.split_path(path)
    named = {"VersionId": version} if version else {}
    asked_for = {"Range": _range_header(start, stop), **named}
    answer = await system._call_s3("get_object", Bucket=bucket, Key=key, **asked_for, **system.req_kw)
    try:
        if "ContentRange" not in answer:
            raise UnrangedError(errno.ENOTSUP, "the server sends whole objects only")
        data = await answer["Body"].read()
    finally:
        answer["Body"].close()
    info = {name: answer[name] for name in ("ETag", "LastModified", "VersionId", *_ENCRYPTED) if name in answer}
    return _check(data, answer["ContentRange"], info, start, stop)


def _range_header(start: int, stop: int) -> str:
    """Return the value of the header `Range`."""
    return f"bytes={start}" if start < 0 else f"bytes={start}-{stop - 1}"  # RFC 9110: the last position is included


def _check(data: bytes, content_range: str, info: dict[str, Any], start: int, stop: int) -> RangeAnswer:
    """Return an answer whose bytes are the requested ones. `content_range`: its header. Raises OSError."""
    match_of_range = _CONTENT_RANGE.fullmatch(content_range)
    if match_of_range is None:
        raise UnrangedError(errno.ENOTSUP, f"the server answers with the range `{content_range}`, without a size")
    first, last, size = map(int, match_of_range.groups())
    if start < 0:
        start, stop = max(0, size + start), size
    if first != start or last + 1 != min(stop, size):
        raise OSError(
            errno.EIO, f"the server answers with bytes {first} to {last} of {size}, not with {start} to {stop - 1}"
        )
    if len(data) != last + 1 - first:
        raise OSError(errno.EIO, f"{len(data)} of {last + 1 - first} bytes arrived")
    return RangeAnswer(data, {"size": size, **info})


def by_library(system: Any, path: str, start: int, stop: int, size: int | None, seconds: float) -> RangeAnswer:
    """Return a range by the library's own functions. `size`: bytes of the object, None if unknown.

    The properties are those after the request: callers compare them with those of the
    first one. Raises the library's errors, UnrangedError, OSError.
    """
    before = execute_request(system, "info", (path,), {}, seconds) if size is None else {}
    total = before.get("size") if size is None else size
    if not isinstance(total, int):
        raise UnrangedError(errno.ENOTSUP, "the server does not tell the size of the file")
    if start < 0:
        start, stop = max(0, total + start), total
    stop = max(start, min(stop, total))
    data = execute_request(system, "cat_file", (path,), {"start": start, "end": stop}, seconds) if start < stop else b""
    if len(data) != stop - start:
        if len(data) == total:
            raise UnrangedError(errno.ENOTSUP, "the server sends whole files only")
        raise OSError(errno.EIO, f"{len(data)} of {stop - start} bytes arrived")
    after = execute_request(system, "info", (path,), {}, seconds)
    if after.get("size") != total or (before and describe_object(before) != describe_object(after)):
        raise ChangedError
    return RangeAnswer(bytes(data), after)
