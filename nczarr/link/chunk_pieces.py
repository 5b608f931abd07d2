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

import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from nczarr.arrays.blocks import Index, grid_of
from nczarr.arrays.codecs import encode
from nczarr.arrays.counts import Route
from nczarr.arrays.crc32c import crc32c
from nczarr.arrays.decode import vlen_texts
from nczarr.arrays.elements import as_stored, is_utf32, stored_bytes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.memory import is_all, padded
from nczarr.arrays.source import ArraySource, Descr, itemsize, numpy_dtype
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.link.tasks import Array
from nczarr.stores.ranges import Range

Piece: TypeAlias = bytes | Range

ABSENT = b"\xff" * 16
"""Offset and length of an absent chunk, both 2^64 - 1."""


class Made(NamedTuple):
    """An encoded chunk for the target, and its route."""

    piece: Piece
    """The encoded chunk."""
    route: Route
    """Way in which it was made."""

    @property
    def size(self) -> int:
        """Bytes of the chunk."""
        return self.piece.length if isinstance(self.piece, Range) else len(self.piece)


def made(array: Array, index: Index) -> Made | None:
    """Return one chunk; None if it contains only fill and may be missing."""
    if array.route == "copy" and array.source is not None:
        piece = _copied(array, array.source, index)
        if piece is not None:
            return Made(piece, "copy")
    data = chunk_bytes(array, index)
    if data is None:
        return None
    return Made(data, "transcode" if array.route == "copy" else array.route)


def _copied(array: Array, source: ArraySource, index: Index) -> Piece | None:
    """Return the source's encoded bytes; None if they are absent or encoded by another chain.

    Uncompressed bytes must fill the chunk: some readers accept fewer, others do
    not.
    """
    size = None if array.target.layout.codecs or array.target.layout.dtype == "|O" else array.chunk_size * array.element
    place = source.place(index)
    if place is not None:
        return None if place.mask or (size is not None and place.length != size) else Range(*place[:3])
    data = source.encoded(index)
    return None if data is None or (size is not None and len(data) != size) else data


def chunks_of_shard(array: Array, index: Index) -> Iterator[tuple[Index, bool]]:
    """Yield a shard's chunk indices in C order, and whether each is inside the array."""
    layout = array.target.layout
    assert layout.shards is not None
    ranges = [
        range(number * (shard // chunk), (number + 1) * (shard // chunk))
        for number, shard, chunk in zip(index, layout.shards, layout.chunks, strict=True)
    ]
    ends = grid_of(layout.shape, layout.chunks)
    for place in itertools.product(*ranges):
        yield place, all(number < end for number, end in zip(place, ends, strict=True))


def shard(chunks: Iterable[Made | None]) -> Iterator[Piece]:
    """Yield the pieces of a shard from all its chunks in C order; nothing if it has none."""
    entries: list[bytes] = []
    end = 0
    for chunk in chunks:
        if chunk is None:
            entries.append(ABSENT)
            continue
        entries.append(struct.pack("<QQ", end, chunk.size))
        end += chunk.size
        yield chunk.piece
    if end:
        table = b"".join(entries)
        yield table + crc32c(table).to_bytes(4, "little")


def chunk_bytes(array: Array, index: Index) -> bytes | None:
    """Return the encoded bytes of a chunk; None if it has only fill and may be missing.

    Raises OSError, CompileError with `value-range` if the target cannot store a
    value.
    """
    if array.source is None:
        return fill_chunk(array)
    values = array.source.read(array.region(index))
    if values.dtype.hasobject:
        return _texts(array, values)
    order, pad = _order_and_pad(array)
    try:
        values = as_stored(values, array.target.layout.dtype)
    except OverflowError as error:
        text = f"variable `{array.path}` has a value that cannot be stored: {error}"
        raise CompileError([Diagnostic("value-range", Severity.ERROR, text)]) from None
    values = values.astype(values.dtype.newbyteorder(order), copy=False)
    full = padded(values, array.target.layout.chunks, pad)
    if array.target.sparse and is_all(full, pad):
        return None
    return encode(array.target.layout.codecs, full.tobytes(array.target.layout.order), full.itemsize)


def _order_and_pad(array: Array) -> tuple[Literal["<", ">"], bytes]:
    """Return the target's byte order and its stored pad; records and texts are little-endian."""
    dtype, pad = array.target.layout.dtype, array.target.pad
    return ">" if isinstance(dtype, str) and dtype[0] == ">" else "<", stored_bytes(pad, dtype)


def fill_chunk(array: Array) -> bytes:
    """Return an encoded chunk of pads, for arrays without a declared fill value."""
    layout = array.target.layout
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts([array.target.pad] * array.chunk_size), 0)
    pad = _order_and_pad(array)[1]
    if isinstance(layout.dtype, str) and layout.dtype[1] in "SU":
        pad = _fixed_texts([pad], layout.dtype)
    return encode(layout.codecs, pad * array.chunk_size, len(pad))


def _texts(array: Array, values: NDArray[Any]) -> bytes | None:
    """Return strings as a fixed-length array, or length-prefixed; NIL becomes an empty text.

    `values`: object array of `bytes | None`, at most the chunk's shape. Returns
    None if the chunk has only fill and may be missing.
    """
    layout, pad = array.target.layout, array.target.pad
    texts = [text or b"" for text in padded(values, layout.chunks, pad).reshape(-1).tolist()]
    if array.target.sparse and all(text == pad for text in texts):
        return None
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts(texts), 0)
    return encode(layout.codecs, _fixed_texts(texts, layout.dtype), itemsize(layout.dtype))


def _fixed_texts(texts: list[bytes], dtype: Descr) -> bytes:
    """Return texts of fixed length: bytes, or UTF-32."""
    return np.array([text.decode() for text in texts] if is_utf32(dtype) else texts, numpy_dtype(dtype)).tobytes()
