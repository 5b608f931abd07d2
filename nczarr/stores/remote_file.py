"""Places behind URLs as the compiler sees them: a connection that is asked, and a file that is read by ranges.

A remote file has a path of its own in this process, which is no path of the file
system: code that does not know remote files finds nothing there, and fails.
"""

from __future__ import annotations

import io
import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, overload

from nczarr.stores.ranges import Range, remote

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


def at(path: str) -> RemoteFile | None:
    """Return the remote file with this path; None for paths of the file system. Raises OSError if it is unknown."""
    file = remote(path)
    assert file is None or isinstance(file, RemoteFile)
    return file
