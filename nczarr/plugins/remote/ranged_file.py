"""Remote files read by ranges: blocks of headers are kept, values are passed on.

Every answer must have the size and tag of the first one, so that two states of a file
never mix.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from nczarr.plugins.common.raw_file import ChangedError, SeekableFile
from nczarr.plugins.remote.range_request import describe_object
from nczarr.stores.places import AT_ONCE, BLOCK, HEAD, LEAST, MOST, TAIL, Hdf5Driver, RemoteFile, find_remote_file
from nczarr.stores.ranges import (
    GAP,
    REMOTE,
    REQUEST,
    BoundedCache,
    announce,
    neighbours,
)

if TYPE_CHECKING:
    from nczarr.plugins.remote.connection import FileConnection

T = TypeVar("T")

KEPT = 64 << 20
"""Maximum bytes of the blocks of a file in memory."""

SEVERAL = 2
"""Read chunk indexes after which all others are expected to be read."""


class RangedFile(RemoteFile):
    """Bytes of a remote object. Slices are bytes; threads may read concurrently."""

    connection: FileConnection

    def __init__(self, connection: FileConnection, info: dict[str, Any], path: str | None = None) -> None:
        self.connection = connection
        self.info = info
        self.size: int = info["size"]
        self.name = connection.shown
        self.path = path or os.path.join(REMOTE, os.urandom(16).hex(), os.path.basename(connection.root) or "data")
        self._told = describe_object(info)
        self._blocks: BoundedCache[int, bytes] = BoundedCache(KEPT // BLOCK)
        self._lock = Lock()
        self._next = 0
        """Block behind the last request for headers."""
        self._window = HEAD
        """Bytes of the last request for headers."""
        self.indexes = []
        self._asked_indexes = 0
        self.requests = 0
        self.received = 0
        described = copy(connection)  # with the connection itself, each file ever opened would keep its sockets
        announce(self.path, self, partial(type(self), described, info, self.path))

    @classmethod
    def of(cls, connection: FileConnection, *, tail: bool = False) -> RangedFile:
        """Return a file, with its first bytes, or the last ones (`tail`). Raises UnrangedError, OSError."""
        answer = connection.read_range(-TAIL, 0) if tail else connection.read_range(0, HEAD)
        file = cls(connection, answer.info)
        begin = file.size - len(answer.data) if tail else 0
        first = -(-begin // BLOCK)
        blocks = file._keep(first, answer.data[first * BLOCK - begin :])
        file._count(answer.data)
        file._next = first + len(blocks)
        return file

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.size} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.connection, self.info, self.path)

    # ---- blocks ------------------------------------------------------------------------------------------------
    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, fewer at the end of the file, from blocks that are kept. Raises OSError."""
        end = min(offset + length, self.size)
        if end <= offset:
            return b""
        numbers = range(offset // BLOCK, -(-end // BLOCK))
        blocks = self._keep_longer(numbers)
        missing = [number for number in numbers if number not in blocks]
        if missing:
            blocks.update(self._fetch_run(missing[0], missing[-1] + 1))
        if len(numbers) == 1:
            begin = numbers[0] * BLOCK
            return blocks[numbers[0]][offset - begin : end - begin]
        begin = numbers.start * BLOCK
        return b"".join(blocks[number] for number in numbers)[offset - begin : end - begin]

    def _keep_longer(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return the blocks of these that are kept, and keep them longer."""
        blocks = ((number, self._blocks.get(number)) for number in numbers)
        return {number: block for number, block in blocks if block is not None}

    def _fetch_run(self, first: int, stop: int) -> dict[int, bytes]:
        """Fetch adjacent blocks, and more behind them if they continue the last request. Raises OSError."""
        with self._lock:
            self._window = min(2 * self._window, MOST) if first == self._next else LEAST
            stop = max(stop, first + self._window // BLOCK)
            while stop - 1 > first and stop - 1 in self._blocks:
                stop -= 1
            self._next = stop
        return self._fetch_blocks([(first, stop)])

    def fetch(self, places: Iterable[tuple[int, int]]) -> None:
        """Fetch the blocks of many places (offset, length) in advance, side by side. Raises OSError."""
        numbers = {
            number
            for offset, length in places
            if 0 <= offset < self.size
            for number in range(offset // BLOCK, -(-min(offset + max(1, length), self.size) // BLOCK))
        }
        missing = sorted(numbers.difference(self._keep_longer(numbers)))
        runs: list[tuple[int, int]] = []
        for number in missing:
            near = runs and (number - runs[-1][1]) * BLOCK <= GAP and (number - runs[-1][0]) * BLOCK < MOST
            if near:
                runs[-1] = runs[-1][0], number + 1
            else:
                runs.append((number, number + 1))
        self._fetch_blocks(runs)

    def expect_index(self) -> None:
        """Prepare to read a whole chunk index: who reads two of them reads all. Raises OSError."""
        self._asked_indexes += 1
        if self._asked_indexes == SEVERAL:
            self.fetch(self.indexes)

    def _fetch_blocks(self, runs: Sequence[tuple[int, int]]) -> dict[int, bytes]:
        """Fetch and return runs (first, stop) of blocks. Raises OSError."""
        blocks: dict[int, bytes] = {}
        answers = _each(lambda run: self._request(run[0] * BLOCK, run[1] * BLOCK), runs)
        for (first, _), data in zip(runs, answers, strict=True):
            blocks.update(self._keep(first, data))
        return blocks

    def _keep(self, first: int, data: bytes) -> dict[int, bytes]:
        """Keep whole blocks from bytes that begin with block `first`; return them."""
        view = memoryview(data)
        whole = range(0, len(data), BLOCK)
        blocks = {first + at // BLOCK: bytes(view[at : at + BLOCK]) for at in whole}
        for number, block in blocks.items():
            self._blocks.put(number, block)
        return blocks

    def holds(self, offset: int, length: int) -> bool:
        """Return whether all bytes of a place are kept."""
        numbers = range(offset // BLOCK, -(-min(offset + length, self.size) // BLOCK))
        return all(number in self._blocks for number in numbers)

    # ---- values ------------------------------------------------------------------------------------------------
    def several(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of places (offset, length), which are not kept; near ones share a request.

        Raises OSError, also if the file ends before.
        """
        pieces: list[bytes] = [b""] * len(places)

        def fetch(group: tuple[int, int, list[tuple[int, int, int]]]) -> None:
            begin, end, members = group
            data = memoryview(self.value(begin, end))
            for offset, length, number in members:
                pieces[number] = bytes(data[offset - begin : offset - begin + length])

        _each(fetch, list(neighbours((*place, number) for number, place in enumerate(places))))
        return pieces

    def fill(self, target: memoryview, begin: int, places: Iterable[tuple[int, int]]) -> None:
        """Put the bytes of places (offset, length) into a buffer whose first byte is byte `begin` of the file.

        Raises OSError, also if the file ends before.
        """
        pieces = [
            (at, min(REQUEST, offset + length - at), None)
            for offset, length in places
            for at in range(offset, offset + length, REQUEST)
        ]

        def fetch(group: tuple[int, int, list[tuple[int, int, None]]]) -> None:
            start, end, _ = group
            target[start - begin : end - begin] = self.value(start, end)

        _each(fetch, list(neighbours(pieces)))

    def value(self, begin: int, end: int) -> bytes:
        """Return bytes from the kept blocks, or from a request. Raises OSError."""
        if end > self.size:
            raise OSError(errno.EIO, f"the file ends at byte {self.size}, before byte {end}", self.name)
        numbers = range(begin // BLOCK, -(-end // BLOCK))
        if len(numbers) * BLOCK <= KEPT:
            blocks = self._keep_longer(numbers)
            if len(blocks) == len(numbers):
                first = numbers.start * BLOCK
                return b"".join(blocks[number] for number in numbers)[begin - first : end - first]
        return self._request(begin, end)

    def _request(self, begin: int, end: int) -> bytes:
        """Return bytes from one request, fewer at the end of the file. Raises OSError."""
        answer = self.connection.read_range(begin, min(end, self.size), self.size)
        self._count(answer.data)
        if describe_object(answer.info) != self._told:
            error = ChangedError()
            error.filename = self.name
            raise error
        return answer.data

    def _count(self, data: bytes) -> None:
        with self._lock:
            self.requests += 1
            self.received += len(data)

    def window(self, begin: int, end: int, places: Iterable[tuple[int, int]]) -> mmap.mmap:
        """Return memory for the bytes from `begin` to `end` that has those of the places; the rest is zero.

        Pages without bytes use no memory. Raises OSError.
        """
        from nczarr.stores.local_file import sparse_memory

        memory = sparse_memory(end - begin)
        with memoryview(memory) as view:
            self.fill(view, begin, places)
        return memory

    def open_file(self) -> io.BufferedReader:
        """Return a file object of the bytes."""
        return io.BufferedReader(_RemoteFileObject(self), BLOCK)

    def find_driver(self, library: Any) -> Hdf5Driver | None:
        """Return the driver for netCDF's library; None if its HDF5 is too old."""
        from nczarr.plugins.remote.hdf5_driver import find_driver

        return find_driver(library)

    def copy(self) -> str:
        """Return the path of a local copy, which exists as long as this process. Raises OSError."""
        from nczarr.plugins.remote.transfer import fetch_file

        return fetch_file(self.connection)


class _RemoteFileObject(SeekableFile):
    """File object of a remote file."""

    def __init__(self, file: RangedFile) -> None:
        super().__init__()
        self._file = file

    def size(self) -> int:
        return self._file.size

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._file.read(self.at, len(view))
        view[: len(data)] = data
        self.at += len(data)
        return len(data)


def _again(kind: type[RangedFile], connection: FileConnection, info: dict[str, Any], path: str) -> RangedFile:
    """Return a file that this or another process opened."""
    with suppress(OSError):
        file = find_remote_file(path)
        if isinstance(file, RangedFile):
            return file
    return kind(connection, info, path)


def _each(do: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
    """Return the results for all items, in order; several are made side by side."""
    if len(items) < 2:
        return [do(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as threads:
        return list(threads.map(do, items))
