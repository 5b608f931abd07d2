"""Object headers of HDF5 files as bytes, for changes that HDF5 has no function for.

Offsets stay; checksums are verified and recomputed. Source: HDF5 File Format
Specification 3.0, IV.A.1 (object headers; the library writes version 2),
IV.A.2.q (continuation).
"""

import errno
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple

from nczarr import names
from nczarr.formats.netcdf4.header.file_bytes import (
    CHECKSUM,
    UnreadableHeaderError,
    header_file,
    lookup3,
    without_checksum,
)
from nczarr.formats.netcdf4.header.file_objects import read_objects
from nczarr.formats.netcdf4.header.messages import CONTINUATION, PREFIX, SHARED, TIMES, extent_of

_HEADER, _MORE = b"OHDR\x02", b"OCHK"
"""Signatures: of the first block of a header, with the version; of further blocks."""

_FLAGS = len(_HEADER)
"""Offset of the flags of a header; optional times follow."""

_TIME_BYTES = 16
"""Size of the times: access, modification, change and birth."""

Change = Callable[[bytes], "bytes | None"]
"""Body of a message → new body of equal size; None for unknown versions."""


class HeaderBlock(NamedTuple):
    """Block of an object header."""

    address: int
    data: bytes
    """Bytes without checksum."""
    first: int
    """Offset of the first message."""
    head: int
    """Bytes before the body of a message."""

    @property
    def times(self) -> slice | None:
        """Position of the times (first block only); None without times."""
        return slice(_FLAGS + 1, _FLAGS + 1 + _TIME_BYTES) if self.data[_FLAGS] & TIMES else None


def addresses(path: str, places: Iterable[tuple[tuple[str, ...], str]]) -> list[int]:
    """Return the header addresses of variables or types, by group and name, in a closed file. Raises OSError."""
    with header_file(path) as file:
        table = read_objects(file, path)
    return [table.find(group, name) for group, name in places]


def change_messages(raw: BinaryIO, address: int, changes: Mapping[int, Change]) -> bool:
    """Change the messages of an object by type; False for an unsupported header, or without such messages."""
    is_changed = False
    try:
        pending = [first_block(raw, address)]
        while pending:
            block = pending.pop()
            data = bytearray(block.data)
            for kind, flags, place in _messages(block):
                body = block.data[place]
                if kind == CONTINUATION:
                    start, length = struct.unpack_from("<QQ", body)
                    pending.append(HeaderBlock(start, _read(raw, start, length, _MORE), len(_MORE), block.head))
                elif kind in changes:
                    changed = None if flags & SHARED else changes[kind](body)
                    if changed is None:
                        return False
                    data[place] = changed
                    is_changed = True
            if data != block.data:
                _put(raw, block, bytes(data))
    except (UnreadableHeaderError, struct.error):
        return False
    return is_changed


def first_block(raw: BinaryIO, address: int) -> HeaderBlock:
    """Return the block at the address of an object. Raises UnreadableHeaderError."""
    raw.seek(address)
    prefix = raw.read(PREFIX)
    if len(prefix) <= _FLAGS:
        raise UnreadableHeaderError("an object header is damaged")
    first, end, head = extent_of(prefix)
    return HeaderBlock(address, _read(raw, address, end + CHECKSUM, _HEADER), first, head)


def _read(raw: BinaryIO, address: int, length: int, signature: bytes) -> bytes:
    """Return a block without its checksum. Raises UnreadableHeaderError."""
    raw.seek(address)
    data = raw.read(length)
    if len(data) < length or not data.startswith(signature):
        raise UnreadableHeaderError("an object header is damaged")
    return without_checksum(data)


def _messages(block: HeaderBlock) -> Iterator[tuple[int, int, slice]]:
    """Yield type, flags and place of the body of each message. A gap at the end is shorter than a message head."""
    at = block.first
    while at + block.head <= len(block.data):
        kind, size, flags = struct.unpack_from("<BHB", block.data, at)
        at += block.head
        if at + size > len(block.data):
            raise UnreadableHeaderError("an object header is damaged")
        yield kind, flags, slice(at, at + size)
        at += size


def _put(raw: BinaryIO, block: HeaderBlock, data: bytes) -> None:
    raw.seek(block.address)
    raw.write(data + lookup3(data).to_bytes(CHECKSUM, "little"))


def take_times(path: str, types: Collection[str]) -> None:
    """Zero the creation times of user-defined types in a closed file, for reproducible bytes. Raises OSError."""
    if not types:
        return
    places = addresses(path, [(names.split(names.parent(name)), names.last(name)) for name in types])
    with open(path, "r+b") as raw:
        for address, name in zip(places, types, strict=True):
            try:
                block = first_block(raw, address)
            except UnreadableHeaderError:
                text = f"the header of `{name}` has an unknown layout; its times are kept"
                raise OSError(errno.EIO, text) from None
            if block.times is not None:
                data = bytearray(block.data)
                data[block.times] = bytes(_TIME_BYTES)
                _put(raw, block, bytes(data))
