"""Concatenation of array sources along an axis: one variable from several datasets.

If all chunks fall into one grid, they are the chunks of the whole and are
copied as encoded: every source but the last is a multiple of the chunk length
long, and all encodings are equal. Sources of fill only have no chunks and do
not interfere. Reads are lazy.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import merge
from typing import Any, NamedTuple

from nczarr.arrays.chunks.chunk_grid_array import SHARED, TIMES
from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns, columns_of, some
from nczarr.arrays.chunks.occupancy import positions_within
from nczarr.arrays.codecs.chain import same_bytes
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task, run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, grid_of, region_or_all
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import (
    ArraySource,
    Layout,
    Stored,
    convert_fill,
    fill_of,
    find_unwritten,
    little_descr,
    numpy_dtype,
)
from nczarr.arrays.sources.windows import plain
from nczarr.ast.rectilinear import Lengths, Run, chunk_length, largest, runs_of, varies, volume
from nczarr.names.records import frozen

SEVERAL = 8
"""Sources of a region from which several threads read them; fewer are read in turn, each by several threads."""


@frozen
class Joined(ArraySource):
    """Concatenation of sources along one axis."""

    sources: tuple[ArraySource, ...]
    """The sources in order."""
    axis: int
    starts: tuple[int, ...]
    """Start of each source along the axis, and the total length."""
    layout: Layout
    grid: Stored | None
    """Common encoding of all chunks, if they make one grid."""

    @property
    def stored(self) -> Stored | None:
        """Encoding of chunks; None without a common grid."""
        return self.grid

    @property
    def lossy(self) -> frozenset[str]:
        """Codecs of every source."""
        return frozenset().union(*(source.lossy for source in self.sources))

    @property
    def undefined(self) -> bool:
        """True if every source is undefined."""
        return all(source.undefined for source in self.sources)

    def open_fragments(self, region: Region | None = None) -> ArraySource:
        """Return the concatenation of opened sources, with fill in place of sources outside the region."""
        needed = region_or_all(region, self.layout.shape)
        cells = {part.source: part.cells for part in self._parts_in(needed, max(1, self.starts[-1]))}
        works = (
            Task(partial(one.open_fragments, _with(needed, self.axis, cells[number])), here=not one.distant)
            if number in cells
            else Task(partial(fill_source, one.layout), here=True)
            for number, one in enumerate(self.sources)
        )
        with Crew(DISTANT_WORKERS, 1) as crew:
            sources = list(crew.results(works))
        unchanged = all(new is old for new, old in zip(sources, self.sources, strict=True))
        return self if unchanged else join_sources(sources, self.axis)

    @property
    def viewed(self) -> bool:
        """True if every source is viewed."""
        return all(source.viewed for source in self.sources)

    @property
    def distant(self) -> bool:
        """True if any source is distant."""
        return any(source.distant for source in self.sources)

    @property
    def noted(self) -> Mapping[str, Mapping[str, Any]]:
        """Recorded properties of the files of all sources."""
        every = {id(facts): facts for facts in (source.noted for source in self.sources) if facts}
        return {place: fact for facts in every.values() for place, fact in facts.items()}

    @property
    def together(self) -> tuple[int, ...] | None:
        """Common value of the sources, else None."""
        lengths = {source.together for source in self.sources}
        return lengths.pop() if len(lengths) == 1 else None

    def prefetch(self, regions: Sequence[Selection]) -> Joined:
        """Return the array with the regions' data in memory, per source."""
        regions_of: dict[int, list[Selection]] = {}
        for region in regions:
            for number, _, inside in self._cut_region(region):
                regions_of.setdefault(number, []).append(inside)
        sources = list(self.sources)
        for number, inside_regions in regions_of.items():
            sources[number] = sources[number].prefetch(inside_regions)
        return replace(self, sources=tuple(sources))

    def _cut_region(self, selection: Selection) -> Iterator[tuple[int, Selection, Selection]]:
        """Yield the pieces of a region: number of the source, place in the region, region of the source."""
        axis, cells = self.axis, selection[self.axis]
        number = max(0, bisect_right(self.starts, cells.start) - 1)
        while number < len(self.sources) and self.starts[number] < cells.stop:
            low, high = max(cells.start, self.starts[number]), min(cells.stop, self.starts[number + 1])
            if low < high:
                outside = tuple(slice(0, part.stop - part.start) for part in selection)
                begin = self.starts[number]
                yield (
                    number,
                    _with(outside, axis, slice(low - cells.start, high - cells.start)),
                    _with(selection, axis, slice(low - begin, high - begin)),
                )
            number += 1

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype, assembled from the sources."""
        bounds = zip(selection, self.layout.shape, strict=True)
        selection = tuple(slice(*part.indices(length)[:2]) for part, length in bounds)
        pieces = list(self._cut_region(selection))
        if len(pieces) == 1:
            number, _, inside = pieces[0]
            return self.sources[number].read(inside)
        out = np.empty([max(0, part.stop - part.start) for part in selection], numpy_dtype(self.layout.dtype))
        self.read_into(selection, out)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`: many sources by several threads."""
        bounds = zip(selection, self.layout.shape, strict=True)
        pieces = list(self._cut_region(tuple(slice(*part.indices(length)[:2]) for part, length in bounds)))

        def put(piece: tuple[int, Selection, Selection]) -> None:
            number, outside, inside = piece
            self.sources[number].read_into(inside, out[outside])

        worth = len(pieces) >= SEVERAL and out.nbytes > SHARED and not out.dtype.hasobject
        need = max((volume(source.layout.chunks) for source in self.sources), default=0) * out.itemsize
        run_each(put, pieces, TIMES * need if worth else None)

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Merge the manifests of the sources; None if none has one, or without a common grid. Raises OSError."""
        if self.stored is None:
            return None
        indices = range(self.starts[-1]) if region is None else region[self.axis]
        tables = []
        for number, source in enumerate(self.sources):
            begin, end = self.starts[number : number + 2]
            inside = positions_within(indices, begin, end)
            if source.stored is None or not inside:
                continue
            cells = _shift_indices(indices[inside.start : inside.stop], begin)
            tables.append((number, source.manifest(None if region is None else _with(region, self.axis, cells))))
        moved = [self.move_chunks(number, table) for number, table in tables if table is not None]
        return merge_tables(moved) if moved else None

    def move_chunks(self, number: int, table: Manifest) -> PlaceColumns:
        """Return a source's chunks as chunks of the whole."""
        columns = columns_of(table)
        source, chunks = self.sources[number], self.layout.chunks
        lengths = chunks if source.stored is None else source.stored.chunks
        grid, source_grid = grid_of(self.layout.shape, chunks), grid_of(source.layout.shape, lengths)
        first = self._first(number)
        if isinstance(chunks[self.axis], Lengths) and _ends_within(source, self.axis):
            along = columns.chunk // math.prod(source_grid[self.axis + 1 :]) % source_grid[self.axis]
            columns = some(columns, along < source_grid[self.axis] - 1)
        if self.axis == 0:
            return columns._replace(chunk=columns.chunk + first * math.prod(grid[1:]))
        places = list(np.unravel_index(columns.chunk, source_grid))
        places[self.axis] = places[self.axis] + first
        return columns._replace(chunk=np.asarray(np.ravel_multi_index(tuple(places), grid), np.int64))

    def _first(self, number: int) -> int:
        """Return the index along the axis of a source's first chunk."""
        return self.starts[number] // self.layout.chunks[self.axis]

    def _find_source(self, chunk: Index) -> tuple[ArraySource, Index]:
        """Return the source of a chunk, and its index there."""
        at = chunk[self.axis] * self.layout.chunks[self.axis]
        number = bisect_right(self.starts, at, hi=len(self.sources)) - 1
        return self.sources[number], _with(chunk, self.axis, chunk[self.axis] - self._first(number))

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the source's bytes of a chunk; None without a common grid."""
        if self.stored is None:
            return None
        source, index = self._find_source(chunk)
        return source.read_encoded(index) if self._has(source, index) else None

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the source's location of a chunk; None without a common grid."""
        if self.stored is None:
            return None
        source, index = self._find_source(chunk)
        return source.place(index) if self._has(source, index) else None

    def _has(self, source: ArraySource, index: Index) -> bool:
        """Return whether an encoded chunk of a source has the length of its place in the whole."""
        if source.stored is None or not isinstance(self.layout.chunks[self.axis], Lengths):
            return source.stored is not None
        length, number = source.stored.chunks[self.axis], index[self.axis]
        return (number + 1) * length <= source.layout.shape[self.axis]

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Yield the blocks of a region that meet an occupied part of a source, in C order."""
        region = region_or_all(region, self.layout.shape)
        parts = list(self._parts_in(region, chunks[self.axis]))
        blocks = [self._list_met(part, chunks, region) for part in parts]
        if self.axis == 0 and all(one.stop <= other.block for one, other in itertools.pairwise(parts)):
            return itertools.chain.from_iterable(blocks)
        return (index for index, _ in itertools.groupby(merge(*blocks)))

    def _parts_in(self, region: Region, length: int) -> Iterator[_PartOfSource]:
        """Yield the parts of the sources in a region: each begins with a block of `length`, or is in one block."""
        indices = region[self.axis]
        number = max(0, bisect_right(self.starts, indices.start) - 1)
        while number < len(self.sources) and self.starts[number] < indices.stop:
            begin = self.starts[number]
            inside = positions_within(indices, begin, self.starts[number + 1])
            low = inside.start
            while low < inside.stop:
                block = low // length
                end = inside.stop if block * length == low else min(inside.stop, (block + 1) * length)
                yield _PartOfSource(number, _shift_indices(indices[low:end], begin), block, -(-end // length))
                low = end
            number += 1

    def _list_met(self, part: _PartOfSource, chunks: tuple[int, ...], region: Region) -> Iterator[Index]:
        """Yield the blocks of a region that meet occupied blocks of a part of a source, in C order."""
        axis, length = self.axis, chunks[self.axis]
        if isinstance(length, Lengths):
            chunks = _with(chunks, axis, length.between(part.block, part.stop))
        source, cells = self.sources[part.source], _with(region, axis, part.cells)
        alike = find_unwritten(source) == find_unwritten(self)
        blocks = source.list_occupied(chunks, cells) if alike else ArraySource.list_occupied(source, chunks, cells)
        return (_with(index, axis, index[axis] + part.block) for index in blocks)


class _PartOfSource(NamedTuple):
    """Indices of one source in a region."""

    source: int
    """Number of the source."""
    cells: range
    """Indices along the axis in the source."""
    block: int
    """First block of the region that they meet."""
    stop: int
    """End of these blocks."""


def _shift_indices(indices: range, start: int) -> range:
    """Return indices along an axis in a source that begins at `start`."""
    return range(indices.start - start, indices.stop - start, indices.step)


def join_sources(
    sources: Sequence[ArraySource], axis: int, *, rectilinear: bool = False, fill: bytes | None = None
) -> ArraySource:
    """Concatenate at least one source along an axis; all other lengths are equal.

    `rectilinear`: chunks may form a grid of different lengths along the axis.
    `fill`: value of unwritten cells of several sources, little-endian or as text;
    None: that of the sources.
    """
    some = [source for source in sources if source.layout.shape[axis]] or [sources[0]]
    if len(some) == 1:
        return some[0]
    starts = (0, *itertools.accumulate(source.layout.shape[axis] for source in some))
    first = some[0].layout
    shape = _with(first.shape, axis, starts[-1])
    dtypes = {source.layout.dtype for source in some}
    dtype = first.dtype if len(dtypes) == 1 else little_descr(first.dtype)
    filled = [source for source in some if source.layout.fill is not None]
    model = next((source for source in filled if not source.undefined), filled[0] if filled else some[0])
    if fill is not None:
        fill = convert_fill(fill, dtype)
    else:
        fill = model.layout.fill if len(dtypes) == 1 else fill_of(model)
    stored = next((source.stored for source in some if source.stored is not None), None)
    if misfit(some, axis) is not None:
        stored = rectilinear_grid(some, axis) if rectilinear else None
    if stored is not None:
        layout = Layout(dtype, shape, stored.chunks, stored.codecs, fill)
    else:
        chunks = tuple(max(1, min(chunk, length)) for chunk, length in zip(largest(first.chunks), shape, strict=True))
        layout = Layout(dtype, shape, chunks, (), fill)
    return Joined(tuple(some), axis, starts, layout, stored)


def common_layout(sources: Sequence[ArraySource], whole: Layout) -> Layout | None:
    """Return the layout of an array in the chunks of most cells of its sources; None without regular chunks."""
    cells: dict[Stored, int] = {}
    for source in sources:
        if source.stored is not None and not varies(source.stored.chunks):
            cells[source.stored] = cells.get(source.stored, 0) + math.prod(source.layout.shape)
    if not cells:
        return None
    stored = max(cells, key=cells.__getitem__)
    return Layout(stored.dtype, whole.shape, stored.chunks, stored.codecs, whole.fill)


def rectilinear_grid(sources: Sequence[ArraySource], axis: int) -> Stored | None:
    """Return the encoding of the chunks of all sources in sequence; None if they differ more than in length.

    A chunk that its source does not fill has a place of the filled length, and
    no encoded bytes of this length.
    """
    model = next((source.stored for source in sources if source.stored is not None), None)
    if model is None:
        return None
    runs: list[Run] = []
    for source in sources:
        extent, stored = source.layout.shape[axis], source.stored
        if stored is None:
            if not is_hollow(source):
                return None
            runs += runs_of(int(model.chunks[axis]), extent)
            continue
        recut = stored._replace(chunks=_with(stored.chunks, axis, model.chunks[axis]))
        if compare_encodings(model, recut) is not None:
            return None
        runs += runs_of(stored.chunks[axis], extent)
    length = chunk_length(runs)
    if not isinstance(length, Lengths):  # equal lengths that are no grid are cut from longer chunks
        return None
    return model._replace(chunks=_with(model.chunks, axis, length))


def _ends_within(source: ArraySource, axis: int) -> bool:
    """Return whether a source ends within its last chunk along an axis."""
    return source.stored is not None and source.layout.shape[axis] % source.stored.chunks[axis] != 0


class Misfit(NamedTuple):
    """Two sources whose chunks do not form a grid."""

    source: int
    """Number of the source."""
    other: int | None
    """Number of the other source; None if one source has no chunks."""
    reason: str
    """Explanation for messages."""


def misfit(sources: Sequence[ArraySource], axis: int) -> Misfit | None:
    """Return why chunks make no grid along an axis, or None."""
    model: tuple[int, Stored] | None = None
    for number, source in enumerate(sources):
        length, stored = source.layout.shape[axis], source.stored
        if stored is None:
            if length and not is_hollow(source):
                return Misfit(number, None, "its values are not in chunks")
            continue
        if not length:
            continue
        if model is None:
            model = (number, stored)
        reason = compare_encodings(model[1], stored)
        if reason is not None:
            return Misfit(model[0], number, reason)
    if model is None:
        return None
    chunk = model[1].chunks[axis]
    if isinstance(chunk, Lengths):
        return Misfit(model[0], (model[0] + 1) % len(sources), "chunks of different lengths")
    for number, source in enumerate(sources[:-1]):
        length = source.layout.shape[axis]
        if length % chunk and any(other.layout.shape[axis] for other in sources[number + 1 :]):
            return Misfit(number, number + 1, f"a length of {length} is not a multiple of the chunk length {chunk}")
    return None


def is_hollow(source: ArraySource) -> bool:
    """Return whether a source without chunks contains only fill; reads no values."""
    if source.stored is not None:
        return False
    chunks = tuple(max(1, length) for length in source.layout.chunks)
    return next(iter(source.list_occupied(chunks)), None) is None


def compare_encodings(one: Stored, other: Stored) -> str | None:
    """Return how the encodings of two sources differ, or None."""
    if one.chunks != other.chunks:
        return f"chunks of {_times(one.chunks)} and of {_times(other.chunks)}"
    if (first := plain(one.dtype)) != (second := plain(other.dtype)):
        is_order = isinstance(first, str) and isinstance(second, str) and first[1:] == second[1:]
        return "different byte orders" if is_order else f"elements of {numpy_dtype(first)} and {numpy_dtype(second)}"
    if not same_bytes(one.codecs, other.codecs, 0):  # masks count the steps of both alike
        chains = ("+".join(codec.name or str(codec.id) for codec in stored.codecs) for stored in (one, other))
        return "different filters, {} and {}".format(*(chain or "none" for chain in chains))
    return None


def _times(lengths: tuple[int, ...]) -> str:
    return " × ".join(map(str, lengths)) or "one element"


def merge_tables(tables: list[PlaceColumns]) -> PlaceColumns:
    """Merge tables in chunk order; each file is listed once."""
    numbers: dict[str, int] = {}
    source = []
    for table in tables:
        source_numbers = np.array([numbers.setdefault(name, len(numbers)) for name in table.sources], np.int64)
        source.append(source_numbers[table.source] if len(source_numbers) else table.source)
    chunk, offset, length, mask = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("chunk", "offset", "length", "mask")
    )
    merged = PlaceColumns(tuple(numbers), chunk, np.concatenate(source), offset, length, mask)
    if (np.diff(chunk) >= 0).all():
        return merged
    order = np.argsort(chunk, kind="stable")
    return merged._replace(**{name: getattr(merged, name)[order] for name in merged._fields[1:]})


def _with(values: tuple[Any, ...], axis: int, value: Any) -> tuple[Any, ...]:
    return (*values[:axis], value, *values[axis + 1 :])
