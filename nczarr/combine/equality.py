"""Fast comparison of a variable's values in two datasets.

Small arrays are read whole. Of larger ones the first block is compared first, because differences mostly show
there, then all blocks (`compare/values.py`).
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
"""Maximum bytes of an array that is read whole."""


def equal(one: Checked, other: Checked, path: str) -> bool:
    """Return whether values are bitwise equal, with all NaNs equal. Expects equal types and shapes."""
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
