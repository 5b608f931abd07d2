"""Assembly of regions from the chunks of a grid, by several threads where that gains time.

Chunks inside a large region are decoded straight into the result, and bypass the
cache. Only cells of missing chunks are filled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from nczarr.arrays.execution.thread_pool import each, reuse_memory
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, bounds_of, every_index
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import Layout, numpy_dtype
from nczarr.ast.rectilinear import volume

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


class GridChunks(Protocol):
    """Chunks of a grid. Both methods may be called in any thread."""

    def chunk(self, index: Index) -> NDArray[Any] | None:
        """Return a whole decoded chunk in the layout's dtype; None if it is missing. It is cached."""

    def put(self, index: Index, inside: Selection, out: NDArray[Any]) -> bool:
        """Decode the part `inside` of a chunk into `out`; return False if the chunk is missing.

        `out`: the part's shape, the layout's dtype, any strides.
        """


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
    chunks: GridChunks,
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
    chunks: GridChunks,
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
    each(put, pieces, TIMES * size if shared else None)


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
