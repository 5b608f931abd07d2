"""Array sources one behind the other along an axis: the values of one variable in several datasets.

Where the chunks of all of them fall into one grid, they are the chunks of the whole, and are moved as they are: every
source but the last is a multiple of the chunk's length long, and all are encoded alike. A source that holds nothing but
fill has no chunks that could be in the way. Nothing is read before it is asked for.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import Any, NamedTuple

from nczarr.arrays.blocks import Index, Selection, every_block, grid_of
from nczarr.arrays.chunk_references import columns_of
from nczarr.arrays.codecs import same_bytes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.manifest import Columns, Manifest, Place
from nczarr.arrays.route import plain
from nczarr.arrays.source import ArraySource, Layout, Stored, fill_of, little_descr, numpy_dtype, unwritten_of


@dataclass(frozen=True, slots=True, eq=False)
class Joined(ArraySource):
    """Sources one behind the other along `axis`; `starts` has where each begins, and the length of all."""

    sources: tuple[ArraySource, ...]
    axis: int
    starts: tuple[int, ...]
    layout: Layout
    grid: Stored | None
    """How the chunks of all sources are encoded, where they make one grid."""

    @property
    def stored(self) -> Stored | None:
        """How chunks are encoded; None where they make no grid."""
        return self.grid

    @property
    def undefined(self) -> bool:
        """Whether that of every source is."""
        return all(source.undefined for source in self.sources)

    def cleared(self) -> Joined:
        """Of the sources without their fill."""
        return replace(self, sources=tuple(source.cleared() for source in self.sources))

    @property
    def viewed(self) -> bool:
        """Whether every source is."""
        return all(source.viewed for source in self.sources)

    @property
    def distant(self) -> bool:
        """Whether a source is."""
        return any(source.distant for source in self.sources)

    @property
    def together(self) -> tuple[int, ...] | None:
        """That of the sources, where it is the same of all."""
        lengths = {source.together for source in self.sources}
        return lengths.pop() if len(lengths) == 1 else None

    def fetched(self, regions: Sequence[Selection]) -> Joined:
        """The same array, each source with what it has of the regions at hand."""
        wanted: dict[int, list[Selection]] = {}
        for region in regions:
            for number, _, inside in self._pieces(region):
                wanted.setdefault(number, []).append(inside)
        sources = list(self.sources)
        for number, inside_regions in wanted.items():
            sources[number] = sources[number].fetched(inside_regions)
        return replace(self, sources=tuple(sources))

    def _pieces(self, selection: Selection) -> Iterator[tuple[int, Selection, Selection]]:
        """What a region is made of: the number of a source, where its part stands in the region, and which it is."""
        axis, wanted = self.axis, selection[self.axis]
        number = max(0, bisect_right(self.starts, wanted.start) - 1)
        while number < len(self.sources) and self.starts[number] < wanted.stop:
            low, high = max(wanted.start, self.starts[number]), min(wanted.stop, self.starts[number + 1])
            if low < high:
                outside = tuple(slice(0, part.stop - part.start) for part in selection)
                begin = self.starts[number]
                yield (
                    number,
                    _with(outside, axis, slice(low - wanted.start, high - wanted.start)),
                    _with(selection, axis, slice(low - begin, high - begin)),
                )
            number += 1

    def read(self, selection: Selection) -> NDArray[Any]:
        """Decoded values of a region, put together from the sources."""
        bounds = zip(selection, self.layout.shape, strict=True)
        selection = tuple(slice(*part.indices(length)[:2]) for part, length in bounds)
        pieces = list(self._pieces(selection))
        if len(pieces) == 1:
            number, _, inside = pieces[0]
            return self.sources[number].read(inside)
        out = np.empty([max(0, part.stop - part.start) for part in selection], numpy_dtype(self.layout.dtype))
        for number, outside, inside in pieces:
            out[outside] = self.sources[number].read(inside)
        return out

    @property
    def manifest(self) -> Manifest | None:
        """The chunks of all sources that have a table, in one; None where none has, or chunks make no grid.

        Raises OSError.
        """
        if self.stored is None:
            return None
        tables = [(number, source.manifest) for number, source in enumerate(self.sources) if source.stored is not None]
        found = [self._moved(number, table) for number, table in tables if table is not None]
        return _merged(found) if found else None

    def _moved(self, number: int, table: Manifest) -> Columns:
        """The chunks of a source as those of the whole."""
        columns = columns_of(table)
        chunks = self.layout.chunks
        grid, own = grid_of(self.layout.shape, chunks), grid_of(self.sources[number].layout.shape, chunks)
        first = self._first(number)
        if self.axis == 0:
            rest = 1
            for count in grid[1:]:
                rest *= count
            return columns._replace(chunk=columns.chunk + first * rest)
        places = list(np.unravel_index(columns.chunk, own))
        places[self.axis] = places[self.axis] + first
        return columns._replace(chunk=np.asarray(np.ravel_multi_index(tuple(places), grid), np.int64))

    def _first(self, number: int) -> int:
        """The index along the axis of the first chunk of a source."""
        return self.starts[number] // self.layout.chunks[self.axis]

    def _home(self, chunk: Index) -> tuple[ArraySource, Index]:
        """The source that a chunk lies in, and its index there."""
        at = chunk[self.axis] * self.layout.chunks[self.axis]
        number = bisect_right(self.starts, at, hi=len(self.sources)) - 1
        return self.sources[number], _with(chunk, self.axis, chunk[self.axis] - self._first(number))

    def encoded(self, chunk: Index) -> bytes | None:
        """The bytes of a chunk as its source has them; None where chunks make no grid."""
        if self.stored is None:
            return None
        source, index = self._home(chunk)
        return source.encoded(index) if source.stored is not None else None

    def place(self, chunk: Index) -> Place | None:
        """Where a source has the bytes of a chunk; None where chunks make no grid."""
        if self.stored is None:
            return None
        source, index = self._home(chunk)
        return source.place(index) if source.stored is not None else None

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks that an occupied part of a source meets, in C order."""
        found = [self._met(number, chunks) for number in range(len(self.sources))]
        if self.axis == 0 and all(start % chunks[0] == 0 for start in self.starts[:-1]):
            return itertools.chain.from_iterable(found)
        return (index for index, _ in itertools.groupby(merge(*found)))

    def _met(self, number: int, chunks: tuple[int, ...]) -> Iterator[Index]:
        """The chunks of the whole that occupied chunks of a source meet, in C order, each once."""
        axis, each = self.axis, chunks[self.axis]
        begin, end = self.starts[number], self.starts[number + 1]
        source = self.sources[number]
        alike = unwritten_of(source) == unwritten_of(self)
        occupied = source.occupied(chunks) if alike else every_block(source.layout.shape, chunks)
        if begin % each == 0:
            return (_with(index, axis, index[axis] + begin // each) for index in occupied)
        met: set[Index] = set()
        for index in occupied:
            low = begin + index[axis] * each
            high = min(low + each, end) - 1
            met.update(_with(index, axis, place) for place in range(low // each, high // each + 1))
        return iter(sorted(met))


def joined(sources: Sequence[ArraySource], axis: int) -> ArraySource:
    """Sources one behind the other along an axis; of the others they have the same length. At least one."""
    some = [source for source in sources if source.layout.shape[axis]] or [sources[0]]
    if len(some) == 1:
        return some[0]
    starts = (0, *itertools.accumulate(source.layout.shape[axis] for source in some))
    first = some[0].layout
    shape = _with(first.shape, axis, starts[-1])
    dtypes = {source.layout.dtype for source in some}
    dtype = first.dtype if len(dtypes) == 1 else little_descr(first.dtype)
    told = [source for source in some if source.layout.fill is not None]
    model = next((source for source in told if not source.undefined), told[0] if told else some[0])
    fill = model.layout.fill if len(dtypes) == 1 else fill_of(model)
    stored = None if misfit(some, axis) else next((each.stored for each in some if each.stored is not None), None)
    if stored is not None:
        layout = Layout(dtype, shape, stored.chunks, stored.codecs, fill)
    else:
        chunks = tuple(max(1, min(chunk, length)) for chunk, length in zip(first.chunks, shape, strict=True))
        layout = Layout(dtype, shape, chunks, (), fill)
    return Joined(tuple(some), axis, starts, layout, stored)


class Misfit(NamedTuple):
    """Why chunks of sources make no grid: the numbers of two sources that do not go together, and what is wrong.

    `other` is None where one source is reason enough, because no chunks of its own tell what it holds.
    """

    source: int
    other: int | None
    reason: str


def misfit(sources: Sequence[ArraySource], axis: int) -> Misfit | None:
    """Why the chunks of sources make no grid along an axis; None if they do."""
    model: tuple[int, Stored] | None = None
    for number, source in enumerate(sources):
        length, stored = source.layout.shape[axis], source.stored
        if stored is None:
            if length and not is_hollow(source):
                return Misfit(number, None, "its values lie in no chunks")
            continue
        if not length:
            continue
        if model is None:
            model = (number, stored)
        reason = _unlike(model[1], stored)
        if reason is not None:
            return Misfit(model[0], number, reason)
    if model is None:
        return None
    chunk = model[1].chunks[axis]
    for number, source in enumerate(sources[:-1]):
        length = source.layout.shape[axis]
        if length % chunk and any(other.layout.shape[axis] for other in sources[number + 1 :]):
            return Misfit(number, number + 1, f"a length of {length} is no multiple of the chunk length {chunk}")
    return None


def is_hollow(source: ArraySource) -> bool:
    """Whether a source that has no chunks holds nothing but fill. Asks for no value."""
    if source.stored is not None:
        return False
    chunks = tuple(max(1, length) for length in source.layout.chunks)
    return next(iter(source.occupied(chunks)), None) is None


def _unlike(one: Stored, other: Stored) -> str | None:
    """In what the chunks of two sources are not alike; None if they are."""
    if one.chunks != other.chunks:
        return f"chunks of {_times(one.chunks)} and of {_times(other.chunks)}"
    if plain(one.dtype) != plain(other.dtype):
        return "different byte orders"
    if not same_bytes(one.codecs, other.codecs, 0):  # masks count the steps of both alike
        chains = ("+".join(codec.name or str(codec.id) for codec in each.codecs) for each in (one, other))
        return "different filters, {} and {}".format(*(chain or "none" for chain in chains))
    return None


def _times(lengths: tuple[int, ...]) -> str:
    return " × ".join(map(str, lengths)) or "one element"


def _merged(tables: list[Columns]) -> Columns:
    """Several tables as one, in the order of chunks; a file that several name is named once."""
    numbers: dict[str, int] = {}
    source = []
    for table in tables:
        own = np.array([numbers.setdefault(name, len(numbers)) for name in table.sources], np.int64)
        source.append(own[table.source] if len(own) else table.source)
    chunk, offset, length, mask = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("chunk", "offset", "length", "mask")
    )
    made = Columns(tuple(numbers), chunk, np.concatenate(source), offset, length, mask)
    if (np.diff(chunk) >= 0).all():
        return made
    order = np.argsort(chunk, kind="stable")
    return made._replace(**{name: getattr(made, name)[order] for name in made._fields[1:]})


def _with(values: tuple[Any, ...], axis: int, value: Any) -> tuple[Any, ...]:
    return (*values[:axis], value, *values[axis + 1 :])
