"""Concatenation whose chunks are copied one by one, where a single source has exactly the bytes of a chunk.

A concatenation has encoded chunks only if those of all sources make one grid
(`concatenate.py`). A store that is extended has a grid already, and each chunk
of it that lies in one source may be a chunk of that source, whatever the others
are. All other chunks are made from values.

Uncompressed chunks are cut into shorter ones, so that joined arrays of any
lengths share one grid: along a dimension, if all dimensions before it have
length 1; then a piece is a byte range. Contiguous arrays are one chunk; an array
may be shorter than its chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nczarr.arrays.chunks.manifest import Affine, ChunkPlace, Manifest, PlaceColumns, columns_from, columns_of, some
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import LARGE, MOST, Index, Region, Selection, every_index, grid_of, number_of
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Stored, itemsize
from nczarr.arrays.sources.windows import matches
from nczarr.ast.rectilinear import varies, volume
from nczarr.names.records import frozen
from nczarr.plugins.combine.arrays.cell_positions import Placed
from nczarr.plugins.combine.arrays.concatenate import Joined, is_hollow, merge_tables, misfit


@frozen
class Patchwork(Joined):
    """Concatenation in the grid of a given layout, which single sources share in part."""

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the chunks that single sources have whole. Raises OSError."""
        length, total = self.layout.chunks[self.axis], self.starts[-1]
        tables = []
        for number, source in enumerate(self.sources):
            begin, end = self.starts[number : number + 2]
            table = source.manifest() if begin % length == 0 and self._has_chunks(source) else None
            if table is None:
                continue
            columns, grid = columns_of(table), grid_of(source.layout.shape, self.layout.chunks)
            along = columns.chunk // math.prod(grid[self.axis + 1 :]) % grid[self.axis]
            rows = ((along + 1) * length <= end - begin) | (end == total)
            tables.append(self.move_chunks(number, some(columns, rows)))
        return merge_tables(tables) if tables else columns_from(())

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the only source's bytes of a chunk; None if the chunk is made from values."""
        origin = self.find_only_source(chunk)
        return None if origin is None else origin[0].read_encoded(origin[1])

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the only source's location of a chunk; None if the chunk is made from values."""
        origin = self.find_only_source(chunk)
        return None if origin is None else origin[0].place(origin[1])

    def _has_chunks(self, source: ArraySource) -> bool:
        """Return whether a source has chunks of the grid, in its byte order, which may not be that of the values."""
        grid = self.grid
        return grid is not None and matches(source.stored, self.layout._replace(dtype=grid.dtype))

    def find_only_source(self, chunk: Index) -> tuple[ArraySource, Index] | None:
        """Return the source that has a whole chunk in the same encoding, and the index there; None without one."""
        chunk_length, length = self.layout.chunks[self.axis], self.layout.shape[self.axis]
        begin = chunk[self.axis] * chunk_length
        end = min(begin + chunk_length, length)
        for number, source in enumerate(self.sources):
            start, stop = self.starts[number], self.starts[number + 1]
            if start <= begin and end <= stop:
                whole = end - begin == chunk_length or end == stop == length
                aligned = (begin - start) % chunk_length == 0
                if whole and aligned and self._has_chunks(source):
                    moved = list(chunk)
                    moved[self.axis] = (begin - start) // chunk_length
                    return source, tuple(moved)
                return None
        return None


def as_patchwork(source: ArraySource, layout: Layout, first_piece: int) -> ArraySource:
    """Return a concatenation in the grid of a layout, if a source from number `first_piece` on has such chunks.

    `layout`: of the array that gets the chunks, in the shape of `source`. Any
    other array is returned unchanged.
    """
    if not isinstance(source, Joined) or not any(matches(part.stored, layout) for part in source.sources[first_piece:]):
        return source
    stored = Stored(layout.dtype, layout.chunks, layout.codecs)
    regular = Layout(source.layout.dtype, source.layout.shape, layout.chunks, layout.codecs, fill=source.layout.fill)
    return Patchwork(source.sources, source.axis, source.starts, regular, stored)


def count_copied(source: ArraySource, keys: Iterable[Index], layout: Layout) -> int:
    """Return the number of chunks of some keys that are copied if they are stored. `layout`: of the target."""
    if not isinstance(source, Patchwork):
        return sum(1 for _ in _chunks(keys, layout))
    return sum(1 for chunk in _chunks(keys, layout) if source.find_only_source(chunk) is not None)


def count_remade(source: ArraySource) -> tuple[int, int]:
    """Return how many chunks of a concatenation no source has whole, and how many are not only fill. Raises OSError."""
    if not isinstance(source, Joined | Placed):
        return 0, 0
    stored, table = source.stored, source.manifest()
    occupied = list(source.list_occupied(source.layout.chunks))
    if stored is None or table is None:
        return len(occupied), len(occupied)
    counts, placed = grid_of(source.layout.shape, stored.chunks), set(columns_of(table).chunk.tolist())
    others = (index for index in occupied if number_of(index, counts) not in placed)
    return sum(1 for index in others if source.read_encoded(index) is None), len(occupied)


def _chunks(keys: Iterable[Index], layout: Layout) -> Iterator[Index]:
    """Yield the chunks in some keys: each itself, or those of a shard inside the array."""
    if layout.shards is None:
        yield from keys
        return
    counts = grid_of(layout.shape, layout.chunks)
    per_shard = grid_of(layout.shards, layout.chunks)
    for key in keys:
        ranges = [
            range(number * chunk_count, min((number + 1) * chunk_count, count))
            for number, chunk_count, count in zip(key, per_shard, counts, strict=True)
        ]
        yield from every_index(ranges)


@frozen
class Pieces(DerivedSource):
    """Array whose chunks are pieces of the uncompressed chunks of another array."""

    axis: int
    """The axis along which chunks are cut."""
    length: int
    """Length of a piece along the axis."""

    @property
    def layout(self) -> Layout:
        """Source layout, in pieces."""
        return self.source.layout._replace(chunks=self._cut(self.source.layout.chunks), codecs=(), shards=None)

    def _cut(self, chunks: tuple[int, ...]) -> tuple[int, ...]:
        return (*chunks[: self.axis], self.length, *chunks[self.axis + 1 :])

    @property
    def _whole(self) -> Stored:
        stored = self.source.stored
        assert stored is not None
        return stored

    @property
    def _size(self) -> int:
        """Bytes of a piece."""
        return math.prod(self._cut(self._whole.chunks)) * itemsize(self._whole.dtype)

    @property
    def stored(self) -> Stored:
        """Encoding of pieces: plain elements."""
        return self._whole._replace(chunks=self._cut(self._whole.chunks))

    def _find_chunk(self, chunk: Index) -> tuple[Index, int]:
        """Return the source chunk of a piece, and its byte offset there."""
        at = chunk[self.axis] * self.length
        number, inside = divmod(at, self._whole.chunks[self.axis])
        return (*chunk[: self.axis], number, *chunk[self.axis + 1 :]), inside // self.length * self._size

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the bytes of a piece; None if the source has none."""
        source_chunk, begin = self._find_chunk(chunk)
        data = self.source.read_encoded(source_chunk)
        return None if data is None or begin + self._size > len(data) else data[begin : begin + self._size]

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the location of a piece; None if the source has none."""
        source_chunk, begin = self._find_chunk(chunk)
        place = self.source.place(source_chunk)
        if place is None or begin + self._size > place.length:
            return None
        return place._replace(offset=place.offset + begin, length=self._size)

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the manifest of the pieces; None if the source has none. Raises OSError."""
        table = self.source.manifest(region)
        shape, chunks, size = self.layout.shape, self._whole.chunks, self._size
        if table is None or math.prod(chunks[: self.axis]) != 1:
            return None
        counts = grid_of(shape, chunks)
        pieces = -(-shape[self.axis] // self.length)
        per = min(chunks[self.axis] // self.length, pieces)
        if isinstance(table, Affine):
            if table.number == 1 and per * size <= table.length:
                return Affine(table.source, table.base, size, size, per)
            table = columns_of(table)
        else:  # a chunk of a wrong length is left to the source, which says so
            right = (table.length < 0) | (table.length == math.prod(chunks) * itemsize(self._whole.dtype))
            table = table if right.all() else some(table, right)
        rest = math.prod(counts[self.axis + 1 :])
        outer, inner = np.divmod(table.chunk, rest)
        above, along = np.divmod(outer, counts[self.axis])
        step = np.arange(per, dtype=np.int64)
        places = along[:, None] * per + step
        chunk = (above[:, None] * pieces + places) * rest + inner[:, None]
        sizes = np.where(table.length < 0, size * per, table.length)  # a whole file is one chunk
        is_piece = ((places < pieces) & ((step + 1) * size <= sizes[:, None])).reshape(-1)
        order = np.argsort(chunk.reshape(-1)[is_piece], kind="stable")
        rows = np.repeat(np.arange(len(table.chunk)), per)[is_piece][order]
        offset = (table.offset[:, None] + step * size).reshape(-1)[is_piece][order]
        length = np.full(len(rows), size, np.int64)
        numbers = chunk.reshape(-1)[is_piece][order]
        return PlaceColumns(table.sources, numbers, table.source[rows], offset, length, table.mask[rows])

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the source's values of a region, in its shape and the source's dtype."""
        return self.source.read(selection)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the source's occupied chunks."""
        return self.source.list_occupied(chunks, region)


def common_length(sources: Sequence[ArraySource], axis: int) -> int | None:
    """Return the maximum piece length along an axis that puts consecutive sources into one grid.

    None if a chunk is encoded, or pieces are no byte ranges. The last array may
    end within a piece, if its chunk does not.
    """
    length = 0
    for number, source in enumerate(sources):
        stored, extent = source.stored, source.layout.shape[axis]
        if stored is None and not is_hollow(source):
            return None
        if stored is not None:
            if stored.codecs or not itemsize(stored.dtype) or varies(stored.chunks):
                return None
            if math.prod(stored.chunks[:axis]) != 1:
                return None
            if extent > stored.chunks[axis]:
                length = math.gcd(length, stored.chunks[axis])
        if number < len(sources) - 1:
            length = math.gcd(length, extent)
    extent, last = sources[-1].layout.shape[axis], sources[-1].stored
    if length and last is not None and extent <= last.chunks[axis] < -(-extent // length) * length:
        length = math.gcd(length, extent)
    return length or None


def in_pieces(sources: Sequence[ArraySource], axis: int, length: int) -> list[ArraySource]:
    """Cut the sources into pieces of a length along an axis."""
    return [
        source if source.stored is None or source.stored.chunks[axis] == length else Pieces(source, axis, length)
        for source in sources
    ]


def align_grids(sources: Sequence[ArraySource], axis: int, least: int) -> list[ArraySource]:
    """Return sources with one grid, if pieces of at least `least` bytes allow it; else the sources.

    Uncompressed chunks larger than `LARGE` are cut into pieces of up to `MOST`
    bytes if possible.
    """
    some = [source for source in sources if source.layout.shape[axis]]
    aligned = len(some) < 2 or misfit(some, axis) is None
    if not some or (aligned and _piece_size(some) <= LARGE):
        return list(sources)
    length = common_length(some, axis)
    if length is None:
        return list(sources)
    row = _piece_size(in_pieces(some, axis, 1))
    if length * row > LARGE:
        length = next(divisor for divisor in range(max(1, MOST // row), 0, -1) if not length % divisor)
    cut = in_pieces(some, axis, length)
    return list(sources) if misfit(cut, axis) is not None or (not aligned and length * row < least) else cut


def _piece_size(sources: Sequence[ArraySource]) -> int:
    """Return the bytes of an uncompressed chunk; 0 without one."""
    stored = next((source.stored for source in sources if source.stored is not None), None)
    return 0 if stored is None or stored.codecs else volume(stored.chunks) * itemsize(stored.dtype)
