"""Arrays cut into a grid of encoded chunks: reading regions, decoding and caching, however a chunk is located.

Subclasses locate the bytes of a chunk: by its key or shard in a store, by the index
of an HDF5 dataset, or by a table of places. Raises CompileError with
`unreadable-chunk` for undecodable chunks.

Chunks inside a large region are decoded straight into the result, and bypass the
cache. Several threads decode where that gains time. Only cells of missing chunks
are filled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from nczarr.arrays.chunks import small_chunks
from nczarr.arrays.chunks.grid import Encoding, chunk_of, kept, put_chunk
from nczarr.arrays.codecs.chain import DECODING_ERRORS
from nczarr.arrays.codecs.table import Config, list_lossy
from nczarr.arrays.execution.thread_pool import reuse_memory, run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, bounds_of, every_index, indices_of, lengths_of
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype
from nczarr.ast.rectilinear import volume
from nczarr.names.records import NamedTuple

MANY = 1 << 12
"""Chunks of a region above which a listing is consulted."""

DIRECT = 1 << 22
"""Bytes of a region above which whole chunks are decoded into it, and not cached."""

SHARED = 1 << 21
"""Decoded bytes of the chunks of a region from which several threads decode them."""

LEAST = 1 << 15
"""Bytes of a chunk below which a thread gains nothing: Python's own work on it holds the GIL."""

TIMES = 3
"""Memory of decoding in chunks: encoded, and before and after a step."""


class _ChunkPiece(NamedTuple):
    """Part of a chunk in a region."""

    chunk: Index
    inside: Selection
    """The part in coordinates of the chunk."""
    outside: Selection
    """The part in coordinates of the region."""
    whole: bool
    """True if the part has all cells of the chunk that the array has."""


def assemble_region(
    chunks: ChunkGridArray,
    layout: Layout,
    selection: Selection,
    within: tuple[int, ...],
    stored: Callable[[Sequence[range]], Iterable[Index]] | None = None,
) -> NDArray[Any]:
    """Return the values of a region, in its shape and the layout's dtype; for the arguments see `assemble`.

    The result may be a cached chunk and must not be modified.
    """
    bounds = _bounds(layout, selection)
    starts = [start // length for (start, _), length in zip(bounds, layout.chunks, strict=True)]
    if all(
        first * length == start and (first + 1) * length == stop <= end
        for first, length, (start, stop), end in zip(starts, layout.chunks, bounds, within, strict=True)
    ):
        whole = chunks.chunk(tuple(starts))
        return whole if whole is not None else fill_array(layout, tuple(stop - start for start, stop in bounds))
    shape = tuple(max(0, stop - start) for start, stop in bounds)
    zeros = not layout.fill or not layout.fill.strip(b"\0")
    dtype = numpy_dtype(layout.dtype)
    blank = zeros and not dtype.hasobject  # the system gives pages of zeros, which cost nothing before they are used
    out = np.zeros(shape, dtype) if blank else np.empty(shape, dtype)
    direct = out.nbytes > DIRECT and not dtype.hasobject
    assemble(out, chunks, layout, selection, within, stored, filled=blank, direct=direct)
    return out


def assemble(
    out: NDArray[Any],
    chunks: ChunkGridArray,
    layout: Layout,
    selection: Selection,
    within: tuple[int, ...],
    stored: Callable[[Sequence[range]], Iterable[Index]] | None = None,
    *,
    filled: bool = False,
    direct: bool = True,
) -> None:
    """Put the values of a region into `out`: fill where a chunk is missing.

    `out`: the region's shape, the layout's dtype, any strides; `filled`: it has
    the fill value already; `direct`: chunks inside the region are not cached.
    `within` are the lengths of the written box from the
    origin: beyond it chunks are ignored and fill is used. `stored` returns the
    existing chunks in a range of indices along each dimension; it is called for
    regions of more than `MANY` chunks.
    """
    if not out.size:
        return
    bounds = _bounds(layout, selection)
    ends = [min(stop, end) for (_, stop), end in zip(bounds, within, strict=True)]
    fill = fill_array(layout, ())
    if not filled and any(end < stop for (_, stop), end in zip(bounds, ends, strict=True)):
        out[...], filled = fill, True
    if any(start >= end for (start, _), end in zip(bounds, ends, strict=True)):
        return  # the region begins behind everything that was written
    ranges = [
        range(start // length, -(-stop // length))
        for (start, _), stop, length in zip(bounds, ends, layout.chunks, strict=True)
    ]
    count = math.prod(map(len, ranges))
    indices: Iterable[Index] = every_index(ranges)
    if stored is not None and count > MANY:
        listed = list(stored(ranges))
        if not filled and len(listed) < count:
            out[...], filled = fill, True
        indices, count = listed, len(listed)

    def put(piece: _ChunkPiece) -> None:
        """Copy the part of one chunk to its place in `out`; a chunk that is not stored becomes fill values."""
        place: Any = (*piece.outside, ...)  # an array, also of a scalar
        target = out[place]
        if direct and piece.whole:
            is_stored = chunks.put(piece.chunk, piece.inside, target)
        else:
            values = chunks.chunk(piece.chunk)
            is_stored = values is not None
            if values is not None:
                target[...] = values[piece.inside]
        if not is_stored and not filled:
            target[...] = fill

    size = volume(layout.chunks) * out.itemsize
    shared = not out.dtype.hasobject and size >= LEAST and count * size >= SHARED
    pieces = _list_pieces(indices, layout.chunks, bounds, ends, within)
    if shared:
        reuse_memory()
    run_each(put, pieces, TIMES * size if shared else None)


def _bounds(layout: Layout, selection: Selection) -> list[tuple[int, int]]:
    """Return the start and stop of a selection along each dimension."""
    return bounds_of(selection, layout.shape)


def _list_pieces(
    indices: Iterable[Index],
    chunks: tuple[int, ...],
    bounds: list[tuple[int, int]],
    ends: list[int],
    within: tuple[int, ...],
) -> Iterator[_ChunkPiece]:
    """Yield the parts of chunks between the starts of `bounds` and `ends`."""
    for index in indices:
        inside, outside, whole = [], [], True
        for number, length, (start, _), stop, last in zip(index, chunks, bounds, ends, within, strict=True):
            first, following = number * length, (number + 1) * length
            low, high = max(first, start), min(following, stop)
            inside.append(slice(low - first, high - first))
            outside.append(slice(low - start, high - start))
            whole = whole and low == first and high == min(following, last)
        yield _ChunkPiece(index, tuple(inside), tuple(outside), whole)


class FetchedChunk(NamedTuple):
    """Encoded bytes of one chunk."""

    data: bytes
    mask: int = 0
    """Skipped steps of the chain: bit i for step i."""


class ChunkGridArray(ArraySource):
    """Array of encoded chunks in a grid. Subclasses say where the bytes of a chunk are."""

    __slots__ = ()

    if TYPE_CHECKING:  # a property here would be the default of a dataclass's field

        @property
        def encoding(self) -> Encoding:
            """Encoding of the chunks."""

    @property
    def lossy(self) -> frozenset[str]:
        """Names of the steps that may not restore the values that were encoded."""
        return list_lossy(self.encoding.steps)

    def fetch(self, index: Index) -> FetchedChunk | None:
        """Return the encoded bytes of a chunk, with checked length; None if it is not stored.

        Raises OSError, CompileError.
        """
        raise NotImplementedError

    def fetch_many(self, chunks: NDArray[np.int64]) -> small_chunks.EncodedChunks:
        """Return the encoded bytes of many chunks. `chunks`: int64, shape (chunks, dimensions).

        Raises OSError, CompileError, or one of `DECODING_ERRORS` for a wrong index.
        """
        fetched = [(row, self.fetch(index)) for row, index in enumerate(indices_of(chunks))]
        stored = [(row, chunk) for row, chunk in fetched if chunk is not None]
        rows = np.array([row for row, _ in stored], np.int64)
        masks = np.array([chunk.mask for _, chunk in stored], np.int32)
        return small_chunks.EncodedChunks(rows, masks, [chunk.data for _, chunk in stored])

    def fail(self, index: Index, reason: str) -> NoReturn:
        """Raise CompileError for a chunk that cannot be decoded."""
        raise NotImplementedError

    def near(self, selection: Selection) -> Self:
        """Return the array prepared for a region: with its distant chunks in memory, if they share requests."""
        return self

    @property
    def identity(self) -> object:
        """Object that identifies the array in the cache of chunks of this process."""
        return self

    @property
    def listing(self) -> Callable[[Sequence[range]], Iterable[Index]] | None:
        """Function that lists the stored chunks in ranges of indices; None if that is too expensive."""
        return None

    def is_mostly_missing(self, selection: Selection) -> bool:
        """Return whether it is known without reading that most chunks of a large region are missing."""
        return False

    def layout_of(self, chunk: Index) -> Layout:
        """Return the layout with the shape of one chunk."""
        return self.layout

    @property
    def viewed(self) -> bool:
        """False: chunks are decoded."""
        return False

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError, CompileError."""
        small = self._small(selection)
        if small is not None:
            return small
        near = self.near(selection)
        if self.unstored == self.layout.fill:
            return assemble_region(near, self.layout, selection, self.extent, self.listing)
        region, inside = self._clip(selection)
        if inside == region:
            return assemble_region(near, self._written, inside, self.extent, self.listing)
        out = np.empty(lengths_of(region), numpy_dtype(self.layout.dtype))
        near._put(region, inside, out, direct=out.nbytes > DIRECT)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        if out.dtype.hasobject or out.dtype != numpy_dtype(self.layout.dtype):
            out[...] = self.read(selection)
            return
        small = self._small(selection)
        if small is not None:
            out[...] = small
            return
        region, inside = self._clip(selection)
        self.near(selection)._put(region, inside, out, direct=True)

    @property
    def _written(self) -> Layout:
        """Layout of the cells within the extent."""
        return self.layout._replace(fill=self.unstored)

    def _small(self, selection: Selection) -> NDArray[Any] | None:
        """Return a region of many small chunks; None of others."""
        if self.distant or self.is_mostly_missing(selection):
            return None
        return small_chunks.region(self._written, selection, self.extent, self.encoding, self.fetch_many)

    def _clip(self, selection: Selection) -> tuple[Selection, Selection]:
        """Return a region with explicit ends, none before its start, and its part within the extent."""
        bounds = bounds_of(selection, self.layout.shape)
        region = tuple(slice(start, max(start, stop)) for start, stop in bounds)
        return region, tuple(
            slice(part.start, min(part.stop, end)) for part, end in zip(region, self.extent, strict=True)
        )

    def _put(self, region: Selection, inside: Selection, out: NDArray[Any], *, direct: bool) -> None:
        """Put a region into `out`; `inside`: its part within the extent; `direct`: as in `assemble`."""
        if inside != region:
            out[...] = fill_array(self.layout, ())
        if all(part.start < part.stop for part in inside):
            place: Any = (*map(slice, lengths_of(inside)), ...)
            assemble(out[place], self, self._written, inside, self.extent, self.listing, direct=direct)

    def chunk(self, index: Index) -> NDArray[Any] | None:
        """Return a whole decoded chunk in the layout's dtype; None if it is not stored. It is cached."""
        cached: NDArray[Any] | None = kept.get((self.identity, "chunk", index))
        if cached is not None:
            return cached
        fetched = self.fetch(index)
        if fetched is None:
            return None
        dtype, _, permutation = self.encoding[:3]
        try:
            values = chunk_of(fetched.data, dtype, self.steps_of(fetched.mask), self.layout_of(index), permutation)
        except DECODING_ERRORS as error:
            self.fail(index, str(error) or type(error).__name__)
        kept.put_chunk(self.identity, index, values)
        return values

    def put(self, index: Index, inside: Selection, out: NDArray[Any]) -> bool:
        """Decode the part `inside` of a chunk into `out`; return False if the chunk is not stored.

        `out`: the part's shape, the layout's dtype, any strides.
        """
        cached: NDArray[Any] | None = kept.get((self.identity, "chunk", index))
        if cached is not None:
            out[...] = cached[inside]
            return True
        fetched = self.fetch(index)
        if fetched is None:
            return False
        dtype, _, permutation = self.encoding[:3]
        try:
            put_chunk(out, fetched.data, dtype, self.steps_of(fetched.mask), self.layout_of(index), inside, permutation)
        except DECODING_ERRORS as error:
            self.fail(index, str(error) or type(error).__name__)
        return True

    def steps_of(self, mask: int) -> Sequence[Config]:
        """Return the decoding steps of a chunk that its mask does not skip."""
        steps = self.encoding.steps
        return [step for number, step in enumerate(steps) if not mask >> number & 1] if mask else steps

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return a chunk's encoded bytes; None: not stored, or with skipped steps. Raises OSError, CompileError."""
        fetched = self.fetch(chunk)
        return None if fetched is None or fetched.mask else fetched.data
