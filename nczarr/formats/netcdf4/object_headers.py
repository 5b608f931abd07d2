"""Object headers of HDF5 files as bytes, for changes that HDF5 has no function for.

Offsets stay; checksums are verified and recomputed. Source: HDF5 File Format
Specification 3.0, IV.A.1 (object headers; the library writes version 2),
IV.A.2.q (continuation).
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from ctypes import byref
from typing import BinaryIO, NamedTuple

from nczarr import names
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import BASIC, Hdf5, ObjectInfo, hdf5, object_path, opened_file
from nczarr.formats.netcdf4.library import Library

_HEADER, _MORE = b"OHDR\x02", b"OCHK"
"""Signatures: of the first block of a header, with the version; of further blocks."""

_OLD_HEADER, _OLD_START = b"\x01", 16
"""Version 1, without signatures and checksums: first byte of a header, offset of its messages."""

_ORDERED, _LIMITS, _TIMES = 0x04, 0x10, 0x20
"""Flags of a header: creation order of messages, limits of attributes, times."""

_FLAGS = len(_HEADER)
"""Offset of the flags of a header; optional times follow."""

_TIME_BYTES = 16
"""Size of the times: access, modification, change and birth."""

_CHECKSUM = 4
_OFFSET = 8
"""Sizes in bytes: of a checksum; of an address and a length in the library's files."""

_OLD_HEAD = 8
"""Bytes before the body of a message in version 1; in version 2 fewer."""

OLD_FILL, FILL, _CONTINUATION = 0x04, 0x05, 0x10
"""Types of messages: fill values (old and new), continuation."""

_SHARED = 0x02
"""Flag of a message stored elsewhere."""

Raw = BinaryIO | mmap.mmap
"""Bytes of a file."""

Change = Callable[[bytes], "bytes | None"]
"""Body of a message → new body of equal size; None for unknown versions."""


class OddHeaderError(ValueError):
    """A header that is damaged, or not as HDF5 was known to write it."""


class HeaderBlock(NamedTuple):
    """Block of an object header."""

    address: int
    """Address in the file."""
    data: bytes
    """Bytes without checksum."""
    first: int
    """Offset of the first message."""
    head: int
    """Bytes before the body of a message."""

    @property
    def checked(self) -> bool:
        """True if a checksum follows: in version 2."""
        return self.head < _OLD_HEAD

    @property
    def times(self) -> slice | None:
        """Position of the times (first block only); None without times."""
        return slice(_FLAGS + 1, _FLAGS + 1 + _TIME_BYTES) if self.data[_FLAGS] & _TIMES else None


class ObjectMessage(NamedTuple):
    """Message of an object header."""

    kind: int
    """Type of the message."""
    flags: int
    """Flags of the message."""
    body: slice
    """Position of its body in the block."""


class ObjectPath(NamedTuple):
    """Location of an object."""

    group: tuple[str, ...]
    """Names that lead to its group."""
    names: tuple[str, ...]
    """Possible names in the group; the first existing one counts."""


def addresses(lib: Library, path: str, places: Iterable[ObjectPath]) -> list[int]:
    """Return the header addresses of objects in a closed file. Raises OSError."""
    h5 = hdf5(lib)
    with LOCK, opened_file(h5, path, needed=True) as file:
        return [_address(h5, file, place) for place in places]


def _address(h5: Hdf5, file: int, place: ObjectPath) -> int:
    """Return the address of an object header, which is the object's token in HDF5 files."""
    info = ObjectInfo()
    for name in place.names:
        stored = object_path(place.group, name)
        if h5.H5Lexists(file, stored, 0) > 0:
            h5.do("H5Oget_info_by_name3", file, stored, byref(info), BASIC, 0)
            return int.from_bytes(bytes(info.token)[:_OFFSET], "little")
    raise OSError(errno.EIO, f"the HDF5 library: no object `{place.names[-1]}`")


def change_messages(raw: Raw, address: int, changes: Mapping[int, Change], base: int | None = None) -> bool:
    """Change the messages of an object by type; False for an unsupported header, or without such messages.

    `base`: offset of HDF5's data in a file of any program, where headers of
    version 1 are supported too. Addresses and lengths have eight bytes.
    """
    done = False
    try:
        pending = [first_block(raw, (base or 0) + address, old=base is not None)]
        while pending:
            block = pending.pop()
            data = bytearray(block.data)
            for message in _messages(block):
                body = block.data[message.body]
                if message.kind == _CONTINUATION:
                    pending.append(_further_block(raw, base or 0, body, block.head))
                elif message.kind in changes:
                    changed = None if message.flags & _SHARED else changes[message.kind](body)
                    if changed is None:
                        return False
                    data[message.body] = changed
                    done = True
            if data != block.data:
                _put(raw, block, bytes(data))
    except (OddHeaderError, struct.error):
        return False
    return done


def first_block(raw: Raw, address: int, *, old: bool = False) -> HeaderBlock:
    """Return the block at the address of an object; version 1 only if `old`. Raises OddHeaderError."""
    prefix = _read(raw, address, _FLAGS + 1 + _TIME_BYTES + 4 + 8)
    if len(prefix) > len(_HEADER) and prefix.startswith(_HEADER):
        flags = prefix[_FLAGS]
        start = _FLAGS + 1 + (_TIME_BYTES if flags & _TIMES else 0) + (4 if flags & _LIMITS else 0)
        width = 1 << (flags & 3)
        length = int.from_bytes(prefix[start : start + width], "little")
        head = 6 if flags & _ORDERED else 4
        return _block(raw, address, start + width + length + _CHECKSUM, start + width, head)
    if old and len(prefix) >= _OLD_START and prefix.startswith(_OLD_HEADER):
        length = int.from_bytes(prefix[8:12], "little")
        return _block(raw, address, _OLD_START + length, _OLD_START, _OLD_HEAD)
    raise OddHeaderError


def _further_block(raw: Raw, base: int, body: bytes, head: int) -> HeaderBlock:
    """Return the block of a continuation message, whose length includes signature and checksum."""
    address, length = struct.unpack_from("<QQ", body)
    block = _block(raw, base + address, length, len(_MORE) if head < _OLD_HEAD else 0, head)
    if not block.data.startswith(_MORE if block.checked else b""):
        raise OddHeaderError
    return block


def _block(raw: Raw, address: int, length: int, first: int, head: int) -> HeaderBlock:
    """Return a block. Raises OddHeaderError unless it is complete and its checksum is right."""
    data = _read(raw, address, length)
    block = HeaderBlock(address, data[:-_CHECKSUM] if head < _OLD_HEAD else data, first, head)
    if len(data) < length or _sealed(block, block.data) != data:
        raise OddHeaderError
    return block


def _read(raw: Raw, address: int, length: int) -> bytes:
    """Return bytes of a file, fewer at its end."""
    raw.seek(0, os.SEEK_END)
    length = min(length, raw.tell() - address)
    if length <= 0:
        return b""
    raw.seek(address)
    return raw.read(length)


def _messages(block: HeaderBlock) -> Iterator[ObjectMessage]:
    """Yield the messages of a block. A gap at its end is shorter than a message head. Raises OddHeaderError."""
    at = block.first
    while at + block.head <= len(block.data):
        kind, size, flags = struct.unpack_from("<BHB" if block.checked else "<HHB", block.data, at)
        at += block.head
        if at + size > len(block.data):
            raise OddHeaderError
        yield ObjectMessage(kind, flags, slice(at, at + size))
        at += size


def _sealed(block: HeaderBlock, data: bytes) -> bytes:
    """Return the bytes of a block with their checksum, if it has one."""
    return data + lookup3(data).to_bytes(_CHECKSUM, "little") if block.checked else data


def _put(raw: Raw, block: HeaderBlock, data: bytes) -> None:
    raw.seek(block.address)
    raw.write(_sealed(block, data))


def take_times(lib: Library, path: str, types: Collection[str]) -> None:
    """Zero the creation times of user-defined types in a closed file, for reproducible bytes. Raises OSError."""
    if not types:
        return
    places = [ObjectPath(names.split(names.parent(type_path)), (names.last(type_path),)) for type_path in types]
    places_in_file = addresses(lib, path, places)
    with open(path, "r+b") as raw:
        for address, name in zip(places_in_file, types, strict=True):
            try:
                block = first_block(raw, address)
            except OddHeaderError:
                text = f"the header of `{name}` has an unknown layout; its times are kept"
                raise OSError(errno.EIO, text) from None
            if block.times is not None:
                data = bytearray(block.data)
                data[block.times] = bytes(_TIME_BYTES)
                _put(raw, block, bytes(data))


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
