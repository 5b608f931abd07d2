"""Chunk lengths for a size in bytes, by the way in which the values will be read.

`map`: trailing dimensions stay whole, so that one step of time is read at once.
`series`: the leading dimension stays whole, so that a series at one point is
read at once. `balanced`: both need about as many chunks (Rew's rule, as in NCO).

An automatic size is at least 4 MiB, which CMIP7 demands; trailing dimensions are
split where one step is larger than 16 MiB. A coordinate variable and its bounds are
one chunk, because who opens a dataset reads them whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.options import AUTO, Access

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked

LEAST = 4 << 20
"""Size in bytes that an automatic chunk has at least, if the array is as large."""

LARGEST_STEP = 16 << 20
"""Size in bytes of a step along the leading dimension above which an automatic chunk has only a part of it."""


def propose_layout(checked: Checked) -> tuple[int, int] | None:
    """Return the chunks that a dataset has, and the much smaller number of automatic ones; None without a gain."""
    before = after = 0
    for path, variable in checked.variables.items():
        chunks, shape = variable.storage.chunks, checked.shapes[path]
        if chunks and is_fixed(variable.type, checked.types):
            lengths = lengths_of_size(shape, max(1, size(variable.type, checked.types)), AUTO)
            before += math.prod(grid_of(shape, chunks))
            after += math.prod(grid_of(shape, lengths))
    return (before, after) if before >= 4 * after else None


def lengths_of_size(shape: tuple[int, ...], itemsize: int, length: int, access: Access = "map") -> tuple[int, ...]:
    """Return the lengths of chunks of at most `length` bytes, or of an automatic size (`AUTO`).

    A chunk has at least one element. Dimensions of length 0 count as one.

    >>> lengths_of_size((3650, 180, 360), 4, AUTO)
    (17, 180, 360)
    >>> lengths_of_size((3650, 180, 360), 4, 1_000_000, "series")
    (3650, 5, 12)
    """
    extents = tuple(max(1, length) for length in shape)
    automatic = length == AUTO
    cells = max(1, -(-LEAST // itemsize) if automatic else length // itemsize)
    if math.prod(extents) <= cells:
        return extents
    if access == "map":
        lengths = _keep_steps_whole(extents, cells, LARGEST_STEP // itemsize if automatic else cells)
    else:
        first = extents[0] if access == "series" else extents[0] / math.sqrt(math.prod(extents) / cells)
        first = max(1, min(cells, int(first)))
        lengths = (first, *_shrink(extents[1:], cells // first))
    lengths = _even_out(lengths, extents)
    return _lengthen(lengths, extents, cells) if automatic else lengths


def _keep_steps_whole(extents: tuple[int, ...], cells: int, largest_step: int) -> tuple[int, ...]:
    """Return lengths that split trailing dimensions only where a step along the first has too many cells."""
    step = math.prod(extents[1:])
    if step > largest_step:
        return (1, *_keep_steps_whole(extents[1:], cells, largest_step))
    return (max(1, min(extents[0], cells // step)), *extents[1:])


def _shrink(extents: tuple[int, ...], cells: int) -> tuple[int, ...]:
    """Return lengths of at most `cells` cells: each extent by the same factor, as far as lengths are at least 1."""
    lengths = list(extents)
    open_axes = sorted(range(len(extents)), key=lambda axis: extents[axis])
    while open_axes:
        factor = (cells / math.prod(extents[axis] for axis in open_axes)) ** (1 / len(open_axes))
        axis = open_axes.pop(0)
        lengths[axis] = max(1, min(extents[axis], int(extents[axis] * factor)))
        cells //= lengths[axis]
    return tuple(lengths)


def _even_out(lengths: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """Shorten lengths so that the last chunk along a dimension is about as long as the others."""
    return tuple(-(-extent // -(-extent // length)) for length, extent in zip(lengths, extents, strict=True))


def _lengthen(lengths: tuple[int, ...], extents: tuple[int, ...], cells: int) -> tuple[int, ...]:
    """Lengthen split dimensions, the longest lengths first, to at least `cells` cells."""
    longer = list(lengths)
    for axis in sorted(range(len(extents)), key=lambda axis: lengths[axis], reverse=True):
        others = math.prod(longer) // longer[axis]
        longer[axis] = min(extents[axis], max(longer[axis], -(-cells // others)))
    return tuple(longer)
