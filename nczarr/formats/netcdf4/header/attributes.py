"""Attributes of objects of HDF5 files: names, types, shapes and bytes.

Source: HDF5 File Format Specification 3.0, IV.A.2.m (attribute), IV.A.2.v (attribute info).
"""

from __future__ import annotations

import math
from struct import unpack_from
from typing import NamedTuple, TypeAlias

from nczarr.formats.netcdf4.header.datatypes import Datatype, Member, datatype
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, UNDEFINED, HeaderFile, UnreadableHeaderError
from nczarr.formats.netcdf4.header.heaps import FractalHeap, GlobalHeap, records
from nczarr.formats.netcdf4.header.messages import (
    ATTRIBUTE,
    ATTRIBUTE_INFO,
    DATATYPE,
    Dataspace,
    Messages,
    dataspace,
    messages,
    only,
    read_shared_address,
)
from nczarr.formats.netcdf4.objects import COMPOUND, VLEN

Nested: TypeAlias = "bytes | tuple[Nested, ...] | None"
"""Bytes of values of a fixed size; a text, or None for NIL; the items of a list or members of records."""

BY_NAME = 8
"""Type of the B-tree of an object's attributes by name."""

_TRACKED = 1
"""Flag of an object whose attributes have a creation order."""

_SHARED_TYPE, _SHARED_SPACE = 1, 2
"""Flags of an attribute."""


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
    """Reader of the attributes of one file. Types and shapes of equal bytes are parsed once."""

    def __init__(self, file: HeaderFile) -> None:
        self.file = file
        """Metadata of the file."""
        self.texts = GlobalHeap(file)
        """Texts and lists of variable length."""
        self._types: dict[bytes, Datatype] = {}
        self._spaces: dict[bytes, Dataspace] = {}
        self._named: dict[int, Datatype] = {}

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
            heap, tree = unpack_from("<QQ", info, 4 if info[1] & _TRACKED else 2)
            if heap != UNDEFINED:
                blocks = FractalHeap(self.file, heap)
                for record in records(self.file, tree, BY_NAME):
                    if record[8] & 2:
                        raise UnreadableHeaderError("attributes that objects share are not read")
                    ordered.append((int.from_bytes(record[9:13], "little"), blocks.get(record[:8])))
        ordered.sort(key=lambda pair: pair[0])
        attributes = [self._attribute(body) for _, body in ordered]
        if len({attribute.name for attribute in attributes}) < len(attributes):
            raise UnreadableHeaderError("several attributes have one name")
        return attributes

    def _attribute(self, body: bytes) -> HeaderAttribute:
        version, flags, name_size, type_size, space_size = unpack_from("<BBHHH", body)
        if version == 1:
            at, flags, gap = 8, 0, 7
        elif version in (2, 3):
            at, gap = 8 + (version == 3), 0
        else:
            raise UnreadableHeaderError("an attribute is damaged")
        if flags & _SHARED_SPACE or not name_size:
            raise UnreadableHeaderError("an attribute is damaged")
        name = body[at : at + name_size].partition(b"\0")[0]
        at += name_size + (-name_size & gap)
        kind, address = self.type(body[at : at + type_size], shared=bool(flags & _SHARED_TYPE))
        at += type_size + (-type_size & gap)
        shape = self.space(body[at : at + space_size]).shape
        at += space_size + (-space_size & gap)
        size = 0 if shape is None else math.prod(shape) * kind.size
        if len(body) < at + size:
            raise UnreadableHeaderError("an attribute is damaged")
        decoded, data = name.decode("utf-8", "surrogateescape"), body[at : at + size]
        try:
            return HeaderAttribute(decoded, kind, address, shape, data, self._nest(kind, data))
        except DAMAGE:
            return HeaderAttribute(decoded, kind, address, shape, b"", is_damaged=True)

    def _nest(self, kind: Datatype, data: bytes) -> Nested:
        """Return values as they are nested. Raises UnreadableHeaderError."""
        if kind.family == COMPOUND and kind.numpy is None:
            records = (data[at : at + kind.size] for at in range(0, len(data), kind.size))
            return tuple([self._member(member, record) for record in records for member in kind.members])
        if kind.family != VLEN or kind.base is None:
            return data
        elements = [data[at : at + kind.size] for at in range(0, len(data), kind.size)]
        base = kind.base
        lists = [self.texts.get(element, base.size) if any(element[4:12]) else None for element in elements]
        if kind.is_text:
            return tuple([None if text is None else text.partition(b"\0")[0] for text in lists])
        return tuple([self._nest(base, items or b"") for items in lists])

    def _member(self, member: Member, record: bytes) -> Nested:
        """Return the values of a member of one record."""
        return self._nest(member.type, record[member.offset :][: math.prod(member.shape) * member.type.size])
