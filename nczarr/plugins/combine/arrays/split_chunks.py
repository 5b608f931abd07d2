"""Uncompressed chunks cut into shorter ones, so that joined arrays of any lengths share one grid.

A chunk without codecs can be cut along a dimension if all dimensions before it
have length 1; then a piece is a byte range. Contiguous arrays are one chunk; an
array may be shorter than its chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nczarr.arrays.chunks.manifest import Affine, ChunkPlace, Manifest, PlaceColumns, columns_of, some
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import LARGE, MOST, Index, Region, Selection, grid_of
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Stored, itemsize
from nczarr.ast.rectilinear import varies, volume
from nczarr.names.records import frozen
from nczarr.plugins.combine.arrays.concatenate import is_hollow, misfit


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
