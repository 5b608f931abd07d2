"""Single files on their way between this machine and others: fetched before they are read, sent when they are finished.

A file of netCDF, an archive or a text is read as a whole, by libraries that want a file; so it lies in a folder of its
own below the system's folder for temporary files (`TMPDIR`) as long as the process needs it. Large ones are fetched in
ranges, several at once.
"""

from __future__ import annotations

import atexit
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nczarr.stores.connection import WEB, Connection

RANGE = 8 << 20
"""Bytes of one request."""

RANGES_AT_ONCE = 8

_folders: dict[str, str] = {}
"""Folders with fetched files, and the URLs that these were fetched from, as people may see them."""


def fetched(connection: Connection) -> str:
    """The path of a copy of the object at a place, which is there until `clear`. Raises OSError."""
    name = os.path.basename(connection.root) or "data"
    if not _folders:
        atexit.register(clear)
    folder = tempfile.mkdtemp(prefix="nczarr-")
    _folders[folder] = connection.shown
    path = os.path.join(folder, name)
    info = connection.call("info", "")
    size = info.get("size")
    ranged = connection.protocol not in WEB or info.get("partial")
    with open(path, "xb") as file:
        if isinstance(size, int) and size > RANGE and ranged:
            _fetch_ranges(connection, file.fileno(), size)
        else:
            connection.call("get_file", "", path, size=size or 0)
    found = os.path.getsize(path)
    if isinstance(size, int) and found != size:
        raise OSError(errno.EIO, f"{found} of {size} bytes came", connection.shown)
    return path


def _fetch_ranges(connection: Connection, file: int, size: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def fetch(begin: int) -> None:
        end = min(size, begin + RANGE)
        data = connection.call("cat_file", "", start=begin, end=end, size=end - begin)
        if len(data) != end - begin:
            text = f"{len(data)} bytes came, {end - begin} were asked for at byte {begin}"
            raise OSError(errno.EIO, text, connection.shown)
        os.pwrite(file, data, begin)

    with ThreadPoolExecutor(RANGES_AT_ONCE) as threads:
        for _ in threads.map(fetch, range(0, size, RANGE)):
            pass


def name_of(path: str) -> str:
    """What people call a file: the URL that it was fetched from, else its path."""
    return _folders.get(os.path.dirname(path), path)


@contextmanager
def outgoing(connection: Connection) -> Iterator[str]:
    """The path of a new file that is sent to a place when the block ends well and has made it. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        path = os.path.join(folder, os.path.basename(connection.root) or "data")
        yield path
        if os.path.exists(path):
            send(connection, path)


def send(connection: Connection, path: str) -> None:
    """Send a file to a place, and look whether all of it arrived. Raises OSError."""
    size = os.path.getsize(path)
    connection.send(path, "", size)
    arrived = connection.call("info", "").get("size")
    if arrived is not None and arrived != size:
        raise OSError(errno.EIO, f"{arrived} of {size} bytes arrived", connection.shown)


def clear() -> None:
    """Remove all fetched files: nobody needs them any more."""
    import shutil

    while _folders:
        with suppress(KeyError):
            shutil.rmtree(_folders.popitem()[0], ignore_errors=True)
