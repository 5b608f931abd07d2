"""Files that were fetched or came through a pipe, for libraries that need a file.

Each is in its own temporary folder (`TMPDIR`) while the process needs it.
"""

import atexit
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, BinaryIO

from nczarr.stores.places import find_remote_file

PIECE = 8 << 20
"""Bytes of a stream that are copied at a time."""

STREAM = "<stdin>"
"""Display name of a file from a pipe."""

_folders: dict[str, str] = {}
"""Folders of fetched files, with the displayable URLs of these."""

_origins: dict[str, tuple[str, dict[str, Any]]] = {}
"""URL and listed properties of fetched files, by folder."""

_own = local()
"""Files fetched by each thread in a `remove_fetched_files` block."""


def keep_stream(head: bytes, rest: BinaryIO) -> str:
    """Return the path of a file with a stream's bytes, which exists until `clear`. Raises OSError."""
    import shutil

    path = os.path.join(_new_folder(STREAM), "data")
    with open(path, "wb") as file:
        file.write(head)
        shutil.copyfileobj(rest, file, PIECE)
    return path


def add_folder(shown: str) -> str:
    """Return a new temporary folder for a fetched file with this displayable name.

    It exists until `clear`, or until the end of a `remove_fetched_files` block.
    """
    folder = _new_folder(shown)
    if getattr(_own, "folders", None) is not None:
        _own.folders.append(folder)
    return folder


def note_origin(folder: str, url: str, info: dict[str, Any]) -> None:
    """Note the URL and listed properties of the fetched file in a folder."""
    _origins[folder] = url, info


def _new_folder(shown: str) -> str:
    """Return a new temporary folder, which exists until `clear`, for a file with this displayable name."""
    if not _folders:
        atexit.register(clear)
    folder = tempfile.mkdtemp(prefix="nczarr-")
    _folders[folder] = shown
    return folder


def name_of(path: str) -> str:
    """Return a file's display name: its source URL, else its path."""
    remote = find_remote_file(path)
    return remote.name if remote is not None else _folders.get(os.path.dirname(path), path)


def origin(path: str) -> tuple[str, dict[str, Any]] | None:
    """Return the URL and listed properties of a fetched or remote file; None for other files."""
    remote = find_remote_file(path)
    if remote is not None:
        return None if remote.inside else (remote.connection.url, remote.info)
    return _origins.get(os.path.dirname(path))


def is_from_pipe(path: str) -> bool:
    """Return whether a file is temporary and no place has its bytes: it came through a pipe, or was unpacked."""
    return (os.path.dirname(path) in _folders or find_remote_file(path) is not None) and origin(path) is None


def clear() -> None:
    """Remove all fetched files."""
    _remove_folders(list(_folders))


@contextmanager
def remove_fetched_files() -> Iterator[list[str]]:
    """Remove the files that this thread fetched in the block at its end; provide the list of their folders."""
    before, _own.folders = getattr(_own, "folders", None), []
    try:
        yield _own.folders
    finally:
        _remove_folders(_own.folders)
        _own.folders = before


def _remove_folders(folders: Iterable[str]) -> None:
    import shutil

    for folder in folders:
        _folders.pop(folder, None)
        _origins.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)
