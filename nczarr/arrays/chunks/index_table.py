"""Tables of chunk indices: int64, shape (chunks, dimensions), one row per chunk. For many chunks at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, grid_of
from nczarr.ast.rectilinear import Lengths

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


def unraveled(numbers: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the table of linear indices in a grid: int64, shape (chunks, dimensions)."""
    table = np.empty((len(numbers), len(counts)), np.int64)
    rest = numbers
    for axis in range(len(counts) - 1, -1, -1):
        rest, table[:, axis] = np.divmod(rest, counts[axis])
    return table


def raveled(table: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the linear indices of a table in a grid of at most `LARGEST` chunks: int64, shape (chunks,)."""
    numbers = np.zeros(len(table), np.int64)
    for axis, count in enumerate(counts):
        numbers *= count
        numbers += table[:, axis]
    return numbers


def covering(
    table: NDArray[np.int64],
    unit: tuple[int, ...],
    chunks: tuple[int, ...],
    shape: tuple[int, ...],
    box: Region | None = None,
) -> NDArray[np.int64]:
    """Return the chunks of another grid that meet some chunks, in C order and without duplicates.

    `table`: int64, shape (chunks, dimensions), in the grid of chunks `unit`; the
    result has the grid of `chunks`. The array's `shape` bounds both. `box`: indices
    without steps, which all chunks of the table meet, and which bound the result.
    """
    for axis, (unit_length, chunk_length, end) in enumerate(zip(unit, chunks, shape, strict=True)):
        begin = table[:, axis] * unit_length
        if isinstance(unit_length, Lengths):
            last = np.minimum((table[:, axis] + 1) * unit_length, end) - 1
        else:  # within 64 bits for any length
            last = np.minimum(begin, max(0, end - unit_length)) + (min(unit_length, end) - 1)
        if box is not None:
            begin, last = np.maximum(begin, box[axis].start), np.minimum(last, box[axis].stop - 1)
        first, last = begin // chunk_length, last // chunk_length
        spans = last - first + 1
        if (spans == 1).all():
            table = table.copy()
            table[:, axis] = first
        else:
            before = np.cumsum(spans) - spans
            along = np.arange(int(spans.sum())) + np.repeat(first - before, spans)
            table = np.repeat(table, spans, axis=0)
            table[:, axis] = along
        table = distinct_rows(table, tuple(map(max, grid_of(shape, unit), grid_of(shape, chunks))))
    return table


def distinct_rows(table: NDArray[np.int64], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the distinct rows in C order."""
    if math.prod(counts) > LARGEST:
        return np.unique(table, axis=0) if len(counts) else table[:1]
    return unraveled(distinct(raveled(table, counts)), counts)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values in ascending order, shape (values,), in their dtype.

    `np.unique` does the same, but imports `numpy.ma`, which is a tenth of a
    small conversion's time.
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]
