"""Blocks of an array: shapes of bounded size, their regions, and chunk indices in C order, also as tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.rectilinear import Lengths, volume

Selection: TypeAlias = tuple[slice, ...]
"""One slice per dimension, with start, stop and step 1."""

Region: TypeAlias = tuple[range, ...]
"""Selected indices along each dimension, ascending."""

Index: TypeAlias = tuple[int, ...]
"""Position of a chunk in its grid."""

LARGE = 32 << 20
"""Bytes of contiguous data, or of an uncompressed chunk, above which they are cut into chunks."""

MOST = 16 << 20
"""Maximum bytes of a cut chunk with more than one index."""

LEAST = 1 << 20
"""Minimum bytes of a cut chunk."""

UNALIGNED = 8
"""Chunks of different lengths from which a region of them may begin and end within a chunk."""

POOLED = 1 << 12
"""Maximum indices held at once to iterate over a grid."""


def linear_block(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the shape of blocks that are linear ranges in C order, of at most `room` elements.

    Inner dimensions are whole, one is cut, outer ones have length 1.
    """
    lengths = [1] * len(shape)
    for axis in range(len(shape) - 1, -1, -1):
        lengths[axis] = max(1, min(shape[axis], room))
        if lengths[axis] < shape[axis]:
            break
        room //= max(1, shape[axis])
    return tuple(lengths)


def grid_of(shape: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of blocks, or chunks, along each dimension."""
    return tuple(-(-length // block_length) for length, block_length in zip(shape, block, strict=True))


def number_of(index: Index, counts: tuple[int, ...]) -> int:
    """Return the linear index (C order) of a block in a grid."""
    number = 0
    for place, count in zip(index, counts, strict=True):
        number = number * count + place
    return number


def cell_numbers(ranges: Sequence[range], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the linear indices (C order) of cells of an array: int64, in the shape of the ranges."""
    numbers = np.zeros((), np.int64)
    for indices, length in zip(ranges, shape, strict=True):
        steps = np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
        numbers = numbers[..., None] * length + steps
    return numbers


def index_of(number: int, counts: tuple[int, ...]) -> Index:
    """Invert `number_of`."""
    index = []
    for count in reversed(counts):
        number, place = divmod(number, count)
        index.append(place)
    return tuple(reversed(index))


class EveryBlock(Iterator[Index]):
    """Indices of all blocks of a box in a grid, in C order. Their number is known at once: it may be 10**15."""

    __slots__ = ("_indices", "count")

    def __init__(self, box: Sequence[range]) -> None:
        self.count = math.prod(each.stop - each.start for each in box)
        """Number of blocks."""
        self._indices = every_index(box)

    def __iter__(self) -> Iterator[Index]:
        return self._indices

    def __next__(self) -> Index:
        return next(self._indices)


def every_block(shape: tuple[int, ...], block: tuple[int, ...]) -> EveryBlock:
    """Return the indices of all blocks, or chunks, in C order, edge blocks included."""
    return EveryBlock([range(count) for count in grid_of(shape, block)])


def count_blocks(blocks: Iterator[Index]) -> int:
    """Return the number of blocks, such as `ArraySource.list_occupied` returns; a whole box is not iterated."""
    return blocks.count if isinstance(blocks, EveryBlock) else sum(1 for _ in blocks)


def every_index(ranges: Sequence[range]) -> Iterator[Index]:
    """Return all index combinations in C order, without long ranges in memory."""
    if sum(indices.stop - indices.start for indices in ranges) <= POOLED:
        return itertools.product(*ranges)
    if len(ranges) == 1:
        return zip(ranges[0])
    return ((first, *rest) for first in ranges[0] for rest in every_index(ranges[1:]))


def all_of(shape: tuple[int, ...]) -> Selection:
    """Return the region of all cells of an array."""
    return tuple(slice(0, length) for length in shape)


def bounds_of(selection: Selection, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return start and stop along each dimension, within the array's shape; a stop may precede its start."""
    return [part.indices(length)[:2] for part, length in zip(selection, shape, strict=True)]


def clip(selection: Selection, shape: tuple[int, ...]) -> Selection:
    """Return a region with explicit ends within the array's shape, none before its start."""
    return tuple(slice(start, max(start, stop)) for start, stop in bounds_of(selection, shape))


def region_or_all(region: Region | None, shape: tuple[int, ...]) -> Region:
    """Return a region, or all indices of an array of this shape if it is None."""
    return tuple(map(range, shape)) if region is None else region


def lengths_within(region: Region, extent: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of a region's indices below `extent` along each dimension."""
    return tuple(
        len(range(indices.start, min(indices.stop, end), indices.step))
        for indices, end in zip(region, extent, strict=True)
    )


def region_of(index: Index, block: tuple[int, ...], shape: tuple[int, ...]) -> Selection:
    """Return the region of a block, clipped at the array's edge."""
    return tuple(
        slice(number * length, min((number + 1) * length, extent))
        for number, length, extent in zip(index, block, shape, strict=True)
    )


def within(whole: Selection, part: Selection) -> Selection:
    """Return a part of a region in the array's coordinates."""
    return tuple(
        slice(outer.start + inner.start, outer.start + inner.stop) for outer, inner in zip(whole, part, strict=True)
    )


def inside(part: Selection, region: Selection) -> Selection:
    """Return a part of the array in the region's coordinates; the inverse of `within`."""
    return tuple(
        slice(inner.start - outer.start, inner.stop - outer.start) for inner, outer in zip(part, region, strict=True)
    )


def lengths_of(region: Selection) -> tuple[int, ...]:
    """Return the shape of a region."""
    return tuple(part.stop - part.start for part in region)


def chunk_ranges(unit: tuple[int, ...], region: Selection | Region) -> list[range]:
    """Return the range of chunks from the first to the last index of a region along each dimension."""
    spans = [
        (part.start, part.stop) if isinstance(part, slice) else (part[0], part[-1] + 1) if part else (0, 0)
        for part in region
    ]
    return [range(start // length, -(-stop // length)) for (start, stop), length in zip(spans, unit, strict=True)]


def covering_regions(regions: Iterable[Selection], chunks: tuple[int, ...]) -> set[Index]:
    """Return the chunks of a grid that meet some regions."""
    return {index for region in regions for index in every_index(chunk_ranges(chunks, region))}


def bounding(indices: Sequence[Index], unit: tuple[int, ...], shape: tuple[int, ...]) -> Selection:
    """Return the smallest region with all cells of some chunks, or keys, of shape `unit`."""
    columns = list(zip(*indices, strict=True))
    corners = zip(map(min, columns), map(max, columns), unit, shape, strict=True)
    return tuple(slice(first * length, min((last + 1) * length, end)) for first, last, length, end in corners)


def cut_along(region: Selection, cells: tuple[int, ...]) -> Iterator[Selection]:
    """Cut a region along the array's grid of these cell lengths, in C order."""
    return itertools.product(
        *(
            [slice(max(part.start, number * length), min(part.stop, (number + 1) * length)) for number in numbers]
            for part, length, numbers in zip(region, cells, chunk_ranges(cells, region), strict=True)
        )
    )


def in_one(bounds: list[tuple[int, int]], chunks: tuple[int, ...]) -> bool:
    """Return whether a region lies in one chunk, or is empty."""
    return all(
        stop <= start or (stop - 1) // chunk_length == start // chunk_length
        for (start, stop), chunk_length in zip(bounds, chunks, strict=True)
    ) or any(stop <= start for start, stop in bounds)


def linear_pieces(region: Selection, room: int) -> Iterator[Selection]:
    """Cut a region into linear ranges of its cells in C order, of at most `room` cells each."""
    lengths = lengths_of(region)
    block = linear_block(lengths, max(1, room))
    return (within(region, region_of(index, block, lengths)) for index in every_block(lengths, block))


def repeat_chunks(chunks: tuple[int, ...], shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return lengths of several chunks next to each other, of at most `room` cells, at least of one chunk.

    They are long along the last dimensions. Chunks of different lengths stay apart,
    unless they are many.
    """
    lengths = list(chunks)
    for axis in range(len(chunks) - 1, -1, -1):
        times = max(1, min(room // max(1, volume(lengths)), -(-shape[axis] // chunks[axis])))
        if not isinstance(chunks[axis], Lengths) or times >= UNALIGNED:
            lengths[axis] = int(chunks[axis]) * times
        if lengths[axis] < shape[axis]:
            break
    return tuple(lengths)


def number_of_first(region: Selection, shape: tuple[int, ...]) -> int:
    """Return the linear index of a region's first element."""
    first = 0
    for part, extent in zip(region, shape, strict=True):
        first = first * extent + int(part.start)
    return first


def even_chunks(shape: tuple[int, ...], itemsize: int) -> Iterator[tuple[int, ...]]:
    """Yield chunk shapes for contiguous data, the best first; every chunk is full and one byte range.

    All data up to `LARGE` bytes; else as many rows as make a good size and
    divide the length, one row if it has such a size, or the same for the rows
    of a row.
    """
    if math.prod(shape) * itemsize <= LARGE:
        yield shape
    for axis, length in enumerate(shape):
        row = math.prod(shape[axis + 1 :]) * itemsize
        divisors = (divisor for divisor in range(min(length, MOST // row), 0, -1) if not length % divisor)
        rows = next(divisors, 0)
        if rows and rows * row >= LEAST:
            yield (*(1 for _ in range(axis)), rows, *shape[axis + 1 :])
        if row <= MOST:
            return


BATCH = 1 << 12
"""Rows that become Python numbers at once."""

LARGEST = 2**63 - 1
"""Maximum number of chunks of a grid with linear indices."""


def table_of(indices: Iterable[Index], rank: int) -> NDArray[np.int64]:
    """Return indices as a table."""
    rows = list(indices)
    return np.array(rows, np.int64).reshape(len(rows), rank)


def indices_of(table: NDArray[np.int64]) -> Iterator[Index]:
    """Yield the rows of a table as indices of Python numbers."""
    if not table.shape[1]:
        yield from (() for _ in range(len(table)))
        return
    for start in range(0, len(table), BATCH):
        yield from zip(*table[start : start + BATCH].T.tolist(), strict=True)


def unravel(numbers: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the table of linear indices in a grid: int64, shape (chunks, dimensions)."""
    table = np.empty((len(numbers), len(counts)), np.int64)
    rest = numbers
    for axis in range(len(counts) - 1, -1, -1):
        rest, table[:, axis] = np.divmod(rest, counts[axis])
    return table


def ravel(table: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the linear indices of a table in a grid of at most `LARGEST` chunks: int64, shape (chunks,)."""
    numbers = np.zeros(len(table), np.int64)
    for axis, count in enumerate(counts):
        numbers *= count
        numbers += table[:, axis]
    return numbers


def distinct_rows(table: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the distinct rows in C order."""
    if math.prod(counts) > LARGEST:
        return np.unique(table, axis=0) if len(counts) else table[:1]
    return unravel(distinct(ravel(table, counts)), counts)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values in ascending order, shape (values,), in their dtype.

    `np.unique` does the same, but imports `numpy.ma`, which is a tenth of a
    small conversion's time.
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]
