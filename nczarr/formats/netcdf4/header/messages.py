"""Object headers of HDF5 files as messages.

Source: HDF5 File Format Specification 3.0, IV.A.1 (headers), IV.A.2 (messages).
"""

from __future__ import annotations

from struct import unpack_from
from typing import NamedTuple

from nczarr.formats.netcdf4.header.file_bytes import CHECKSUM, HeaderFile, UnreadableHeaderError, without_checksum

DATASPACE, LINK_INFO, DATATYPE, OLD_FILL, FILL, LINK, EXTERNAL_FILES, LAYOUT = range(0x01, 0x09)
GROUP_INFO, FILTERS, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE, ATTRIBUTE_INFO = 0x0A, 0x0B, 0x0C, 0x10, 0x11, 0x15
"""Types of messages."""

_IGNORED = frozenset({0x00, GROUP_INFO, 0x0D, 0x0E, 0x12, 0x13, 0x16, 0x17})
"""Types that say nothing about the data: gaps, comments, times, counts of references, sizes of trees, free space."""

_READ = frozenset({*range(DATASPACE, LAYOUT + 1), FILTERS, ATTRIBUTE, SYMBOL_TABLE, ATTRIBUTE_INFO})
"""Types that are read."""

SHARED = 0x02
"""Flag of a message whose body is the address of another object."""

_FLAGS = frozenset({0, 1, SHARED, SHARED | 1, 4, 5})
"""Flags of messages: constant, shared or never shared."""

_ORDERED, _LIMITS, TIMES = 0x04, 0x10, 0x20
"""Flags of a header: creation order of messages, limits of attributes, times."""

PREFIX = 34
"""Bytes of the longest start of a header."""

_MOST_BLOCKS = 1 << 12
"""Maximum blocks of a header."""


class HeaderMessage(NamedTuple):
    """HeaderMessage of an object header."""

    flags: int
    order: int
    """Creation order of an attribute; its place in the header where that is not stored."""
    body: bytes


Messages = dict[int, list[HeaderMessage]]
"""Messages of a header by type, in their order."""


def messages(file: HeaderFile, address: int) -> Messages:
    """Return the messages of an object. Raises UnreadableHeaderError for types that are not read here."""
    prefix = file.peek(address, PREFIX)
    out: Messages = {}
    if prefix.startswith(b"OHDR\x02"):
        first, end, head = extent_of(prefix)
        _read_blocks(file, out, file.read_checked(address, end, b"OHDR"), first, head)
    elif prefix[:1] == b"\x01" and len(prefix) >= 16:
        (size,) = unpack_from("<I", prefix, 8)
        if _read_blocks(file, out, file.read(address + 16, size), 0, 8) != int.from_bytes(prefix[2:4], "little"):
            raise UnreadableHeaderError("an object header is damaged")
    else:
        raise UnreadableHeaderError(f"there is no object header at {address}")
    return out


def extent_of(prefix: bytes) -> tuple[int, int, int]:
    """Return the offsets of the first message and of the end of a header's first block, and the bytes before a body.

    `prefix`: the start of a header of version 2.
    """
    flags = prefix[5]
    start = 6 + (16 if flags & TIMES else 0) + (4 if flags & _LIMITS else 0)
    width = 1 << (flags & 3)
    size = int.from_bytes(prefix[start : start + width], "little")
    return start + width, start + width + size, 6 if flags & _ORDERED else 4


def _read_blocks(file: HeaderFile, out: Messages, block: bytes, start: int, head: int) -> int:
    """Add the messages of a header's blocks, and return their number.

    `start`: of the first message; `head`: bytes before a body.
    """
    pending, count, place = [(block, start)], 0, 0
    while pending:
        block, at = pending.pop(0)
        end = len(block)
        while at + head <= end:
            order = place
            if head == 8:
                kind, size, flags = unpack_from("<HHB", block, at)
            else:
                kind, size, flags = unpack_from("<BHB", block, at)
                if head == 6:
                    (order,) = unpack_from("<H", block, at + 4)
            at += head + size
            if at > end or flags not in _FLAGS or (head == 8 and size % 8):
                raise UnreadableHeaderError("an object header is damaged")
            place += 1
            if kind in _IGNORED:
                continue
            body = block[at - size : at]
            if kind == CONTINUATION:
                count += 1
                address, length = unpack_from("<QQ", body)
                if count > _MOST_BLOCKS or length < 2 * CHECKSUM:
                    raise UnreadableHeaderError("an object header is damaged")
                further = file.read(address, length)
                if head == 8:
                    pending.append((further, 0))
                elif further.startswith(b"OCHK"):
                    pending.append((without_checksum(further), CHECKSUM))
                else:
                    raise UnreadableHeaderError("an object header is damaged")
            elif kind not in _READ or (flags & SHARED and kind != DATATYPE):
                raise UnreadableHeaderError(f"messages of type {kind} are not read")
            else:
                out.setdefault(kind, []).append(HeaderMessage(flags, order, body))
    return place


def only(header: Messages, kind: int) -> HeaderMessage:
    """Return the message of a type that an object has once. Raises UnreadableHeaderError."""
    of_kind = header.get(kind, ())
    if len(of_kind) != 1:
        raise UnreadableHeaderError(f"an object has {len(of_kind)} messages of type {kind}")
    return of_kind[0]


def read_shared_address(body: bytes) -> int:
    """Return the address of the object that a shared message names. Raises UnreadableHeaderError."""
    version = body[0]
    if version == 1:
        return int(unpack_from("<Q", body, 8)[0])
    if version == 2 or (version == 3 and body[1] == 2):
        return int(unpack_from("<Q", body, 2)[0])
    raise UnreadableHeaderError("messages that objects share are not read")


class Dataspace(NamedTuple):
    """Shape of values."""

    shape: tuple[int, ...] | None
    """Length of each dimension; `()` for one value; None without values."""
    most: tuple[int, ...]
    """Maximum length of each dimension; `UNDEFINED`: unlimited."""


def dataspace(body: bytes) -> Dataspace:
    """Return the shape in the body of a message. Raises UnreadableHeaderError."""
    version, rank, flags = body[0], body[1], body[2]
    if version == 1:
        at, kind = 8, 0 if rank == 0 else 1
    elif version == 2:
        at, kind = 4, body[3]
    else:
        raise UnreadableHeaderError("a shape is damaged")
    if kind == 2:
        return Dataspace(None, ())
    if kind not in (0, 1) or (kind == 0) != (rank == 0) or flags & 2:
        raise UnreadableHeaderError("a shape is damaged")
    shape = unpack_from(f"<{rank}Q", body, at)
    most = unpack_from(f"<{rank}Q", body, at + 8 * rank) if flags & 1 else shape
    if max(shape, default=0) > 1 << 62 or any(length > end for length, end in zip(shape, most, strict=True)):
        raise UnreadableHeaderError("a shape is damaged")
    return Dataspace(shape, most)
