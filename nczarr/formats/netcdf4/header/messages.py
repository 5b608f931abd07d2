"""Object headers of HDF5 files as messages, and attributes: their names, types, shapes and bytes.

Source: HDF5 File Format Specification 3.0, IV.A.1 (headers), IV.A.2 (messages), IV.A.2.m (attribute), IV.A.2.v
(attribute info).
"""

import math
from struct import Struct, unpack_from
from typing import NamedTuple, Protocol, TypeAlias

from nczarr.formats.netcdf4.header.datatypes import COMPOUND, Datatype, Member, datatype
from nczarr.formats.netcdf4.header.file_bytes import (
    CHECKSUM,
    DAMAGE,
    UNDEFINED,
    HeaderFile,
    UnknownStructureError,
    UnreadableHeaderError,
    without_checksum,
)
from nczarr.formats.netcdf4.header.heaps import FractalHeap, GlobalHeap, read_tree_records

DATASPACE, LINK_INFO, DATATYPE, OLD_FILL, FILL, LINK, EXTERNAL_FILES, LAYOUT = range(0x01, 0x09)  # IV.A.2.b to i
GROUP_INFO, FILTERS, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE, ATTRIBUTE_INFO = 0x0A, 0x0B, 0x0C, 0x10, 0x11, 0x15
"""Types of messages."""

_IGNORED = frozenset({0x00, GROUP_INFO, 0x0D, 0x0E, 0x0F, 0x12, 0x13, 0x16, 0x17})
"""Types that say nothing about the data: gaps, comments, times, counts of references, sizes of trees, free space, and
the place of messages that objects share, which each of these messages needs.
"""

_READ = frozenset({*range(DATASPACE, LAYOUT + 1), FILTERS, ATTRIBUTE, SYMBOL_TABLE, ATTRIBUTE_INFO})
"""Types that are read."""

SHARED = 0x02
"""Flag of a message whose body is the address of another object."""

_CONTRADICTION = SHARED | 0x04
"""Flags of a message that is shared, and of one whose body is never shared. Others are about writers, and about
readers that lack its type.
"""

_ORDERED, _LIMITS, TIMES = 0x04, 0x10, 0x20
"""Flags of a header: creation order of messages, limits of attributes, times."""

_HEADS = {size: Struct(f"<{members}") for size, members in ((4, "BHB"), (6, "BHBH"), (8, "HHB"))}
"""Starts of messages by their bytes: in headers of version 2, with a creation order, and of version 1."""

PREFIX = 34
"""Bytes of the longest start of a header."""

_MOST_BLOCKS = 1 << 12
"""Maximum blocks of a header."""


class HeaderMessage(NamedTuple):
    """Message of an object header."""

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
    if prefix.startswith(b"OHDR\x02"):  # IV.A.1.b: version 2 has a signature, version 1 has not
        first, end, head = extent_of(prefix)
        _read_blocks(file, out, file.read_checked(address, end, b"OHDR"), first, head)
    elif prefix[:1] == b"\x01" and len(prefix) >= 16:  # IV.A.1.a: 12 bytes, padded to 16
        (size,) = unpack_from("<I", prefix, 8)  # the size of the first block, without continuations
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
    start = 6 + (16 if flags & TIMES else 0) + (4 if flags & _LIMITS else 0)  # bit 5: four times; bit 4: two limits
    width = 1 << (flags & 3)  # bits 0 and 1: the width of the size of the first block
    size = int.from_bytes(prefix[start : start + width], "little")
    return start + width, start + width + size, 6 if flags & _ORDERED else 4  # bit 2: creation order of two bytes


def _read_blocks(file: HeaderFile, out: Messages, block: bytes, start: int, head: int) -> int:
    """Add the messages of a header's blocks, and return their number.

    `start`: of the first message; `head`: bytes before a body.
    """
    pending = [(block, start)]
    count, place = 0, 0
    unpack_head = _HEADS[head].unpack_from
    while pending:
        block, at = pending.pop(0)
        end = len(block)
        while at + head <= end:
            order = place
            if head == 6:
                kind, size, flags, order = unpack_head(block, at)
            else:
                kind, size, flags = unpack_head(block, at)
            at += head + size
            if at > end or flags & _CONTRADICTION == _CONTRADICTION or (head == 8 and size % 8):
                raise UnreadableHeaderError("an object header is damaged")
            body = block[at - size : at]
            if kind in _READ and (not flags & SHARED or kind == DATATYPE):
                if kind in out:
                    out[kind].append(HeaderMessage(flags, order, body))
                else:
                    out[kind] = [HeaderMessage(flags, order, body)]
            elif kind == CONTINUATION:
                count += 1
                address, length = unpack_from("<QQ", body)  # IV.A.2.q: address and length of the next block
                if count > _MOST_BLOCKS or length < 2 * CHECKSUM:  # a signature and a checksum at least
                    raise UnreadableHeaderError("an object header is damaged")
                further = file.read(address, length)
                if head == 8:  # version 1 has neither signature nor checksum here
                    pending.append((further, 0))
                elif further.startswith(b"OCHK"):  # IV.A.1.b: signature of a continuation
                    pending.append((without_checksum(further), CHECKSUM))
                else:
                    raise UnreadableHeaderError("an object header is damaged")
            elif kind not in _IGNORED:
                raise UnknownStructureError(f"{'shared ' if flags & SHARED else ''}messages of type {kind}")
            place += 1
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
    if version == 1:  # version 1: six reserved bytes before the address
        return int(unpack_from("<Q", body, 8)[0])
    if version == 2 or (version == 3 and body[1] == 2):  # version 3, type 2: another object's header has it
        return int(unpack_from("<Q", body, 2)[0])
    raise UnknownStructureError("types that objects share")


class Dataspace(NamedTuple):
    """Shape of values."""

    shape: tuple[int, ...] | None
    """Length of each dimension; `()` for one value; None without values."""
    most: tuple[int, ...]
    """Maximum length of each dimension; `UNDEFINED`: unlimited."""


def dataspace(body: bytes) -> Dataspace:
    """Return the shape in the body of a message. Raises UnreadableHeaderError."""
    version, rank, flags = body[0], body[1], body[2]
    if version == 1:  # IV.A.2.b: five reserved bytes follow; rank 0 is a scalar
        at, kind = 8, 0 if rank == 0 else 1
    elif version == 2:
        at, kind = 4, body[3]  # version 2 has a kind: 0 scalar, 1 simple, 2 null
    else:
        raise UnknownStructureError(f"version {version} of a shape")
    if kind == 2:  # a null dataspace has no cells
        return Dataspace(None, ())
    if kind not in (0, 1) or (kind == 0) != (rank == 0) or flags & 2:  # bit 1: permutation indices, never implemented
        raise UnreadableHeaderError("a shape is damaged")
    shape = unpack_from(f"<{rank}Q", body, at)
    most = unpack_from(f"<{rank}Q", body, at + 8 * rank) if flags & 1 else shape  # bit 0: maximum lengths
    if max(shape, default=0) > 1 << 62 or any(length > end for length, end in zip(shape, most, strict=True)):
        raise UnreadableHeaderError("a shape is damaged")
    return Dataspace(shape, most)


Nested: TypeAlias = "bytes | tuple[Nested, ...] | None"
"""Bytes of values of a fixed size; a text, or None for NIL; the items of a list or members of records."""

BY_NAME = 8
"""Type of the B-tree of an object's attributes by name."""

_TRACKED = 1
"""Flag of an object whose attributes have a creation order."""

_SHARED_TYPE = 1
"""Flag of an attribute. A further one is for a shared shape."""


class HeaderAttribute(NamedTuple):
    """Attribute of an object."""

    name: str
    """Name in the file's spelling."""
    type: Datatype
    """Type of its values."""
    declared: int | None
    """Address of the named type; None for a type without a name."""
    shape: tuple[int, ...] | None
    """Shape; None without values."""
    data: bytes
    """Values as they are stored."""
    nested: Nested = b""
    """Values as they are nested: bytes of a fixed size, texts, lists, and members of records with those."""
    is_damaged: bool = False
    """True if the values cannot be read."""


class AttributeReader:
    """Reader of the attributes of one file. Types, shapes and attributes of equal bytes are parsed once."""

    def __init__(self, file: HeaderFile) -> None:
        self.file = file
        """Metadata of the file."""
        self.texts = GlobalHeap(file)
        """Texts and lists of variable length."""
        self._types: dict[bytes, Datatype] = {}
        self._spaces: dict[bytes, Dataspace] = {}
        self._named: dict[int, Datatype] = {}
        self.damaged = 0
        """Number of attributes so far whose values cannot be read."""
        self._parsed: dict[bytes, HeaderAttribute] = {}
        """Attributes by their message; variables repeat them, and parsing takes a fifth of the time of a file."""

    def type(self, body: bytes, *, shared: bool) -> tuple[Datatype, int | None]:
        """Return a type, and its address if it is a named one. Raises UnreadableHeaderError."""
        if shared:
            address = read_shared_address(body)
            return self.read_named_type(address, messages(self.file, address)), address
        parsed = self._types.get(body)
        if parsed is None:
            parsed = self._types[body] = datatype(body)
        return parsed, None

    def read_named_type(self, address: int, header: Messages) -> Datatype:
        """Return the type at an address. Raises UnreadableHeaderError."""
        parsed = self._named.get(address)
        if parsed is None:
            message = only(header, DATATYPE)
            if message.flags & 2:
                raise UnreadableHeaderError("a type is damaged")
            parsed = self._named[address] = datatype(message.body)
        return parsed

    def space(self, body: bytes) -> Dataspace:
        """Return a shape. Raises UnreadableHeaderError."""
        parsed = self._spaces.get(body)
        if parsed is None:
            parsed = self._spaces[body] = dataspace(body)
        return parsed

    def attributes(self, header: Messages) -> list[HeaderAttribute]:
        """Return the attributes of an object, in the order of their creation. Raises UnreadableHeaderError."""
        ordered = [(message.order, message.body) for message in header.get(ATTRIBUTE, ())]
        if ATTRIBUTE_INFO in header:
            info = only(header, ATTRIBUTE_INFO).body
            heap, tree = unpack_from("<QQ", info, 4 if info[1] & _TRACKED else 2)  # IV.A.2.v, bit 0: a maximal index
            if heap != UNDEFINED:  # else all of them are in the header itself
                blocks = FractalHeap(self.file, heap)
                for record in read_tree_records(self.file, tree, BY_NAME):
                    if record[8] & 2:  # record of type 8: heap ID, message flags, creation order, hash
                        raise UnknownStructureError("attributes that objects share")
                    ordered.append((int.from_bytes(record[9:13], "little"), blocks.get(record[:8])))
        ordered.sort(key=lambda pair: pair[0])
        attributes = [self._parsed.get(body) or self._read_attribute(body) for _, body in ordered]
        if len({attribute.name for attribute in attributes}) < len(attributes):
            raise UnreadableHeaderError("several attributes have one name")
        return attributes

    def _read_attribute(self, body: bytes) -> HeaderAttribute:
        """Parse an attribute message; keep the result for messages of equal bytes."""
        attribute = self._parse(body)
        if attribute.is_damaged:
            self.damaged += 1
        else:
            self._parsed[body] = attribute
        return attribute

    def _parse(self, body: bytes) -> HeaderAttribute:
        """Parse an attribute message; version 1 pads its parts to 8 bytes. Damaged values are left out."""
        version, flags, name_size, type_size, space_size = unpack_from("<BBHHH", body)
        if version == 1:  # versions 2 and 3 have flags where version 1 has a reserved byte
            at, flags, gap = 8, 0, 7  # it pads each part to eight bytes: `-size & 7` bytes follow
        elif version in (2, 3):
            at, gap = 8 + (version == 3), 0  # version 3 has a byte for the encoding of the name
        else:
            raise UnknownStructureError(f"version {version} of an attribute")
        if flags & ~_SHARED_TYPE:
            raise UnknownStructureError("shapes that objects share")
        if not name_size:
            raise UnreadableHeaderError("an attribute is damaged")
        name = body[at : at + name_size].partition(b"\0")[0]  # the size counts the NUL at its end
        at += name_size + (-name_size & gap)
        kind, address = self.type(body[at : at + type_size], shared=bool(flags & _SHARED_TYPE))
        at += type_size + (-type_size & gap)
        shape = self.space(body[at : at + space_size]).shape
        at += space_size + (-space_size & gap)
        size = 0 if shape is None else math.prod(shape) * kind.size
        if len(body) < at + size:
            raise UnreadableHeaderError("an attribute is damaged")
        kind, shape = kind.cell, None if shape is None else (*shape, *kind.shape)
        decoded, data = name.decode("utf-8", "surrogateescape"), body[at : at + size]
        try:
            return HeaderAttribute(decoded, kind, address, shape, data, nest(kind, data, self.texts))
        except DAMAGE:
            return HeaderAttribute(decoded, kind, address, shape, b"", is_damaged=True)


class TextHeap(Protocol):
    """Place of texts and lists of variable length."""

    def find(self, element: bytes, size: int) -> bytes | None:
        """Return the bytes of a list or text; None for NIL. `size`: of an item. Raises UnreadableHeaderError."""


def nest(kind: Datatype, data: bytes, heap: TextHeap) -> Nested:
    """Return values as they are nested. Raises UnreadableHeaderError."""
    if not kind.has_lists:
        return data
    if kind.family == COMPOUND:
        records = (data[at : at + kind.size] for at in range(0, len(data), kind.size))
        return tuple([_nest_member(member, record, heap) for record in records for member in kind.members])
    if kind.base is None:
        return data
    base = kind.base
    lists = [heap.find(data[at : at + kind.size], base.size) for at in range(0, len(data), kind.size)]
    if kind.is_text:  # C strings of HDF5 end at the first NUL
        return tuple([None if text is None else text.partition(b"\0")[0] for text in lists])
    return tuple([nest(base, items or b"", heap) for items in lists])


def _nest_member(member: Member, record: bytes, heap: TextHeap) -> Nested:
    return nest(member.type, record[member.offset :][: math.prod(member.shape) * member.type.size], heap)
