"""Regions of many small chunks, decoded together: Python's work on each chunk takes longer than decoding it.

Only the undoing of compression is done chunk by chunk; bytes are read, unshuffled,
converted and put in place for all chunks at once. Such chunks are not cached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from nczarr.arrays.chunks.grid import Encoding, convert
from nczarr.arrays.chunks.manifest import PlaceColumns, runs
from nczarr.arrays.codecs.chain import DECODING_ERRORS, decode
from nczarr.arrays.codecs.table import Config
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, bounds_of, distinct
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import Layout, numpy_dtype
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.report import CompileError
from nczarr.names.records import NamedTuple
from nczarr.stores import ranges
from nczarr.stores.ranges import Range

SMALL = 1 << 14
"""Maximum bytes of a small chunk."""

MANY = 16
"""Minimum chunks of a region that are decoded together."""

TOGETHER = 1 << 20
"""Bytes of chunks that are decoded together, at least those of one row of chunks; they fit into a processor's cache."""

ROOM = 1 << 10
"""Bytes by which an encoded chunk may exceed twice the decoded one."""


class EncodedChunks(NamedTuple):
    """Encoded chunks."""

    rows: NDArray[np.int64]
    """Number of each chunk among the requested ones, ascending; missing chunks are left out."""
    masks: NDArray[np.int32]
    """Skipped steps of each chunk: bit i for step i."""
    data: Sequence[bytes | memoryview]


Fetch: TypeAlias = "Callable[[NDArray[np.int64]], EncodedChunks]"
"""Function that returns some chunks by their indices: int64, shape (chunks, dimensions)."""


def locate(columns: PlaceColumns) -> EncodedChunks:
    """Read chunks from their files. Raises OSError."""
    whole = b"".join(ranges.read(run) if isinstance(run, Range) else run for run in runs(columns))
    view, ends = memoryview(whole), np.cumsum(columns.length).tolist()
    data = [view[begin:end] for begin, end in pairwise([0, *ends])]
    return EncodedChunks(columns.chunk, columns.mask, data)


def merge(parts: Sequence[EncodedChunks]) -> EncodedChunks:
    """Return chunks of several parts in one sequence by number."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)])
    order = np.argsort(rows, kind="stable")
    masks = np.concatenate([np.zeros(0, np.int32), *(part.masks for part in parts)])
    data = [chunk for part in parts for chunk in part.data]
    return EncodedChunks(rows[order], masks[order], [data[number] for number in order.tolist()])


def region(
    layout: Layout, selection: Selection, within: tuple[int, ...], encoding: Encoding, fetch: Fetch
) -> NDArray[Any] | None:
    """Return the values of a region in its shape and the layout's dtype; None if chunks must be read one by one.

    These are: large, few, beyond `within` (the lengths of the written box from the
    origin), variable-length, mostly outside of the region, or unreadable. The last
    ones are left to the reader of single chunks, which reports the first in C order.
    """
    bounds = bounds_of(selection, layout.shape)
    shape = tuple(stop - start for start, stop in bounds)
    size = _size(layout, encoding)
    if not 0 < size <= SMALL or any(
        start >= stop or stop > end for (start, stop), end in zip(bounds, within, strict=True)
    ):
        return None
    firsts = [start // chunk_length for (start, _), chunk_length in zip(bounds, layout.chunks, strict=True)]
    counts = [
        -(-stop // chunk_length) - first
        for (_, stop), chunk_length, first in zip(bounds, layout.chunks, firsts, strict=True)
    ]
    cells = math.prod(counts) * math.prod(layout.chunks)
    if math.prod(counts) < MANY or cells > 2 * math.prod(shape):
        return None
    box = np.empty(
        [count * chunk_length for count, chunk_length in zip(counts, layout.chunks, strict=True)],
        numpy_dtype(layout.dtype),
    )
    rows = max(1, TOGETHER // max(1, size * math.prod(counts[1:])))
    for start in range(0, counts[0], rows):
        some = [min(rows, counts[0] - start), *counts[1:]]
        table = np.indices(some, np.int64).reshape(len(some), -1).T
        part = box[start * layout.chunks[0] : (start + some[0]) * layout.chunks[0]]
        try:
            fetched = fetch(table + np.array([firsts[0] + start, *firsts[1:]], np.int64))
            _put_chunks(part, table, fetched, layout, encoding)
        except (CompileError, OSError, *DECODING_ERRORS):  # the reader of single chunks meets it again, and reports it
            return None
    begins = [
        start - first * chunk_length
        for (start, _), first, chunk_length in zip(bounds, firsts, layout.chunks, strict=True)
    ]
    return box[tuple(slice(begin, begin + length) for begin, length in zip(begins, shape, strict=True))]


def _size(layout: Layout, encoding: Encoding) -> int:
    """Return the decoded bytes of a chunk; 0 if chunks have no common size, or the array has no dimension."""
    if encoding.dtype == "|O" or layout.dtype == "|O" or not layout.shape or varies(layout.chunks):
        return 0
    return math.prod(layout.chunks) * numpy_dtype(encoding.dtype).itemsize


def _put_chunks(
    box: NDArray[Any], table: NDArray[np.int64], fetched: EncodedChunks, layout: Layout, encoding: Encoding
) -> None:
    """Decode chunks and put them into a box of whole chunks. Raises one of `DECODING_ERRORS`.

    `box`: layout's dtype; `table`: the grid indices in the box, int64, shape
    (chunks, dimensions).
    """
    chunks = layout.chunks
    counts = [length // chunk_length for length, chunk_length in zip(box.shape, chunks, strict=True)]
    rank = len(chunks)
    split = box.reshape([length for pair in zip(counts, chunks, strict=True) for length in pair])
    by_chunk = split.transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])
    if len(fetched.rows) < len(table):
        box[...] = fill_array(layout, ())
    for mask in distinct(fetched.masks).tolist():
        same = np.flatnonzero(fetched.masks == mask)
        steps = [step for number, step in enumerate(encoding.steps) if not mask >> number & 1]
        data = fetched.data if len(same) == len(fetched.data) else [fetched.data[number] for number in same.tolist()]
        values = _decode(data, steps, layout, encoding)
        if len(same) == len(table):
            by_chunk[...] = values.reshape(by_chunk.shape)
        else:
            by_chunk[tuple(table[fetched.rows[same]].T)] = values


def _decode(
    data: Sequence[bytes | memoryview], steps: Sequence[Config], layout: Layout, encoding: Encoding
) -> NDArray[Any]:
    """Decode chunks of one chain: layout's dtype, shape (chunks, *chunk). Raises one of `DECODING_ERRORS`."""
    element, chunks, permutation = numpy_dtype(encoding.dtype), layout.chunks, encoding.permutation
    count = math.prod(chunks)
    width, size = element.itemsize, count * element.itemsize
    shuffled = bool(steps) and steps[0].get("id") == "shuffle" and steps[0].get("elementsize") in (None, 0, width)
    plain = _decode_each(data, steps[1:] if shuffled else steps, width, size)
    if any(len(chunk) != size for chunk in plain):
        raise ValueError("a chunk has a wrong length")
    stored = np.frombuffer(b"".join(plain), np.uint8)
    if shuffled and width > 1:
        planes, out = stored.reshape(-1, width, count), np.empty((len(plain), count, width), np.uint8)
        for number in range(width):
            out[:, :, number] = planes[:, number]
        stored = out.reshape(-1)
    values = convert(stored.view(element), layout.dtype)
    if permutation is None:
        return values.reshape(-1, *chunks)
    axes = [0, *(int(axis) + 1 for axis in np.argsort(permutation))]
    return values.reshape(-1, *(chunks[axis] for axis in permutation)).transpose(axes)


def _decode_each(
    data: Sequence[bytes | memoryview], steps: Sequence[Config], itemsize: int, size: int
) -> Sequence[bytes | memoryview]:
    """Undo the steps of chunks one by one. Raises one of `DECODING_ERRORS`."""
    if not steps:
        return data
    if len(steps) == 1 and steps[0].get("id") == "zlib" and max(map(len, data), default=0) <= 2 * size + ROOM:
        from zlib_ng import zlib_ng

        try:
            return [zlib_ng.decompress(chunk, 15, size) for chunk in data]
        except zlib_ng.error as error:  # type: ignore[misc]
            raise ValueError(str(error)) from None
    return [decode(bytes(chunk), steps, itemsize, size) for chunk in data]
