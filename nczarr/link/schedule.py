"""Tasks of a plan: batches of keys, and blocks of arrays to rechunk.

Complete keys of an earlier run are counted and skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from nczarr.arrays.chunks.route import grid
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.regions import Index
from nczarr.arrays.sources.windows import FETCHED, TIMES, block_shape, blocks, room_beside
from nczarr.ast.rectilinear import varies, volume
from nczarr.link.tasks import Keys, RegionTask, Task, WrittenPart
from nczarr.stores.base import Store

T = TypeVar("T")

MOST = 64
"""Maximum chunks of a task."""


class TaskSize(NamedTuple):
    """Size of a task. A task has at least one key."""

    keys: int
    """Maximum number of keys."""
    size: int
    """Maximum number of decoded bytes."""
    memory: int
    """Bytes for the pending chunks of all threads; a block uses the rest."""
    workers: int
    """Number of threads."""


def tasks(number: int, array: WrittenPart, store: Store, measure: TaskSize, counts: Counts) -> Iterator[Task]:
    """Yield the tasks of array `number` in C order."""
    indices = _missing(array, store, counts)
    block = _block_shape(array, measure)
    if block is None:
        yield from (Keys(number, batch) for batch in batches(array, indices, measure))
        return
    for region, keys in blocks(array.target.layout.shape, array.unit, block, indices):
        yield RegionTask(number, region, keys)


def _missing(array: WrittenPart, store: Store, counts: Counts) -> Iterator[Index]:
    """Yield the missing keys and count the existing ones."""
    size = volume(array.unit) * array.element
    for index in array.indices():
        if store.is_done(array.key(index)):
            counts.skip(size)
        else:
            yield index


def batches(array: WrittenPart, indices: Iterable[Index], measure: TaskSize) -> Iterator[tuple[Index, ...]]:
    """Group keys into batches that are worth a task."""
    size = volume(array.unit) * array.element
    return cut(indices, min(measure.keys, measure.size // max(1, size)))


def apart(array: WrittenPart, indices: Iterable[Index]) -> Iterator[tuple[Index, ...]]:
    """Yield keys for transfer: one by one, but chunks in one shard of a distant source together."""
    regions = array.source.together if array.source is not None else None
    if regions is None or array.target.layout.shards is not None:
        yield from cut(indices, 1)
        return

    def home(index: Index) -> Index:
        lengths = zip(index, array.unit, regions, strict=True)
        return tuple(number * unit_length // region for number, unit_length, region in lengths)

    for _, group in groupby(indices, home):
        yield from cut(group, fetched_at_once(array))


def fetched_at_once(array: WrittenPart) -> int:
    """Return the number of chunks to fetch at once from a distance."""
    return min(MOST, FETCHED // max(1, array.chunk_size * array.element))


def is_far(array: WrittenPart, store: Store) -> bool:
    """Return whether source or target are accessed over a network."""
    return store.distant or (array.source is not None and array.source.distant)


def cut(items: Iterable[T], count: int) -> Iterator[tuple[T, ...]]:
    """Split items into groups of `count`, at least of one."""
    rest = iter(items)
    while group := tuple(islice(rest, max(1, count))):
        yield group


def _block_shape(array: WrittenPart, measure: TaskSize) -> tuple[int, ...] | None:
    """Return the block lengths of an array to rechunk; None if keys are made one by one."""
    if array.route != "rechunk" or array.source is None or varies(array.unit):
        return None
    room = room_beside(measure.memory, measure.workers, array.decoded * TIMES) // array.element
    return block_shape(array.target.layout.shape, array.unit, grid(array.source), room)
