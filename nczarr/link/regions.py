"""Rechunking in bounded memory: which region of an array is read at once, so that source chunks are decoded seldom.

A block is whole keys of the target. It is filled chunk by chunk of the source, in threads, and then the keys in it are
made from memory. The larger the blocks the fewer source chunks are decoded more than once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.data.blocks import every_block, region_of
from nczarr.data.source import ArraySource, Computed, Index, Layout, Selection
from nczarr.link.tasks import Array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PIECE = 1 << 20
"""Bytes that one task reads into a block, unless a source chunk has more."""


class Block(NamedTuple):
    """A region of an array, and the keys to be made of it."""

    region: Selection
    keys: list[Index]


@dataclass(frozen=True, slots=True, eq=False)
class Window(Computed):
    """A region of an array in memory: `values` begin at `origin`."""

    layout: Layout
    origin: Index
    values: NDArray[Any]

    def read(self, selection: Selection) -> NDArray[Any]:
        """A view of a region, which lies inside."""
        inside = tuple(
            slice(part.start - begin, part.stop - begin) for part, begin in zip(selection, self.origin, strict=True)
        )
        region: NDArray[Any] = self.values[inside]
        return region

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Every chunk of the grid."""
        return every_block(self.layout.shape, chunks)


def block_shape(
    shape: tuple[int, ...], unit: tuple[int, ...], grid: tuple[int, ...], room: int
) -> tuple[int, ...] | None:
    """Lengths of the blocks, whole units of the target, of at most `room` elements; None if a unit has more.

    The axis along which source chunks are cut most often grows first; at the end, equal shares are made of each.
    """
    if math.prod(unit) > room:
        return None
    counts = [max(1, -(-length // each)) for length, each in zip(shape, unit, strict=True)]
    block = [1] * len(shape)

    def taken(lengths: list[int]) -> int:
        return math.prod(min(n * u, max(1, s)) for n, u, s in zip(lengths, unit, shape, strict=True))

    def waste(axis: int) -> float:
        """How many times source chunks are decoded because of this axis, about."""
        length = min(block[axis] * unit[axis], shape[axis])
        return 1.0 if block[axis] >= counts[axis] else (length + grid[axis] - 1) / length

    open_axes = {axis for axis in range(len(shape)) if block[axis] < counts[axis]}
    while open_axes:
        axis = max(open_axes, key=lambda each: (waste(each), each))
        if waste(axis) <= 1.0:
            break
        most = block[axis]
        low, high = block[axis] + 1, counts[axis]
        while low <= high:  # the largest number of units that there is room for
            middle = (low + high) // 2
            if taken([*block[:axis], middle, *block[axis + 1 :]]) <= room:
                most, low = middle, middle + 1
            else:
                high = middle - 1
        shares = -(-counts[axis] // most)
        block[axis] = -(-counts[axis] // shares)
        open_axes.discard(axis)
    return tuple(min(n * u, max(1, s)) for n, u, s in zip(block, unit, shape, strict=True))


def blocks(array: Array, block: tuple[int, ...]) -> Iterator[Block]:
    """The blocks that have keys to be made, in C order, with their keys in C order.

    `block` is whole units, or as long as the array.
    """
    import numpy as np

    shape, unit = array.target.layout.shape, array.unit
    grid = [-(-length // each) for length, each in zip(shape, unit, strict=True)]
    per_block = [-(-length // each) for length, each in zip(block, unit, strict=True)]
    steps = [math.prod(grid[axis + 1 :]) for axis in range(len(grid))]
    keys = np.fromiter((sum(i * s for i, s in zip(index, steps, strict=True)) for index in array.indices()), np.int64)
    places = np.zeros(len(keys), np.int64)
    for axis, step in enumerate(steps):
        blocks_along = -(-grid[axis] // per_block[axis])
        places = places * blocks_along + keys // step % grid[axis] // per_block[axis]
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order])) + 1
    for group in np.split(keys[order], ends):
        if not len(group):
            continue
        inside = [tuple(int(key // step % length) for step, length in zip(steps, grid, strict=True)) for key in group]
        home = tuple(number // count for number, count in zip(inside[0], per_block, strict=True))
        yield Block(region_of(home, block, shape), inside)


def readings(region: Selection, grid: tuple[int, ...], element: int) -> Iterator[list[Selection]]:
    """A region cut along the source's chunks, some megabytes at a time."""
    ranges = [range(part.start // each, -(-part.stop // each)) for part, each in zip(region, grid, strict=True)]
    batch: list[Selection] = []
    size = 0
    for index in itertools.product(*ranges):
        piece = tuple(
            slice(max(part.start, number * each), min(part.stop, (number + 1) * each))
            for part, number, each in zip(region, index, grid, strict=True)
        )
        batch.append(piece)
        size += math.prod(part.stop - part.start for part in piece) * element
        if size >= PIECE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_into(source: ArraySource, selections: list[Selection], origin: Index, out: NDArray[Any]) -> None:
    """Read regions into a block that begins at `origin`."""
    for selection in selections:
        inside = tuple(
            slice(part.start - begin, part.stop - begin) for part, begin in zip(selection, origin, strict=True)
        )
        out[inside] = source.read(selection)


def empty(array: Array, region: Selection) -> NDArray[Any]:
    """Room for a region, in the dtype that the source reads as."""
    import numpy as np

    from nczarr.data.source import numpy_dtype

    assert array.source is not None
    dtype: np.dtype[Any] = numpy_dtype(array.source.layout.dtype)
    return np.empty(tuple(part.stop - part.start for part in region), dtype)
