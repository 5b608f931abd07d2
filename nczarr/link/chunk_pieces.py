"""Pieces of target chunks (ranges of source files, or bytes) and of shards.

Values are encoded by padding, the target's dtype and the codec chain. Chunks
are always full: beyond the array's edge they hold the fill value.

A shard is its chunks in sequence, followed by the index (specification of
`sharding_indexed`). The index has two little-endian uint64, offset and length,
for each chunk in C order, then the CRC32C of these. Chunks of fill only or
beyond the array's edge are marked absent. A shard without chunks is a missing
key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from nczarr.arrays.chunks.manifest import PlaceColumns, runs, some
from nczarr.arrays.codecs import chain
from nczarr.arrays.codecs.lengths import measure_linked_chunks, vlen_texts
from nczarr.arrays.execution.counts import Counts, Route
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index
from nczarr.arrays.sources.memory import is_all, pad_chunk
from nczarr.arrays.sources.source import ArraySource, Descr, itemsize
from nczarr.arrays.values.elements import as_stored, convert_to_stored, is_utf32
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.link.tasks import WrittenPart
from nczarr.names.records import NamedTuple
from nczarr.stores.ranges import Range

Piece: TypeAlias = bytes | Range


class EncodedChunk(NamedTuple):
    """An encoded chunk for the target, and its route."""

    piece: Piece
    route: Route
    """Way in which it was made."""

    @property
    def size(self) -> int:
        """Bytes of the chunk."""
        return self.piece.length if isinstance(self.piece, Range) else len(self.piece)


def make_chunk(array: WrittenPart, index: Index) -> EncodedChunk | None:
    """Return one chunk; None if it contains only fill and may be missing."""
    if array.route == "copy" and array.source is not None:
        piece = _copy_chunk(array, array.source, index)
        if piece is not None:
            return EncodedChunk(piece, "copy")
    data = chunk_bytes(array, index)
    return None if data is None else EncodedChunk(data, "transcode" if array.route == "copy" else array.route)


def _copy_chunk(array: WrittenPart, source: ArraySource, index: Index) -> Piece | None:
    """Return the source's encoded bytes; None if they are absent or encoded by another chain."""
    layout, size = array.target.layout, None
    if not layout.codecs and layout.dtype != "|O":  # all bytes: some readers accept fewer, others do not
        size = math.prod(array.shape(index)) * array.element
    place = source.place(index)
    if place is not None:
        return None if place.mask or (size is not None and place.length != size) else Range(*place[:3])
    data = source.read_encoded(index)
    return None if data is None or (size is not None and len(data) != size) else data


def _measure_copied_chunks(array: WrittenPart, chunks: NDArray[np.int64]) -> NDArray[np.int64] | int | None:
    """Return the bytes that copies of uncompressed chunks must have: one number, or int64, shape (chunks,); else None.

    `chunks`: int64, shape (chunks, dimensions).
    """
    layout = array.target.layout
    return None if layout.codecs else measure_linked_chunks(layout.dtype, chunks, layout.chunks, ())


def locate(array: WrittenPart, chunks: NDArray[np.int64]) -> PlaceColumns | None:
    """Return the file ranges of the chunks that are copied from files; None without any.

    `chunks`: int64, shape (chunks, dimensions), indices in C order. Column `chunk`
    of the result is the row of `chunks`. All other chunks are left to `make_chunk`.
    Raises OSError, CompileError for unreadable chunks.
    """
    if array.route != "copy" or array.source is None or array.source.distant:
        return None
    columns, size = array.source.places(chunks), _measure_copied_chunks(array, chunks)
    rows = columns.mask == 0
    if size is not None:
        rows &= columns.length == (size if isinstance(size, int) else size[columns.chunk])
    return (columns if rows.all() else some(columns, rows)) if rows.any() else None


def list_parts(columns: PlaceColumns) -> dict[int, EncodedChunk]:
    """Return the chunks that are copied from files, by row."""
    rows = zip(*(column.tolist() for column in columns[1:5]), strict=True)
    return {row: EncodedChunk(Range(columns.sources[source], *place), "copy") for row, source, *place in rows}


class Batch(NamedTuple):
    """Consecutive chunks of a shard, or the only chunk of a key."""

    length: NDArray[np.int64] | None
    """Bytes of each chunk, -1 for an absent one; None without a shard."""
    pieces: tuple[Piece, ...]
    """The bytes of all chunks in sequence."""
    counts: Counts
    """Counted chunks."""


def in_sequence(columns: PlaceColumns | None, others: list[tuple[int, Piece]]) -> Iterator[Piece]:
    """Yield chunks of files and other pieces by row. Raises OSError."""
    start = 0
    for row, piece in others:
        if columns is not None:
            stop = int(np.searchsorted(columns.chunk, row))
            yield from runs(some(columns, slice(start, stop)))
            start = stop
        yield piece
    if columns is not None:
        yield from runs(some(columns, slice(start, None)))


def shard(batches: Iterable[Batch]) -> Iterator[Piece]:
    """Yield the pieces of a shard from all its chunks in C order; nothing if it has none."""
    from nczarr.arrays.codecs.crc32c import crc32c
    from nczarr.arrays.codecs.sharding_indexed import ABSENT

    tables: list[bytes] = []
    end = 0
    for length, pieces, _ in batches:
        assert length is not None
        there = length >= 0
        table = np.full((len(length), 2), ABSENT, "<u8")
        ends = end + np.cumsum(length[there])
        table[there, 0], table[there, 1] = ends - length[there], length[there]
        tables.append(table.tobytes())
        end = int(ends[-1]) if len(ends) else end
        yield from pieces
    if end:
        index = b"".join(tables)
        yield index + crc32c(index).to_bytes(4, "little")


def chunk_bytes(array: WrittenPart, index: Index) -> bytes | None:
    """Return the encoded bytes of a chunk; None if it has only fill and may be missing.

    Raises OSError, CompileError with `value-range` if the target cannot store a
    value.
    """
    if array.source is None:
        return fill_chunk(array, index)
    region, layout, shape = array.region(index), array.target.layout, array.shape(index)
    is_alike = array.source.layout.dtype in (layout.dtype, "|O") and layout.order == "C"
    packed = array.source.pack(region) if is_alike and shape[1:] == layout.shape[1:] else None
    if isinstance(packed, list):
        return _texts(array, [*packed, *[array.target.pad] * (math.prod(shape) - len(packed))])
    if packed is not None:
        pad = _order_and_pad(array)[1]
        full = pad * math.prod(shape)
        packed += full[len(packed) :]
        return None if array.target.sparse and packed == full else _encode(array, packed, len(pad))
    values = array.source.read(region)
    if values.dtype.hasobject:
        return _texts(array, pad_chunk(values, shape, array.target.pad).reshape(-1).tolist())
    stored = _more_than_fill(array, values)
    if stored is None:
        return None
    values = pad_chunk(stored, shape, _order_and_pad(array)[1])
    return _encode(array, values.tobytes(layout.order), values.itemsize)


def exists(array: WrittenPart, index: Index) -> bool:
    """Return whether a chunk has more than fill or must be written anyway; nothing is encoded.

    Raises OSError, CompileError as `chunk_bytes`.
    """
    source = array.source
    if not array.target.sparse or source is None:
        return True
    if array.route == "copy" and source.place(index) is not None:
        return True
    values = source.read(array.region(index))
    if values.dtype.hasobject:
        return _texts(array, pad_chunk(values, array.shape(index), array.target.pad).reshape(-1).tolist()) is not None
    return _more_than_fill(array, values) is not None


def _more_than_fill(array: WrittenPart, values: NDArray[Any]) -> NDArray[Any] | None:
    """Return values in the target's dtype and byte order; None if they are fill that may be missing.

    `values`: a region of any shape. Raises CompileError with `value-range`.
    """
    order, pad = _order_and_pad(array)
    try:
        values = as_stored(values, array.target.layout.dtype)
    except OverflowError as error:
        text = f"variable `{array.path}` has a value that cannot be stored: {error}"
        raise CompileError([Diagnostic("value-range", Severity.ERROR, text)]) from None
    stored: NDArray[Any] = values.astype(values.dtype.newbyteorder(order), copy=False)
    return None if array.target.sparse and is_all(stored, pad) else stored


def _order_and_pad(array: WrittenPart) -> tuple[Literal["<", ">"], bytes]:
    """Return the target's byte order and its stored pad; records and texts are little-endian."""
    dtype, pad = array.target.layout.dtype, array.target.pad
    return ">" if isinstance(dtype, str) and dtype[0] == ">" else "<", convert_to_stored(pad, dtype)


def fill_chunk(array: WrittenPart, index: Index) -> bytes:
    """Return an encoded chunk of pads, for arrays without a declared fill value."""
    layout, count = array.target.layout, math.prod(array.shape(index))
    if layout.dtype == "|O":
        return _encode(array, vlen_texts([array.target.pad] * count), 0)
    pad = _order_and_pad(array)[1]
    if isinstance(layout.dtype, str) and layout.dtype[1] in "SU":
        pad = _encode_fixed_texts([pad], layout.dtype)
    return _encode(array, pad * count, len(pad))


def _encode(array: WrittenPart, data: bytes, itemsize: int) -> bytes:
    """Return a chunk encoded as the target asks."""
    return chain.encode(array.target.layout.codecs, data, itemsize, fast=array.target.is_fast)


def _texts(array: WrittenPart, values: list[bytes | None]) -> bytes | None:
    """Return strings as a fixed-length array, or length-prefixed; NIL becomes an empty text.

    `values`: those of the whole chunk. Returns None if the chunk has only fill and may
    be missing.
    """
    layout, pad = array.target.layout, array.target.pad
    texts = [text or b"" for text in values]
    if array.target.sparse and all(text == pad for text in texts):
        return None
    if layout.dtype == "|O":
        return _encode(array, vlen_texts(texts), 0)
    return _encode(array, _encode_fixed_texts(texts, layout.dtype), itemsize(layout.dtype))


def _encode_fixed_texts(texts: list[bytes], dtype: Descr) -> bytes:
    """Return texts of fixed length: bytes, or UTF-32."""
    if is_utf32(dtype):
        texts = [text.decode().encode("utf-32-le") for text in texts]
    width = itemsize(dtype)
    return b"".join([text.ljust(width, b"\0") for text in texts])
