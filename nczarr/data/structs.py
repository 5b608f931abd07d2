"""Values as C structs: sizes, alignments and offsets, as a C compiler on a 64-bit machine gives them.

That is how the netCDF library wants values in memory, and how records lie in the files that it makes.
"""

from __future__ import annotations

import math
from typing import NamedTuple, assert_never

from nczarr.ast.types import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.data.parts import Types

POINTER = 8
"""Bytes of a pointer: what a string is in memory; a list is a length of as many, and a pointer."""


class Struct(NamedTuple):
    """`size` of one value, padding at its end included; `offsets` of the fields of a record."""

    size: int
    alignment: int
    offsets: tuple[int, ...] = ()


def struct(type_name: str, types: Types) -> Struct:
    """The C struct of a type."""
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
            return _record(declared, types)
        case _:
            assert_never(declared)


def _record(declared: CompoundType, types: Types) -> Struct:
    at, widest, offsets = 0, 1, []
    for field in declared.fields:
        one = struct(field.type, types)
        at = -(-at // one.alignment) * one.alignment
        offsets.append(at)
        at += one.size * math.prod(field.shape)
        widest = max(widest, one.alignment)
    return Struct(-(-at // widest) * widest, widest, tuple(offsets))
