"""Single files: sources opened without copies, targets that appear whole or not at all."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, cast

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.diagnostics.source import Buffer, Source
from nczarr.stores import finish
from nczarr.stores.local_file import UNMAPPED, LocalFile
from nczarr.stores.removal import unstopped
from nczarr.stores.url import is_remote


def open_source(path: str, name: str | None = None) -> Source:
    """Open a text or file, memory-mapped if regular; `name`: display name. Raises OSError.

    A process that maps no files gets a `LocalFile` as its bytes.
    """
    name = path if name is None else name
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size:
            if UNMAPPED.is_set():
                return Source(name, cast("Buffer", LocalFile(path)), path=path)
            return Source(name, mapped(path), path=path)
        return Source(name, file.read(), path=path)


def mapped(path: str) -> mmap.mmap:
    """Return the map of a file. Raises OSError, ValueError for an empty one."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Unfinished(NamedTuple):
    """An unfinished file."""

    path: str
    """Its path."""
    discard: Callable[[], None]
    """Prevents its publication."""


@contextmanager
def beside(path: str, storage: StorageOptions = NO_OPTIONS) -> Iterator[Unfinished]:
    """Provide a temporary sibling of `path`; it replaces `path` if the block succeeds, else it is removed.

    So targets are never partial, and a failed run leaves an old one unchanged.
    A target at a URL is made in a temporary folder, and sent. Raises OSError.
    """
    if is_remote(path):
        with _sent(path, storage) as unfinished:
            yield unfinished
        return
    growing = finish.partial(path)
    discarded: list[bool] = []
    try:
        yield Unfinished(growing, lambda: discarded.append(True))
        if not discarded:
            os.replace(growing, path)
    finally:
        with unstopped(), suppress(FileNotFoundError):
            os.unlink(growing)
        finish.unfinished.discard(growing)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Name a target in errors of the system and of libraries, which say why, not where."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = path
        raise


@contextmanager
def _sent(url: str, storage: StorageOptions) -> Iterator[Unfinished]:
    import tempfile

    from nczarr.stores.connection import FileConnection
    from nczarr.stores.spool import send

    connection = FileConnection(url, storage)
    discarded: list[bool] = []
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        finish.unfinished.add(folder)
        path = os.path.join(folder, os.path.basename(connection.root) or "data")
        yield Unfinished(path, lambda: discarded.append(True))
        if not discarded:
            send(connection, path)
    finish.unfinished.discard(folder)
