"""From values to the bytes of one shard: its chunks one behind the other, and at the end the index.

Source: the specification of `sharding_indexed`. The index has two little-endian uint64 for each chunk of the shard in
C order, where it begins and how long it is, and CRC32C of all that behind them. A chunk that holds nothing but fill,
or lies beyond the array's edge, is marked absent; a shard without any chunk is a missing key.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from nczarr.data.crc32c import crc32c
from nczarr.data.source import Index
from nczarr.link.encode import chunk_bytes
from nczarr.link.tasks import Array

ABSENT = b"\xff" * 16
"""Offset and length, both 2^64 - 1, of a chunk that is not there."""


def key_bytes(array: Array, index: Index) -> bytes | None:
    """The bytes of one key: of a shard where the array has any, else of a chunk. None: it need not exist."""
    return chunk_bytes(array, index) if array.target.layout.shards is None else shard_bytes(array, index)


def shard_bytes(array: Array, index: Index) -> bytes | None:
    """The bytes of one shard; None if it holds nothing but fill."""
    layout = array.target.layout
    assert layout.shards is not None
    pieces: list[bytes] = []
    entries: list[bytes] = []
    end = 0
    for chunk, inside in _chunks(layout.shape, layout.chunks, layout.shards, index):
        data = chunk_bytes(array, chunk) if inside else None
        if data is None:
            entries.append(ABSENT)
            continue
        entries.append(struct.pack("<QQ", end, len(data)))
        pieces.append(data)
        end += len(data)
    if not pieces:
        return None
    table = b"".join(entries)
    return b"".join((*pieces, table, crc32c(table).to_bytes(4, "little")))


def _chunks(
    shape: tuple[int, ...], chunks: tuple[int, ...], shards: tuple[int, ...], index: Index
) -> Iterator[tuple[Index, bool]]:
    """The chunks of a shard in C order, by their index in the array, and whether they hold anything of it."""
    ranges = [
        range(number * (shard // chunk), (number + 1) * (shard // chunk))
        for number, shard, chunk in zip(index, shards, chunks, strict=True)
    ]
    ends = [-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True)]
    for place in itertools.product(*ranges):
        yield place, all(number < end for number, end in zip(place, ends, strict=True))
