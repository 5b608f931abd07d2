"""Execution of a plan: all chunks, then all metadata, into a store.

The data are one stream of tasks. Threads put the keys of a folder themselves.
Ordered data, chunks of a shard or entries of an archive, are put by one thread
in stream order. Memory depends on pending work, not on data size. The store
does not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, starmap
from typing import Any, NamedTuple, assert_never

from nczarr.arrays.execution.counts import Counts, Step
from nczarr.arrays.execution.thread_pool import BARRIER, DISTANT_WORKERS, Crew
from nczarr.arrays.execution.thread_pool import Task as Work
from nczarr.arrays.regions import Index, Selection, grid_of
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.sources.windows import FETCHED, TIMES, filling, window
from nczarr.ast.rectilinear import volume
from nczarr.link import do_task
from nczarr.link.chunk_pieces import Batch
from nczarr.link.schedule import MOST, TaskSize, apart, batches, fetched_at_once, is_far, tasks
from nczarr.link.tasks import Keys, RegionTask, Task, WrittenPart, arrays
from nczarr.options import Options
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import HELD, Store

SMALL = 1 << 16
"""Elements of a part below which a thread costs more than it saves."""

BATCH = 1 << 20
"""Decoded bytes that are worth a task of several chunks."""


class KeyChunks(NamedTuple):
    """Chunks of a key in order, for the single writing thread."""

    key: str
    """The key."""
    batch: Batch
    """Some chunks of the shard, or the only chunk of the key."""
    sharded: bool
    """True for a shard."""


def steps(plan: StorePlan) -> Iterator[Step]:
    """Yield the planned steps, one per part."""
    for array in arrays(plan):
        layout = array.target.layout
        if array.target.sparse and array.source is not None:
            chunks = sum(1 for _ in array.source.occupied(layout.chunks))
        else:
            chunks = math.prod(grid_of(layout.shape, layout.chunks))
        size = math.prod(layout.shape) * itemsize(layout.dtype)
        yield Step(array.path, array.part, array.route, chunks, layout.chunks, size)


def link(numbered: Iterable[tuple[int, WrittenPart]], store: Store, options: Options, counts: Counts) -> None:
    """Write all data keys of some arrays. Raises OSError if the store fails."""
    numbered_parts = list(numbered)
    far = any(is_far(array, store) for _, array in numbered_parts)
    with Crew(options.workers or (DISTANT_WORKERS if far else None), options.memory) as crew:
        run = PlanRun(store, TaskSize(MOST, FETCHED if far else BATCH, options.memory, crew.workers), counts)
        run.settle(crew.results(chain.from_iterable(starmap(run.works, numbered_parts))))


def perform(array: WrittenPart, task: Task, store: Store, memory: int) -> Counts:
    """Do one task within `memory` bytes of pending chunks. Raises OSError, CompileError."""
    far = is_far(array, store)
    with Crew(DISTANT_WORKERS if far else 1, memory) as crew:
        run = PlanRun(store, TaskSize(MOST, FETCHED if far else BATCH, memory, crew.workers), Counts())
        run.settle(crew.results(run.work(array, task)))
    return run.counts


def is_small(array: WrittenPart) -> bool:
    """Return whether an array is not worth a thread."""
    return math.prod(array.target.layout.shape) <= SMALL


def needed(array: WrittenPart, store: Store) -> int:
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
    """Size of tasks."""
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
                return self._keys(array, indices)
            case RegionTask(_, region, indices):
                return self._block(array, region, indices)
            case _:
                assert_never(task)

    def _keys(self, array: WrittenPart, indices: tuple[Index, ...]) -> Iterator[Work]:
        layout, need, far = array.target.layout, needed(array, self.store), is_far(array, self.store)
        here = is_small(array) and not far
        if layout.shards is None or (self.store.distant and not self.store.sequential):
            make = _make_keys if self.store.sequential else partial(do_task.put_keys, finish=self.counts.finish)
            for batch in apart(array, indices) if far else (indices,):
                yield Work(partial(make, array, batch, self.store), need, here)
            return
        count = fetched_at_once(array) if far else min(MOST, BATCH // max(1, array.chunk_size * array.element))
        if array.route == "copy" and not far:  # where chunks lie is soon found; one thread moves them in any case
            here, count = True, do_task.batch_size(array)
        for index in indices:
            for span in do_task.spans(array, index, count):
                yield Work(partial(_make_batch, array, index, span), need, here)

    def _block(self, array: WrittenPart, region: Selection, indices: tuple[Index, ...]) -> Iterator[Work]:
        """Read a region by source chunks; then make its keys."""
        source = array.source
        assert source is not None
        yield BARRIER  # the block before it is given back
        block = window(source.layout, region)
        yield from filling(block, source, self.measure.workers, self.measure.memory)
        yield BARRIER
        for batch in batches(array, indices, self.measure):
            yield from self._keys(array._replace(source=block), batch)

    def settle(self, results: Iterator[list[KeyChunks] | Counts | None]) -> None:
        """Count what was put; put and count results."""
        items = chain.from_iterable(outcome if isinstance(outcome, list) else (outcome,) for outcome in results)
        for key, group in groupby(items, lambda item: item.key if isinstance(item, KeyChunks) else None):
            if key is None:
                self._count(group)
            else:
                self._put(key, group)

    def _count(self, group: Iterator[Any]) -> None:
        for counts in group:
            if counts is not None:
                self.counts.update(counts)

    def _put(self, key: str, group: Iterator[Any]) -> None:
        first: KeyChunks = next(group)
        before = self.counts.chunks
        batches = do_task.counted((key_chunks.batch for key_chunks in chain((first,), group)), self.counts)
        do_task.put(self.store, key, do_task.pieces(batches, sharded=first.sharded))
        self.counts.finish(self.counts.chunks - before)


def _make_keys(array: WrittenPart, indices: Sequence[Index], store: Store) -> list[KeyChunks]:
    """Make keys of one chunk each and return them for writing."""
    return [
        KeyChunks(array.key(index), do_task.single(array, chunk), sharded=False)
        for index, chunk in zip(indices, do_task.make(array, indices), strict=True)
        if chunk is not None
    ]


def _make_batch(array: WrittenPart, index: Index, span: do_task.ChunkSpan) -> list[KeyChunks]:
    """Make some chunks of a shard and return them for writing."""
    return [KeyChunks(array.key(index), do_task.batch(array, index, span), sharded=True)]
