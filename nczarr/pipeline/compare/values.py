"""Differences of two variables' values of the same shape, in blocks of bounded size.

Arrays of fixed elements are compared in blocks of whole chunks of either side;
blocks of fill on both sides are not read. Ragged values are compared by cell: a
cell differs in the length or an element of its sequence. Contents are read
sequentially, however long a sequence is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from heapq import merge
from typing import NamedTuple

from nczarr.arrays.codecs.chain import same_bytes
from nczarr.arrays.execution.thread_pool import Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Selection,
    all_of,
    every_block,
    lengths_of,
    linear_block,
    number_of,
    number_of_first,
    region_of,
)
from nczarr.arrays.sources.memory import fill_array, is_complete
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize
from nczarr.arrays.values.parts import ListTree, PartTree, RecordTree, Types, descr, is_fixed, part_tree
from nczarr.ast.rectilinear import largest, volume
from nczarr.ast.types import CompoundType, VlenType, is_number
from nczarr.pipeline.compare.difference import (
    Difference,
    DifferenceTally,
    Tolerance,
    largest_distance,
    list_met_blocks,
    unequal,
)
from nczarr.semantics.checked import Checked, whole_parts

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
            first = number_of_first(region, shape)
            stretch = Stretch(region, region, (first, first), math.prod(lengths_of(region)))
            places = np.flatnonzero(self.unequal(tree, stretch))
            if len(places):
                tally.add(len(places), first + int(places[0]))

    def _blocks(self, shape: tuple[int, ...], block: tuple[int, ...]) -> Iterator[Index]:
        """Yield blocks where either side may contain more than fill; all, if fill differs or has content."""
        if self._fill_counts():
            return every_block(shape, block)
        leading = [side for both in self.sides for path, side in both.items() if "content" not in path.split("/")]
        return list_met_blocks(leading, block)

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
            return self._compare_sequences(tree, stretch)
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

    def _compare_sequences(self, tree: ListTree, stretch: Stretch) -> NDArray[np.bool_]:
        """Return which sequences of a stretch differ: bool, shape (cells,).

        Runs of cells with equal lengths have contiguous contents.
        """
        one_counts, other_counts = (
            side[tree.counts.path].read(region).reshape(-1).astype(np.int64)
            for side, region in zip(self.sides, (stretch.one, stretch.other), strict=True)
        )
        one_start = self._start(0, tree.counts.path, stretch, one_counts)
        other_start = self._start(1, tree.counts.path, stretch, other_counts)
        one_edges = one_start + np.concatenate(([0], np.cumsum(one_counts)))
        other_edges = other_start + np.concatenate(([0], np.cumsum(other_counts)))
        differ: NDArray[np.bool_] = one_counts != other_counts
        # where runs of cells with equal lengths begin and end, in turn
        run_bounds = np.flatnonzero(np.diff(np.concatenate(([True], differ, [True]))))
        for low, high in zip(run_bounds[::2].tolist(), run_bounds[1::2].tolist(), strict=True):
            total = int(one_edges[high] - one_edges[low])
            for at in range(0, total, ELEMENTS):
                count = min(ELEMENTS, total - at)
                first, second = int(one_edges[low]) + at, int(other_edges[low]) + at
                regions = (slice(first, first + count),), (slice(second, second + count),)
                content_differs = self.unequal(tree.content, Stretch(*regions, (first, second), count))
                unequal_elements = np.flatnonzero(content_differs) + at + one_edges[low]
                differ[np.searchsorted(one_edges, unequal_elements, side="right") - 1] = True
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


BLOCK = 8 << 20
"""Bytes of one side compared at once."""

TIMES = 4
"""Memory of a comparison, in blocks: both sides, as read and as compared."""

SMALL = 1 << 18
"""Bytes of memory below which a thread costs more than it saves."""

MEMORY = 256 << 20
"""Maximum bytes of pending blocks."""

LARGEST = 64 << 20
"""Maximum bytes of a chunk compared as a whole; larger ones are read in pieces."""

WORTH = 1 << 16
"""Minimum bytes of a chunk whose encoded bytes are compared first; smaller ones are decoded by many at once."""

TEXT = 64
"""Assumed bytes of a string."""


def values(one: Checked, other: Checked, path: str, tolerance: Tolerance | None = None) -> Difference | None:
    """Return the difference of a variable's values; None if they are equal or not comparable.

    They are comparable if shapes are equal and types equivalent, regardless of
    type and constant names. Unwritten cells without fill are undefined, and
    equal to anything.
    """
    shape, type_name = one.shapes[path], one.variables[path].type
    if shape != other.shapes[path] or not alike(one, other, path):
        return None
    if not one.parts.get(path) and not other.parts.get(path) and one.fills[path] == other.fills[path]:
        return None
    if any(side.variables[path].storage.no_fill and path not in side.parts for side in (one, other)):
        return None
    tally = DifferenceTally(shape)
    sides = whole_parts(one, path), whole_parts(other, path)
    if type_name == "string" or is_fixed(type_name, one.types):
        _Dense(sides, type_name, one.types, tolerance).compare(tally)
    else:
        CellComparison(sides, one.types, tolerance).compare(type_name, tally)
    return tally.difference(one, other, path)


def alike(one: Checked, other: Checked, path: str) -> bool:
    """Return whether a variable's types have the same structure in both datasets."""
    first, second = (
        _build_dtype(one.variables[path].type, one.types),
        _build_dtype(other.variables[path].type, other.types),
    )
    return first == second


def _build_dtype(type_name: str, types: Types) -> object:
    """Return the structure of a type as nested tuples, without names of types: equal for types of equal values."""
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        return ("vlen", _build_dtype(declared.base, types))
    if isinstance(declared, CompoundType):
        return tuple((field.name, _build_dtype(field.type, types), field.shape) for field in declared.fields)
    return type_name if declared is None else descr(type_name, types)


class _Dense:
    """Two arrays of one element type. `undefined`: sides with undefined unwritten cells, which equal any value."""

    def __init__(self, sides: tuple[Parts, Parts], type_name: str, types: Types, tolerance: Tolerance | None) -> None:
        self.one, self.other = (side[""] for side in sides)
        self.shape = self.one.layout.shape
        self.number = is_number(type_name)
        self.unequal = partial(unequal, type_name=type_name, types=types, tolerance=tolerance)
        self.undefined = _may_lack(self.one), _may_lack(self.other)

    def compare(self, tally: DifferenceTally) -> None:
        """Compare all blocks where either side may contain more than fill."""
        one, other, shape = self.one, self.other, self.shape
        if 0 in shape:
            return
        size = itemsize(one.layout.dtype) or TEXT
        block = block_shape(shape, (one.layout.chunks, other.layout.chunks), size)
        far = one.distant or other.distant
        if far or any(self.undefined):  # chunk by chunk: each is a request, or is stored as a whole or not at all
            chunks = (one if self.undefined[0] or (one.distant and not self.undefined[1]) else other).layout.chunks
            block = tuple(max(1, length) for length in chunks) if volume(chunks) * size <= LARGEST else block
        common = None if far else _find_common_chunks(one, other, block)
        grid = every_block(shape, block)
        visited, gap = 0, None

        def tasks() -> Iterator[Task]:
            """Yield a comparison for each block that either side stores; note the first block of fill in `gap`."""
            nonlocal visited, gap
            need = TIMES * size * volume(block)
            for index, stored in _by_side(one.list_occupied(block), other.list_occupied(block)):
                region = region_of(index, block, shape)
                visited += math.prod(lengths_of(region))
                if gap is None and (expected := next(grid)) != index:
                    gap = expected
                if any(lacking and not has for lacking, has in zip(self.undefined, stored, strict=True)):
                    continue
                yield Task(partial(self._block, region, common), need, here=need < SMALL and not far)

        with Crew(None, MEMORY, distant=far) as crew:
            for result in crew.results(tasks()):
                if result is not None:
                    tally.add(*result)
        self._compare_unvisited(math.prod(shape) - visited, gap or next(grid, None), block, tally)

    def _block(self, region: Selection, common: tuple[int, ...] | None) -> tuple[int, int, float | int | None] | None:
        """Return the differences in one block, as `DifferenceTally.add` takes them; None without any.

        `common`: as of `_find_common_chunks`.
        """
        one = self.one.read(region)  # what was copied is decoded too: both sides may be damaged
        if common is not None and self._is_copied(region, common):
            return None
        other = self.other.read(region)
        differ = self.unequal(one, other)
        if not differ.any():
            return None
        places = np.argwhere(differ)
        index = tuple(part.start + number for part, number in zip(region, places[0].tolist(), strict=True))
        first = number_of(index, self.shape)
        largest = largest_distance(one[differ], other[differ]) if self.number else None
        return len(places), first, largest

    def _is_copied(self, region: Selection, chunks: tuple[int, ...]) -> bool:
        """Return whether all chunks of a region have the same encoded bytes on both sides."""
        grid = (
            range(part.start // length, -(-part.stop // length)) for part, length in zip(region, chunks, strict=True)
        )
        for index in itertools.product(*grid):
            data = self.one.read_encoded(index)
            if data is None or data != self.other.read_encoded(index):
                return False
        return True

    def _compare_unvisited(
        self, count: int, index: Index | None, block: tuple[int, ...], tally: DifferenceTally
    ) -> None:
        """Compare fill with fill for blocks unstored on both sides; `index` is the first one."""
        if not count or index is None or any(self.undefined):
            return
        one, other = (fill_array(side.layout, (1,)) for side in (self.one, self.other))
        if not self.unequal(one, other).any():
            return
        first = number_of_first(region_of(index, block, self.shape), self.shape)
        tally.add(count, first, largest_distance(one, other) if self.number else None)


def _may_lack(side: ArraySource) -> bool:
    """Return whether an array may have undefined cells; one with all chunks is compared in blocks of many."""
    return side.undefined and not is_complete(side)


def _find_common_chunks(one: ArraySource, other: ArraySource, block: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the chunk lengths of two arrays whose chunks of equal bytes have equal values; None of others.

    `block`: shape of the blocks, which must be whole chunks.
    """
    first, second = one.stored, other.stored
    if first is None or second is None or not first.codecs or one.layout.dtype != other.layout.dtype:
        return None
    size, dtype, chunks = itemsize(first.dtype), first.dtype, first.chunks
    if not size or (dtype, chunks) != (second.dtype, second.chunks) or math.prod(chunks) * size < WORTH:
        return None
    if not same_bytes(first.codecs, second.codecs, size):
        return None
    axes = zip(block, chunks, one.layout.shape, strict=True)
    return chunks if all(length % chunk == 0 or length >= whole for length, chunk, whole in axes) else None


def _by_side(one: Iterator[Index], other: Iterator[Index]) -> Iterator[tuple[Index, tuple[bool, bool]]]:
    """Yield the distinct ascending indices of two streams, and which of the two have it."""
    tagged = merge(((index, 0) for index in one), ((index, 1) for index in other))
    for index, group in itertools.groupby(tagged, key=lambda pair: pair[0]):
        sides = {side for _, side in group}
        yield index, (0 in sides, 1 in sides)


def block_shape(shape: tuple[int, ...], chunks: tuple[tuple[int, ...], ...], size: int) -> tuple[int, ...]:
    """Return whole chunks of the side with larger ones, repeated up to `BLOCK`; else a linear range."""
    sound = [tuple(max(1, length) for length in largest(chunk_lengths)) for chunk_lengths in chunks]
    whole = [chunk_lengths for chunk_lengths in sound if math.prod(chunk_lengths) * size <= LARGEST]
    if not whole:
        return linear_block(shape, max(1, BLOCK // size))
    lengths = list(max(whole, key=math.prod))
    for axis in range(len(lengths) - 1, -1, -1):
        room = BLOCK // (math.prod(lengths) * size)
        lengths[axis] = min(lengths[axis] * max(1, room), shape[axis])
        if lengths[axis] < shape[axis]:
            break
    return tuple(lengths)
