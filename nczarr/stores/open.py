"""Opening of a path or URL, and replacement of single files. Detection is by content, not by suffix."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING, cast

from nczarr.diagnostics.report import HEAD, Buffer, Source
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.names.plugin_index import find_place, list_offered, load_part
from nczarr.stores.base import Store
from nczarr.stores.commitment import note_commit
from nczarr.stores.local_paths import add_path_to_errors, is_folder
from nczarr.stores.places import Unfinished, find_places
from nczarr.stores.url import Location, Repository, find_kind, is_remote, location

if TYPE_CHECKING:
    from nczarr.stores.places import RemoteFile

MAPS_NO_FILES = Event()
"""Set in processes that map no files, such as servers."""


def open_source(path: str, name: str | None = None) -> Source:
    """Open a text or file, memory-mapped if regular; `name`: display name. Raises OSError.

    A process that maps no files gets a `LocalFile` as its bytes.
    """
    name = path if name is None else name
    with open(path, "rb") as file, add_path_to_errors(path):
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size:
            if MAPS_NO_FILES.is_set():
                from nczarr.stores.local_file import LocalFile

                return Source(name, cast("Buffer", LocalFile(path)), path=path)
            return Source(name, map_file(path), path=path)
        return Source(name, file.read(), path=path)


def map_file(path: str) -> mmap.mmap:
    """Return the map of a file. Raises OSError, ValueError for an empty one."""
    with open(path, "rb") as file, add_path_to_errors(path):
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@contextmanager
def write_beside(path: str, storage: StorageOptions = NO_OPTIONS) -> Iterator[Unfinished]:
    """Provide a temporary sibling of `path`; it replaces `path` if the block succeeds, else it is removed.

    So targets are never partial, and a failed run leaves an old one unchanged.
    A target at a URL is made in a temporary folder, and sent. Raises OSError.
    """
    if is_remote(path):
        with find_places(path).write_file(path, storage) as unfinished:
            yield unfinished
        return
    from nczarr.stores import finish

    growing = finish.partial(path)
    discarded: list[bool] = []
    published = False
    try:
        yield Unfinished(growing, lambda: discarded.append(True))
        if not discarded:
            with finish.delay_signals():
                os.replace(growing, path)
                published = True
                note_commit(path)
    finally:
        if not published:
            with finish.delay_signals(), suppress(FileNotFoundError):
                os.unlink(growing)
        finish.unfinished.discard(growing)


ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""Magic numbers of archives; the second is for empty ones."""


def open_path(
    path: str, storage: StorageOptions = NO_OPTIONS, is_ranged: Callable[[bytes], bool] = lambda head: False
) -> Source | Store:
    """Open a folder, archive or repository as store, else one file.

    `is_ranged`: whether the first `HEAD` bytes of a file belong to a format that is
    read by ranges where the file is remote; others are fetched whole.

    Raises OSError, BadURLError, MissingProtocolError.
    """
    place = location(path)
    if place.kind:
        return find_kind(place.kind).open(path, place, storage)
    if place.remote:
        return find_places(path).open_path(path, storage, is_ranged)
    path = place.path
    if is_folder(path):
        return _open_folder(path, storage)
    try:
        return open_file(path, path)
    except NotADirectoryError:
        if (inner := find_place("container", "member")) is None:
            raise
        return cast("Source | Store", load_part(inner)(path))


def _open_folder(path: str, storage: StorageOptions) -> Source | Store:
    """Open a folder: the branch `main` if it is a repository, else its files."""
    repository = find_repository(path)
    if repository is not None:
        place = Location(path, repository=repository, kind=repository.format)
        return find_kind(place.kind).open(path, place, storage)
    from nczarr.stores.directory import DirectoryStore

    return DirectoryStore(path)


def find_repository(folder: str) -> Repository | None:
    """Return the repository that a local folder is; None for others, and if it is inaccessible."""
    for name in list_offered("folder"):
        place = find_place("folder", name) if os.path.lexists(os.path.join(folder, name)) else None
        repository: Repository | None = None if place is None else load_part(place)(folder)
        if repository is not None:
            return repository
    return None


def open_file(path: str, name: str) -> Source | Store:
    """Open an archive or file; `name` is its display name."""
    source = open_source(path, name)
    return open_container(bytes(source.data[:HEAD]), path, name) or source


def open_container(head: bytes, path: str, name: str) -> Source | Store | None:
    """Open an archive, or a compressed file by a plugin; None for other first bytes."""
    if (opener := find_place("container", "file")) is not None:
        return cast("Source | Store | None", load_part(opener)(head, path, name))
    from nczarr.stores.zip import ZipStore

    return ZipStore(path, name) if head.startswith(ZIP) else None


def open_ranged(file: RemoteFile) -> Source | Store:
    """Return the archive or source of a file that is read by ranges."""
    opened = open_container(file[:HEAD], file.path, file.name) if file[:4].startswith(ZIP) else None
    return opened or Source(file.name, cast("Buffer", file), binary=True, path=file.path)  # its reader slices it alone


def is_store(path: str, storage: StorageOptions = NO_OPTIONS) -> bool:
    """Return whether a store of keys is at a path or URL; False if it is inaccessible or damaged."""
    try:
        place = location(path)
        if place.remote and not place.kind:
            return path.lower().endswith(".zip") or find_places(path).is_store(path, storage)
        return place.repository is not None if place.kind else not isinstance(open_path(path), Source)
    except (OSError, ValueError, ImportError):
        return False
