"""Whether a variable has the same values in two datasets, as fast as that can be told.

Small arrays are read whole; of larger ones the first block, where those that differ at all mostly do, and then all
in blocks (`compare/values.py`).
"""

from __future__ import annotations

import math

from nczarr.arrays.blocks import region_of
from nczarr.arrays.parts import is_fixed
from nczarr.arrays.source import itemsize
from nczarr.check.checked import Checked
from nczarr.compare.elements import unequal
from nczarr.compare.values import TEXT, block_shape, values, whole_parts

SMALL = 4 << 20
"""Bytes of an array that is read whole."""


def equal(one: Checked, other: Checked, path: str) -> bool:
    """Whether values are equal bit by bit, and every NaN to every other. Types and shapes are the same."""
    variable, shape = one.variables[path], one.shapes[path]
    if path not in one.parts and path not in other.parts and one.fills[path] == other.fills[path]:
        return True
    if 0 in shape or not (variable.type == "string" or is_fixed(variable.type, one.types)):
        return values(one, other, path) is None
    sides = [whole_parts(each, path)[""] for each in (one, other)]
    size = itemsize(sides[0].layout.dtype) or TEXT
    region = tuple(slice(0, length) for length in shape)
    small = math.prod(shape) * size <= SMALL
    if not small:
        block = block_shape(shape, (sides[0].layout.chunks, sides[1].layout.chunks), size)
        region = region_of((0,) * len(shape), block, shape)
    here, there = (side.read(region) for side in sides)
    differ = unequal(here, there, variable.type, one.types, None).any()
    never = any(each.variables[path].storage.no_fill and path not in each.parts for each in (one, other))
    undefined = never or any(side.undefined for side in sides)  # such cells are like anything
    if small and not (differ and undefined):
        return not bool(differ)
    return (not differ or undefined) and values(one, other, path) is None
