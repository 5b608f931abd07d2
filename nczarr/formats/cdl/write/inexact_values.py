"""Values without a CDL spelling: NaNs with unusual bits, enum values without a name, counted by loss code.

Arrays have the dtypes of `arrays/values/parts.py` and are read in bounded blocks, only
where data are stored.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from contextlib import closing
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import linear_block, region_of
from nczarr.arrays.sources.bands import Bands
from nczarr.arrays.sources.source import Parts, little, little_descr, numpy_dtype, unwritten_of
from nczarr.arrays.values.parts import Types, descr, parts
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType

BLOCK = 1 << 16
"""Elements examined at once."""

NAN, UNNAMED = "nan-bits", "unnamed-value"

_BITS = {"f": (0x7FC00000, 0x7F800000, 0x7FFFFFFF, "I"), "d": (0x7FF8 << 48, 0x7FF0 << 48, (1 << 63) - 1, "Q")}
"""By `struct` code: bits of the usual NaN, of infinity, mask of all but the sign, and integer code."""


def in_constant(constant: Constant, types: Types) -> Counter[str]:
    """Count the unspellable values in an attribute."""
    data = constant.data
    if isinstance(data, tuple):
        counts: Counter[str] = Counter()
        for item in data:
            if isinstance(item, Constant):
                counts += in_constant(item, types)
        return counts
    atomic = ATOMIC.get(constant.type)
    if atomic is not None and atomic.is_float:
        return _in_floats(data, constant.count, atomic.code)
    if not can_be_odd(constant.type, types):
        return Counter()
    return in_array(np.frombuffer(data, numpy_dtype(descr(constant.type, types))), constant.type, types)


def _in_floats(data: bytes, count: int, code: str) -> Counter[str]:
    """Return the counts of `in_array` without NumPy."""
    usual, infinite, unsigned, bits = _BITS[code]
    values = struct.unpack(f"<{count}{bits}", data)
    return +Counter({NAN: sum(value & unsigned > infinite and value != usual for value in values)})


def can_be_odd(type_name: str, types: Types) -> bool:
    """Return whether a fixed-size type contains floats or enums."""
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return any(can_be_odd(field.type, types) for field in declared.fields)
    return isinstance(declared, EnumType) or (declared is None and ATOMIC[type_name].is_float)


def in_array(values: NDArray[Any], type_name: str, types: Types) -> Counter[str]:
    """Count the unspellable values in an array of any shape, in the packed dtype of a fixed-size type."""
    declared = types.get(type_name)
    counts: Counter[str] = Counter()
    if isinstance(declared, CompoundType):
        for field in declared.fields:
            counts += in_array(values[field.name], field.type, types)
    elif isinstance(declared, EnumType):
        codes = np.array([constant.value for constant in declared.constants], values.dtype)
        counts[UNNAMED] = int(np.count_nonzero(~np.isin(values, codes)))
    elif declared is None and ATOMIC[type_name].is_float:
        usual, _, _, bits = _BITS[ATOMIC[type_name].code]
        nans = np.ascontiguousarray(values[np.isnan(values)])
        counts[NAN] = int(np.count_nonzero(nans.view(bits) != usual))
    return +counts


def in_variable(
    sources: Parts, type_name: str, shape: tuple[int, ...], types: Types, fill: Constant | None
) -> Counter[str]:
    """Count the unspellable values in a variable's arrays.

    Unwritten cells count unless they equal the variable's `fill`, which CDL
    prints as `_`.
    """
    counts: Counter[str] = Counter()
    for part in parts(type_name, shape, types):
        source = sources.get(part.path)
        if source is None or not can_be_odd(part.type, types):
            continue
        block = linear_block(source.layout.shape, BLOCK)
        left = math.prod(source.layout.shape)
        with closing(Bands(source, BLOCK)) as bands:
            for index in source.occupied(block):
                values = little(bands.read(region_of(index, block, source.layout.shape)))
                counts += in_array(values, part.type, types)
                left -= values.size
        unwritten = unwritten_of(source)
        if left and (fill is None or unwritten != fill.data):
            value = np.frombuffer(unwritten, numpy_dtype(little_descr(source.layout.dtype)))
            counts += Counter({code: count * left for code, count in in_array(value, part.type, types).items()})
    return counts
