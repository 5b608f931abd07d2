"""Sparse memory, and files of the file system read by position, for processes that must outlive changes of their files.

A memory map is faster, but the system ends a process that touches the map of a
file that was cut. Here every answer is checked: the file must have the identity,
size and time of the first look, so that two states of a file never mix.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Iterable
from typing import overload

from nczarr.stores import local_paths
from nczarr.stores.ranges import neighbours

_UNRESERVED: int = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Flag without which the system refuses more than its memory; Python names it since 3.13."""


def sparse_memory(size: int) -> mmap.mmap:
    """Return zeros, of which only the used pages take memory. Raises OSError if there is no address space for them."""
    memory = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _UNRESERVED)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # to read one page would use hundreds
    return memory


Identity = tuple[int, int, int, int]

BLOCK = 1 << 16
"""Bytes that are read at once for short slices, which are those of headers."""

DENSE = 2
"""A window whose places have at least this part of its bytes, 1 in `DENSE`, is read as a whole."""


class ReplacedError(OSError):
    """A file that changed while it was read."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, "the file has changed since it was opened", path)


class LocalFile:
    """Bytes of a file. Slices are bytes; threads may read concurrently. Raises OSError, ReplacedError."""

    def __init__(self, path: str) -> None:
        self.path = local_paths.absolute(path)
        self._identity = identity_of(os.stat(self.path))
        self.size = self._identity[2]
        self._block: tuple[int, bytes] = (0, b"")

    def __reduce__(self) -> tuple[type[LocalFile], tuple[str]]:
        return LocalFile, (self.path,)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> bytes: ...
    def __getitem__(self, key: int | slice) -> int | bytes:
        if isinstance(key, slice):
            start, stop, step = key.indices(self.size)
            return self.value(start, max(start, stop))[::step]
        place = range(self.size)[key]
        return self.value(place, place + 1)[0]

    def value(self, begin: int, end: int) -> bytes:
        """Return the bytes from `begin` to `end`."""
        if end - begin >= BLOCK:
            content = bytearray(end - begin)
            self._read(begin, memoryview(content))
            return bytes(content)
        first, block = self._block
        if not first <= begin <= end <= first + len(block):
            content = bytearray(max(0, min(BLOCK, self.size - begin)))
            self._read(begin, memoryview(content))
            first, block = self._block = begin, bytes(content)
        return block[begin - first : end - first]

    def window(self, begin: int, end: int, places: Iterable[tuple[int, int]]) -> bytearray | mmap.mmap:
        """Return memory for the bytes from `begin` to `end` that has those of the places (offset, length).

        Where the places have few of the bytes, the rest is zero, and its pages use no memory.
        """
        pieces = list(neighbours((offset, length, None) for offset, length in places))
        if sum(stop - start for start, stop, _ in pieces) * DENSE >= end - begin:
            whole = bytearray(end - begin)
            self._read(begin, memoryview(whole))
            return whole
        memory = sparse_memory(end - begin)
        with memoryview(memory) as view:
            for start, stop, _ in pieces:
                self._read(start, view[start - begin : stop - begin])
        return memory

    def _read(self, at: int, target: memoryview) -> None:
        """Fill a buffer with the bytes from `at`."""
        number = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        try:
            filled = 0
            with local_paths.add_path_to_errors(self.path):
                while filled < len(target):
                    count = os.preadv(number, [target[filled:]], at + filled)
                    if not count:
                        break
                    filled += count
                if identity_of(os.fstat(number)) != self._identity:
                    raise ReplacedError(self.path)
            if filled < len(target):
                raise OSError(errno.EIO, f"the file ends before byte {at + len(target)}", self.path)
        finally:
            os.close(number)


def identity_of(status: os.stat_result) -> Identity:
    """Return device, inode, size and modification time of a file in one state."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
