"""Object headers of a closed netCDF-4 file as bytes, for changes that HDF5 has no function for.

Offsets stay; checksums are verified and recomputed. Source: HDF5 File Format Specification 3.0, IV.A.1.b
(version 2 object headers, as the library writes), IV.A.2.q (continuation).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from ctypes import byref
from typing import BinaryIO, NamedTuple

from nczarr import names
from nczarr.arrays.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import Hdf5, ObjectInfo, closing, hdf5, object_path, open_file
from nczarr.formats.netcdf4.library import Library

_BASIC = 0x1
"""Requested object information (H5O_INFO_BASIC)."""

_HEADER, _MORE = b"OHDR\x02", b"OCHK"
"""Signatures of the first block of a header, with its version, and of the others."""

_ORDERED, _LIMITS, _TIMES = 0x04, 0x10, 0x20
"""Flags of a header: messages have an order of creation, limits of attributes are given, times are given."""

_FLAGS = len(_HEADER)
"""Offset of the flags of a header; optional times follow."""

_TIME_BYTES = 16
"""Size of the times: access, modification, change and birth."""

_CHECKSUM = 4
_OFFSET = _LENGTH = 8
"""Bytes of a checksum, and of an address and a length in files that the library makes."""


class Block(NamedTuple):
    """Block of an object header: address, bytes without checksum, offset of messages."""

    address: int
    data: bytes
    first: int

    @property
    def ordered(self) -> bool:
        """Whether messages have a creation order (first block only)."""
        return bool(self.data[_FLAGS] & _ORDERED)

    @property
    def times(self) -> slice | None:
        """Position of the times (first block only); None without times."""
        return slice(_FLAGS + 1, _FLAGS + 1 + _TIME_BYTES) if self.data[_FLAGS] & _TIMES else None


class Message(NamedTuple):
    """Message of a header: type, flags, offset in the block, size of its body."""

    kind: int
    flags: int
    start: int
    size: int


class ObjectPath(NamedTuple):
    """Group of an object and its possible names; the first existing one counts."""

    group: tuple[str, ...]
    names: tuple[str, ...]


def addresses(lib: Library, path: str, places: Iterable[ObjectPath]) -> list[int]:
    """Return the header addresses of objects in a closed file. Raises OSError."""
    h5 = hdf5(lib)
    with LOCK:
        file = open_file(h5, path)
        if file < 0:
            lib.fail_hdf5("H5Fopen")
        with closing(h5, "H5Fclose", file):
            return [_address(h5, file, place) for place in places]


def _address(h5: Hdf5, file: int, place: ObjectPath) -> int:
    """Return the address of an object header, which is the object's token in HDF5 files."""
    info = ObjectInfo()
    for name in place.names:
        stored = object_path(place.group, name)
        if h5.H5Lexists(file, stored, 0) > 0:
            h5.do("H5Oget_info_by_name3", file, stored, byref(info), _BASIC, 0)
            return int.from_bytes(bytes(info.token)[:_OFFSET], "little")
    raise OSError(errno.EIO, f"the HDF5 library: no object `{place.names[-1]}`")


def first_block(raw: BinaryIO, address: int) -> Block | None:
    """Return the block at the address of an object; None unless it has version 2."""
    raw.seek(address)
    prefix = raw.read(_FLAGS + 1 + _TIME_BYTES + 4 + 8)
    if len(prefix) <= len(_HEADER) or not prefix.startswith(_HEADER):
        return None
    flags = prefix[_FLAGS]
    start = _FLAGS + 1 + (_TIME_BYTES if flags & _TIMES else 0) + (4 if flags & _LIMITS else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(prefix[start : start + width], "little")
    return _block(raw, address, start + width + length + _CHECKSUM, start + width)


def further_block(raw: BinaryIO, body: bytes) -> Block | None:
    """Return the block of a continuation message, whose length includes signature and checksum."""
    address = int.from_bytes(body[:_OFFSET], "little")
    block = _block(raw, address, int.from_bytes(body[_OFFSET : _OFFSET + _LENGTH], "little"), len(_MORE))
    return block if block is not None and block.data.startswith(_MORE) else None


def _block(raw: BinaryIO, address: int, length: int, first: int) -> Block | None:
    """Return a block if it is complete and its checksum is right."""
    if address + length > os.fstat(raw.fileno()).st_size:
        return None
    raw.seek(address)
    data = raw.read(length)
    body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    return Block(address, body, first) if checksum == lookup3(body).to_bytes(_CHECKSUM, "little") else None


def messages(block: Block, *, ordered: bool) -> Iterator[Message]:
    """Yield the messages of a block. A gap at its end is shorter than a message head."""
    before = 6 if ordered else 4
    at = block.first
    while at + before <= len(block.data):
        kind, flags = block.data[at], block.data[at + 3]
        size = int.from_bytes(block.data[at + 1 : at + 3], "little")
        yield Message(kind, flags, at + before, size)
        at += before + size


def put(raw: BinaryIO, address: int, data: bytes) -> None:
    """Write the bytes of a block and their checksum."""
    raw.seek(address)
    raw.write(data + lookup3(data).to_bytes(_CHECKSUM, "little"))


def take_times(lib: Library, path: str, types: Collection[str]) -> None:
    """Zero the creation times of user-defined types in a closed file, for reproducible bytes. Raises OSError."""
    if not types:
        return
    places = [ObjectPath(names.split(names.parent(each)), (names.last(each),)) for each in types]
    found = addresses(lib, path, places)
    with open(path, "r+b") as raw:
        for address, name in zip(found, types, strict=True):
            block = first_block(raw, address)
            if block is None:
                raise OSError(errno.EIO, f"the header of `{name}` is not as HDF5 was known to write it: its times stay")
            if block.times is not None:
                data = bytearray(block.data)
                data[block.times] = bytes(block.times.stop - block.times.start)
                put(raw, address, bytes(data))


# ---- checksums: Bob Jenkins' lookup3 (HDF5 File Format Specification 3.0, VII) -----------------------------------
_SEED = 0xDEADBEEF
_ALL = 0xFFFFFFFF

_TURNS = (4, 6, 8, 16, 19, 4)
"""Rotations of the three words, in bits, for each group of twelve bytes."""

_LAST_TURNS = (14, 11, 25, 16, 4, 14, 24)
"""Rotations after the last group."""


def lookup3(data: bytes) -> int:
    """Return the 32-bit checksum of bytes."""
    a = b = c = (_SEED + len(data)) & _ALL
    if not data:
        return c
    last = (len(data) - 1) // 12 * 12  # the last group has one to twelve bytes, padded by zeros
    for at in range(0, last, 12):
        a, b, c = _mixed(*_added(data[at : at + 12], a, b, c))
    a, b, c = _added(data[last:].ljust(12, b"\0"), a, b, c)
    for bits in _LAST_TURNS:
        a, b, c = b, ((c ^ b) - _turned(b, bits)) & _ALL, a  # the words change places
    return b


def _added(group: bytes, a: int, b: int, c: int) -> tuple[int, int, int]:
    first, second, third = (int.from_bytes(group[at : at + 4], "little") for at in (0, 4, 8))
    return (a + first) & _ALL, (b + second) & _ALL, (c + third) & _ALL


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix three words: each step subtracts one, XORs its rotation and adds the third."""
    for bits in _TURNS:
        a = ((a - c) & _ALL) ^ _turned(c, bits)
        c = (c + b) & _ALL
        a, b, c = b, c, a
    return a, b, c


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _ALL
