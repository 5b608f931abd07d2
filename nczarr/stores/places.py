"""Places behind URLs as the compiler sees them: connections, files read by ranges, and stores and targets there.

A plugin is asked for them by protocol. A remote file has a path of its own in this process, which is no path of the
file system: code that does not know remote files finds nothing there, and fails.
"""

from __future__ import annotations

import io
import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, overload

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.names.plugin_index import find_place, list_offered, load_part
from nczarr.names.records import NamedTuple
from nczarr.stores.ranges import Range, remote
from nczarr.stores.url import MissingProtocolError

if TYPE_CHECKING:
    from nczarr.stores.base import Extensible, Store, StoreJournal
    from nczarr.stores.lock import Lock

BLOCK = 1 << 12
"""Bytes of a block: a page of memory. Blocks are requested and kept as a whole."""

HEAD = 1 << 16
"""Bytes of the first request."""

TAIL = 1 << 18
"""Bytes of the first request for an archive, whose directory is at its end."""

LEAST, MOST = 1 << 15, 8 << 20
"""Bytes of a request for headers: the first of a sequence, doubled by each that continues it; maximum."""

AT_ONCE = 32
"""Concurrent requests for one file."""


at_interrupt: list[Callable[[], object]] = []
"""Functions that cancel pending requests, called when a signal ends the run: threads would wait for their answers."""


class Connection(Protocol):
    """A place behind a URL, opened with the first request. It pickles as a description."""

    url: str
    shown: str
    """URL without secrets, for messages."""

    @property
    def root(self) -> str:
        """Path of the place for its library, without trailing slash. Raises OSError."""

    def call(self, what: str, key: str, *arguments: Any, size: int = 0, **named: Any) -> Any:
        """Call a method of fsspec's file systems on a key's path, with retries; `size`: approximate bytes.

        Raises OSError, BadURLError, MissingProtocolError.
        """

    def ask(self, what: str, *arguments: Any, size: int = 0) -> Any:
        """Call a method of the file system with arguments of its own, as `call`."""

    def share_system(self, url: str) -> Connection:
        """Return another place in the same file system. Raises BadURLError, OSError."""


class Hdf5Driver(Protocol):
    """Driver of HDF5 that reads remote files, registered with its library."""

    number: int
    """Identifier in HDF5."""

    def failure(self) -> BaseException | None:
        """Return the first failure of a request since the last call; HDF5 knows only that there was one."""


class RemoteFile(ABC):
    """Bytes of a remote object. Slices are bytes; threads may read concurrently."""

    connection: Connection
    info: dict[str, Any]
    """Listed properties of the object."""
    size: int
    name: str
    """URL without secrets, for messages."""
    path: str
    """Its path in this process."""
    indexes: list[tuple[int, int]]
    """Places (offset, length) of the first parts of all chunk indexes, if known."""
    inside: Range | None = None
    """Its bytes in another file, such as an archive, that has them in one piece."""
    requests: int
    """Requests that were sent for this file."""
    received: int
    """Bytes of their answers."""

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> bytes: ...
    def __getitem__(self, key: int | slice) -> int | bytes:
        if isinstance(key, slice):
            start, stop, step = key.indices(self.size)
            return self.read(start, max(0, stop - start))[::step]
        return self.read(range(self.size)[key], 1)[0]

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, fewer at the end of the file, from blocks that are kept. Raises OSError."""

    @abstractmethod
    def fetch(self, places: Iterable[tuple[int, int]]) -> None:
        """Fetch the blocks of many places (offset, length) in advance, side by side. Raises OSError."""

    def is_sound(self) -> bool | None:
        """Return whether the bytes have the checksum of the archive that has them; None without one. Raises OSError."""
        return None

    @abstractmethod
    def expect_index(self) -> None:
        """Prepare to read a whole chunk index: who reads two of them reads all. Raises OSError."""

    @abstractmethod
    def holds(self, offset: int, length: int) -> bool:
        """Return whether all bytes of a place are kept."""

    @abstractmethod
    def several(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of places (offset, length), which are not kept; near ones share a request.

        Raises OSError, also if the file ends before.
        """

    @abstractmethod
    def value(self, begin: int, end: int) -> bytes:
        """Return bytes from the kept blocks, or from a request. Raises OSError."""

    @abstractmethod
    def window(self, begin: int, end: int, places: Iterable[tuple[int, int]]) -> mmap.mmap:
        """Return memory for the bytes from `begin` to `end` that has those of the places; the rest is zero.

        Pages without bytes use no memory. Raises OSError.
        """

    @abstractmethod
    def open_file(self) -> io.BufferedReader:
        """Return a file object of the bytes."""

    @abstractmethod
    def find_driver(self, library: Any) -> Hdf5Driver | None:
        """Return the driver for netCDF's library, whose `dll` it calls; None if its HDF5 is too old."""

    @abstractmethod
    def copy(self) -> str:
        """Return the path of a local copy, which exists as long as this process. Raises OSError."""


def find_remote_file(path: str) -> RemoteFile | None:
    """Return the remote file with this path; None for paths of the file system. Raises OSError if it is unknown."""
    file = remote(path)
    assert file is None or isinstance(file, RemoteFile)
    return file


OTHERS = "*"
"""Name of the places of all protocols that have none of their own."""


class Obstacle(NamedTuple):
    """Existing content at the place of a target."""

    words: str
    """Predicate for messages."""
    replaceable: bool
    """True if `--overwrite` may replace it."""
    unfinished: bool = False
    """True if it is an unfinished store."""


class Unfinished(NamedTuple):
    """An unfinished file."""

    path: str
    discard: Callable[[], None]
    """Prevents its publication."""


class RemotePlaces(Protocol):
    """Reader and writer of the URLs of some protocols. Methods raise OSError, BadURLError, MissingProtocolError."""

    def connect(
        self,
        url: str,
        storage: StorageOptions = NO_OPTIONS,
        make_system: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> Connection:
        """Return a connection. `make_system`: makes a file system of fsspec of its arguments; None: the usual one."""

    def open_path(self, url: str, storage: StorageOptions, is_ranged: Callable[[bytes], bool]) -> Source | Store:
        """Open a folder or archive as store, else one file; `is_ranged` as in `stores.open.open_path`."""

    def reopen(self, path: str, remote: RemoteFile | None, *, tail: bool) -> RemoteFile:
        """Return a file as if it were opened first, to count its requests: a remote one, or a local one by its path.

        `tail`: it begins with its last bytes, not with the first.
        """

    def is_store(self, url: str, storage: StorageOptions) -> bool:
        """Return whether a folder is at a URL; else it is one object."""

    def find_obstacle(self, url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
        """Return the existing content at the URL of a new store or file, or None.

        A store may replace a store, a file a file. Folders with other content may be user data.
        """

    def identify(self, url: str, storage: StorageOptions) -> str | None:
        """Return a text that changes with the content, without reading it whole; None if it is not detectable."""

    def lock(self, url: str, storage: StorageOptions, *, checks: bool) -> Lock:
        """Lock a target; `checks`: find out whether the server heeds conditions. Raises BusyTargetError."""

    def write_file(self, url: str, storage: StorageOptions) -> AbstractContextManager[Unfinished]:
        """Provide a temporary file, which is sent at the end of the block if that succeeds."""

    def begin_store(
        self, url: str, storage: StorageOptions, *, journal: StoreJournal, overwrite: bool, resume: bool
    ) -> Store:
        """Begin a store of keys. Raises FileExistsError, CompileError with busy-target."""

    def begin_archive(self, url: str, storage: StorageOptions) -> Store:
        """Begin an archive, which is sent when it is finished."""

    def extend(self, url: str, storage: StorageOptions) -> Extensible:
        """Return an existing store for changes."""

    def remove_objects(self, url: str, storage: StorageOptions) -> None:
        """Remove all objects below a URL, if its protocol has objects that other programs see."""


def look_up_places(url: str) -> RemotePlaces | None:
    """Return the places of the protocol of a URL, the last one of a chain; None without a plugin for them."""
    return _look_up(url.rpartition("::")[2].partition("://")[0].lower())


@lru_cache(64)
def _look_up(protocol: str) -> RemotePlaces | None:
    offered = list_offered("place")
    name = protocol if protocol in offered else OTHERS
    row = find_place("place", name) if name in offered else None
    places: RemotePlaces | None = None if row is None else load_part(row)
    return places


def find_places(url: str) -> RemotePlaces:
    """Return the places of the protocol of a URL. Raises MissingProtocolError without a plugin for them."""
    places = look_up_places(url)
    if places is None:
        text = "URLs need a plugin for remote places, and this installation has none"
        raise MissingProtocolError(text, "install a package of NCZarr with all its plugins")
    return places


def is_page(head: bytes) -> bool:
    """Return whether first bytes are those of a web page, which may list a folder."""
    return b"<html" in (text := head.lower()) or b"<!doctype html" in text
