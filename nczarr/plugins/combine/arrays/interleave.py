"""Join of all parts of a variable along an axis, which may be new, ragged ones included.

Content is in C order of its cells. Along the first dimension the sources'
content is concatenated. Along any other it alternates: for each index of the
dimensions before the axis, the content of every source. `SourceBounds` has the
amounts, from sums of counts; `Woven` is the content.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, all_of, lengths_of, linear_pieces, number_of_first
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Parts, Stored, numpy_dtype
from nczarr.arrays.values.parts import ListTree, PartLeaf, Types, part_tree, spread
from nczarr.ast.rectilinear import largest
from nczarr.names.records import frozen
from nczarr.plugins.combine.arrays.concatenate import join_sources


@frozen
class Raised(DerivedSource):
    """`source` with additional dimensions of length 1; its chunks are the source's."""

    axes: tuple[int, ...] = (0,)
    """Numbers of the additional dimensions, ascending."""

    @property
    def layout(self) -> Layout:
        """Source layout with additional lengths."""
        whole = self.source.layout
        shards = None if whole.shards is None else self._add(whole.shards)
        return whole._replace(shape=self._add(whole.shape), chunks=self._add(whole.chunks), shards=shards)

    def _add(self, values: Sequence[Any], value: Any = 1) -> tuple[Any, ...]:
        """Return one value for each dimension, `value` for the additional ones."""
        every = list(values)
        for axis in self.axes:
            every.insert(axis, value)
        return tuple(every)

    def _remove(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values for the dimensions of the source."""
        return tuple(value for axis, value in enumerate(values) if axis not in self.axes)

    def _is_held(self, region: Selection) -> bool:
        """Return whether a region contains index 0 of the additional dimensions."""
        ranges = (region[axis].indices(1) for axis in self.axes)
        return all(start < stop for start, stop, _ in ranges)

    @property
    def together(self) -> tuple[int, ...] | None:
        """Value of the source."""
        lengths = self.source.together
        return None if lengths is None else self._add(lengths)

    def prefetch(self, regions: Sequence[Selection]) -> Raised:
        """Return the array with the regions' data in memory."""
        held = [self._remove(region) for region in regions if self._is_held(region)]
        return Raised(self.source.prefetch(held), self.axes)

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the source manifest: chunks have the same numbers."""
        return self.source.manifest(None if region is None else self._remove(region))

    @property
    def stored(self) -> Stored | None:
        """Encoding of the source's chunks."""
        stored = self.source.stored
        return None if stored is None else stored._replace(chunks=self._add(stored.chunks))

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the source's bytes of a chunk."""
        return self.source.read_encoded(self._remove(chunk))

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the source's location of a chunk."""
        return self.source.place(self._remove(chunk))

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the source's locations of chunks."""
        return self.source.places(np.delete(chunks, self.axes, axis=1))

    def recut(self, chunks: tuple[int, ...]) -> Raised | None:
        """Recut the source."""
        cut = self.source.recut(self._remove(chunks)) if all(chunks[axis] == 1 for axis in self.axes) else None
        return None if cut is None else Raised(cut, self.axes)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the source's occupied blocks."""
        if region is not None and not all(region[axis] for axis in self.axes):
            return iter(())
        inside = None if region is None else self._remove(region)
        return (self._add(index, 0) for index in self.source.list_occupied(self._remove(chunks), inside))

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the source's values of a region, in its shape (with more dimensions) and the source's dtype."""
        values = np.expand_dims(np.asarray(self.source.read(self._remove(selection))), self.axes)
        cut: list[Any] = [slice(None)] * values.ndim
        for axis in self.axes:
            cut[axis] = selection[axis]
        region: NDArray[Any] = values[tuple(cut)]
        return region

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        if self._is_held(selection):
            inside: Any = self._add((slice(None),) * (out.ndim - len(self.axes)), 0)
            self.source.read_into(self._remove(selection), out[(*inside, ...)])


BLOCK = 1 << 16
"""Cells whose counts are read at once."""

Join = Callable[[Sequence[ArraySource], int], ArraySource]
"""Function that joins arrays along an axis."""


@frozen
class SourceBounds:
    """Cumulative content of each source at each index of the dimensions before an axis."""

    counts: tuple[ArraySource, ...]
    """Sequence lengths of every source."""
    axis: int
    """Number of dimensions before the axis."""
    within: SourceBounds | None = None
    """Bounds of the cells of `counts`, if these are content themselves."""
    _known: list[NDArray[np.int64]] = field(default_factory=list, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceBounds, (self.counts, self.axis, self.within)

    @property
    def edges(self) -> NDArray[np.int64]:
        """Content bounds: int64, shape (sources, indices + 1). Reads counts once.

        Index i of a source has the elements row[i] to row[i + 1] of its
        content.
        """
        if not self._known:
            self._known.append(np.stack([self._edges(number) for number in range(len(self.counts))]))
        return self._known[0]

    def _edges(self, number: int) -> NDArray[np.int64]:
        """Return the row of `edges` of one source: the number of elements before each index, and of all."""
        source = self.counts[number]
        shape = source.layout.shape
        if self.within is None:
            outer, inner = math.prod(shape[: self.axis]), math.prod(shape[self.axis :])
            cells = np.arange(outer + 1, dtype=np.int64) * inner
        else:
            cells = self.within.edges[number] * math.prod(shape[1:])
        edges, total = np.zeros(len(cells), np.int64), 0
        for region in linear_pieces(all_of(shape), BLOCK):
            low = number_of_first(region, shape)
            sums = np.cumsum(np.concatenate(([0], source.read(region).reshape(-1).astype(np.int64))))
            some = (cells > low) & (cells < low + len(sums))
            edges[some] = total + sums[cells[some] - low]
            total += int(sums[-1])
        return edges


@frozen
class Woven(ArraySource):
    """Content of several sources, alternating by `bounds`."""

    sources: tuple[ArraySource, ...]
    """The sources in order."""
    bounds: SourceBounds
    """Where the content of one source ends and that of the next begins."""
    layout: Layout

    @property
    def distant(self) -> bool:
        """True if any source is distant."""
        return any(source.distant for source in self.sources)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype; one contiguous read per source."""
        first, last = selection[0].start, selection[0].stop
        out = np.empty(lengths_of(selection), numpy_dtype(self.layout.dtype))
        edges, count = self.bounds.edges, len(self.sources)
        begins = np.concatenate(([0], np.cumsum(np.diff(edges, axis=1).T.reshape(-1))))
        low = max(0, int(np.searchsorted(begins, first, side="right")) - 1)
        high = int(np.searchsorted(begins, last, side="left"))
        for number, source in enumerate(self.sources):
            turns = np.arange(low + (number - low) % count, high, count)
            if not len(turns):
                continue
            outside = np.clip(begins[turns], first, last), np.clip(begins[turns + 1], first, last)
            offset = edges[number, turns // count] - begins[turns]
            begin, end = int(outside[0][0] + offset[0]), int(outside[1][-1] + offset[-1])
            if begin == end:
                continue
            values = source.read((slice(begin, end), *selection[1:]))
            at = 0
            for start, stop in zip((outside[0] - first).tolist(), (outside[1] - first).tolist(), strict=True):
                out[start:stop] = values[at : at + stop - start]
                at += stop - start
        return out


def join(type_name: str, every: Sequence[Parts], axis: int, types: Types, one: Join) -> Parts:
    """Join a variable's parts from several datasets along an axis with `one`. Raises KeyError for wrong parts."""

    def array(leaf: PartLeaf, cells: int | SourceBounds | None) -> ArraySource:
        sources = tuple(parts[leaf.path] for parts in every)
        return one(sources, cells) if isinstance(cells, int) else _one(sources, cells)

    def elements(tree: ListTree, cells: int | SourceBounds | None) -> SourceBounds | None:
        counts = tuple(parts[tree.counts.path] for parts in every)
        if isinstance(cells, int):
            return SourceBounds(counts, cells) if cells else None
        return None if cells is None else SourceBounds(counts, 0, cells)

    whole: int | SourceBounds | None = axis
    return dict(spread(part_tree(type_name, types), whole, array, elements, lambda number, field, cells: cells))


def _one(sources: tuple[ArraySource, ...], bounds: SourceBounds | None) -> ArraySource:
    """Join one array of content; without bounds, concatenate."""
    if bounds is None:
        return join_sources(sources, 0)
    first = sources[0].layout
    shape = (sum(source.layout.shape[0] for source in sources), *first.shape[1:])
    chunks = tuple(max(1, min(chunk, length)) for chunk, length in zip(largest(first.chunks), shape, strict=True))
    return Woven(sources, bounds, Layout(first.dtype, shape, chunks, (), first.fill))
