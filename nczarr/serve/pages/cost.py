"""Cost of reading a part of a variable, before any value is read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nczarr.arrays.source import ArraySource
from nczarr.ast.rectilinear import largest
from nczarr.check.checked import Checked
from nczarr.serve.cdmremote import size_of
from nczarr.serve.value_streams import chunk_size

PAGE = 4096
"""Bytes that the system reads of a mapped file for one value."""


def cost(checked: Checked, path: str, ranges: Sequence[range]) -> int:
    """Return the bytes that must be read or decoded for index ranges of a variable, none of them descending."""
    parts = checked.parts.get(path, {})
    least = size_of(checked, path, tuple(ranges))
    return max([least, *(_cost(part, ranges, least) for part in parts.values())])


def _cost(part: ArraySource, ranges: Sequence[range], least: int) -> int:
    chunk = chunk_size(part)
    rank = len(ranges)
    if not chunk or len(part.layout.shape) < rank or not all(ranges):
        span = math.prod(each[-1] - each[0] + 1 if each else 0 for each in ranges)
        cells = math.prod(map(len, ranges))
        return min(span * max(1, least // max(1, cells)), cells * PAGE)
    lengths = largest(part.layout.chunks[:rank])
    touched = (
        len(each) if each.step >= length else each[-1] // length - each[0] // length + 1
        for each, length in zip(ranges, (max(1, each) for each in lengths), strict=True)
    )
    return chunk * math.prod(touched)
