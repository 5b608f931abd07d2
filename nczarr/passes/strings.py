"""What the strings of an array are like: how long, which are NIL, whether a fixed-length array would hold them.

Reads the array once, in slabs of whole rows, and only where something may have been written.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nczarr.data.source import ArraySource, Index, Selection
from nczarr.passes.planned import Runs

SLAB = 1 << 18
"""Strings looked at in one go."""


class Strings(NamedTuple):
    """`longest` value in bytes, `nul`: one holds a NUL byte, `utf8`: all are UTF-8, `nil`: which are NIL."""

    longest: int = 0
    nul: bool = False
    utf8: bool = True
    nil: Runs = ()


def survey(source: ArraySource | None, fill: bytes) -> Strings:
    """Look at every string of an array that may not be fill, and at the fill; without a source there is only that."""
    longest, nul, utf8 = len(fill), b"\0" in fill, _is_utf8(fill)
    if source is None:
        return Strings(longest, nul, utf8)
    nil: list[int] = []
    shape = source.layout.shape
    slab = _slab(shape)
    for index in source.occupied(slab):
        first = _first(index, slab, shape)
        for number, text in enumerate(source.read(_region(index, slab, shape)).reshape(-1)):
            if text is None:
                nil.append(first + number)
                continue
            longest = max(longest, len(text))
            nul = nul or b"\0" in text
            utf8 = utf8 and (text.isascii() or _is_utf8(text))
    return Strings(longest, nul, utf8, tuple(_runs(sorted(nil))))


def _slab(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Chunk lengths that cover linear ranges: whole inner dimensions, a part of one, ones before it."""
    lengths = [1] * len(shape)
    room = SLAB
    for axis in range(len(shape) - 1, -1, -1):
        lengths[axis] = max(1, min(shape[axis], room))
        if lengths[axis] < shape[axis]:
            break
        room //= max(1, shape[axis])
    return tuple(lengths)


def _region(index: Index, slab: tuple[int, ...], shape: tuple[int, ...]) -> Selection:
    return tuple(
        slice(number * length, min((number + 1) * length, extent))
        for number, length, extent in zip(index, slab, shape, strict=True)
    )


def _first(index: Index, slab: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The linear index of a slab's first element."""
    return sum(
        number * length * math.prod(shape[axis + 1 :])
        for axis, (number, length) in enumerate(zip(index, slab, strict=True))
    )


def _runs(indices: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and sum(runs[-1]) == index:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((index, 1))
    return runs


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
