"""Pieces of target chunks (ranges of source files, or bytes) and of shards.

A shard is its chunks in sequence, followed by the index (specification of `sharding_indexed`). The index has
two little-endian uint64, offset and length, for each chunk in C order, then the CRC32C of these. Chunks of
fill only or beyond the array's edge are marked absent. A shard without chunks is a missing key.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from nczarr.arrays.blocks import Index
from nczarr.arrays.counts import Route
from nczarr.arrays.crc32c import crc32c
from nczarr.arrays.source import ArraySource
from nczarr.link.encode import chunk_bytes
from nczarr.link.tasks import Array
from nczarr.stores.ranges import Range

Piece: TypeAlias = bytes | Range

ABSENT = b"\xff" * 16
"""Offset and length of an absent chunk, both 2^64 - 1."""


class Made(NamedTuple):
    """An encoded chunk for the target, and its route."""

    piece: Piece
    route: Route

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

    Uncompressed bytes must fill the chunk: some readers accept fewer, others do not.
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
    ends = [-(-length // chunk) for length, chunk in zip(layout.shape, layout.chunks, strict=True)]
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
