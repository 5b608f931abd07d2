"""Doing a task: its keys are made and put, from an array's description, wherever source and store are in reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from nczarr.data.counts import Counts
from nczarr.data.source import Index, Selection
from nczarr.link import regions
from nczarr.link.pieces import Made, Piece, chunks_of_shard, made, shard
from nczarr.link.tasks import Array
from nczarr.stores.base import Range, Store


def put_keys(array: Array, indices: Iterable[Index], store: Store) -> Counts:
    """Make keys of an array and put them, a chunk at a time. Raises OSError; CompileError for unreadable chunks."""
    counts = Counts()
    for index in indices:
        chunks = (None if each is None else made(array, each) for each in chunks_of(array, index))
        put(store, array.key(index), pieces(array, counted(array, chunks, counts)))
    return counts


def chunks_of(array: Array, index: Index) -> Iterator[Index | None]:
    """The chunks of a key as they lie in it; None for one beyond the edge of the array."""
    if array.target.layout.shards is None:
        yield index
        return
    for place, inside in chunks_of_shard(array, index):
        yield place if inside else None


def counted(array: Array, chunks: Iterable[Made | None], counts: Counts) -> Iterator[Made | None]:
    """The same chunks, each counted when it is taken."""
    decoded = array.chunk_size * array.element
    for chunk in chunks:
        if chunk is not None:
            counts.add(chunk.route, 1, chunk.size, decoded)
        yield chunk


def pieces(array: Array, chunks: Iterable[Made | None]) -> Iterator[Piece]:
    """What a key consists of, from its chunks."""
    if array.target.layout.shards is not None:
        return shard(chunks)
    return (chunk.piece for chunk in chunks if chunk is not None)


def put(store: Store, key: str, parts: Iterator[Piece]) -> None:
    """Set a key to pieces; if there is none, there is no key."""
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


def put_block(array: Array, region: Selection, indices: Iterable[Index], store: Store) -> Counts:
    """Read a region of an array, chunk by chunk of the source, and make the keys in it. Raises what `put_keys` does."""
    assert array.source is not None
    window = regions.room(array, region)
    for selections in regions.readings(array, region):
        window.fill(array.source, selections)
    return put_keys(array._replace(source=window), indices, store)
