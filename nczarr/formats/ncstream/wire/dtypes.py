"""Mapping between model types and wire types."""

from __future__ import annotations

from typing import NamedTuple

from nczarr import names
from nczarr.arrays.parts import Types
from nczarr.ast.node import TypeName
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.formats.ncstream._generated.ncstream_pb2 import Attribute, DataType

WIRE: dict[str, DataType] = {
    "char": DataType.CHAR, "byte": DataType.BYTE, "short": DataType.SHORT, "int": DataType.INT,
    "int64": DataType.LONG, "float": DataType.FLOAT, "double": DataType.DOUBLE, "string": DataType.STRING,
    "ubyte": DataType.UBYTE, "ushort": DataType.USHORT, "uint": DataType.UINT, "uint64": DataType.ULONG,
}  # fmt: skip
"""Wire type by atomic type."""

ATOMS: dict[int, str] = {int(wire): name for name, wire in WIRE.items()}
"""Inverse of `WIRE`."""

UNSIGNED: dict[str, str] = {"byte": "ubyte", "short": "ushort", "int": "uint", "int64": "uint64"}
"""Effect of the `unsigned` flag on a type (first generation)."""

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


class WireType(NamedTuple):
    """A wire type: element type, and number of ragged dimensions after those of the variable.

    `declared`: FQN of the compound or enum.
    """

    element: DataType
    ragged: int = 0
    declared: TypeName | None = None


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


def full_name(path: str) -> str:
    r"""Return the wire's full name: `/` between groups, no leading slash, `.` and `\` escaped."""
    return names.cdm_full_name(path)


def full_bytes(path: str) -> bytes:
    """Return the full name as bytes."""
    return full_name(path).encode("utf-8", "surrogateescape")
