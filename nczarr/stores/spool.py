"""Transfer of single remote files: fetched before reading, sent when finished.

netCDF files, archives and texts are read whole, by libraries that need a file.
So each is in its own temporary folder (`TMPDIR`) while the process needs it.
Large ones are fetched in concurrent ranges.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import local
from typing import TYPE_CHECKING, Any, BinaryIO

from nczarr.stores.ranges import describe_object
from nczarr.stores.remote_file import HEAD, RemoteFile, at

if TYPE_CHECKING:
    from nczarr.stores.connection import FileConnection

RANGE = 8 << 20
"""Bytes of one request."""

RANGES_AT_ONCE = 8

STREAM = "<stdin>"
"""Display name of a file from a pipe."""

_folders: dict[str, str] = {}
"""Folders of fetched files, with the displayable URLs of these."""


_origins: dict[str, tuple[str, dict[str, Any]]] = {}
"""URL and listed properties of fetched files, by folder."""

_own = local()
"""Files fetched by each thread in a `remove_fetched_files` block."""


def fetch_file(connection: FileConnection, file: RemoteFile | None = None) -> str:
    """Return the path of a local copy. Raises OSError.

    It exists until `clear`, or until the end of a `remove_fetched_files` block. `file`: the object with its first
    bytes, which are all of a small one.
    """
    from nczarr.stores.remote import TRIES

    name = os.path.basename(connection.root) or "data"
    folder = _new_folder(connection.shown)
    if getattr(_own, "folders", None) is not None:
        _own.folders.append(folder)
    path = os.path.join(folder, name)
    if file is not None and file.size <= HEAD:
        with open(path, "wb") as copy:
            copy.write(file[:])
        _origins[folder] = connection.url, file.info
        return path
    for _ in range(TRIES):
        info = connection.call("info", "")
        with open(path, "wb") as copy:
            _fetch(connection, path, copy.fileno(), info)
        if _is_whole(connection, path, info):
            _origins[folder] = connection.url, info
            return path
    raise OSError(errno.EIO, f"it was read {TRIES} times, and never matched the server's listing", connection.shown)


def keep_stream(head: bytes, rest: BinaryIO) -> str:
    """Return the path of a file with a stream's bytes, which exists until `clear`. Raises OSError."""
    import shutil

    path = os.path.join(_new_folder(STREAM), "data")
    with open(path, "wb") as file:
        file.write(head)
        shutil.copyfileobj(rest, file, RANGE)
    return path


def _new_folder(shown: str) -> str:
    """Return a new temporary folder, which exists until `clear`, for a file with this displayable name."""
    if not _folders:
        atexit.register(clear)
    folder = tempfile.mkdtemp(prefix="nczarr-")
    _folders[folder] = shown
    return folder


def _fetch(connection: FileConnection, path: str, file: int, info: dict[str, Any]) -> None:
    """Fetch an object into an open, empty file. Raises OSError for an unexpected size."""
    size = info.get("size")
    if _in_ranges(connection, info):
        _fetch_ranges(connection, file, info["size"])
    else:
        connection.call("get_file", "", path, size=size or 0)
    arrived = os.path.getsize(path)
    if isinstance(size, int) and arrived != size:
        raise OSError(errno.EIO, f"{arrived} of {size} bytes arrived", connection.shown)


def _in_ranges(connection: FileConnection, info: dict[str, Any]) -> bool:
    """Return whether an object is fetched by several requests."""
    from nczarr.stores.connection import WEB

    size = info.get("size")
    return isinstance(size, int) and size > RANGE and (connection.protocol not in WEB or bool(info.get("partial")))


def _is_whole(connection: FileConnection, path: str, info: dict[str, Any]) -> bool:
    """Return whether a file equals the object: by digest, else, after several requests, by properties.

    Raises OSError.
    """
    from nczarr.stores.connection import WEB
    from nczarr.stores.remote import md5_of

    stated = md5_of(info) if connection.protocol not in WEB else None
    if stated is not None:
        computed = _md5(path)
        if computed == stated or connection.tags_are_digests(""):
            return computed == stated
    return not _in_ranges(connection, info) or describe_object(connection.call("info", "")) == describe_object(info)


def _md5(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _fetch_ranges(connection: FileConnection, file: int, size: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def fetch(begin: int) -> None:
        end = min(size, begin + RANGE)
        data = connection.call("cat_file", "", start=begin, end=end, size=end - begin)
        if len(data) != end - begin:
            text = f"{len(data)} bytes arrived, but {end - begin} were requested at byte {begin}"
            raise OSError(errno.EIO, text, connection.shown)
        os.pwrite(file, data, begin)

    with ThreadPoolExecutor(RANGES_AT_ONCE) as threads:
        for _ in threads.map(fetch, range(0, size, RANGE)):
            pass


def name_of(path: str) -> str:
    """Return a file's display name: its source URL, else its path."""
    remote = at(path)
    if remote is not None:
        return remote.name
    return _folders.get(os.path.dirname(path), path)


def origin(path: str) -> tuple[str, dict[str, Any]] | None:
    """Return the URL and listed properties of a fetched or remote file; None for other files."""
    remote = at(path)
    if remote is not None:
        return remote.connection.url, remote.info
    return _origins.get(os.path.dirname(path))


def is_from_pipe(path: str) -> bool:
    """Return whether a file came through a pipe and is temporary."""
    return _folders.get(os.path.dirname(path)) == STREAM


def send(connection: FileConnection, path: str, key: str = "") -> None:
    """Send a file until the server confirms its bytes; on failure remove the object and raise OSError."""
    from nczarr.stores.remote import TRIES, md5_of

    size = os.path.getsize(path)
    for _ in range(TRIES):
        connection.send(path, key, size)
        info = connection.call("info", key)
        tag = md5_of(info)
        if info.get("size") in (None, size) and (
            tag is None or tag == _md5(path) or not connection.tags_are_digests(key)
        ):
            return
    with suppress(OSError):
        connection.remove([key])
    text = f"it was sent {TRIES} times, and arrived with other bytes each time"
    raise OSError(errno.EIO, text, f"{connection.shown.rstrip('/')}/{key}" if key else connection.shown)


def clear() -> None:
    """Remove all fetched files."""
    _remove(list(_folders))


@contextmanager
def remove_fetched_files() -> Iterator[None]:
    """Remove the files that this thread fetched in the block at its end."""
    before, _own.folders = getattr(_own, "folders", None), []
    try:
        yield
    finally:
        _remove(_own.folders)
        _own.folders = before


def _remove(folders: Iterable[str]) -> None:
    import shutil

    for folder in folders:
        _folders.pop(folder, None)
        _origins.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)
