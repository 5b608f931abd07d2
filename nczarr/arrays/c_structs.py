"""Values as C structs: sizes, alignments and offsets, as a C compiler on a 64-bit machine gives them.

That is how the netCDF library wants values in memory, and how records lie in the files that it makes.
"""

from __future__ import annotations

import math
from typing import NamedTuple, assert_never

from nczarr.arrays.parts import Types
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType

POINTER = 8
"""Bytes of a pointer: what a string is in memory; a list is a length of as many, and a pointer."""


class Struct(NamedTuple):
    """`size` of one value, padding at its end included; `offsets` of the fields of a record."""

    size: int
    alignment: int
    offsets: tuple[int, ...] = ()


def struct(type_name: str, types: Types) -> Struct:
    """The C struct of a type."""
    return _struct(type_name, types, {})


def stored_size(type_name: str, types: Types) -> int:
    """Bytes of one value in a netCDF-4 file: as in memory, but that each string, like each list, takes 16 bytes."""
    return struct(type_name, types).size + POINTER * _texts(type_name, types, {})


def _struct(type_name: str, types: Types, known: dict[str, Struct]) -> Struct:
    """`known`: what was found already; a type may stand in others many times over."""
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
            if type_name not in known:
                known[type_name] = _record(declared, types, known)
            return known[type_name]
        case _:
            assert_never(declared)


def _record(declared: CompoundType, types: Types, known: dict[str, Struct]) -> Struct:
    at, widest, offsets = 0, 1, []
    for field in declared.fields:
        one = _struct(field.type, types, known)
        at = -(-at // one.alignment) * one.alignment
        offsets.append(at)
        at += one.size * math.prod(field.shape)
        widest = max(widest, one.alignment)
    return Struct(-(-at // widest) * widest, widest, tuple(offsets))


def _texts(type_name: str, types: Types, known: dict[str, int]) -> int:
    """How many strings one value holds, those of its lists aside."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return int(type_name == "string")
    if type_name not in known:
        known[type_name] = sum(math.prod(field.shape) * _texts(field.type, types, known) for field in declared.fields)
    return known[type_name]
