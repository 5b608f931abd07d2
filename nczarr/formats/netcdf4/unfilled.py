"""No fill mode for strings and lists: what the netCDF library refuses to write, though it reads it.

To the library a variable has no fill mode where HDF5's fill value is none that a user gave, as most other programs
leave it. Of strings and lists it always gives one itself. HDF5 has no function that takes the fill value of a dataset
away, so this is done in the finished, closed file: in the dataset's object header the message of the fill value is
marked as one without a value, and the checksum of the block is made anew. Nothing moves, so nothing that refers to the
dataset has to follow.

Source: HDF5 File Format Specification 3.0, IV.A.1.b (version 2 object headers), IV.A.2.f (fill value), IV.A.2.q
(continuation). The library writes headers of this version, because it tracks the order of attributes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from ctypes import byref
from typing import BinaryIO, NamedTuple

from nczarr import names
from nczarr.data.parts import is_fixed
from nczarr.formats.netcdf4.hdf5 import LOCK, Hdf5, ObjectInfo, closing, hdf5, object_path, open_file
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.lookup3 import lookup3
from nczarr.formats.netcdf4.objects import NON_COORDINATE
from nczarr.passes.planned import Planned

_BASIC = 0x1
"""What is asked of an object (H5O_INFO_BASIC)."""

_HEADER, _MORE = b"OHDR\x02", b"OCHK"
"""Signatures of the first block of a header, with its version, and of the others."""

_ORDERED, _LIMITS, _TIMES = 0x04, 0x10, 0x20
"""Flags of a header: messages have an order of creation, limits of attributes are given, times are given."""

_FILL, _CONTINUATION = 0x05, 0x10
"""Types of messages."""

_SHARED = 0x02
"""Flag of a message that lies elsewhere."""

_HAS_VALUE = 0x20
"""Flag of a fill value message of version 3: size and value follow."""

_CHECKSUM = 4
_OFFSET = _LENGTH = 8
"""Bytes of a checksum, and of an address and a length in files that the library makes."""


class _Block(NamedTuple):
    """A block of an object header in the file: where it is, its bytes without the checksum, where messages begin."""

    address: int
    data: bytes
    first: int


class _Message(NamedTuple):
    """A message: its type and flags, where its body lies in its block, and the body's length."""

    kind: int
    flags: int
    start: int
    size: int


def unfilled(planned: Planned) -> list[str]:
    """The variables that are to have no fill mode, which the library cannot give them."""
    checked = planned.checked
    return [
        path
        for path, variable in checked.variables.items()
        if planned.storage[path].no_fill and not is_fixed(variable.type, checked.types)
    ]


def take_fills(lib: Library, path: str, variables: list[str]) -> None:
    """Take the fill values of these variables out of a file that nobody has open. Raises OSError."""
    if not variables:
        return
    h5 = hdf5(lib)
    with LOCK:
        file = open_file(h5, path)
        if file < 0:
            lib.fail_hdf5("H5Fopen")
        with closing(h5, "H5Fclose", file):
            places = [_address(h5, file, names.split(names.parent(each)), names.last(each)) for each in variables]
    with open(path, "r+b") as raw:
        for address, variable in zip(places, variables, strict=True):
            if not _take_fill(raw, address):
                text = f"the header of `{variable}` is not as HDF5 was known to write it: its fill value stays"
                raise OSError(errno.EIO, text)


def _address(h5: Hdf5, file: int, group: tuple[str, ...], name: str) -> int:
    """Where the header of a variable's dataset lies: HDF5's own files have the address as token."""
    info = ObjectInfo()
    for stored in (NON_COORDINATE + name, name):
        place = object_path(group, stored)
        if h5.H5Lexists(file, place, 0) > 0:
            h5.do("H5Oget_info_by_name3", file, place, byref(info), _BASIC, 0)
            return int.from_bytes(bytes(info.token)[:_OFFSET], "little")
    raise OSError(errno.EIO, f"the HDF5 library: no dataset `{name}`")


def _take_fill(raw: BinaryIO, address: int) -> bool:
    """Mark the fill value of one object as not given; False if its header is not understood."""
    first = _first_block(raw, address)
    if first is None:
        return False
    ordered = bool(first.data[5] & _ORDERED)
    waiting = [first]
    while waiting:
        block = waiting.pop()
        for message in _messages(block, ordered=ordered):
            body = block.data[message.start : message.start + message.size]
            if message.kind == _CONTINUATION:
                following = _further_block(raw, body)
                if following is None:
                    return False
                waiting.append(following)
            elif message.kind == _FILL:
                changed = None if message.flags & _SHARED else _without_value(body)
                if changed is None:
                    return False
                end = message.start + message.size
                _put(raw, block.address, block.data[: message.start] + changed + block.data[end:])
                return True
    return False


def _first_block(raw: BinaryIO, address: int) -> _Block | None:
    """The block at the address of an object; None if it is none of version 2."""
    raw.seek(address)
    prefix = raw.read(len(_HEADER) + 1 + 16 + 4 + 8)
    if len(prefix) <= len(_HEADER) or not prefix.startswith(_HEADER):
        return None
    flags = prefix[len(_HEADER)]
    start = len(_HEADER) + 1 + (16 if flags & _TIMES else 0) + (4 if flags & _LIMITS else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(prefix[start : start + width], "little")
    return _block(raw, address, start + width + length + _CHECKSUM, start + width)


def _further_block(raw: BinaryIO, body: bytes) -> _Block | None:
    """The block that a continuation message leads to; its length counts signature and checksum."""
    address = int.from_bytes(body[:_OFFSET], "little")
    block = _block(raw, address, int.from_bytes(body[_OFFSET : _OFFSET + _LENGTH], "little"), len(_MORE))
    return block if block is not None and block.data.startswith(_MORE) else None


def _block(raw: BinaryIO, address: int, length: int, first: int) -> _Block | None:
    """A block, if it is there as a whole and its checksum is right."""
    if address + length > os.fstat(raw.fileno()).st_size:
        return None
    raw.seek(address)
    data = raw.read(length)
    body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    return _Block(address, body, first) if checksum == lookup3(body).to_bytes(_CHECKSUM, "little") else None


def _messages(block: _Block, *, ordered: bool) -> Iterator[_Message]:
    """The messages of a block in their order. What is left at its end is a gap, shorter than what precedes a body."""
    before = 6 if ordered else 4
    at = block.first
    while at + before <= len(block.data):
        kind, flags = block.data[at], block.data[at + 3]
        size = int.from_bytes(block.data[at + 1 : at + 3], "little")
        yield _Message(kind, flags, at + before, size)
        at += before + size


def _without_value(body: bytes) -> bytes | None:
    """The body of a fill value message without its value, in as many bytes; None if its version is another."""
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, body[1] & ~_HAS_VALUE]) + bytes(len(body) - 2)
    if len(body) >= 8 and body[0] == 2:  # allocation time, fill time, whether it is defined, its size
        return body[:4] + bytes(len(body) - 4)
    return None


def _put(raw: BinaryIO, address: int, data: bytes) -> None:
    raw.seek(address)
    raw.write(data + lookup3(data).to_bytes(_CHECKSUM, "little"))
