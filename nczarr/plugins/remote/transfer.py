"""Transfer of single remote files: fetched before reading, sent when finished.

Files that cannot be read by ranges are fetched whole, large ones in concurrent ranges.
"""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from typing import Any

from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.range_request import describe_object
from nczarr.plugins.remote.remote_store import TRIES, md5_of
from nczarr.stores.places import HEAD, RemoteFile
from nczarr.stores.spool import add_folder, note_origin
from nczarr.stores.url import WEB

RANGE = 8 << 20
"""Bytes of one request."""

RANGES_AT_ONCE = 8


def fetch_file(connection: FileConnection, file: RemoteFile | None = None) -> str:
    """Return the path of a local copy. Raises OSError.

    It exists until `clear`, or until the end of a `remove_fetched_files` block. `file`: the object with its first
    bytes, which are all of a small one.
    """
    name = os.path.basename(connection.root) or "data"
    folder = add_folder(connection.shown)
    path = os.path.join(folder, name)
    if file is not None and file.size <= HEAD:
        with open(path, "wb") as copy:
            copy.write(file[:])
        note_origin(folder, connection.url, file.info)
        return path
    for _ in range(TRIES):
        info = connection.call("info", "")
        with open(path, "wb") as copy:
            _fetch(connection, path, copy.fileno(), info)
        if _is_whole(connection, path, info):
            note_origin(folder, connection.url, info)
            return path
    raise OSError(errno.EIO, f"it was read {TRIES} times, and never matched the server's listing", connection.shown)


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
    size = info.get("size")
    return isinstance(size, int) and size > RANGE and (connection.protocol not in WEB or bool(info.get("partial")))


def _is_whole(connection: FileConnection, path: str, info: dict[str, Any]) -> bool:
    """Return whether a file equals the object: by digest, else, after several requests, by properties.

    Raises OSError.
    """
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
    """Copy a remote file of `size` bytes to an open file descriptor, several ranges at once. Raises OSError."""
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


def send(connection: FileConnection, path: str, key: str = "") -> None:
    """Send a file until the server confirms its bytes; on failure remove the object and raise OSError."""
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
