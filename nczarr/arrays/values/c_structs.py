"""C struct layout of values: sizes, alignments and offsets of a C compiler on a 64-bit machine.

The netCDF library uses it in memory, and for records in the files that it
writes.
"""

from __future__ import annotations

import math
from typing import NamedTuple, assert_never

from nczarr.arrays.values.parts import Types
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType

POINTER = 8
"""Bytes of a pointer: a string in memory; a list is an equally long length and a pointer."""


class Struct(NamedTuple):
    """Layout of a C struct."""

    size: int
    """Size of one value in bytes, with trailing padding."""
    alignment: int
    """Alignment in bytes."""
    offsets: tuple[int, ...] = ()
    """Byte offsets of a record's fields."""


def struct(type_name: str, types: Types) -> Struct:
    """Return the C struct of a type."""
    return _struct(type_name, types, {})


def stored_size(type_name: str, types: Types) -> int:
    """Return the bytes of one value in a netCDF-4 file: as in memory, but 16 for each string, as for lists."""
    return struct(type_name, types).size + POINTER * _texts(type_name, types, {})


def _struct(type_name: str, types: Types, structs: dict[str, Struct]) -> Struct:
    """Return the C struct; `structs` caches types, because a type may occur many times in others."""
    declared = types.get(type_name)
    match declared:
        case None:
            width = ATOMIC[type_name].size or POINTER
            return Struct(width, width)
        case EnumType():
            width = ATOMIC[declared.base].size
            return Struct(width, width)
        case OpaqueType():
            return Struct(declared.size, 1)
        case VlenType():
            return Struct(2 * POINTER, POINTER)
        case CompoundType():
            if type_name not in structs:
                structs[type_name] = _record(declared, types, structs)
            return structs[type_name]
        case _:
            assert_never(declared)


def _record(declared: CompoundType, types: Types, structs: dict[str, Struct]) -> Struct:
    at, widest, offsets = 0, 1, []
    for field in declared.fields:
        one = _struct(field.type, types, structs)
        at = -(-at // one.alignment) * one.alignment
        offsets.append(at)
        at += one.size * math.prod(field.shape)
        widest = max(widest, one.alignment)
    return Struct(-(-at // widest) * widest, widest, tuple(offsets))


def _texts(type_name: str, types: Types, counts: dict[str, int]) -> int:
    """Count the strings of one value, except those in lists."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return int(type_name == "string")
    if type_name not in counts:
        counts[type_name] = sum(math.prod(field.shape) * _texts(field.type, types, counts) for field in declared.fields)
    return counts[type_name]
