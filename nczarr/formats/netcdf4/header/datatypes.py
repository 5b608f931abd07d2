"""Types of HDF5 files: the bytes of a datatype message → `Datatype`.

Source: HDF5 File Format Specification 3.0, IV.A.2.d.
"""

from __future__ import annotations

import math
from functools import cached_property
from struct import unpack_from
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import Descr, little_descr, numpy_dtype
from nczarr.arrays.values.elements import element_of
from nczarr.ast.dataset import Element
from nczarr.ast.plain_json import is_utf8
from nczarr.formats.netcdf4.header.file_bytes import UnreadableHeaderError
from nczarr.formats.netcdf4.header.number_bits import NumberBits, float_bits, integer_bits
from nczarr.semantics.check_names import make_unique

NON_COORDINATE = "_nc4_non_coord_"
"""Name prefix of a variable that has a dimension's name without being its coordinate variable."""

ATOMIC_IDS = {
    "byte": 1, "char": 2, "short": 3, "int": 4, "float": 5, "double": 6, "ubyte": 7, "ushort": 8, "uint": 9,
    "int64": 10, "uint64": 11, "string": 12,
}  # fmt: skip
"""Library ids of the atomic types."""

ATOMIC = {
    "|i1": "byte", "|S1": "char", "i2": "short", "i4": "int", "f2": "float", "f4": "float", "f8": "double",
    "|u1": "ubyte", "u2": "ushort", "u4": "uint", "i8": "int64", "u8": "uint64",
}  # fmt: skip
"""Atomic types by `Descr`, without its byte order. Every half is a float."""

INTEGER, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VLEN = 0, 1, 3, 5, 6, 8, 9
"""Classes of types (H5T_class_t)."""

TIME, BITFIELD, REFERENCE, ARRAY, COMPLEX = 2, 4, 7, 10, 11
"""Further classes (H5T_class_t)."""

NUMBERS = frozenset({INTEGER, FLOAT, BITFIELD})
"""Classes whose values are numbers."""

NULL_PADDED, SPACE_PADDED = 1, 2
"""Paddings of texts (H5T_str_t); the other one ends a text at its first NUL."""

_REFERENCES = ("references to objects", "references to regions", "references to objects", "references to regions",
               "references to attributes")  # fmt: skip
"""Kinds of references (H5R_type_t), in words."""

_COMPLEX = {("<f4", "<f4"): "<c8", ("<f8", "<f8"): "<c16"}
"""Complex numbers by the dtypes of their parts."""

_BOOLEANS = [(b"FALSE", b"\0"), (b"TRUE", b"\1")]
"""Constants of the enum that h5py stores booleans as."""

NEWEST = 5
"""Newest version of a message; since 3 only types that are not read here were added."""

LARGEST = 1 << 24
"""Maximum bytes of a value."""

DEEPEST = 32
"""Maximum nesting of types."""

_IEEE = {
    (2, 0, bytes((0, 0, 16, 0, 10, 5, 0, 10)), 15, 15): "<f2",
    (2, 1, bytes((0, 0, 16, 0, 10, 5, 0, 10)), 15, 15): ">f2",
    (4, 0, bytes((0, 0, 32, 0, 23, 8, 0, 23)), 127, 31): "<f4",
    (4, 1, bytes((0, 0, 32, 0, 23, 8, 0, 23)), 127, 31): ">f4",
    (8, 0, bytes((0, 0, 64, 0, 52, 11, 0, 52)), 1023, 63): "<f8",
    (8, 1, bytes((0, 0, 64, 0, 52, 11, 0, 52)), 1023, 63): ">f8",
}
"""`Descr` by size, byte order, bit positions, exponent bias and position of the sign."""

_FLOAT_FORM = 0x7E
"""Bits of a float's class: paddings, normalization of the mantissa, further byte orders."""

_PADDINGS = 0x0E
"""Those of them that are paddings, which no value depends on."""

_COMPLEX_FORM = 0x06
"""Bits of the form of complex numbers; 0: a real and an imaginary part."""

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
        bits: NumberBits | None = None,
        tag: bytes = b"",
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
        self.bits = bits
        """Bits of a number that has no `number`."""
        self.tag = tag
        """Tag of an opaque type."""

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Value by which types are compared."""
        members = tuple((m.name, m.offset, m.shape, m.type.key) for m in self.members)
        base = None if self.base is None else self.base.key
        return self.family, self.size, self.number, members, base, self.constants, self.form, self.shape, self.bits

    @property
    def cell(self) -> Datatype:
        """Type of one cell: the base of an array, else the type itself."""
        return self if self.family != ARRAY or self.base is None else self.base

    @property
    def atomic(self) -> str | None:
        """Name of the atomic type that has every value; None for other types. Bitfields are unsigned integers."""
        if self.number is not None:
            return ATOMIC[self.number.lstrip("<>")]
        if self.is_text:
            return "string"
        if self.family == STRING and self.size == 1:  # as netCDF-C: one byte is a char, more are a string
            return "char"
        return None if self.bits is None else self.bits.atomic

    @cached_property
    def lack(self) -> str | None:
        """Values that the model cannot hold, in the plural; None if it holds the type."""
        label = next((name for name in self._labels if not is_utf8(name)), None)
        if label is not None:
            return f"{'records' if self.members else 'enums'} with the name {label!r}, which is not valid UTF-8"
        if self.family in NUMBERS:
            return None if self.atomic else self._describe_number()
        if self.family == COMPOUND:
            lacks = ((member, member.type.lack) for member in self.members)
            each = (f"{lack} in member `{one.name.decode(errors='replace')}`" for one, lack in lacks if lack)
            return next(each, None) if self.members else "records without members"
        if self.family == REFERENCE:
            return _REFERENCES[self.form] if self.form < len(_REFERENCES) else "references of an unknown kind"
        if self.family == TIME:
            return f"times of {8 * self.size} bits (H5T_TIME)"
        if self.family == COMPLEX:
            return "complex numbers that are not of a real and an imaginary part"
        if self.family == ENUM and (self.base is None or self.base.number is None or self.base.family != INTEGER):
            return "enums of integers with unused bits"
        if self.family == VLEN and self.base is not None and self.base.family == ARRAY:
            return "lists of arrays"
        return None if self.base is None else self.base.lack

    @property
    def _labels(self) -> list[bytes]:
        """Names of members of a record, or of constants of an enum, in the file's spelling."""
        return [*(member.name for member in self.members), *(label for label, _ in self.constants)]

    def _describe_number(self) -> str:
        bits = 8 * self.size if self.bits is None else self.bits.precision
        if self.family == FLOAT:
            return f"{bits}-bit floats"
        return f"{'bitfields' if self.family == BITFIELD else 'integers'} of {bits} bits"

    @property
    def change(self) -> str | None:
        """Form in which the model holds values of another class of types; None for equal classes."""
        if self.family == STRING or (self.number is not None and self.bits is None and self.family != BITFIELD):
            return None  # by far the most
        if self.family == BITFIELD:
            return f"bitfields of {self.size} {'byte' if self.size == 1 else 'bytes'} are read as {self.atomic}"
        if self.bits is not None:
            return f"{self._describe_number()} are read as {self.atomic}"
        if self.family == OPAQUE and self.tag:
            return f"the tag `{self.tag.decode(errors='replace')}` of opaque values is left out"
        if self.family == ARRAY:
            return f"arrays of the shape {self.shape} are read as further dimensions"
        inner = (one.change for one in (*(member.type for member in self.members), self.base) if one is not None)
        return next((change for change in inner if change), None)

    @cached_property
    def element(self) -> Element | None:
        """Zarr's type of the values, if the model lacks it."""
        if self.number is not None and self.family != BITFIELD and self.bits is None:
            return element_of(self.number)
        stored = None if self.family in (STRING, ENUM) else self._as_stored
        return None if stored is None else element_of(stored)

    @cached_property
    def _as_stored(self) -> Descr | None:
        """`Descr` of the values with texts, halves and complex numbers, little-endian and without gaps."""
        if self.family == STRING:
            return f"|S{self.size}"
        if self.family == ENUM and sorted(self.constants) == _BOOLEANS:
            return "|b1"
        if self.family != COMPOUND:
            return None if self.descr is None else little_descr(self.descr)
        members = [(name, one.type._as_stored, one.shape) for name, one in zip(self.names, self.members, strict=True)]
        if any(stored is None for _, stored, _ in members):
            return None
        if [one.name for one in self.members] == [b"r", b"i"] and not any(shape for _, _, shape in members):
            parts = tuple(stored for _, stored, _ in members)
            if parts in _COMPLEX:
                return _COMPLEX[parts]  # h5py stores complex numbers as records of `r` and `i`
        return tuple(members)  # type: ignore[arg-type]

    @cached_property
    def is_converted(self) -> bool:
        """True if the model has other bytes for values of fixed size: for halves, and numbers with unused bits."""
        if self.family in NUMBERS:
            return self.number is None or self.number[1:] == "f2"
        inner = [*(member.type for member in self.members), *([] if self.base is None else [self.base])]
        return any(one.is_converted for one in inner)

    @property
    def is_text(self) -> bool:
        """True for strings of variable length."""
        return self.family == VLEN and self.form == 1

    @cached_property
    def descr(self) -> Descr | None:
        """`Descr` of the type as it is stored.

        None for variable size, odd numbers, arrays, records with gaps, and texts whose padding is not NUL.
        """
        match self.family:
            case _ if self.family in NUMBERS:
                return self.number
            case _ if self.family == STRING:
                return f"|S{self.size}" if self.size == 1 or self.form == NULL_PADDED else None
            case _ if self.family == OPAQUE:
                return f"|V{self.size}"
            case _ if self.family == ENUM and self.base is not None:
                return self.base.descr
            case _ if self.family == COMPOUND:
                return self._record()
        return None

    @cached_property
    def has_lists(self) -> bool:
        """True if values refer to others: texts and lists of variable length, and arrays and records of some."""
        if self.family == ARRAY and self.base is not None:
            return self.base.has_lists
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
        formats = [
            # a text is an array of chars; NumPy casts arrays of arrays wrongly
            ("S1", (*member.shape, member.type.size)) if one.kind == "S" and one.itemsize > 1 else (one, member.shape)
            for one, member in zip(types, self.members, strict=True)
            if one is not None
        ]
        form: Any = {
            "names": [f"f{place}" for place in range(len(types))],
            "formats": formats,
            "offsets": [member.offset for member in self.members],
            "itemsize": self.size,
        }
        dtype: np.dtype[Any] = np.dtype(form)
        return dtype

    def _record(self) -> Descr | None:
        """Return the dtype of a record; None if it has gaps or members without a dtype."""
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


def datatype(data: bytes) -> Datatype:
    """Return the type in the body of a message. Raises UnreadableHeaderError."""
    return _datatype(data, 0, 0)[0]


def _datatype(data: bytes, at: int, depth: int) -> tuple[Datatype, int]:
    """Return a type and the offset of its end."""
    if depth > DEEPEST or len(data) < at + 8:
        raise UnreadableHeaderError("a type is damaged")
    kind, bits, _, size = unpack_from("<BHBI", data, at)  # IV.A.2.d: version and class, bits of the class, size
    version, family = kind >> 4, kind & 15
    at += 8
    if not 1 <= version <= NEWEST or not 0 < size <= LARGEST or at > len(data):
        raise UnreadableHeaderError("a type is damaged")
    match family:
        case _ if family == INTEGER:
            return _integer(data, at, bits, size), at + 4
        case _ if family == FLOAT:
            return _read_float(data, at, bits, size), at + 12
        case _ if family == STRING:
            return Datatype(family, size, form=bits & 15), at
        case _ if family == OPAQUE:
            end = at + ((bits & 255) + 7) // 8 * 8  # the tag is padded to 8 bytes
            return Datatype(family, size, tag=data[at:end].partition(b"\0")[0]), end
        case _ if family == REFERENCE:
            return Datatype(family, size, form=bits & 15), at
        case _ if family == TIME:
            return Datatype(family, size), at + 2  # a precision of two bytes
        case _ if family == BITFIELD:
            return _integer(data, at, bits & 7, size, BITFIELD), at + 4
        case _ if family == COMPLEX:
            return _complex(data, at, bits, size, depth)
        case _ if family == COMPOUND:
            return _read_compound(data, at, bits, size, version, depth)
        case _ if family == ENUM:
            return _read_enum(data, at, bits, size, version, depth)
        case _ if family == VLEN:
            base, end = _datatype(data, at, depth + 1)
            return Datatype(family, size, base=base, form=bits & 15), end
        case _ if family == ARRAY and version > 1:  # version 1 has arrays in members alone
            return _read_array(data, at, size, version, depth)
    raise UnreadableHeaderError(f"types of class {family} are not read")


def _integer(data: bytes, at: int, bits: int, size: int, family: int = INTEGER) -> Datatype:
    """Return the type of integers, or of bitfields, which have no sign."""
    offset, precision = unpack_from("<HH", data, at)
    is_signed = bool(bits & 8)  # bit 3: signed
    if size not in (1, 2, 4, 8) or offset or precision != 8 * size:
        if not precision or offset + precision > 8 * size:
            raise UnreadableHeaderError("a type is damaged")
        return Datatype(family, size, bits=integer_bits(size, offset, precision, big=bool(bits & 1), signed=is_signed))
    letter = "i" if is_signed else "u"
    return Datatype(family, size, f"|{letter}1" if size == 1 else f"{'<>'[bits & 1]}{letter}{size}")


def _read_float(data: bytes, at: int, bits: int, size: int) -> Datatype:
    """Read a float of IEEE 754, or the fields of bits of another one."""
    (bias,) = unpack_from("<I", data, at + 8)  # after eight bytes of positions of bits
    if bits & _FLOAT_FORM == _IMPLIED:
        number = _IEEE.get((size, bits & 1, data[at : at + 8], bias, bits >> 8))
        if number is not None:
            return Datatype(FLOAT, size, number)
    is_ieee = bits & _FLOAT_FORM & ~_PADDINGS == _IMPLIED
    form = float_bits(size, data[at : at + 8], bias, bits >> 8, big=bool(bits & 1), is_ieee=is_ieee)
    return Datatype(FLOAT, size, bits=form)


def _complex(data: bytes, at: int, bits: int, size: int, depth: int) -> tuple[Datatype, int]:
    """Return the type of HDF5 2.0's complex numbers: as the record that h5py makes of them."""
    base, end = _datatype(data, at, depth + 1)
    if base.family != FLOAT or size != 2 * base.size or bits & _COMPLEX_FORM:
        return Datatype(COMPLEX, size), end
    return Datatype(COMPOUND, size, members=(Member(b"r", 0, (), base), Member(b"i", base.size, (), base))), end


def _name(data: bytes, at: int, version: int) -> tuple[bytes, int]:
    """Return a name and the offset after it, padded to eight bytes before version 3."""
    end = data.find(b"\0", at)
    if end <= at:
        raise UnreadableHeaderError("a type is damaged")
    length = end + 1 - at
    return data[at:end], at + (length if version >= 3 else (length + 7) // 8 * 8)


def _read_compound(data: bytes, at: int, count: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    """Read a compound of `count` members; return it and the offset behind it."""
    width = (size.bit_length() + 7) // 8 if version >= 3 else 4  # version 3: as few bytes as hold the size
    members = []
    for _ in range(count):
        name, at = _name(data, at, version)
        offset = int.from_bytes(data[at : at + width], "little")
        at += width
        shape: tuple[int, ...] = ()
        if version == 1:  # version 1: rank, permutation and four lengths in 28 bytes
            shape = unpack_from("<4I", data, at + 12)[: data[at]] if at < len(data) else ()
            at += 28
        element, at = _datatype(data, at, depth + 1)
        if element.family == ARRAY and element.base is not None:
            shape, element = element.shape, element.base
        if 0 in shape or offset + math.prod(shape) * element.size > size:
            raise UnreadableHeaderError("a type is damaged")
        members.append(Member(name, offset, shape, element))
    return Datatype(COMPOUND, size, members=tuple(members)), at


def _read_enum(data: bytes, at: int, count: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    """Read an enum of `count` constants, base type first; return it and the offset behind it."""
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
    at += 4 if version == 2 else 1  # version 3 has no reserved bytes here
    shape = unpack_from(f"<{rank}I", data, at)
    at += 4 * rank * (2 if version == 2 else 1)  # version 2 has permutation indices, which nothing uses
    base, at = _datatype(data, at, depth + 1)
    if base.family == ARRAY:
        base, shape = base.cell, (*shape, *base.shape)
    if 0 in shape or math.prod(shape) * base.size != size:
        raise UnreadableHeaderError("a type is damaged")
    return Datatype(ARRAY, size, base=base, shape=shape), at


def text_of(data: bytes, form: int) -> bytes:
    """Return the text in the bytes of one element. `form`: its padding, as HDF5 converts it to NULs."""
    if form not in (NULL_PADDED, SPACE_PADDED):
        return data.split(b"\0", 1)[0]
    return (data.rstrip(b" ") if form == SPACE_PADDED else data).rstrip(b"\0")
