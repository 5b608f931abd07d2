"""Selection of array cells, and of the ragged content that belongs to them.

A vlen is `counts` and, in one dimension, the `content` of all cells in C order
(arrays/values/parts.py). Selected cells select the elements of their sequences; if
these are counts of deeper sequences, also those elements. `ElementMask` marks cells by
linear index, `SelectedElements` derives the selected content, `GatheredElements` is that content.
Only one sum of counts per block is stored.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import field
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, every_block, linear_block, number_of_first, region_of
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype
from nczarr.ast.rectilinear import largest
from nczarr.names.records import frozen

BLOCK = 1 << 16
"""Cells whose counts are read at once."""

SPAN = 1 << 20
"""Elements of content read at once to select some of them."""


class Mask(Protocol):
    """Selected cells of an array, by linear index in C order."""

    def mask(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which cells from `start` to `stop` are selected: bool, shape (stop - start,)."""


class ElementMask(Mask, Protocol):
    """Selected elements of content."""

    @property
    def count(self) -> int:
        """Number of selected elements."""

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield ranges (start, stop) of selected elements `first` to `last` (excluded), ascending."""


@frozen
class BoxCells:
    """Cells of a box with steps."""

    shape: tuple[int, ...]
    ranges: tuple[range, ...]
    """Selected indices along each dimension."""

    def mask(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which cells from `start` to `stop` are selected: bool, shape (stop - start,)."""
        rest = np.arange(start, stop, dtype=np.int64)
        selected = np.ones(stop - start, np.bool_)
        for length, indices in zip(reversed(self.shape), reversed(self.ranges), strict=True):
            number = rest % length
            rest //= length
            if indices != range(length):
                selected &= (number >= indices.start) & (number < indices.stop)
                selected &= (number - indices.start) % indices.step == 0
        return selected


class _CellRun(NamedTuple):
    """A stretch of cells."""

    region: Selection
    cell: int
    """Number of the first cell."""
    start: int
    """Start of its content in the source."""
    kept: int
    """Start of its content in the selection."""


@frozen
class SelectedElements:
    """Selected elements of content."""

    counts: ArraySource
    """Lengths of all sequences."""
    cells: Mask
    _known: list[list[_CellRun]] = field(default_factory=list, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return SelectedElements, (self.counts, self.cells)

    @property
    def blocks(self) -> list[_CellRun]:
        """Blocks with content, and one end block; counts are read once, on first use."""
        if not self._known:
            self._known.append(list(self._sums()))
        return self._known[0]

    def _sums(self) -> Iterator[_CellRun]:
        """Yield the blocks with their first cell, and how many elements, and selected ones, precede each."""
        start = selected = 0
        layout = self.counts.layout
        block = linear_block(layout.shape, BLOCK)
        empty = not (layout.fill or b"").strip(b"\0")
        for index in self.counts.list_occupied(block) if empty else every_block(layout.shape, block):
            region = region_of(index, block, layout.shape)
            cell = number_of_first(region, layout.shape)
            counts = self._lengths(region)
            yield _CellRun(region, cell, start, selected)
            start += int(counts.sum())
            selected += int(counts[self.cells.mask(cell, cell + len(counts))].sum())
        yield _CellRun((), 0, start, selected)

    def _lengths(self, region: Selection) -> NDArray[np.int64]:
        return self.counts.read(region).reshape(-1).astype(np.int64, copy=False)

    @property
    def count(self) -> int:
        """Number of selected elements."""
        return self.blocks[-1].kept

    def mask(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which elements from `start` to `stop` are selected: bool, shape (stop - start,)."""
        selected = np.zeros(stop - start, np.bool_)
        blocks = self.blocks
        for number in range(self._block_of(start), len(blocks) - 1):
            block, end = blocks[number], blocks[number + 1].start
            if block.start >= stop:
                break
            low, high = max(start, block.start), min(stop, end)
            if low < high:
                counts = self._lengths(block.region)
                elements = np.repeat(self.cells.mask(block.cell, block.cell + len(counts)), counts)
                selected[low - start : high - start] = elements[low - block.start : high - block.start]
        return selected

    def _block_of(self, element: int) -> int:
        """Return the last block that begins at or before an element; of several with one start, the first."""
        begin = attrgetter("start")
        last = max(0, bisect_right(self.blocks, element, key=begin) - 1)
        return bisect_left(self.blocks, self.blocks[last].start, key=begin)

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield ranges (start, stop) of selected elements `first` to `last` (excluded), ascending."""
        for block, following in itertools.pairwise(self.blocks):
            is_empty = following.kept == block.kept
            if is_empty or following.kept <= first or block.kept >= last:
                continue
            counts = self._lengths(block.region)
            ends = np.cumsum(counts)
            nonempty = self.cells.mask(block.cell, block.cell + len(counts)) & (counts > 0)
            starts, lengths = (ends - counts)[nonempty] + block.start, counts[nonempty]
            first_elements = np.cumsum(lengths) - lengths + block.kept  # their numbers among the selected ones
            low = np.clip(first - first_elements, 0, lengths)
            high = np.clip(last - first_elements, 0, lengths)
            yield from _merge(starts + low, starts + high)


def _merge(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the nonempty ascending ranges, with adjacent ones merged. `starts`, `stops`: int64, shape (ranges,)."""
    some = stops > starts
    starts, stops = starts[some], stops[some]
    if not len(starts):
        return
    gaps = np.flatnonzero(starts[1:] != stops[:-1]) + 1
    firsts = np.concatenate(([0], gaps))
    lasts = np.concatenate((gaps, [len(starts)])) - 1
    yield from zip(starts[firsts].tolist(), stops[lasts].tolist(), strict=True)


@frozen
class Inner:
    """Cells of an array field."""

    whole: Mask
    """Cells that have the field."""
    inner: int
    """Number of elements of the field in one cell."""

    def mask(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which cells from `start` to `stop` are selected: bool, shape (stop - start,)."""
        first, last = start // self.inner, -(-stop // self.inner)
        repeated = np.repeat(self.whole.mask(first, last), self.inner)
        return repeated[start - first * self.inner : stop - first * self.inner]


@frozen
class GatheredElements(ArraySource):
    """Selected elements of a content array along its first dimension."""

    source: ArraySource
    kept: ElementMask
    """The selected elements."""

    @property
    def layout(self) -> Layout:
        """Layout in chunks as long as the source's. Reads counts once."""
        whole = self.source.layout
        shape = (self.kept.count, *whole.shape[1:])
        chunks = tuple(max(1, min(chunk, length)) for chunk, length in zip(largest(whole.chunks), shape, strict=True))
        return Layout(whole.dtype, shape, chunks, (), whole.fill)

    @property
    def distant(self) -> bool:
        """Value of the source."""
        return self.source.distant

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype; nearby runs are read together."""
        first, last = selection[0].start, selection[0].stop
        shape = (last - first, *(part.stop - part.start for part in selection[1:]))
        out = np.empty(shape, numpy_dtype(self.source.layout.dtype))
        at = 0
        room = max(1, SPAN // max(1, math.prod(shape[1:])))
        for group in _group_runs(self.kept.runs(first, last), room):
            low, high = group[0][0], group[-1][1]
            values = self.source.read((slice(low, high), *selection[1:]))
            for start, stop in group:
                out[at : at + stop - start] = values[start - low : stop - low]
                at += stop - start
        return out


def _group_runs(runs: Iterator[tuple[int, int]], room: int) -> Iterator[list[tuple[int, int]]]:
    """Group runs that lie within `room` elements."""
    group: list[tuple[int, int]] = []
    for start, stop in runs:
        if group and stop - group[0][0] > room:
            yield group
            group = []
        group.append((start, stop))
    if group:
        yield group
