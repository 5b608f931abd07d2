"""Execution of a plan: all chunks, then all metadata, into a store.

The data are one stream of tasks. Threads put the keys of a folder themselves.
Ordered data, chunks of a shard or entries of an archive, are put by one thread
in stream order. Memory depends on pending work, not on data size. The store
does not depend on the number of threads. Any process that reaches the source
and the store can execute a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, starmap
from typing import Any, assert_never

from nczarr.arrays.execution.counts import Counts, Step
from nczarr.arrays.execution.thread_pool import BARRIER, Crew
from nczarr.arrays.execution.thread_pool import Task as Work
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Selection,
    count_blocks,
    grid_of,
    indices_of,
    ravel,
    region_of,
    table_of,
    unravel,
)
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.sources.windows import FETCHED, TIMES, list_fill_tasks, window
from nczarr.ast.rectilinear import volume
from nczarr.link.chunk_pieces import Batch, EncodedChunk, Piece, in_sequence, list_parts, locate, make_chunk, shard
from nczarr.link.tasks import (
    MOST,
    Keys,
    RegionTask,
    Task,
    TaskSize,
    WrittenPart,
    arrays,
    batches,
    count_fetched_at_once,
    cut_into_groups,
    group_for_transfer,
    is_far,
    tasks,
)
from nczarr.names.records import NamedTuple
from nczarr.options import RunOptions
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import HELD, Store
from nczarr.stores.ranges import Range

MOST_CHUNKS = 1 << 14
"""Maximum chunks that are located at once."""

LOCATED = 8 << 20
"""Decoded bytes of chunks that are located at once."""

FEW = 16
"""Chunks below which columns cost more time than they save."""


def put_keys(array: WrittenPart, indices: Sequence[Index], store: Store, finish: Callable[[int], None]) -> Counts:
    """Make and put keys of an array; `finish` gets the chunks of each. Raises OSError; CompileError for bad chunks."""
    counts, sharded = Counts(), array.target.layout.shards is not None
    for index, key_batches in zip(indices, keys_of(array, indices), strict=True):
        before = counts.chunks
        put(store, array.key(index), pieces(count_chunks(key_batches, counts), sharded=sharded))
        finish(counts.chunks - before)
    return counts


def keys_of(array: WrittenPart, indices: Sequence[Index]) -> Iterator[Iterable[Batch]]:
    """Make keys lazily; yield the batches of each."""
    if array.target.layout.shards is not None:
        yield from (chunk_batches(array, index) for index in indices)
    else:
        yield from (() if chunk is None else (single(array, chunk),) for chunk in make(array, indices))


def make(array: WrittenPart, chunks: Sequence[Index]) -> Iterator[EncodedChunk | None]:
    """Make chunks lazily, in C order."""
    columns = locate(array, table_of(chunks, len(array.unit))) if len(chunks) >= FEW else None
    places = {} if columns is None else list_parts(columns)
    rest = _one_by_one(array, [index for row, index in enumerate(chunks) if row not in places])
    for row in range(len(chunks)):
        yield places[row] if row in places else next(rest)


def _one_by_one(array: WrittenPart, chunks: Iterable[Index]) -> Iterator[EncodedChunk | None]:
    """Make chunks lazily. From a distant source, the data of several megabytes of chunks are fetched at once."""
    source = array.source
    if source is None or not source.distant:
        yield from (make_chunk(array, index) for index in chunks)
        return
    for group in cut_into_groups(chunks, count_fetched_at_once(array)):
        at_hand = array._replace(source=source.prefetch([array.region(index) for index in group]))
        yield from (make_chunk(at_hand, index) for index in group)


def single(array: WrittenPart, chunk: EncodedChunk) -> Batch:
    """Return the only chunk of a key."""
    counts = Counts()
    counts.add(chunk.route, 1, chunk.size, array.chunk_size * array.element)
    return Batch(None, (chunk.piece,), counts)


def chunk_batches(array: WrittenPart, index: Index) -> Iterator[Batch]:
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
        for part in cut_into_groups(numbers, count):
            yield ChunkSpan(range(part[0], part[-1] + 1))
        return
    occupied = _list_occupied(array, index)
    begin = 0
    for start in range(0, len(occupied), max(1, count)):
        some = occupied[start : start + max(1, count)]
        following = start + len(some)
        end = int(occupied[following]) if following < len(occupied) else len(numbers)
        yield ChunkSpan(range(begin, end), some)
        begin = end


def _list_occupied(array: WrittenPart, index: Index) -> NDArray[np.int64]:
    """Return the numbers of a shard's chunks that may contain more than fill: int64, shape (chunks,)."""
    layout = array.target.layout
    assert layout.shards is not None
    assert array.source is not None
    region = tuple(range(part.start, part.stop) for part in region_of(index, layout.shards, layout.shape))
    chunks = table_of(array.source.list_occupied(layout.chunks, region), len(layout.chunks))
    return ravel(chunks, grid_of(layout.shards, layout.chunks))


def batch_size(array: WrittenPart) -> int:
    """Return the number of a shard's chunks to make at once."""
    if array.source is not None and array.source.distant:
        return count_fetched_at_once(array)
    return min(MOST_CHUNKS, LOCATED // max(1, array.chunk_size * array.element))


def batch(array: WrittenPart, index: Index, span: ChunkSpan) -> Batch:
    """Make some chunks of a shard."""
    layout, counts = array.target.layout, Counts()
    assert layout.shards is not None
    per_shard = grid_of(layout.shards, layout.chunks)
    first = np.array(index, np.int64) * np.array(per_shard, np.int64)
    begin, end = span.numbers.start, span.numbers.stop
    numbers = np.arange(begin, end) if span.occupied is None else span.occupied
    chunks = unravel(numbers, per_shard) + first
    inside = (chunks < np.array(grid_of(layout.shape, layout.chunks), np.int64)).all(axis=1)
    numbers, chunks = numbers[inside] - begin, chunks[inside]
    lengths, decoded = np.full(end - begin, -1, np.int64), array.chunk_size * array.element
    columns = locate(array, chunks) if len(chunks) >= FEW else None
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


def count_chunks(batches: Iterable[Batch], counts: Counts) -> Iterator[Batch]:
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


SMALL = 1 << 16
"""Elements of a part below which a thread costs more than it saves."""

BATCH = 1 << 20
"""Decoded bytes that are worth a task of several chunks."""


class KeyChunks(NamedTuple):
    """Chunks of a key in order, for the single writing thread."""

    key: str
    batch: Batch
    """Some chunks of the shard, or the only chunk of the key."""
    sharded: bool
    """True for a shard."""


def steps(plan: StorePlan) -> Iterator[Step]:
    """Yield the planned steps, one per part."""
    for array in arrays(plan):
        layout = array.target.layout
        if array.target.sparse and array.source is not None:
            chunks = count_blocks(array.source.list_occupied(layout.chunks))
        else:
            chunks = math.prod(grid_of(layout.shape, layout.chunks))
        size = math.prod(layout.shape) * itemsize(layout.dtype)
        yield Step(array.path, array.part, array.route, chunks, layout.chunks, size)


def link(numbered: Iterable[tuple[int, WrittenPart]], store: Store, run: RunOptions, counts: Counts) -> None:
    """Write all data keys of some arrays. Raises OSError if the store fails."""
    numbered_parts = list(numbered)
    far = any(is_far(array, store) for _, array in numbered_parts)
    with Crew(run.workers, run.memory, distant=far) as crew:
        plan_run = PlanRun(store, TaskSize(MOST, FETCHED if far else BATCH, run.memory, crew.workers), counts)
        plan_run.settle(crew.results(chain.from_iterable(starmap(plan_run.works, numbered_parts))))


def perform(array: WrittenPart, task: Task, store: Store, memory: int) -> Counts:
    """Do one task within `memory` bytes of pending chunks. Raises OSError, CompileError."""
    far = is_far(array, store)
    with Crew(None if far else 1, memory, distant=far) as crew:
        run = PlanRun(store, TaskSize(MOST, FETCHED if far else BATCH, memory, crew.workers), Counts())
        run.settle(crew.results(run.work(array, task)))
    return run.counts


def is_small(array: WrittenPart) -> bool:
    """Return whether an array is not worth a thread."""
    return math.prod(array.target.layout.shape) <= SMALL


def measure_needed(array: WrittenPart, store: Store) -> int:
    """Return the memory of one work item in bytes, including encoded chunks in transfer."""
    need = array.decoded * TIMES
    if not is_far(array, store):
        return need
    size = array.chunk_size * array.element
    together = array.source is not None and array.source.together is not None
    travelling = max(size, min(FETCHED, size * MOST)) if together else size
    shard_memory = min(HELD, volume(array.unit) * array.element) if store.distant else 0
    return max(need, 2 * travelling) + shard_memory


class PlanRun(NamedTuple):
    """Writing of a plan's data, or of a part of it, into a store."""

    store: Store
    """The target."""
    measure: TaskSize
    counts: Counts
    """Counted chunks."""

    def works(self, number: int, array: WrittenPart) -> Iterator[Work]:
        """Yield all work on one array."""
        for task in tasks(number, array, self.store, self.measure, self.counts):
            yield from self.work(array, task)

    def work(self, array: WrittenPart, task: Task) -> Iterator[Work]:
        """Return the work on a task."""
        match task:
            case Keys(_, indices):
                return self._split_keys(array, indices)
            case RegionTask(_, region, indices):
                return self._block(array, region, indices)
            case _:
                assert_never(task)

    def _split_keys(self, array: WrittenPart, indices: tuple[Index, ...]) -> Iterator[Work]:
        """Split the chunks of a task into pieces of work for threads; a shard is filled in batches of its chunks."""
        layout, need, far = array.target.layout, measure_needed(array, self.store), is_far(array, self.store)
        here = is_small(array) and not far
        if layout.shards is None or (self.store.distant and not self.store.sequential):
            make = _make_keys if self.store.sequential else partial(put_keys, finish=self.counts.finish)
            for batch in group_for_transfer(array, indices) if far else (indices,):
                yield Work(partial(make, array, batch, self.store), need, here)
            return
        count = count_fetched_at_once(array) if far else min(MOST, BATCH // max(1, array.chunk_size * array.element))
        if array.route == "copy" and not far:  # where chunks lie is soon found; one thread moves them in any case
            here, count = True, batch_size(array)
        for index in indices:
            for span in spans(array, index, count):
                yield Work(partial(_make_batch, array, index, span), need, here)

    def _block(self, array: WrittenPart, region: Selection, indices: tuple[Index, ...]) -> Iterator[Work]:
        """Read a region by source chunks; then make its keys."""
        source = array.source
        assert source is not None
        yield BARRIER  # the block before it is given back
        block = window(source.layout, region)
        yield from list_fill_tasks(block, source, self.measure.workers, self.measure.memory)
        yield BARRIER
        for batch in batches(array, indices, self.measure):
            yield from self._split_keys(array._replace(source=block), batch)

    def settle(self, results: Iterator[list[KeyChunks] | Counts | None]) -> None:
        """Count what was put; put and count results."""
        items = chain.from_iterable(outcome if isinstance(outcome, list) else (outcome,) for outcome in results)
        for key, group in groupby(items, lambda item: item.key if isinstance(item, KeyChunks) else None):
            if key is not None:
                self._put(key, group)
                continue
            for counts in group:
                if isinstance(counts, Counts):
                    self.counts.update(counts)

    def _put(self, key: str, group: Iterator[Any]) -> None:
        first: KeyChunks = next(group)
        before = self.counts.chunks
        key_batches = count_chunks((key_chunks.batch for key_chunks in chain((first,), group)), self.counts)
        put(self.store, key, pieces(key_batches, sharded=first.sharded))
        self.counts.finish(self.counts.chunks - before)


def _make_keys(array: WrittenPart, indices: Sequence[Index], store: Store) -> list[KeyChunks]:
    return [
        KeyChunks(array.key(index), single(array, chunk), sharded=False)
        for index, chunk in zip(indices, make(array, indices), strict=True)
        if chunk is not None
    ]


def _make_batch(array: WrittenPart, index: Index, span: ChunkSpan) -> list[KeyChunks]:
    """Make some chunks of a shard and return them for writing."""
    return [KeyChunks(array.key(index), batch(array, index, span), sharded=True)]
