"""Run a plan: all chunks, then all metadata, into a store.

The data are one stream of tasks. Keys of a folder are put by the threads that make them; what has to lie in order, the
chunks of a shard or the entries of an archive, is put by one thread in the order of the stream. Memory is bounded by
what is under way, never by data; the store is the same whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

from nczarr.data.counts import Counts, Step
from nczarr.data.crew import Crew, Task
from nczarr.data.matching import grid
from nczarr.data.source import Index, itemsize
from nczarr.diagnostics import Report
from nczarr.link import regions
from nczarr.link.pieces import Made, chunks_of_shard, made, shard
from nczarr.link.tasks import Array, arrays
from nczarr.passes.chunks import grid_size
from nczarr.passes.planned import Planned
from nczarr.stores.base import Range, Store

SMALL = 1 << 16
"""Elements of a part below which a thread costs more than it gains."""

BATCH = 1 << 20
"""Bytes of decoded chunks that make a task of several chunks worth its while."""

MOST = 64
"""Chunks of a task."""

TIMES = 4
"""What decoding and encoding take in memory, in chunks: encoded and decoded of either side."""


class Result(NamedTuple):
    """Chunks that a task has made for a key, each with its way, None for one that need not be.

    Those of a folder are put already; then pieces are of no file. Nothing here holds on to the array that they are of.
    """

    key: str
    sharded: bool
    chunks: list[Made | None]
    decoded: int
    """Bytes of one chunk before it is encoded."""


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
        tasks = (task for array in arrays(planned) for task in _tasks(array, store, options.memory, crew.workers))
        results = (each for each in crew.results(tasks) if each is not None)
        for _, group in groupby(results, lambda each: each.key):
            _settle(group, store, counts)


def _settle(group: Iterator[Result], store: Store, counts: Counts) -> None:
    """Count what was made for one key, and put what no thread has put."""
    first = next(group)
    chunks = _counted(chain((first,), group), counts)
    if first.sharded:
        _put(store, first.key, shard(chunks))
        return
    for chunk in chunks:
        if chunk is not None and store.sequential:
            _put(store, first.key, iter((chunk.piece,)))


def _counted(group: Iterator[Result], counts: Counts) -> Iterator[Made | None]:
    for result in group:
        for chunk in result.chunks:
            if chunk is not None:
                counts.add(chunk.route, 1, chunk.size, result.decoded)
            yield chunk


def _put(store: Store, key: str, pieces: Iterator[Any]) -> None:
    """Set a key to pieces; if there is none, there is no key."""
    first = next(pieces, None)
    if first is None:
        return
    second = next(pieces, None)
    if second is not None:
        store.put_pieces(key, chain((first, second), pieces))
    elif isinstance(first, Range):
        store.put_pieces(key, (first,))
    else:
        store.put(key, first)


def _tasks(array: Array, store: Store, memory: int, workers: int) -> Iterator[Task]:
    """The work on one array."""
    if array.route == "rechunk":
        room = max(memory // 2, memory - max(memory // 16, workers * array.decoded * TIMES)) // array.element
        assert array.source is not None
        block = regions.block_shape(array.target.layout.shape, array.unit, grid(array.source), room)
        if block is not None:
            yield from _by_blocks(array, block, store)
            return
    yield from _by_keys(array, array.indices(), store)


def _by_keys(array: Array, indices: Iterator[Index], store: Store) -> Iterator[Task]:
    here = math.prod(array.target.layout.shape) <= SMALL
    size = array.chunk_size * array.element
    need = array.decoded * TIMES
    count = max(1, min(MOST, BATCH // max(1, size)))
    if array.target.layout.shards is None:
        while batch := list(islice(indices, count)):
            if store.sequential:
                for index in batch:
                    yield Task(partial(_make, array, index, [index]), need, here)
            else:
                yield Task(partial(_make_and_put, array, batch, store), need, here)
        return
    if array.route == "copy":  # where the chunks of a shard lie is soon found; one thread moves them in any case
        here, count = True, MOST
    for index in indices:
        chunks = chunks_of_shard(array, index)
        while some := list(islice(chunks, count)):
            wanted = [place if inside else None for place, inside in some]
            yield Task(partial(_make, array, index, wanted), need, here)


def _by_blocks(array: Array, block: tuple[int, ...], store: Store) -> Iterator[Task]:
    """Read a block, chunk by chunk of the source; then make the keys in it."""
    source = array.source
    assert source is not None
    cells = grid(source)
    size = math.prod(cells) * array.element
    for region, keys in regions.blocks(array, block):
        origin = tuple(part.start for part in region)
        yield Task(_nothing, here=True, after_all=True)  # the block before it is given back
        room = regions.empty(array, region)
        for batch in regions.readings(region, cells, array.element):
            yield Task(partial(regions.read_into, source, batch, origin, room), size * TIMES)
        yield Task(_nothing, here=True, after_all=True)
        window = array._replace(source=regions.Window(source.layout, origin, room))
        yield from _by_keys(window, iter(keys), store)
        del room, window


def _nothing() -> None:
    """Give nothing."""


def _make(array: Array, key: Index, chunks: list[Index | None]) -> Result:
    """Make chunks of a key and hand them over."""
    sharded = array.target.layout.shards is not None
    found = [None if index is None else made(array, index) for index in chunks]
    return Result(array.key(key), sharded, found, array.chunk_size * array.element)


def _make_and_put(array: Array, indices: list[Index], store: Store) -> Result:
    """Make chunks, each a key of its own, and put them."""
    found: list[Made | None] = []
    for index in indices:
        chunk = made(array, index)
        if chunk is None:
            continue
        if isinstance(chunk.piece, Range):
            store.put_pieces(array.key(index), (chunk.piece,))
        else:
            store.put(array.key(index), chunk.piece)
        found.append(Made(Range("", 0, chunk.size), chunk.route))
    return Result(array.key(indices[0]), sharded=False, chunks=found, decoded=array.chunk_size * array.element)
