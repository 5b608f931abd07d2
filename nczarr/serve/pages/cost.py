"""Cost of reading a part of a variable, before any value is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

from nczarr.arrays.sources.source import ArraySource
from nczarr.ast.rectilinear import largest
from nczarr.check.checked import Checked
from nczarr.serve.protocols.cdmremote import size_of
from nczarr.serve.value_streams import chunk_size

FEW = 1024
"""Chunks below which stored ones are not looked up."""

COUNTED = 256 << 20
"""Decoded bytes of the stored chunks that are counted; more are too many for any page."""

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
    lengths = tuple(max(1, each) for each in largest(part.layout.chunks[:rank]))
    touched = math.prod(
        len(each) if each.step >= length else each[-1] // length - each[0] // length + 1
        for each, length in zip(ranges, lengths, strict=True)
    )
    if touched > FEW and rank == len(part.layout.shape):
        touched = min(touched, len(stored_blocks(part, ranges, max(FEW, COUNTED // chunk))))
    return chunk * touched


def stored_blocks(part: ArraySource, ranges: Sequence[range], most: int) -> list[tuple[range, ...]]:
    """Return the indices of the chunks that may have stored values within the span of ranges, `most` + 1 at most.

    Raises OSError.
    """
    lengths = tuple(max(1, each) for each in largest(part.layout.chunks))
    region = tuple(
        range(each[0] // length * length, min(size, (each[-1] // length + 1) * length))
        for each, length, size in zip(ranges, lengths, part.layout.shape, strict=True)
    )
    return [
        tuple(
            range(span.start + number * length, min(span.stop, span.start + (number + 1) * length))
            for span, number, length in zip(region, index, lengths, strict=True)
        )
        for index in islice(part.occupied(lengths, region), most + 1)
    ]
