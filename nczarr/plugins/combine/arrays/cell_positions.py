"""Positions of the cells of sources in a larger array: runs of cells along an axis, and an array placed in fill."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns, columns_of, some
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, bounds_of, grid_of, lengths_of, region_or_all
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Stored
from nczarr.ast.rectilinear import largest, varies
from nczarr.names.records import frozen

GAP = -1
"""Number of the source of cells that no source has."""


class CellRun(NamedTuple):
    """Consecutive cells of a source along an axis; in a sequence, each run follows the one before it."""

    source: int
    """Number of the source; `GAP` for cells that no source has."""
    start: int
    """First cell in the source."""
    stop: int
    """End of the cells."""

    @property
    def length(self) -> int:
        """Number of cells."""
        return self.stop - self.start


def runs_of_cells(owners: NDArray[np.int64], cells: NDArray[np.int64]) -> Iterator[CellRun]:
    """Yield the runs of the cells along an axis.

    `owners`: number of the source of each cell, or `GAP`; `cells`: its place there.
    Both int64, shape (length,).
    """
    if not len(owners):
        return
    breaks = (owners[1:] != owners[:-1]) | ((owners[1:] != GAP) & (cells[1:] != cells[:-1] + 1))
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(owners)]
    for begin, end in itertools.pairwise(edges):
        source = int(owners[begin])
        start = 0 if source == GAP else int(cells[begin])
        yield CellRun(source, start, start + end - begin)


Positions = tuple["NDArray[np.int64] | None", ...]
"""Position of each index of an array in the result, by axis: int64, distinct; None for an axis that stays as it is."""


@frozen
class Placed(DerivedSource):
    """Array whose cells lie at some positions of the result; all other cells are fill.

    Its chunks are chunks of the result where positions are consecutive and begin
    at a chunk. A chunk that the source does not fill is made from values.
    """

    shape: tuple[int, ...]
    """Shape of the result."""
    positions: Positions
    fill: bytes | None
    """Value of the other cells, as in a layout."""
    starts: tuple[int, ...] | None
    """Position of the first index along each axis; None if the positions along one are not consecutive."""

    @property
    def layout(self) -> Layout:
        """Source layout in the result's shape; with codecs only if its chunks are those of the result."""
        whole = self.source.layout
        if self._is_aligned:
            return Layout(whole.dtype, self.shape, whole.chunks, whole.codecs, self.fill)
        lengths = zip(largest(whole.chunks), self.shape, strict=True)
        return Layout(whole.dtype, self.shape, tuple(max(1, min(pair)) for pair in lengths), (), self.fill)

    @property
    def undefined(self) -> bool:
        """False: cells without a source have the fill value."""
        return False

    @property
    def together(self) -> None:
        """None: regions are not those of the source."""

    @property
    def _is_aligned(self) -> bool:
        """True if the chunks of the source lie in the result's grid."""
        stored, starts = self.source.stored, self.starts
        return (
            stored is not None
            and starts is not None
            and self.source.layout.shards is None
            and not varies(stored.chunks)
            and all(start % length == 0 for start, length in zip(starts, stored.chunks, strict=True))
        )

    @property
    def stored(self) -> Stored | None:
        """Encoding of the source's chunks, if they lie in the result's grid."""
        return self.source.stored if self._is_aligned else None

    def _shift(self, axis: int) -> int:
        """Return the chunks of the result before those of the source along an axis."""
        assert self.starts is not None
        return self.starts[axis] // self.source.layout.chunks[axis]

    def _in_source(self, chunk: Index) -> Index | None:
        """Return the index in the source of a chunk that it fills; None for others."""
        if not self._is_aligned:
            return None
        index = tuple(number - self._shift(axis) for axis, number in enumerate(chunk))
        counts = grid_of(self.source.layout.shape, self.source.layout.chunks)
        inside = all(0 <= number < count for number, count in zip(index, counts, strict=True))
        return index if inside and all(self._fills(axis, number) for axis, number in enumerate(index)) else None

    def _fills(self, axis: int, number: Any) -> Any:
        """Return whether chunks of the source, by number along an axis, lie in it, or end with the result."""
        assert self.starts is not None
        length, end = self.source.layout.chunks[axis], self.source.layout.shape[axis]
        return ((number + 1) * length <= end) | (self.starts[axis] + end == self.shape[axis])

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the source's bytes of a chunk that it fills."""
        index = self._in_source(chunk)
        return None if index is None else self.source.read_encoded(index)

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the source's location of a chunk that it fills."""
        index = self._in_source(chunk)
        return None if index is None else self.source.place(index)

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the source chunks that are chunks of the result. Raises OSError."""
        manifest = self.source.manifest() if self._is_aligned else None
        return None if manifest is None else self._move(columns_of(manifest))

    def _move(self, columns: PlaceColumns) -> PlaceColumns:
        """Return the chunks of the source that it fills, by their numbers in the result."""
        chunks = self.source.layout.chunks
        indices = np.unravel_index(columns.chunk, grid_of(self.source.layout.shape, chunks))
        rows = np.ones(len(columns.chunk), bool)
        for axis, numbers in enumerate(indices):
            rows &= self._fills(axis, numbers)
        moved = tuple(numbers[rows] + self._shift(axis) for axis, numbers in enumerate(indices))
        numbers = np.asarray(np.ravel_multi_index(moved, grid_of(self.shape, chunks)), np.int64)
        return some(columns, rows)._replace(chunk=numbers)

    def prefetch(self, regions: Sequence[Selection]) -> Placed:
        """Return the array with the regions' data in memory."""
        cells = [self._cells(region) for region in regions]
        boxes = [_box_of(inside) for inside, _ in cells if all(map(len, inside))]
        return replace(self, source=self.source.prefetch(boxes)) if boxes else self

    def _cells(self, selection: Selection) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Return the indices in the source and in a region that are the same cells, by axis: int64, shape (cells,)."""
        inside, outside = [], []
        for axis, (begin, end) in enumerate(bounds_of(selection, self.shape)):
            positions = self.positions[axis]
            if positions is None:
                inside.append(np.arange(begin, end))
                outside.append(np.arange(end - begin))
                continue
            cells = np.flatnonzero((positions >= begin) & (positions < end))
            inside.append(cells)
            outside.append(positions[cells] - begin)
        return inside, outside

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype: those of the source in fill."""
        layout = self.source.layout._replace(fill=self.fill)
        bounds = bounds_of(selection, self.shape)
        out = fill_array(layout, lengths_of(tuple(slice(*pair) for pair in bounds)))
        inside, outside = self._cells(selection)
        if all(map(len, inside)):
            box = _box_of(inside)
            values = self.source.read(box)
            out[np.ix_(*outside)] = values[np.ix_(*(c - part.start for c, part in zip(inside, box, strict=True)))]
        return out

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Yield the blocks of a region that meet an occupied chunk of the source, in C order."""
        region = region_or_all(region, self.shape)
        if any(part.step != 1 for part in region):
            yield from ArraySource.list_occupied(self, chunks, region)
            return
        selection = tuple(slice(part.start, part.stop) for part in region)
        inside, outside = self._cells(selection)
        if not all(map(len, inside)):
            return
        cells = tuple(max(1, length) for length in largest(self.source.layout.chunks))
        box = tuple(range(part.start // n * n, part.stop) for part, n in zip(_box_of(inside), cells, strict=True))
        blocks = [
            _list_blocks(one, other, n, length, part)
            for one, other, n, length, part in zip(inside, outside, cells, chunks, box, strict=True)
        ]
        met: set[Index] = set()
        for index in self.source.list_occupied(cells, box):
            met.update(itertools.product(*(blocks[axis].get(number, ()) for axis, number in enumerate(index))))
        yield from sorted(met)


def _list_blocks(
    inside: NDArray[np.int64], outside: NDArray[np.int64], cell: int, length: int, box: range
) -> dict[int, list[int]]:
    """Return the blocks of a region that meet each chunk of the source along an axis, by number in the box."""
    pairs = np.unique(np.stack([(inside - box.start) // cell, outside // length], axis=1), axis=0)
    blocks: dict[int, list[int]] = {}
    for chunk, block in pairs.tolist():
        blocks.setdefault(chunk, []).append(block)
    return blocks


def _box_of(cells: Sequence[NDArray[np.int64]]) -> Selection:
    """Return the bounding box of indices of each axis, of which there is one at least."""
    return tuple(slice(int(axis.min()), int(axis.max()) + 1) for axis in cells)


def place_source(source: ArraySource, shape: tuple[int, ...], positions: Positions, fill: bytes | None) -> ArraySource:
    """Return an array at positions of a result of this shape; the array itself if they change nothing."""
    own = source.layout.shape
    positions = tuple(
        None if cells is None or (size == length and _start(cells) == 0) else cells
        for cells, size, length in zip(positions, own, shape, strict=True)
    )
    if all(cells is None for cells in positions):
        return source
    starts = [0 if cells is None else _start(cells) for cells in positions]
    consecutive = tuple(start for start in starts if start is not None)
    return Placed(source, shape, positions, fill, consecutive if len(consecutive) == len(starts) else None)


def _start(cells: NDArray[np.int64]) -> int | None:
    """Return the first of consecutive positions; None if they are not."""
    return int(cells[0]) if len(cells) and (np.diff(cells) == 1).all() else 0 if not len(cells) else None
