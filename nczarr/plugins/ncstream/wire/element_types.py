"""Element types of the wire, their equivalents in NumPy and in the model, sections, names, and declarations of headers.

Invariant: the shape of a section is possible for an array. Full names are those of the Common Data Model: without a
leading slash, and with a dot before a member.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.parts import Types
from nczarr.ast.node import TypeName
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, Field, OpaqueType, VlenType
from nczarr.names import split
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated.ncstream_pb2 import Attribute, DataType
from nczarr.plugins.ncstream.wire.limits import LARGEST, MOST_DIMENSIONS, bad, oversized

_NEEDS = re.compile(r"[\\/.]")


def cdm_full_name(path: str, members: Iterable[str] = ()) -> str:
    """Return the Common Data Model's full name of a FQN, or of a member of it: `g1/temp`, `g1/obs.day`.

    Dots, backslashes and slashes in names get a backslash; names of that model
    contain no slashes.
    """
    group = "/".join(_NEEDS.sub(r"\\\g<0>", name) for name in split(path))
    return ".".join([group, *(_NEEDS.sub(r"\\\g<0>", name) for name in members)])


Section = tuple[range, ...]
"""Region of a variable in a message: one range per dimension."""

NUMPY: dict[int, str] = {
    pb.CHAR: "S1", pb.BYTE: "i1", pb.SHORT: "i2", pb.INT: "i4", pb.LONG: "i8", pb.FLOAT: "f4", pb.DOUBLE: "f8",
    pb.ENUM1: "u1", pb.ENUM2: "u2", pb.ENUM4: "u4", pb.UBYTE: "u1", pb.USHORT: "u2", pb.UINT: "u4", pb.ULONG: "u8",
}  # fmt: skip
"""NumPy name of each fixed-width type. Enums are unsigned, as their codes are."""

UNSIGNED: dict[int, int] = {pb.BYTE: pb.UBYTE, pb.SHORT: pb.USHORT, pb.INT: pb.UINT, pb.LONG: pb.ULONG}
"""Effect of the `unsigned` flag on a type (first generation)."""

WIRE: dict[str, DataType] = {
    "char": DataType.CHAR, "byte": DataType.BYTE, "short": DataType.SHORT, "int": DataType.INT,
    "int64": DataType.LONG, "float": DataType.FLOAT, "double": DataType.DOUBLE, "string": DataType.STRING,
    "ubyte": DataType.UBYTE, "ushort": DataType.USHORT, "uint": DataType.UINT, "uint64": DataType.ULONG,
}  # fmt: skip
"""Wire type by atomic type."""

ATOMS: dict[int, str] = {int(wire): name for name, wire in WIRE.items()}
"""Inverse of `WIRE`."""

UNSIGNED_NAMES: dict[str, str] = {ATOMS[one]: ATOMS[other] for one, other in UNSIGNED.items()}
"""Effect of the `unsigned` flag on an atomic type."""

ENUMS: dict[int, DataType] = {1: DataType.ENUM1, 2: DataType.ENUM2, 4: DataType.ENUM4, 8: DataType.LONG}
"""Wire type of an enum by its size. No 8-byte enum exists; those are plain integers."""

ENUM_BASES: dict[int, str] = {
    int(DataType.ENUM1): "ubyte",
    int(DataType.ENUM2): "ushort",
    int(DataType.ENUM4): "uint",
}
"""Base types of the wire's enums, whose codes are unsigned."""

OLD_ATTRIBUTE: dict[str, Attribute.Type] = {
    "byte": Attribute.BYTE, "ubyte": Attribute.BYTE, "short": Attribute.SHORT, "ushort": Attribute.SHORT,
    "int": Attribute.INT, "uint": Attribute.INT, "int64": Attribute.LONG, "uint64": Attribute.LONG,
    "float": Attribute.FLOAT, "double": Attribute.DOUBLE,
}  # fmt: skip
"""First-generation type of numeric attributes."""

OF_NUMPY: dict[str, int] = {
    **{name: number for number, name in NUMPY.items() if number not in ENUM_BASES},
    "b1": pb.UBYTE,
}
"""Wire type by NumPy dtype, if none is specified."""

NAMES: dict[int, str] = {number: name for name, number in pb.DataType.items()}
"""Name of each type in the format."""

RAGGED = 2**64 - 1
"""Length that marks a ragged dimension."""


class WireType(NamedTuple):
    """A wire type."""

    element: DataType
    ragged: int = 0
    """Number of ragged dimensions after those of the variable."""
    declared: TypeName | None = None
    """FQN of the compound or enum."""


def name_of(data_type: int) -> str:
    """Return the name of a type; an unknown type is its number."""
    return NAMES.get(data_type, str(data_type))


def wire_type(type_name: TypeName, types: Types) -> WireType:
    """Return the wire type of a type. Each list level adds a ragged dimension."""
    ragged = 0
    while isinstance(declared := types.get(type_name), VlenType):
        type_name, ragged = declared.base, ragged + 1
    match declared:
        case CompoundType():
            return WireType(DataType.STRUCTURE, ragged, type_name)
        case EnumType():
            return WireType(ENUMS[ATOMIC[declared.base].size], ragged, type_name)
        case OpaqueType():
            return WireType(DataType.OPAQUE, ragged)
        case _:
            return WireType(WIRE[type_name], ragged)


def dtype_of(data_type: int, *, big: bool) -> np.dtype[np.generic]:
    """Return the NumPy dtype of a fixed-width type."""
    return np.dtype(NUMPY[data_type]).newbyteorder(">" if big else "<")


def data_type_of(dtype: np.dtype[np.generic]) -> int:
    """Return the wire type of a numeric dtype. Raises ValueError for other dtypes."""
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in OF_NUMPY:
        raise ValueError(f"ncstream has no type for NumPy's {dtype}")
    return OF_NUMPY[name]


def section_of(
    message: pb.Data | pb.DataCol, offset: int, *, is_ragged: bool = False
) -> tuple[Section | None, int | None]:
    """Return the section of a message (or None), and the position of its removed ragged dimension.

    `is_ragged`: allow a ragged dimension. Raises UnreadableStreamError for an impossible
    shape.
    """
    if not message.HasField("section"):
        return None, None
    ranges: list[range] = []
    place = None
    for part in message.section.range:
        if is_ragged and part.size == RAGGED and place is None:  # TDS 4 sends the ragged range with the size 2⁶⁴ - 1
            place = len(ranges)
            continue
        stride = part.stride or 1  # an absent stride and 0 mean 1
        stop = part.start + part.size * stride
        if stop >= LARGEST:
            raise oversized(f"a section has a range of {part.size} places from {part.start}", offset)
        ranges.append(range(part.start, stop, stride))
    check_shape(tuple(map(len, ranges)), offset)
    return tuple(ranges), place


def check_shape(shape: tuple[int, ...], offset: int) -> None:
    """Raise UnreadableStreamError for an impossible array shape."""
    if len(shape) > MOST_DIMENSIONS:
        raise oversized(f"a section has {len(shape)} dimensions, more than {MOST_DIMENSIONS}", offset)
    if math.prod(max(1, length) for length in shape) >= LARGEST >> 8:
        raise oversized(f"a section of {' × '.join(map(str, shape))} places is larger than any possible array", offset)


def shape_of(section: Section) -> tuple[int, ...]:
    """Return the shape of a section."""
    return tuple(map(len, section))


def write_section(section: Section, into: pb.Section) -> None:
    """Write a section in second-generation style: stride always, start only if not 0."""
    into.SetInParent()
    for indices in section:
        one = into.range.add(size=len(indices), stride=indices.step)
        if indices.start:
            one.start = indices.start


def check_type(data_type: int, offset: int) -> None:
    """Raise UnreadableStreamError if the format has no such type."""
    if data_type not in NAMES:
        raise bad(f"unknown data type {data_type}", offset)


def full_bytes(path: str) -> bytes:
    r"""Return the wire's full name: `/` between groups, no leading slash, `.` and `\` escaped."""
    return names.to_bytes(cdm_full_name(path))


def in_order(fields: Iterable[Field], types: Types) -> list[Field]:
    """Return the members of a compound in wire order: structures last."""
    return sorted(fields, key=lambda field: is_structure(field.type, types))


def is_sequence(type_name: TypeName, shape: tuple[int, ...], types: Types) -> bool:
    """Return whether a variable is one list of records that rows can hold."""
    declared = types.get(type_name)
    return not shape and isinstance(declared, VlenType) and _has_rows(declared.base, types)


def _has_rows(type_name: TypeName, types: Types) -> bool:
    """Return whether a type is a compound of numbers, strings and such compounds."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return False
    for field in declared.fields:
        wire = wire_type(field.type, types)
        nested = wire.element == pb.STRUCTURE and not wire.ragged and not _has_rows(field.type, types)
        if wire.ragged or wire.element == pb.OPAQUE or nested:
            return False
    return True


def is_structure(type_name: TypeName, types: Types) -> bool:
    """Return whether values are records, or lists of records."""
    return wire_type(type_name, types).element == pb.STRUCTURE


Declared = pb.Variable | pb.Structure


class Definitions:
    """Variables of all headers so far by full name; later headers replace earlier ones."""

    def __init__(self, *headers: pb.Header) -> None:
        self._headers = list(headers)
        self._known: dict[bytes, Declared] = {}

    def add(self, header: pb.Header) -> None:
        """Add a header. Its variables replace those of the same name."""
        self._headers.append(header)

    def find(self, name: bytes) -> Declared | None:
        r"""Return the variable of a full name: `/` between groups, `.` and `\` escaped, optional leading `/`."""
        while self._headers:
            self._known.update(_declare(self._headers.pop(0).root, b""))
        return self._known.get(name.removeprefix(b"/"))  # answers of servers leave out a leading slash


def _declare(group: pb.Group, path: bytes) -> Iterator[tuple[bytes, Declared]]:
    """Yield the declarations of a group and its groups by full name, both plain and escaped."""
    for kind in (group.vars, group.structs):
        for declared in kind:
            yield path + declared.name, declared
            yield path + escape(declared.name), declared
    for inner in group.groups:
        yield from _declare(inner, path + escape(inner.name) + b"/")


def escape(name: bytes) -> bytes:
    """Escape a short name for use in a full name."""
    return name.replace(b"\\", b"\\\\").replace(b".", b"\\.")


def lengths_of(declared: Declared) -> tuple[int, ...]:
    """Return the lengths of the dimensions that are not ragged."""
    # the length of a ragged one is absent or 2⁶⁴ - 1: it is not looked at
    return tuple(dimension.length for dimension in declared.shape if not dimension.isVlen)


def find_ragged_place(declared: Declared) -> int | None:
    """Return the position of the first ragged dimension, or None."""
    return next((place for place, dimension in enumerate(declared.shape) if dimension.isVlen), None)


def is_unsigned(declared: Declared | None) -> bool:
    """Return whether first-generation integers are flagged unsigned."""
    return isinstance(declared, pb.Variable) and declared.unsigned and declared.dataType in UNSIGNED
