"""Types of HDF5 files: the bytes of a datatype message → `Datatype`.

Source: HDF5 File Format Specification 3.0, IV.A.2.d.
"""

from __future__ import annotations

import math
from functools import cached_property
from struct import unpack_from
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import Descr, numpy_dtype
from nczarr.check.check_names import make_unique
from nczarr.formats.netcdf4.header.file_bytes import UnreadableHeaderError

NON_COORDINATE = "_nc4_non_coord_"
"""Name prefix of a variable that has a dimension's name without being its coordinate variable."""

ATOMIC_IDS = {
    "byte": 1, "char": 2, "short": 3, "int": 4, "float": 5, "double": 6, "ubyte": 7, "ushort": 8, "uint": 9,
    "int64": 10, "uint64": 11, "string": 12,
}  # fmt: skip
"""Library ids of the atomic types."""

INTEGER, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VLEN = 0, 1, 3, 5, 6, 8, 9
"""Classes of types (H5T_class_t)."""

REFERENCE, ARRAY = 7, 10
"""Further classes (H5T_class_t)."""

_SKIPPED = {2: 2, 4: 4}
"""Bytes of properties of classes that netCDF has no types for: times, bits."""

NEWEST = 5
"""Newest version of a message; since 3 only types that are not read here were added."""

LARGEST = 1 << 24
"""Maximum bytes of a value."""

DEEPEST = 32
"""Maximum nesting of types."""

_IEEE = {
    (4, 0, bytes((0, 0, 32, 0, 23, 8, 0, 23)), 127, 31): "<f4",
    (4, 1, bytes((0, 0, 32, 0, 23, 8, 0, 23)), 127, 31): ">f4",
    (8, 0, bytes((0, 0, 64, 0, 52, 11, 0, 52)), 1023, 63): "<f8",
    (8, 1, bytes((0, 0, 64, 0, 52, 11, 0, 52)), 1023, 63): ">f8",
}
"""`Descr` by size, byte order, bit positions, exponent bias and position of the sign."""

_FLOAT_FORM = 0x7E
"""Bits of a float's class: paddings, normalization of the mantissa, further byte orders."""

_IMPLIED = 0x20
"""Their value for IEEE 754: the first bit of the mantissa is not stored."""


class Member(NamedTuple):
    """Member of a record."""

    name: bytes
    """Name in the file's spelling."""
    offset: int
    """Offset in the record."""
    shape: tuple[int, ...]
    """Shape of its values; `()` for one."""
    type: Datatype
    """Type of one value."""


class Datatype:
    """Type of values in a file. Equal if values are: names of members count, paddings of texts too."""

    def __init__(
        self,
        family: int,
        size: int,
        number: str | None = None,
        members: tuple[Member, ...] = (),
        base: Datatype | None = None,
        constants: tuple[tuple[bytes, bytes], ...] = (),
        form: int = 0,
        shape: tuple[int, ...] = (),
    ) -> None:
        self.family = family
        """Class (`H5T_class_t`)."""
        self.size = size
        """Bytes of a value."""
        self.number = number
        """`Descr` of an integer or float; None for other types and odd numbers."""
        self.members = members
        """Members of a record."""
        self.base = base
        """Base type of an enum, vlen or array."""
        self.constants = constants
        """Names and values of an enum, in the byte order of its base."""
        self.form = form
        """Padding of a text; 1 for a vlen that is a text."""
        self.shape = shape
        """Shape of an array type."""

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Value by which types are compared."""
        members = tuple((m.name, m.offset, m.shape, m.type.key) for m in self.members)
        base = None if self.base is None else self.base.key
        return self.family, self.size, self.number, members, base, self.constants, self.form, self.shape

    @property
    def is_text(self) -> bool:
        """True for strings of variable length."""
        return self.family == VLEN and self.form == 1

    @cached_property
    def descr(self) -> Descr | None:
        """`Descr` of the type; None for variable size, odd numbers, records with gaps, texts of several bytes."""
        match self.family:
            case _ if self.family in (INTEGER, FLOAT):
                return self.number
            case _ if self.family == STRING:
                return "|S1" if self.size == 1 else None
            case _ if self.family == OPAQUE:
                return f"|V{self.size}"
            case _ if self.family == ENUM and self.base is not None:
                return self.base.descr
            case _ if self.family == COMPOUND:
                return self._record()
        return None

    @cached_property
    def has_lists(self) -> bool:
        """True if values refer to others: texts and lists of variable length, and records with some."""
        return self.family == VLEN or any(member.type.has_lists for member in self.members)

    @cached_property
    def is_fixed(self) -> bool:
        """True if NumPy has a type of the values as they are stored: not for variable size and odd numbers."""
        if self.family == COMPOUND:
            return all(member.type.is_fixed for member in self.members)
        return self.descr is not None

    @cached_property
    def numpy(self) -> np.dtype[Any] | None:
        """NumPy's type of the values as they are stored; None unless `is_fixed`."""
        if not self.is_fixed:
            return None
        if self.descr is not None and self.family != COMPOUND:
            return numpy_dtype(self.descr)
        types = [member.type.numpy for member in self.members]
        members = zip(types, self.members, strict=True)
        form: Any = {
            "names": [f"f{place}" for place in range(len(types))],
            "formats": [(one, member.shape) for one, member in members],
            "offsets": [member.offset for member in self.members],
            "itemsize": self.size,
        }
        dtype: np.dtype[Any] = np.dtype(form)
        return dtype

    def _record(self) -> Descr | None:
        members: list[tuple[str, Descr, tuple[int, ...]]] = []
        end = 0
        for name, member in zip(self.names, self.members, strict=True):
            field = member.type.descr
            if field is None or member.offset != end:
                return None
            end += math.prod(member.shape) * member.type.size
            members.append((name, field, member.shape))
        return tuple(members) if end == self.size and members else None

    @property
    def names(self) -> list[str]:
        """Names of members in the tree: NFC and unique."""
        written = [("field", member.name.decode("utf-8", "surrogateescape")) for member in self.members]
        return [name for name, _ in make_unique(written)]

    @property
    def is_variable(self) -> bool:
        """True if values have parts of variable length, which are in the global heap."""
        return self.family == VLEN or any(member.type.is_variable for member in self.members)


def datatype(data: bytes) -> Datatype:
    """Return the type in the body of a message. Raises UnreadableHeaderError."""
    return _datatype(data, 0, 0)[0]


def _datatype(data: bytes, at: int, depth: int) -> tuple[Datatype, int]:
    """Return a type and the offset of its end."""
    if depth > DEEPEST or len(data) < at + 8:
        raise UnreadableHeaderError("a type is damaged")
    kind, bits, _, size = unpack_from("<BHBI", data, at)
    version, family = kind >> 4, kind & 15
    at += 8
    if not 1 <= version <= NEWEST or not 0 < size <= LARGEST or at > len(data):
        raise UnreadableHeaderError("a type is damaged")
    match family:
        case _ if family == INTEGER:
            return _integer(data, at, bits, size), at + 4
        case _ if family == FLOAT:
            return _float(data, at, bits, size), at + 12
        case _ if family == STRING:
            return Datatype(family, size, form=bits & 15), at
        case _ if family == OPAQUE:
            return Datatype(family, size), at + ((bits & 255) + 7) // 8 * 8
        case _ if family == REFERENCE:
            return Datatype(family, size, form=bits & 15), at
        case _ if family in _SKIPPED:
            return Datatype(family, size), at + _SKIPPED[family]
        case _ if family == COMPOUND:
            return _compound(data, at, bits, size, version, depth)
        case _ if family == ENUM:
            return _enum(data, at, bits, size, version, depth)
        case _ if family == VLEN:
            base, end = _datatype(data, at, depth + 1)
            return Datatype(family, size, base=base, form=bits & 15), end
        case _ if family == ARRAY and version > 1:
            return _read_array(data, at, size, version, depth)
    raise UnreadableHeaderError(f"types of class {family} are not read")


def _integer(data: bytes, at: int, bits: int, size: int) -> Datatype:
    offset, precision = unpack_from("<HH", data, at)
    if size not in (1, 2, 4, 8) or offset or precision != 8 * size:
        return Datatype(INTEGER, size)
    letter = "i" if bits & 8 else "u"
    return Datatype(INTEGER, size, f"|{letter}1" if size == 1 else f"{'<>'[bits & 1]}{letter}{size}")


def _float(data: bytes, at: int, bits: int, size: int) -> Datatype:
    (bias,) = unpack_from("<I", data, at + 8)
    number = _IEEE.get((size, bits & 1, data[at : at + 8], bias, bits >> 8))
    return Datatype(FLOAT, size, number if bits & _FLOAT_FORM == _IMPLIED else None)


def _name(data: bytes, at: int, version: int) -> tuple[bytes, int]:
    """Return a name and the offset after it, padded to eight bytes before version 3."""
    end = data.find(b"\0", at)
    if end <= at:
        raise UnreadableHeaderError("a type is damaged")
    length = end + 1 - at
    return data[at:end], at + (length if version >= 3 else (length + 7) // 8 * 8)


def _compound(data: bytes, at: int, count: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    width = (size.bit_length() + 7) // 8 if version >= 3 else 4
    members = []
    for _ in range(count):
        name, at = _name(data, at, version)
        offset = int.from_bytes(data[at : at + width], "little")
        at += width
        shape: tuple[int, ...] = ()
        if version == 1:
            shape = unpack_from("<4I", data, at + 12)[: data[at]] if at < len(data) else ()
            at += 28
        element, at = _datatype(data, at, depth + 1)
        if element.family == ARRAY and element.base is not None:
            shape, element = element.shape, element.base
        if 0 in shape or offset + math.prod(shape) * element.size > size:
            raise UnreadableHeaderError("a type is damaged")
        members.append(Member(name, offset, shape, element))
    return Datatype(COMPOUND, size, members=tuple(members)), at


def _enum(data: bytes, at: int, count: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    base, at = _datatype(data, at, depth + 1)
    labels = []
    for _ in range(count):
        name, at = _name(data, at, version)
        labels.append(name)
    if len(data) < at + count * size:
        raise UnreadableHeaderError("a type is damaged")
    values = [data[at + place * size : at + (place + 1) * size] for place in range(count)]
    return Datatype(ENUM, size, base=base, constants=tuple(zip(labels, values, strict=True))), at + count * size


def _read_array(data: bytes, at: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    rank = data[at]
    at += 4 if version == 2 else 1
    shape = unpack_from(f"<{rank}I", data, at)
    at += 4 * rank * (2 if version == 2 else 1)
    base, at = _datatype(data, at, depth + 1)
    return Datatype(ARRAY, size, base=base, shape=shape), at


def text_of(data: bytes, *, terminated: bool) -> bytes:
    """Return the text in the bytes of one element."""
    return data.split(b"\0", 1)[0] if terminated else data.rstrip(b"\0")
