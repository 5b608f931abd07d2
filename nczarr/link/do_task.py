"""Execution of a task: its keys are made and put from an array's description.

Any process that reaches the source and the store can execute it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from nczarr.arrays.blocks import Index
from nczarr.arrays.counts import Counts
from nczarr.link.chunk_pieces import Made, Piece, chunks_of_shard, made, shard
from nczarr.link.schedule import cut, fetched_at_once
from nczarr.link.tasks import Array
from nczarr.stores.base import Store
from nczarr.stores.ranges import Range


def put_keys(array: Array, indices: Sequence[Index], store: Store) -> Counts:
    """Make and put keys of an array, one chunk at a time. Raises OSError; CompileError for unreadable chunks."""
    counts = Counts()
    chunks = make(array, (chunk for index in indices for chunk in chunks_of(array, index)))
    count = math.prod(array.unit) // max(1, array.chunk_size)
    for index in indices:
        put(store, array.key(index), pieces(array, counted(array, islice(chunks, count), counts)))
    return counts


def make(array: Array, chunks: Iterable[Index | None]) -> Iterator[Made | None]:
    """Make chunks lazily. From a distant source, the data of several megabytes of chunks are fetched at once."""
    source = array.source
    if source is None or not source.distant:
        yield from (None if index is None else made(array, index) for index in chunks)
        return
    for group in cut(chunks, fetched_at_once(array)):
        regions = [array.region(index) for index in group if index is not None]
        at_hand = array._replace(source=source.fetched(regions))
        yield from (None if index is None else made(at_hand, index) for index in group)


def chunks_of(array: Array, index: Index) -> Iterator[Index | None]:
    """Yield the chunks of a key in storage order; None for a chunk beyond the edge."""
    if array.target.layout.shards is None:
        yield index
        return
    for place, inside in chunks_of_shard(array, index):
        yield place if inside else None


def counted(array: Array, chunks: Iterable[Made | None], counts: Counts) -> Iterator[Made | None]:
    """Yield the chunks and count each one."""
    decoded = array.chunk_size * array.element
    for chunk in chunks:
        if chunk is not None:
            counts.add(chunk.route, 1, chunk.size, decoded)
        yield chunk


def pieces(array: Array, chunks: Iterable[Made | None]) -> Iterator[Piece]:
    """Return the pieces of a key from its chunks."""
    if array.target.layout.shards is not None:
        return shard(chunks)
    return (chunk.piece for chunk in chunks if chunk is not None)


def put(store: Store, key: str, parts: Iterator[Piece]) -> None:
    """Set a key to pieces; without pieces the key is not set."""
    first = next(parts, None)
    if first is None:
        return
    second = next(parts, None)
    if second is not None:
        store.put_pieces(key, chain((first, second), parts))
    elif isinstance(first, Range):
        store.put_pieces(key, (first,))
    else:
        store.put(key, first)
