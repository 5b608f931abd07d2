"""Blocks of a region that meet stored data: answers to `ArraySource.list_occupied`.

Stored data are a table of chunks, or boxes and runs of cells. Blocks begin at
the first index of the region. Time and memory follow the stored chunks in the
region and the blocks that are asked for, not the declared shape.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import EveryBlock, Index, Region, distinct_rows, every_index, grid_of, indices_of, number_of
from nczarr.ast.rectilinear import Lengths

EXPANDED = 1 << 16
"""Blocks whose indices are made at once."""

Bounds = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""First and last block along each dimension, a row for each stored chunk: int64, shape (chunks, dimensions)."""


def blocks_of_chunks(
    table: NDArray[np.int64], unit: tuple[int, ...], blocks: tuple[int, ...], region: Region
) -> Iterator[Index]:
    """Yield the blocks of a region that meet some chunks, in C order, without duplicates.

    `table`: indices of the chunks in the array's grid of chunk shape `unit`, int64,
    shape (chunks, dimensions). `blocks`: block shape.
    """
    if not region:
        return iter([()] if len(table) else [])
    box = [range(count) for count in grid_of(tuple(map(len, region)), blocks)]
    if not all(box):
        return iter(())
    first, last = _bounds(table, unit, blocks, region)
    return EveryBlock(box) if _meets_all(first, last, box) else _expand((first, last), box)


def _meets_all(first: NDArray[np.int64], last: NDArray[np.int64], box: list[range]) -> bool:
    """Return whether one chunk of a table meets every block of a box."""
    begin = np.array([part.start for part in box], np.int64)
    end = np.array([part.stop - 1 for part in box], np.int64)
    return bool(((first <= begin) & (last >= end)).all(axis=1).any())


def rows_between(numbers: NDArray[np.int64], counts: tuple[int, ...], ranges: Sequence[range]) -> slice:
    """Return the rows of ascending chunk numbers from the first to the last chunk of some ranges.

    `numbers`: linear indices in a grid of `counts`, int64, shape (chunks,).
    """
    if not all(ranges):
        return slice(0, 0)
    first, last = (number_of(tuple(part[at] for part in ranges), counts) for at in (0, -1))
    return slice(int(np.searchsorted(numbers, first)), int(np.searchsorted(numbers, last, side="right")))


def chunks_in(table: NDArray[np.int64], unit: tuple[int, ...], region: Region) -> NDArray[np.int64]:
    """Return those of some chunks that contain an index of a region; forms as in `blocks_of_chunks`."""
    for axis, (length, indices) in enumerate(zip(unit, region, strict=True)):
        first, last = _positions(table[:, axis], length, indices)
        table = table[first <= last]
    return table


def _positions(chunk: NDArray[np.int64], length: int, indices: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last position among `indices` that lie in each chunk; last < first if none does.

    `chunk`: numbers of chunks of `length` along one dimension: int64, shape (chunks,); the results have this form.
    """
    if not indices:
        return np.zeros_like(chunk), np.full_like(chunk, -1)
    final = indices[-1]
    begin = np.minimum(chunk * length, final + 1)
    if isinstance(length, Lengths):
        end = np.minimum((chunk + 1) * length, final + 1) - 1
    else:  # within 64 bits for any length
        end = final - np.maximum(final - length + 1 - begin, 0)
    first = np.maximum(-((indices.start - begin) // indices.step), 0)
    return first, (end - indices.start) // indices.step


def _bounds(table: NDArray[np.int64], unit: tuple[int, ...], blocks: tuple[int, ...], region: Region) -> Bounds:
    """Return the blocks that chunks of a table meet; chunks outside the region have no row."""
    firsts: list[NDArray[np.int64]] = []
    lasts: list[NDArray[np.int64]] = []
    for axis, (length, block, indices) in enumerate(zip(unit, blocks, region, strict=True)):
        first, last = _positions(table[:, axis], length, indices)
        rows = first <= last
        if not rows.all():
            table, first, last = table[rows], first[rows], last[rows]
            firsts, lasts = [column[rows] for column in firsts], [column[rows] for column in lasts]
        firsts.append(first // block)
        lasts.append(last // block)
    return np.stack(firsts, axis=1), np.stack(lasts, axis=1)


def _expand(bounds: Bounds, box: list[range]) -> Iterator[Index]:
    """Yield the blocks in a box that are within any bounds, in C order, without duplicates."""
    first, last = bounds
    if not len(first):
        return
    if _meets_all(first, last, box):
        yield from every_index(box)
        return
    begin = np.array([part.start for part in box], np.int64)
    end = np.array([part.stop - 1 for part in box], np.int64)
    first, last = np.maximum(first, begin), np.minimum(last, end)
    size = float((last - first + 1).astype(np.float64).prod(axis=1).sum())
    if size <= max(EXPANDED, 2 * len(first)):
        yield from indices_of(_all_blocks(first, last, tuple(part.stop for part in box)))
        return
    axis = next(number for number, part in enumerate(box) if len(part) > 1)
    middle = (box[axis].start + box[axis].stop) // 2
    for half in (range(box[axis].start, middle), range(middle, box[axis].stop)):
        rows = (first[:, axis] < half.stop) & (last[:, axis] >= half.start)
        yield from _expand((first[rows], last[rows]), [*box[:axis], half, *box[axis + 1 :]])


def _all_blocks(first: NDArray[np.int64], last: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the distinct blocks within any bounds, in C order: int64, shape (blocks, dimensions)."""
    table, rows = first, np.arange(len(first))
    for axis in range(first.shape[1]):
        spans = (last[:, axis] - first[:, axis] + 1)[rows]
        if (spans == 1).all():
            continue
        before = np.cumsum(spans) - spans
        step = np.arange(int(spans.sum())) - np.repeat(before, spans)
        table, rows = np.repeat(table, spans, axis=0), np.repeat(rows, spans)
        table[:, axis] += step
    return distinct_rows(table, counts)


def positions_within(indices: range, start: int, stop: int) -> range:
    """Return the positions of those of some ascending indices that lie from `start` to `stop`."""
    return range(bisect_left(indices, start), bisect_left(indices, max(start, stop)))


def blocks_of_boxes(boxes: Iterable[Sequence[range]], blocks: tuple[int, ...], region: Region) -> Iterator[Index]:
    """Yield the blocks of a region that meet boxes of cells, in C order, without duplicates.

    A box has one range of array indices per dimension.
    """
    met: set[Index] = set()
    for box in boxes:
        ranges = []
        for cells, block, indices in zip(box, blocks, region, strict=True):
            inside = positions_within(indices, cells.start, cells.stop)
            ranges.append(range(inside.start // block, (inside.stop - 1) // block + 1) if inside else range(0))
        met.update(every_index(ranges))
    return iter(sorted(met))


def blocks_of_runs(
    runs: Sequence[tuple[int, int]], shape: tuple[int, ...], blocks: tuple[int, ...], region: Region
) -> Iterator[Index]:
    """Yield the blocks of a region that meet runs of cells in C order, in C order, without duplicates.

    `runs`: first cell and length of each, as linear indices, ascending and without overlap.
    """
    if not all(region):
        return iter(())
    low = high = 0
    for indices, extent in zip(region, shape, strict=True):
        low, high = low * extent + indices[0], high * extent + indices[-1]
    begin = max(0, bisect_right(runs, low, key=lambda run: run[0]) - 1)
    end = bisect_right(runs, high, key=lambda run: run[0])
    boxes = (box for first, length in itertools.islice(runs, begin, end) for box in _boxes_of_run(first, length, shape))
    return blocks_of_boxes(boxes, blocks, region)


def _boxes_of_run(first: int, length: int, shape: tuple[int, ...]) -> Iterator[tuple[range, ...]]:
    """Yield boxes that make up a run of cells in C order: at most two per dimension."""
    if length <= 0:
        return
    if not shape:
        yield ()
        return
    row = math.prod(shape[1:])
    low, high = first // row, (first + length - 1) // row
    begin, end = first % row, (first + length - 1) % row + 1
    if low == high:
        yield from ((range(low, low + 1), *rest) for rest in _boxes_of_run(begin, length, shape[1:]))
        return
    if begin:
        yield from ((range(low, low + 1), *rest) for rest in _boxes_of_run(begin, row - begin, shape[1:]))
        low += 1
    if end < row:
        yield from ((range(high, high + 1), *rest) for rest in _boxes_of_run(0, end, shape[1:]))
        high -= 1
    if low <= high:
        yield (range(low, high + 1), *map(range, shape[1:]))
