"""Table of the chunks of one HDF5 dataset, as columns, and what is known of it in a process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import grid_of, ravel

FARTHEST = 1 << 62
"""Largest address in a table."""


class ChunkTable(NamedTuple):
    """Allocated chunks in C order."""

    chunk: NDArray[np.int64]
    """Linear index in the grid."""
    offset: NDArray[np.int64]
    """Address in the file."""
    length: NDArray[np.int64]
    """Size in bytes."""
    mask: NDArray[np.int32]
    """Filter mask."""


class KnownChunks:
    """Places of an array's chunks in one process, as far as they were asked for; also the array's cache key."""

    def __init__(self) -> None:
        self.table: ChunkTable | None = None
        """The chunk table, once it was needed."""
        self.rows: dict[int, tuple[int, int, int] | None] = {}
        """Offset, length and mask of chunks that were looked up one by one; None: not allocated."""
        self.lengths: dict[int, int | None] = {}
        """Size of a chunk in bytes by mask of skipped steps; None if it depends on the values."""

    def unknown(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of chunk numbers that were not looked up."""
        return [row for row, number in enumerate(numbers) if number not in self.rows]

    def note(self, numbers: Iterable[int], table: ChunkTable) -> None:
        """Record the table of chunks that were looked up."""
        places = zip(table.offset.tolist(), table.length.tolist(), table.mask.tolist(), strict=True)
        rows: dict[int, tuple[int, int, int] | None] = dict.fromkeys(numbers)
        rows.update(zip(table.chunk.tolist(), places, strict=True))
        self.rows.update(rows)

    def few(self, numbers: Iterable[int]) -> ChunkTable:
        """Return the table of some chunks that were looked up."""
        rows = [(number, *row) for number in sorted(numbers) if (row := self.rows[number]) is not None]
        columns = np.array(rows, np.int64).reshape(-1, 4).T.copy()
        return ChunkTable(columns[0], columns[1], columns[2], columns[3].astype(np.int32))


def locate(chunk: NDArray[np.int64], facts: NDArray[np.uint64]) -> ChunkTable:
    """Return the table of chunks; `facts`: address, size and mask, uint64, shape (chunks, 3).

    A damaged index has any address: one beyond int64 is after the end of every file.
    """
    facts = np.minimum(facts.reshape(-1, 3), np.uint64(FARTHEST))
    return ChunkTable(chunk, facts[:, 0].astype(np.int64), facts[:, 1].astype(np.int64), facts[:, 2].astype(np.int32))


def in_grid_order(table: ChunkTable) -> ChunkTable:
    """Return a table in the order of the chunk numbers."""
    if not (table.chunk[1:] <= table.chunk[:-1]).any():
        return table
    order = np.argsort(table.chunk, kind="stable")
    return ChunkTable(table.chunk[order], table.offset[order], table.length[order], table.mask[order])


def table_of_chunks(
    places: NDArray[np.int64],
    facts: NDArray[np.uint64],
    chunks: tuple[int, ...],
    extent: tuple[int, ...],
    shape: tuple[int, ...],
) -> ChunkTable:
    """Return the table of chunks within `extent`, numbered in the grid of `shape`.

    `places`: indices along each dimension, int64, shape (chunks, dimensions); `facts`: address, size and mask, uint64,
    shape (chunks, 3).
    """
    inside = (places < np.array(grid_of(extent, chunks), np.int64)).all(axis=1)
    return in_grid_order(locate(ravel(places[inside], grid_of(shape, chunks)), facts[inside]))
