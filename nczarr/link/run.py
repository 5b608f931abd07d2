"""Run a plan: all chunks, then all metadata, into a store.

The data are one stream of tasks. Keys of a folder are put by the threads that make them; what has to lie in order, the
chunks of a shard or the entries of an archive, is put by one thread in the order of the stream. Memory is bounded by
what is under way, never by data; the store is the same whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain, groupby, islice, starmap
from typing import Any, NamedTuple, assert_never

from nczarr.data.counts import Counts, Step
from nczarr.data.matching import grid
from nczarr.data.source import Index, Selection, itemsize
from nczarr.diagnostics import Report
from nczarr.link import regions, work
from nczarr.link.crew import Crew, Task
from nczarr.link.pieces import Made, made
from nczarr.link.schedule import TIMES, Measure, batches, tasks
from nczarr.link.tasks import Array, Block, Keys, arrays
from nczarr.passes.chunks import grid_size
from nczarr.passes.planned import Planned
from nczarr.stores.base import Store

SMALL = 1 << 16
"""Elements of a part below which a thread costs more than it gains."""

BATCH = 1 << 20
"""Bytes of decoded chunks that make a task of several chunks worth its while."""

MOST = 64
"""Chunks of a task."""


class Result(NamedTuple):
    """Chunks that were made of a key, in their order, to be put by the one thread that puts everything."""

    key: str
    array: Array
    """Without its source."""
    chunks: list[Made | None]


def fill(planned: Planned, store: Store, report: Report, counts: Counts | None = None) -> Counts:
    """Write everything the plan asks for, and count it. Raises OSError where the store fails."""
    counts = Counts() if counts is None else counts
    link(planned, store, counts)
    for key, document in emit(planned, report):
        store.put(key, document)
    return counts


def emit(planned: Planned, report: Report) -> Iterator[tuple[str, bytes]]:
    """The metadata of the plan's format, by the format's own back end."""
    from nczarr.registry import load

    assert planned.form.emit is not None
    entries: Iterator[tuple[str, bytes]] = load(planned.form.emit)(planned, report)
    return entries


def steps(planned: Planned) -> Iterator[Step]:
    """What is going to be done, part by part."""
    for array in arrays(planned):
        layout = array.target.layout
        if array.target.sparse and array.source is not None:
            chunks = sum(1 for _ in array.source.occupied(layout.chunks))
        else:
            chunks = grid_size(layout.shape, layout.chunks)
        size = math.prod(layout.shape) * itemsize(layout.dtype)
        yield Step(array.path, array.part, array.route, chunks, layout.chunks, size)


def link(planned: Planned, store: Store, counts: Counts) -> None:
    """Write all keys of data. Raises OSError where the store fails."""
    options = planned.options
    with Crew(options.workers, options.memory) as crew:
        run = _Run(store, Measure(MOST, BATCH, options.memory, crew.workers), counts)
        results = crew.results(chain.from_iterable(starmap(run.tasks, enumerate(arrays(planned)))))
        for key, group in groupby(results, _key):
            run.settle(key, group)


class _Run(NamedTuple):
    """The data of one plan on their way into a store."""

    store: Store
    measure: Measure
    counts: Counts

    def tasks(self, number: int, array: Array) -> Iterator[Task]:
        """The work on one array."""
        for task in tasks(number, array, self.store, self.measure, self.counts):
            match task:
                case Keys(_, indices):
                    yield from self._keys(array, indices)
                case Block(_, region, indices):
                    yield from self._block(array, region, indices)
                case _:
                    assert_never(task)

    def _keys(self, array: Array, indices: tuple[Index, ...]) -> Iterator[Task]:
        layout, need = array.target.layout, array.decoded * TIMES
        here = math.prod(layout.shape) <= SMALL
        if layout.shards is None and not self.store.sequential:
            yield Task(partial(work.put_keys, array, indices, self.store), need, here)
            return
        count = max(1, min(MOST, BATCH // max(1, array.chunk_size * array.element)))
        if array.route == "copy":  # where the chunks of a shard lie is soon found; one thread moves them in any case
            here, count = True, MOST
        for index in indices:
            chunks = work.chunks_of(array, index)
            while some := tuple(islice(chunks, count)):
                yield Task(partial(_make, array, index, some), need, here)

    def _block(self, array: Array, region: Selection, indices: tuple[Index, ...]) -> Iterator[Task]:
        """Read a region, chunk by chunk of the source; then make the keys in it."""
        assert array.source is not None
        cells = math.prod(grid(array.source)) * array.element
        yield Task(_nothing, here=True, after_all=True)  # the block before it is given back
        window = regions.room(array, region)
        for selections in regions.readings(array, region):
            yield Task(partial(window.fill, array.source, selections), cells * TIMES)
        yield Task(_nothing, here=True, after_all=True)
        for batch in batches(array, indices, self.measure):
            yield from self._keys(array._replace(source=window), batch)

    def settle(self, key: str | None, group: Iterator[Any]) -> None:
        """Count what tasks have put; put what was made of a key, and count that."""
        if key is None:
            for counts in group:
                if counts is not None:
                    self.counts.update(counts)
            return
        first = next(group)
        chunks = chain.from_iterable(each.chunks for each in chain((first,), group))
        work.put(self.store, key, work.pieces(first.array, work.counted(first.array, chunks, self.counts)))


def _key(result: Result | Counts | None) -> str | None:
    return result.key if isinstance(result, Result) else None


def _nothing() -> None:
    """Give nothing."""


def _make(array: Array, key: Index, chunks: tuple[Index | None, ...]) -> Result:
    """Make chunks of a key and hand them over."""
    found = [None if index is None else made(array, index) for index in chunks]
    return Result(array.key(key), array._replace(source=None), found)
