"""Differences of ragged values by cell: a cell differs in the length or an element of its sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, all_of, every_block, first_of, lengths_of, linear_block, region_of
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import ListTree, PartTree, RecordTree, Types, part_tree
from nczarr.ast.types import is_number
from nczarr.operations.compare.elements import Tolerance, unequal
from nczarr.operations.compare.found import DifferenceTally, largest_distance, met_blocks

CELLS = 1 << 18
"""Ragged cells processed at once."""

ELEMENTS = 1 << 20
"""Content elements processed at once; a library may have to reread as many cells for every piece."""


class Stretch(NamedTuple):
    """A run of cells in C order."""

    one: Selection
    """Region of the first side."""
    other: Selection
    """Region of the second side."""
    firsts: tuple[int, int]
    """Number of the first cell on each side."""
    length: int
    """Number of cells."""

    def inner(self, shape: tuple[int, ...]) -> Stretch:
        """Return the cells of an array field of these cells."""
        if not shape:
            return self
        whole = all_of(shape)
        elements_per_cell = math.prod(shape)
        firsts = (self.firsts[0] * elements_per_cell, self.firsts[1] * elements_per_cell)
        return Stretch((*self.one, *whole), (*self.other, *whole), firsts, self.length * elements_per_cell)


class CellComparison:
    """Comparison of two variables of a variable-size type. Tracks the start of the next cell's content."""

    def __init__(self, sides: tuple[Parts, Parts], types: Types, tolerance: Tolerance | None) -> None:
        self.sides = sides
        self.types = types
        self.tolerance = tolerance
        self.ends: dict[tuple[int, str], tuple[int, int]] = {}
        self.found = DifferenceTally(())

    def compare(self, type_name: str, tally: DifferenceTally) -> None:
        """Compare all cells in stretches."""
        self.found = tally
        shape = tally.shape
        block = linear_block(shape, CELLS)
        tree = part_tree(type_name, self.types)
        for index in self._blocks(shape, block):
            region = region_of(index, block, shape)
            first = first_of(region, shape)
            stretch = Stretch(region, region, (first, first), math.prod(lengths_of(region)))
            differ = self.unequal(tree, stretch)
            places = np.flatnonzero(differ)
            if len(places):
                tally.add(len(places), first + int(places[0]))

    def _blocks(self, shape: tuple[int, ...], block: tuple[int, ...]) -> Iterator[Index]:
        """Yield blocks where either side may contain more than fill; all, if fill differs or has content."""
        if self._fill_counts():
            return every_block(shape, block)
        leading = [side for both in self.sides for path, side in both.items() if "content" not in path.split("/")]
        return met_blocks(leading, block)

    def _fill_counts(self) -> bool:
        """Return whether unwritten cells have content or differ."""
        for path, one in self.sides[0].items():
            if "content" not in path.split("/"):
                first, second = ((side.layout.fill or b"").rstrip(b"\0") for side in (one, self.sides[1][path]))
                if first != second or (first and path.rpartition("/")[2] == "counts"):
                    return True
        return False

    def unequal(self, tree: PartTree, stretch: Stretch) -> NDArray[np.bool_]:
        """Return which cells of a stretch differ: bool, shape (cells,)."""
        if isinstance(tree, ListTree):
            return self._sequences(tree, stretch)
        if isinstance(tree, RecordTree):
            differ = np.zeros(stretch.length, np.bool_)
            for field, member in tree.members:
                member_differs = self.unequal(member, stretch.inner(field.shape))
                differ |= member_differs.reshape(stretch.length, -1).any(axis=1)
            return differ
        one = self.sides[0][tree.path].read(stretch.one).reshape(-1)
        other = self.sides[1][tree.path].read(stretch.other).reshape(-1)
        differ = unequal(one, other, tree.type, self.types, self.tolerance)
        if is_number(tree.type) and tree.path.rpartition("/")[2] == "content" and differ.any():
            self.found.note(largest_distance(one[differ], other[differ]))
        return differ

    def _sequences(self, tree: ListTree, stretch: Stretch) -> NDArray[np.bool_]:
        """Return which sequences of a stretch differ: bool, shape (cells,).

        Runs of cells with equal lengths have contiguous contents.
        """
        one, other = (
            side[tree.counts.path].read(region).reshape(-1).astype(np.int64)
            for side, region in zip(self.sides, (stretch.one, stretch.other), strict=True)
        )
        starts = self._start(0, tree.counts.path, stretch, one), self._start(1, tree.counts.path, stretch, other)
        begins = tuple(
            start + np.concatenate(([0], np.cumsum(counts))) for start, counts in zip(starts, (one, other), strict=True)
        )
        differ: NDArray[np.bool_] = one != other
        edges = np.flatnonzero(np.diff(np.concatenate(([True], differ, [True]))))
        for low, high in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            total = int(begins[0][high] - begins[0][low])
            for at in range(0, total, ELEMENTS):
                count = min(ELEMENTS, total - at)
                first, second = int(begins[0][low]) + at, int(begins[1][low]) + at
                regions = (slice(first, first + count),), (slice(second, second + count),)
                content_differs = self.unequal(tree.content, Stretch(*regions, (first, second), count))
                hits = np.flatnonzero(content_differs) + at + begins[0][low]
                differ[np.searchsorted(begins[0], hits, side="right") - 1] = True
        return differ

    def _start(self, which: int, path: str, stretch: Stretch, counts: NDArray[np.int64]) -> int:
        """Return the start of a stretch's content; also count the cells skipped since the previous stretch.

        `counts`: items of each cell of the stretch, int64, shape (cells,).
        """
        first = stretch.firsts[which]
        cell, end = self.ends.get((which, path), (0, 0))
        if "content" in path.split("/"):
            end += self._between(which, path, cell, first)
        self.ends[which, path] = (first + len(counts), end + int(counts.sum()))
        return end

    def _between(self, which: int, path: str, cell: int, first: int) -> int:
        """Return the sum of counts of ragged cells from `cell` to `first`."""
        source = self.sides[which][path]
        shape = source.layout.shape
        elements_per_cell = math.prod(shape[1:])
        total = 0
        for low in range(cell // max(1, elements_per_cell), first // max(1, elements_per_cell), CELLS):
            high = min(low + CELLS, first // max(1, elements_per_cell))
            region = (slice(low, high), *all_of(shape[1:]))
            total += int(source.read(region).sum())
        return total
