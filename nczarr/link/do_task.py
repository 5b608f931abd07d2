"""Execution of a task: its keys are made and put from an array's description.

Any process that reaches the source and the store can execute it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from nczarr.arrays.chunks.index_table import indices_of, raveled, table_of, unraveled
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, grid_of, region_of
from nczarr.ast.rectilinear import volume
from nczarr.link.chunk_pieces import Batch, EncodedChunk, Piece, in_sequence, located, made, made_of, shard
from nczarr.link.schedule import cut, fetched_at_once
from nczarr.link.tasks import WrittenPart
from nczarr.stores.base import Store
from nczarr.stores.ranges import Range

MOST = 1 << 14
"""Maximum chunks that are located at once."""

LOCATED = 8 << 20
"""Decoded bytes of chunks that are located at once."""

FEW = 16
"""Chunks below which columns cost more time than they save."""


def put_keys(array: WrittenPart, indices: Sequence[Index], store: Store, finish: Callable[[int], None]) -> Counts:
    """Make and put keys of an array; `finish` gets the chunks of each. Raises OSError; CompileError for bad chunks."""
    counts, sharded = Counts(), array.target.layout.shards is not None
    for index, batches in zip(indices, keys_of(array, indices), strict=True):
        before = counts.chunks
        put(store, array.key(index), pieces(counted(batches, counts), sharded=sharded))
        finish(counts.chunks - before)
    return counts


def keys_of(array: WrittenPart, indices: Sequence[Index]) -> Iterator[Iterable[Batch]]:
    """Make keys lazily; yield the batches of each."""
    if array.target.layout.shards is not None:
        yield from (batches(array, index) for index in indices)
    else:
        yield from (() if chunk is None else (single(array, chunk),) for chunk in make(array, indices))


def make(array: WrittenPart, chunks: Sequence[Index]) -> Iterator[EncodedChunk | None]:
    """Make chunks lazily, in C order."""
    columns = located(array, table_of(chunks, len(array.unit))) if len(chunks) >= FEW else None
    places = {} if columns is None else made_of(columns)
    rest = _one_by_one(array, [index for row, index in enumerate(chunks) if row not in places])
    for row in range(len(chunks)):
        yield places[row] if row in places else next(rest)


def _one_by_one(array: WrittenPart, chunks: Iterable[Index]) -> Iterator[EncodedChunk | None]:
    """Make chunks lazily. From a distant source, the data of several megabytes of chunks are fetched at once."""
    source = array.source
    if source is None or not source.distant:
        yield from (made(array, index) for index in chunks)
        return
    for group in cut(chunks, fetched_at_once(array)):
        at_hand = array._replace(source=source.fetched([array.region(index) for index in group]))
        yield from (made(at_hand, index) for index in group)


def single(array: WrittenPart, chunk: EncodedChunk) -> Batch:
    """Return the only chunk of a key."""
    counts = Counts()
    counts.add(chunk.route, 1, chunk.size, array.chunk_size * array.element)
    return Batch(None, (chunk.piece,), counts)


def batches(array: WrittenPart, index: Index) -> Iterator[Batch]:
    """Make the chunks of a shard."""
    for span in spans(array, index, batch_size(array)):
        yield batch(array, index, span)


class ChunkSpan(NamedTuple):
    """Consecutive chunks of a shard."""

    numbers: range
    """Their numbers in the shard, in C order."""
    occupied: NDArray[np.int64] | None = None
    """Numbers of those that may contain more than fill, ascending; None: all."""


def spans(array: WrittenPart, index: Index, count: int) -> Iterator[ChunkSpan]:
    """Cut a shard into spans with up to `count` chunks to make, at least one; nothing if it has none."""
    numbers = range(volume(array.unit) // max(1, array.chunk_size))
    if not array.target.sparse or array.source is None:
        for part in cut(numbers, count):
            yield ChunkSpan(range(part[0], part[-1] + 1))
        return
    occupied = _occupied(array, index)
    begin = 0
    for start in range(0, len(occupied), max(1, count)):
        some = occupied[start : start + max(1, count)]
        following = start + len(some)
        end = int(occupied[following]) if following < len(occupied) else len(numbers)
        yield ChunkSpan(range(begin, end), some)
        begin = end


def _occupied(array: WrittenPart, index: Index) -> NDArray[np.int64]:
    """Return the numbers of a shard's chunks that may contain more than fill: int64, shape (chunks,)."""
    layout = array.target.layout
    assert layout.shards is not None
    assert array.source is not None
    region = tuple(range(part.start, part.stop) for part in region_of(index, layout.shards, layout.shape))
    chunks = table_of(array.source.occupied(layout.chunks, region), len(layout.chunks))
    return raveled(chunks, grid_of(layout.shards, layout.chunks))


def batch_size(array: WrittenPart) -> int:
    """Return the number of a shard's chunks to make at once."""
    if array.source is not None and array.source.distant:
        return fetched_at_once(array)
    return min(MOST, LOCATED // max(1, array.chunk_size * array.element))


def batch(array: WrittenPart, index: Index, span: ChunkSpan) -> Batch:
    """Make some chunks of a shard."""
    layout, counts = array.target.layout, Counts()
    assert layout.shards is not None
    per_shard = grid_of(layout.shards, layout.chunks)
    first = np.array(index, np.int64) * np.array(per_shard, np.int64)
    begin, end = span.numbers.start, span.numbers.stop
    numbers = np.arange(begin, end) if span.occupied is None else span.occupied
    chunks = unraveled(numbers, per_shard) + first
    inside = (chunks < np.array(grid_of(layout.shape, layout.chunks), np.int64)).all(axis=1)
    numbers, chunks = numbers[inside] - begin, chunks[inside]
    lengths, decoded = np.full(end - begin, -1, np.int64), array.chunk_size * array.element
    columns = located(array, chunks) if len(chunks) >= FEW else None
    rest = np.ones(len(chunks), bool)
    if columns is not None:
        rest[columns.chunk] = False
        columns = columns._replace(chunk=numbers[columns.chunk])
        lengths[columns.chunk] = columns.length
        counts.add("copy", len(columns.chunk), int(columns.length.sum()), decoded * len(columns.chunk))
    others: list[tuple[int, bytes | Range]] = []
    for row, made_chunk in zip(numbers[rest].tolist(), _one_by_one(array, indices_of(chunks[rest])), strict=True):
        if made_chunk is not None:
            lengths[row] = made_chunk.size
            counts.add(made_chunk.route, 1, made_chunk.size, decoded)
            others.append((row, made_chunk.piece))
    return Batch(lengths, tuple(in_sequence(columns, others)), counts)


def counted(batches: Iterable[Batch], counts: Counts) -> Iterator[Batch]:
    """Yield batches and count their chunks."""
    for counted_batch in batches:
        counts.update(counted_batch.counts)
        yield counted_batch


def pieces(batches: Iterable[Batch], *, sharded: bool) -> Iterator[Piece]:
    """Return the pieces of a key from all its chunks in order."""
    return shard(batches) if sharded else chain.from_iterable(counted_batch.pieces for counted_batch in batches)


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
