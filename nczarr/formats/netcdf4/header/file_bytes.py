"""Bytes of an HDF5 file by address: bounded reads, checksums, the superblock.

Source: HDF5 File Format Specification 3.0, II and VII.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_char_p, c_size_t, c_uint32
from functools import partial
from struct import unpack, unpack_from
from typing import TYPE_CHECKING, TypeVar

from nczarr.diagnostics.report import HEAD
from nczarr.stores.local_paths import add_path_to_errors
from nczarr.stores.places import RemoteFile, find_remote_file

if TYPE_CHECKING:
    from nczarr.formats.netcdf4.library import Library

T = TypeVar("T")

UNDEFINED = 2**64 - 1
"""Address of nothing."""

CHECKSUM = 4
"""Bytes of a checksum."""

PAGE = 1 << 13
"""Bytes that are read at once."""

PAGES = 512
"""Pages that stay in memory."""

SUPERBLOCK = 96
"""Bytes of the longest superblock."""

USER_BLOCK = 512
"""Bytes of the shortest user block, in front of the superblock; longer ones are its powers of two."""

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ROUNDS = 64
"""Maximum rounds of requests for metadata that follow each other."""

_LEAST = 1 << 13
"""Bytes of metadata that are fetched at least."""

_FRONT = 1 << 20
"""End of the bytes that are fetched together once metadata lie among them, behind the file's first request."""

_IN_USE = 7
"""Flags of a file that a program has open for writing, or left without closing it; HDF5 heeds them in version 3."""

_EIGHT = 8
"""Bytes of addresses and lengths."""

_IN_PYTHON = 1 << 15
"""Bytes whose checksums are computed in Python, before the HDF5 library is loaded for them."""


class UnreadableHeaderError(Exception):
    """The metadata contradict the specification, or have a structure that is not read here."""


class UnknownStructureError(UnreadableHeaderError):
    """A structure that is not read here and may be valid. Its text names the structure."""


DAMAGE = (UnreadableHeaderError, struct.error, IndexError, OverflowError, RecursionError)
"""Errors of a header that is damaged, or not read here."""


def reason_of(error: Exception) -> str:
    """Return what is wrong, of an error in `DAMAGE`."""
    if isinstance(error, UnknownStructureError):
        return f"nczarr's header reader does not know {error}"
    return str(error) if isinstance(error, UnreadableHeaderError) else "a structure is damaged"


class _AbsentBytesError(Exception):
    """Bytes of a remote file that are not in memory."""

    def __init__(self, start: int, size: int) -> None:
        super().__init__(start, size)
        self.start = start
        self.size = size


class HeaderFile:
    """Metadata of a file by address. Everything raises UnreadableHeaderError for damage, and OSError."""

    def __init__(self, read: Callable[[int, int], bytes], size: int, remote: RemoteFile | None = None) -> None:
        self._read = read
        self.size = size
        """Bytes of the file."""
        self._remote = remote
        self._collects = False
        self._has_front = False
        self._pages: dict[int, bytes] = {}
        self.base = 0
        """Place of address 0 in the file: after a user block."""
        self.extension = UNDEFINED
        """Address of the superblock's extension."""
        self.is_unclosed = False
        """True if a program has the file open for writing, or did not close it."""
        self.farthest = -1
        """Highest address that a `NotedHeaderFile` read."""

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address."""
        data = self.peek(address, size)
        if len(data) != size:
            raise UnreadableHeaderError("the file ends before one of its structures")
        return data

    def need(self, address: int, size: int) -> None:
        """Raise UnreadableHeaderError unless the file has so many bytes at an address."""
        if self.base + address + size > self.size:
            raise UnreadableHeaderError("the file ends before one of its structures")

    def peek(self, address: int, size: int) -> bytes:
        """Return the bytes at an address, fewer at the end of the file."""
        start = self.base + address
        if self._remote is not None:
            if start < _FRONT and not self._has_front and not self._remote.holds(start, size):
                self._has_front = True  # of files that are arranged for reading by ranges, these are all headers
                self._remote.fetch([(HEAD, _FRONT - HEAD)])
            if self._collects and not self._remote.holds(start, size):
                raise _AbsentBytesError(start, size)
            return self._remote.read(start, size)
        number, first = divmod(start, PAGE)
        if first + size <= PAGE:
            page = self._pages.get(number)
            return (self._page(number) if page is None else page)[first : first + size]
        return self._read(start, max(0, min(size, self.size - start)))

    def together(self, tasks: Sequence[Callable[[], T]], least: int = _LEAST) -> list[T]:
        """Return the results of functions that read metadata. Those of a remote file share their requests.

        A function is called again once the bytes are there that it lacked. `least`: bytes
        that are fetched for each at least.
        """
        if self._remote is None:
            return [task() for task in tasks]
        results: dict[int, T] = {}
        for _ in range(_ROUNDS):
            absent = []
            self._collects = True
            try:
                for place, task in enumerate(tasks):
                    if place not in results:
                        try:
                            results[place] = task()
                        except _AbsentBytesError as error:
                            absent.append((error.start, max(error.size, least)))
            finally:
                self._collects = False
            if not absent:
                break
            if len(set(absent)) == 1:  # the next round would ask for what follows it
                absent = [(absent[0][0], max(absent[0][1], HEAD))]
            self._remote.fetch(absent)
        return [results[place] if place in results else task() for place, task in enumerate(tasks)]

    def expect(self, address: int, size: int) -> None:
        """Note the place of the first part of a chunk index, which may be read later."""
        if self._remote is not None:
            self._remote.indexes.append((self.base + address, size))

    def _page(self, number: int) -> bytes:
        if len(self._pages) >= PAGES:
            self._pages.clear()
        start = number * PAGE
        page = self._pages[number] = self._read(start, min(PAGE, self.size - start)) if start < self.size else b""
        return page

    def read_checked(self, address: int, size: int, signature: bytes) -> bytes:
        """Return a structure of `size` bytes without its checksum, which follows."""
        data = self.read(address, size + CHECKSUM)
        if not data.startswith(signature):
            raise UnreadableHeaderError(f"there is no {signature.decode()} at {address}")
        return without_checksum(data)

    def root(self) -> int:
        """Return the address of the root group's header, and set `base`."""
        place, block = 0, b""
        while place < self.size:
            block = self._read(place, min(SUPERBLOCK, self.size - place))
            if block.startswith(_SIGNATURE):
                break
            place = 2 * place or USER_BLOCK  # II: the signature is at byte 0, 512, 1024, 2048 …
        else:
            raise UnreadableHeaderError("the file has no superblock")
        version = block[8]
        if version in (2, 3):
            return self._read_checked_superblock(place, block, version)
        if version not in (0, 1):
            raise UnknownStructureError(f"version {version} of the superblock")
        _need_eight(block[13:15])
        if len(block) < SUPERBLOCK:
            raise UnreadableHeaderError("the superblock is damaged")
        at = 24 if version == 0 else 28  # version 1 adds K of chunk indexes and two reserved bytes
        base, extension, end, driver = unpack_from("<QQQQ", block, at)
        root, cached = unpack_from("<QI", block, at + 40)
        if extension != UNDEFINED or cached > 1:  # cached 1: its B-tree and heap are in the entry
            raise UnknownStructureError("a value in the superblock")
        if driver != UNDEFINED:  # II.B: driver information of families of files
            raise UnknownStructureError("files that belong together")
        self._place(place, base, end, UNDEFINED)
        return int(root)

    def _read_checked_superblock(self, place: int, block: bytes, version: int) -> int:
        """Return the root's address in a superblock of version 2 or 3, which has a checksum."""
        self.is_unclosed = version == 3 and block[11] != 0  # version 3 brought these flags, for SWMR
        _need_eight(block[9:11])
        if len(block) < 48:  # 48: with eight-byte addresses and a checksum
            raise UnreadableHeaderError("the superblock is damaged")
        base, extension, end, root = unpack_from("<QQQQ", without_checksum(block[:48]), 12)
        if block[11] & ~_IN_USE:
            raise UnknownStructureError("a flag of the superblock")
        self._place(place, base, end, extension)
        return int(root)

    def _place(self, place: int, base: int, end: int, extension: int) -> None:
        """Set the base, as HDF5 does, to the place of the superblock, and the address of its extension."""
        if end + place - base > self.size:
            raise UnreadableHeaderError("the file is shorter than its superblock says")
        self.base = place
        self.extension = extension


class NotedHeaderFile(HeaderFile):
    """Metadata of a file that note in `farthest` where structures were read."""

    def peek(self, address: int, size: int) -> bytes:
        """Return the bytes at an address, and note it."""
        self.farthest = max(self.farthest, self.base + address)
        return super().peek(address, size)


def _need_eight(sizes: bytes) -> None:
    """Raise UnknownStructureError for other sizes of addresses and lengths, OSError for one that HDF5 cannot read."""
    if sizes[1] > _EIGHT:  # HDF5 2.2 neither writes nor reads such lengths, and takes them from stray memory
        raise OSError(errno.ENOTSUP, f"it has lengths of {sizes[1]} bytes, for which HDF5 returns arbitrary values")
    if sizes != bytes((_EIGHT, _EIGHT)):
        raise UnknownStructureError(f"addresses of {sizes[0]} bytes and lengths of {sizes[1]}")


def without_checksum(data: bytes) -> bytes:
    """Return a structure without its last bytes, which are its checksum."""
    body = data[:-CHECKSUM]
    verify(body, data[-CHECKSUM:])
    return body


def verify(data: bytes, checksum: bytes) -> None:
    """Raise UnreadableHeaderError unless the checksum of bytes is right."""
    if _sum(data) != int.from_bytes(checksum, "little"):
        raise UnreadableHeaderError("a checksum is wrong")


def find_loaded() -> Library | None:
    """Return the library if files may be open in it, here or by netCDF4-python; None otherwise."""
    if {"netCDF4", "nczarr.formats.netcdf4.library"}.isdisjoint(sys.modules):
        return None
    from nczarr.formats.netcdf4.library import library

    return library() if library.cache_info().currsize or sys.modules.get("netCDF4") is not None else None


_left = _IN_PYTHON
_fast: Callable[[bytes, int, int], int] | None = None

_SEED = 0xDEADBEEF
_ALL = 0xFFFFFFFF


def lookup3(data: bytes) -> int:
    """Return the 32-bit checksum of HDF5's metadata: Bob Jenkins' lookup3."""
    a = b = c = (_SEED + len(data)) & _ALL
    if not data:
        return c
    words: tuple[int, ...] = unpack(f"<{(len(data) + 11) // 12 * 3}I", data.ljust((len(data) + 11) // 12 * 12, b"\0"))
    for at in range(0, len(words) - 3, 3):
        a, b, c = (a + words[at]) & _ALL, (b + words[at + 1]) & _ALL, (c + words[at + 2]) & _ALL
        a = ((a - c) & _ALL) ^ (c << 4 & _ALL | c >> 28)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ (a << 6 & _ALL | a >> 26)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ (b << 8 & _ALL | b >> 24)
        b = (b + a) & _ALL
        a = ((a - c) & _ALL) ^ (c << 16 & _ALL | c >> 16)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ (a << 19 & _ALL | a >> 13)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ (b << 4 & _ALL | b >> 28)
        b = (b + a) & _ALL
    a, b, c = (a + words[-3]) & _ALL, (b + words[-2]) & _ALL, (c + words[-1]) & _ALL
    c = ((c ^ b) - (b << 14 & _ALL | b >> 18)) & _ALL
    a = ((a ^ c) - (c << 11 & _ALL | c >> 21)) & _ALL
    b = ((b ^ a) - (a << 25 & _ALL | a >> 7)) & _ALL
    c = ((c ^ b) - (b << 16 & _ALL | b >> 16)) & _ALL
    a = ((a ^ c) - (c << 4 & _ALL | c >> 28)) & _ALL
    b = ((b ^ a) - (a << 14 & _ALL | a >> 18)) & _ALL
    return ((c ^ b) - (b << 24 & _ALL | b >> 8)) & _ALL


def _sum(data: bytes) -> int:
    """Return the checksum of bytes, by the HDF5 library if it is loaded or there are many."""
    global _left, _fast
    if _fast is not None:
        return _fast(data, len(data), 0)
    _left -= len(data)
    if _left < 0 or find_loaded() is not None:
        from nczarr.formats.netcdf4.library import MissingLibraryError, library

        try:
            function = library().dll.H5_checksum_metadata
        except (MissingLibraryError, AttributeError):
            _left = 1 << 62  # never ask the library again
            return lookup3(data)
        function.argtypes, function.restype = (c_char_p, c_size_t, c_uint32), c_uint32
        _fast = function
        return _sum(data)
    return lookup3(data)


@contextmanager
def header_file(path: str, make: type[HeaderFile] = HeaderFile) -> Iterator[HeaderFile]:
    """Open the metadata of a file. Raises OSError."""
    remote = find_remote_file(path)
    if remote is not None:
        yield make(remote.read, remote.size, remote)
        return
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        with add_path_to_errors(path):
            yield make(partial(_read, descriptor), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _read(descriptor: int, offset: int, size: int) -> bytes:
    if size <= 0:
        return b""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)
