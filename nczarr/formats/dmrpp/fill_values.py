"""Fill values of records in a document."""

from __future__ import annotations

import math

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.source import Descr, itemsize, numpy_dtype
from nczarr.formats.dmrpp.types import Member, stored_descr
from nczarr.formats.dmrpp.wire import number_of

_NAMES = {"i1": "byte", "u1": "ubyte", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "i8": "int64",
          "u8": "uint64", "f4": "float", "f8": "double"}  # fmt: skip


def record_fill(text: str, dtype: Descr) -> bytes | None:
    """Return the fill value of records from the texts of all numbers; a single 0 means zeros."""
    leaves = list(_leaves(dtype))
    words = text.split()
    if words == ["0"]:
        return bytes(itemsize(dtype))
    if len(words) != len(leaves) or not all(leaf in _NAMES for leaf in leaves):
        return None
    numbers = [number_of(word, _NAMES[leaf]) for word, leaf in zip(words, leaves, strict=True)]
    return None if None in numbers else b"".join(number or b"" for number in numbers)


def _leaves(dtype: Descr) -> list[str]:
    """Return the types of all numbers of an element, in order."""
    if isinstance(dtype, str):
        return [dtype[1:]]
    return [leaf for _, field, shape in dtype for _ in range(math.prod(shape)) for leaf in _leaves(field)]


def padded_fill(fill: bytes, dtype: Descr, layout: tuple[int, tuple[Member, ...]], *, big: bool) -> bytes:
    """Return a fill value as stored in a padded record."""
    swapped = np.frombuffer(fill, numpy_dtype(dtype)).astype(numpy_dtype(stored_descr(dtype, big=big))).tobytes()
    made, at = bytearray(layout[0]), 0
    for (_, field, shape), member in zip(() if isinstance(dtype, str) else dtype, layout[1], strict=True):
        length = itemsize(field) * math.prod(shape)
        made[member.offset : member.offset + length] = swapped[at : at + length]
        at += length
    return bytes(made)
