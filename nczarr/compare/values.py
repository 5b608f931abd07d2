"""Differences of the values of two variables of the same shape, found in blocks of bounded size.

An array of fixed elements is compared in blocks of whole chunks of either side; where neither has anything but
fill, nothing is read. Ragged values are compared cell by cell: a cell differs if its sequence has another length or
another element; contents are read as they lie, however long one sequence is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.ast.types import ATOMIC, CompoundType, VlenType
from nczarr.compare.difference import Difference, Values, shown
from nczarr.compare.elements import Tolerance, distances, unequal
from nczarr.data.blocks import first_of, linear_block, region_of
from nczarr.data.fills import fill_parts, patterns
from nczarr.data.memory import fill_array, fill_source
from nczarr.data.parts import Types, descr, escape, is_fixed, parts
from nczarr.data.source import Index, Layout, Parts, Selection, itemsize, little
from nczarr.link.crew import Crew, Task
from nczarr.passes.checked import Checked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 8 << 20
"""Bytes of one side that are compared at once."""

TIMES = 4
"""What comparing takes in memory, in blocks: both sides, as they are read and as they are compared."""

SMALL = 1 << 18
"""Bytes of memory below which a thread costs more than it gains."""

MEMORY = 256 << 20
"""Bytes that blocks under way may take."""

LARGEST = 64 << 20
"""Bytes up to which a chunk is compared as a whole; larger ones are read in pieces."""

CELLS = 1 << 18
"""Ragged cells that are looked at in one go."""

ELEMENTS = 1 << 20
"""Elements of their content that are; a library may have to read as many cells again for every piece."""

TEXT = 64
"""Bytes that a string is taken for."""


def values(one: Checked, other: Checked, path: str, tolerance: Tolerance | None = None) -> Difference | None:
    """How the values of a variable of both datasets differ; None if they do not, or cannot be compared.

    They can if shapes are equal and types are made alike: names of types, and of constants, do not matter here. What
    was never given and is not filled either is undefined, and like anything.
    """
    shape, type_name = one.shapes[path], one.variables[path].type
    if shape != other.shapes[path] or not alike(one, other, path):
        return None
    if not one.parts.get(path) and not other.parts.get(path) and one.fills[path] == other.fills[path]:
        return None
    if any(each.variables[path].storage.no_fill and path not in each.parts for each in (one, other)):
        return None
    found = _Found(shape)
    sides = whole_parts(one, path), whole_parts(other, path)
    if type_name == "string" or is_fixed(type_name, one.types):
        _Dense(sides[0][""].layout, sides, type_name, one.types, tolerance).compare(found)
    else:
        _Cells(sides, one.types, tolerance).compare(type_name, found)
    return found.difference(one, other, path)


def alike(one: Checked, other: Checked, path: str) -> bool:
    """Whether the types of a variable are made of the same things in both datasets."""
    first, second = _made_of(one.variables[path].type, one.types), _made_of(other.variables[path].type, other.types)
    return first == second


def _made_of(type_name: str, types: Types) -> object:
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        return ("vlen", _made_of(declared.base, types))
    if isinstance(declared, CompoundType):
        return tuple((field.name, _made_of(field.type, types), field.shape) for field in declared.fields)
    return type_name if declared is None else descr(type_name, types)


def whole_parts(checked: Checked, path: str) -> Parts:
    """Sources of all parts of a variable; where nothing was given, of its fill value."""
    variable, shape, fill = checked.variables[path], checked.shapes[path], checked.fills[path]
    given = checked.parts.get(path)
    if given is None:
        given = fill_parts(fill, variable.type, shape, checked.types)
    elements = dict(patterns(fill, variable.type, checked.types))
    found: Parts = {}
    for part in parts(variable.type, shape, checked.types):
        known = tuple(length or 0 for length in part.shape)
        layout = Layout(descr(part.type, checked.types), known, known, fill=elements[part.path][0])
        found[part.path] = given[part.path] if part.path in given else fill_source(layout)
    return found


class _Found:
    """What was found so far: how many elements differ, the first of them in C order, the largest distance."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.count = 0
        self.first: int | None = None
        self.largest: float | int | None = None

    def add(self, count: int, first: int, largest: float | int | None = None) -> None:
        """Some elements that differ, the first of which has this linear index, and the largest distance of them."""
        self.count += count
        self.first = first if self.first is None else min(self.first, first)
        self.note(largest)

    def note(self, largest: float | int | None) -> None:
        """A distance of two numbers that differ."""
        if largest is not None:
            self.largest = largest if self.largest is None else max(self.largest, largest)

    def difference(self, one: Checked, other: Checked, path: str) -> Difference | None:
        """All of it as one difference; None if nothing was found."""
        if self.first is None:
            return None
        from nczarr.reading import read

        index, rest = [], self.first
        for length in reversed(self.shape):
            index.append(rest % length)
            rest //= length
        place = tuple(reversed(index))
        first, second = read(one, path, place), read(other, path, place)
        total = math.prod(self.shape)
        text = f"{self.count} of {total} values differ" if total > 1 else "the value differs"
        if place:
            text += f", first at ({', '.join(map(str, place))})"
        text += f": {shown(first)} | {shown(second)}"
        if self.largest is not None and self.count > 1:
            far = f"{self.largest:.6g}" if isinstance(self.largest, float) else str(self.largest)
            text += f"; at most {far} apart"
        return Difference("values", path, text, Values(self.count, total, place, first, second, self.largest))


class _Part(NamedTuple):
    """What differs in one block."""

    different: int
    first: int
    largest: float | int | None


def largest_distance(one: NDArray[Any], other: NDArray[Any]) -> float | int | None:
    """The largest distance of two numbers at one place, both finite; None where there are none."""
    import numpy as np

    one, other = little(one), little(other)
    if one.dtype.kind == "f":
        some = np.isfinite(one) & np.isfinite(other)
        one, other = one[some], other[some]
    if not one.size:
        return None
    found: float | int = distances(one, other).max().item()
    return found


class _Dense(NamedTuple):
    """Two arrays of one element type."""

    layout: Layout
    sides: tuple[Parts, Parts]
    type_name: str
    types: Types
    tolerance: Tolerance | None

    def compare(self, found: _Found) -> None:
        """Go through all blocks in which either side may hold anything but fill."""
        one, other = self.sides[0][""], self.sides[1][""]
        shape = self.layout.shape
        if 0 in shape:
            return
        size = itemsize(self.layout.dtype) or TEXT
        block = block_shape(shape, (one.layout.chunks, other.layout.chunks), size)
        grid = itertools.product(*(range(-(-length // each)) for length, each in zip(shape, block, strict=True)))
        visited, gap = 0, None

        def tasks() -> Iterator[Task]:
            nonlocal visited, gap
            need = TIMES * size * math.prod(block)
            for index in _each_once(merge(one.occupied(block), other.occupied(block))):
                region = region_of(index, block, shape)
                visited += math.prod(part.stop - part.start for part in region)
                if gap is None and (expected := next(grid)) != index:
                    gap = expected
                yield Task(partial(self._block, region), need, here=need < SMALL)

        with Crew(None, MEMORY) as crew:
            for result in crew.results(tasks()):
                if result is not None:
                    found.add(*result)
        self._unvisited(math.prod(shape) - visited, gap or next(grid, None), block, found)

    def _block(self, region: Selection) -> _Part | None:
        """What differs in one block."""
        import numpy as np

        one, other = (side[""].read(region) for side in self.sides)
        differ = unequal(one, other, self.type_name, self.types, self.tolerance)
        if not differ.any():
            return None
        places = np.argwhere(differ)
        first = 0
        for number, part, length in zip(places[0].tolist(), region, self.layout.shape, strict=True):
            first = first * length + part.start + number
        largest = largest_distance(one[differ], other[differ]) if is_number(self.type_name) else None
        return _Part(len(places), first, largest)

    def _unvisited(self, count: int, index: Index | None, block: tuple[int, ...], found: _Found) -> None:
        """Where nothing is stored on either side, fill stands against fill; `index` is the first such block."""
        if not count or index is None:
            return
        one, other = (fill_array(side[""].layout, (1,)) for side in self.sides)
        if not unequal(one, other, self.type_name, self.types, self.tolerance).any():
            return
        first = first_of(region_of(index, block, self.layout.shape), self.layout.shape)
        found.add(count, first, largest_distance(one, other) if is_number(self.type_name) else None)


def is_number(type_name: str) -> bool:
    """Whether values of a type have a distance."""
    atomic = ATOMIC.get(type_name)
    return atomic is not None and (atomic.is_integer or atomic.is_float)


def _each_once(indices: Iterator[Index]) -> Iterator[Index]:
    """Ascending indices without repetition."""
    return (index for index, _ in itertools.groupby(indices))


def block_shape(shape: tuple[int, ...], chunks: tuple[tuple[int, ...], ...], size: int) -> tuple[int, ...]:
    """Whole chunks of the side with the larger ones, as many in a row as `BLOCK` takes; else a linear range."""
    sound = [tuple(max(1, length) for length in each) for each in chunks]
    whole = [each for each in sound if math.prod(each) * size <= LARGEST]
    if not whole:
        return linear_block(shape, max(1, BLOCK // size))
    lengths = list(max(whole, key=math.prod))
    for axis in range(len(lengths) - 1, -1, -1):
        room = BLOCK // (math.prod(lengths) * size)
        lengths[axis] = min(lengths[axis] * max(1, room), shape[axis])
        if lengths[axis] < shape[axis]:
            break
    return tuple(lengths)


class _Stretch(NamedTuple):
    """A run of cells in C order: where it lies on either side, the number of its first cell there, and its length."""

    one: Selection
    other: Selection
    firsts: tuple[int, int]
    length: int

    def inner(self, shape: tuple[int, ...]) -> _Stretch:
        """The cells of an array field of these cells."""
        if not shape:
            return self
        whole = tuple(slice(0, length) for length in shape)
        each = math.prod(shape)
        firsts = (self.firsts[0] * each, self.firsts[1] * each)
        return _Stretch((*self.one, *whole), (*self.other, *whole), firsts, self.length * each)


class _Cells:
    """Two variables of a type without fixed size. Remembers where the content of the next cell begins."""

    def __init__(self, sides: tuple[Parts, Parts], types: Types, tolerance: Tolerance | None) -> None:
        self.sides = sides
        self.types = types
        self.tolerance = tolerance
        self.ends: dict[tuple[int, str], tuple[int, int]] = {}
        self.found = _Found(())

    def compare(self, type_name: str, found: _Found) -> None:
        """Go through all cells in stretches."""
        import numpy as np

        self.found = found
        shape = found.shape
        block = linear_block(shape, CELLS)
        for index in self._blocks(type_name, shape, block):
            region = region_of(index, block, shape)
            first = first_of(region, shape)
            count = math.prod(part.stop - part.start for part in region)
            differ = self.unequal(type_name, "", _Stretch(region, region, (first, first), count))
            places = np.flatnonzero(differ)
            if len(places):
                found.add(len(places), first + int(places[0]))

    def _blocks(self, type_name: str, shape: tuple[int, ...], block: tuple[int, ...]) -> Iterator[Index]:
        """Blocks in which either side may hold anything but fill, where fill is alike and has no content."""
        grid = itertools.product(*(range(-(-length // each)) for length, each in zip(shape, block, strict=True)))
        leading = [side for both in self.sides for path, side in both.items() if "content" not in path.split("/")]
        if self._fill_counts():
            return grid
        lengths = [(*block, *side.layout.shape[len(block) :]) for side in leading]
        met = (side.occupied(each) for side, each in zip(leading, lengths, strict=True))
        return _each_once(merge(*((index[: len(block)] for index in indices) for indices in met)))

    def _fill_counts(self) -> bool:
        """Whether cells that neither side has given have content, or differ."""
        for path, one in self.sides[0].items():
            if "content" not in path.split("/"):
                first, second = ((side.layout.fill or b"").rstrip(b"\0") for side in (one, self.sides[1][path]))
                if first != second or (first and path.rpartition("/")[2] == "counts"):
                    return True
        return False

    def unequal(self, type_name: str, path: str, stretch: _Stretch) -> NDArray[np.bool_]:
        """Which cells of a stretch differ."""
        import numpy as np

        declared = self.types.get(type_name)
        inside = path + "/" if path else ""
        if isinstance(declared, VlenType):
            return self._sequences(declared.base, inside, stretch)
        if isinstance(declared, CompoundType) and not is_fixed(type_name, self.types):
            differ = np.zeros(stretch.length, np.bool_)
            for field in declared.fields:
                found = self.unequal(field.type, inside + escape(field.name), stretch.inner(field.shape))
                differ |= found.reshape(stretch.length, -1).any(axis=1)
            return differ
        one = self.sides[0][path].read(stretch.one).reshape(-1)
        other = self.sides[1][path].read(stretch.other).reshape(-1)
        differ = unequal(one, other, type_name, self.types, self.tolerance)
        if is_number(type_name) and path.rpartition("/")[2] == "content" and differ.any():
            self.found.note(largest_distance(one[differ], other[differ]))
        return differ

    def _sequences(self, base: str, inside: str, stretch: _Stretch) -> NDArray[np.bool_]:
        """Which sequences differ. Runs of cells with equal lengths have contents that lie side by side."""
        import numpy as np

        one, other = (
            side[inside + "counts"].read(region).reshape(-1).astype(np.int64)
            for side, region in zip(self.sides, (stretch.one, stretch.other), strict=True)
        )
        starts = self._start(0, inside, stretch, one), self._start(1, inside, stretch, other)
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
                found = self.unequal(base, inside + "content", _Stretch(*regions, (first, second), count))
                hits = np.flatnonzero(found) + at + begins[0][low]
                differ[np.searchsorted(begins[0], hits, side="right") - 1] = True
        return differ

    def _start(self, which: int, inside: str, stretch: _Stretch, counts: NDArray[np.int64]) -> int:
        """Where the content of a stretch begins. Stretches come in order; cells between two are looked at here, unless
        they were left out because they are empty.
        """
        first = stretch.firsts[which]
        cell, end = self.ends.get((which, inside), (0, 0))
        if "content" in inside.split("/"):
            end += self._between(which, inside, cell, first)
        self.ends[which, inside] = (first + len(counts), end + int(counts.sum()))
        return end

    def _between(self, which: int, inside: str, cell: int, first: int) -> int:
        """The sum of counts of ragged cells from one to another."""
        source = self.sides[which][inside + "counts"]
        shape = source.layout.shape
        each = math.prod(shape[1:])
        total = 0
        for low in range(cell // max(1, each), first // max(1, each), CELLS):
            high = min(low + CELLS, first // max(1, each))
            region = (slice(low, high), *(slice(0, length) for length in shape[1:]))
            total += int(source.read(region).sum())
        return total
