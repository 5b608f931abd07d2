"""One chunk of a target as a piece: a range of the source's file where that will do, else the bytes of the chunk.

And a shard as pieces: its chunks one behind the other, and at the end the index. Source: the specification of
`sharding_indexed`. The index has two little-endian uint64 for each chunk of the shard in C order, where it begins and
how long it is, and CRC32C of all that behind them. A chunk that holds nothing but fill, or lies beyond the array's
edge, is marked absent; a shard without any chunk is a missing key.
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
"""Offset and length, both 2^64 - 1, of a chunk that is not there."""


class Made(NamedTuple):
    """A chunk on its way into the target, and the way that it took."""

    piece: Piece
    route: Route

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.piece.length if isinstance(self.piece, Range) else len(self.piece)


def made(array: Array, index: Index) -> Made | None:
    """One chunk; None if it holds nothing but fill and need not exist."""
    if array.route == "copy" and array.source is not None:
        piece = _copied(array, array.source, index)
        if piece is not None:
            return Made(piece, "copy")
    data = chunk_bytes(array, index)
    if data is None:
        return None
    return Made(data, "transcode" if array.route == "copy" else array.route)


def _copied(array: Array, source: ArraySource, index: Index) -> Piece | None:
    """The encoded bytes as the source has them; None where they are not stored, or not as the chain says.

    Plain elements must be all of a chunk: a reader may be content with fewer, others are not.
    """
    size = None if array.target.layout.codecs or array.target.layout.dtype == "|O" else array.chunk_size * array.element
    place = source.place(index)
    if place is not None:
        return None if place.mask or (size is not None and place.length != size) else Range(*place[:3])
    data = source.encoded(index)
    return None if data is None or (size is not None and len(data) != size) else data


def chunks_of_shard(array: Array, index: Index) -> Iterator[tuple[Index, bool]]:
    """The chunks of a shard in C order, by their index in the array, and whether they hold anything of it."""
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
    """The pieces of one shard from all of its chunks in C order; none if it has no chunk."""
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
