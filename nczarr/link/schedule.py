"""Which tasks a plan has: keys in batches that are worth a task, blocks of arrays that get other chunks.

Keys that an earlier run has put, whole, are in none: they are counted, and neither read nor made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from nczarr.arrays.blocks import Index
from nczarr.arrays.counts import Counts
from nczarr.arrays.route import grid
from nczarr.link.tasks import Array, Block, Keys, Task
from nczarr.stores.base import Store

T = TypeVar("T")

TIMES = 4
"""What decoding and encoding take in memory, in chunks: encoded and decoded of either side."""

MOST = 64
"""Chunks of a task."""

FETCHED = 8 << 20
"""Bytes of decoded chunks that are brought here from a distance at once, where they lie side by side."""


class Measure(NamedTuple):
    """How large a task is to be: at most so many `keys`, of at most `size` decoded bytes in all, but one at least.

    A block takes what `memory` leaves beside the chunks that `workers` threads have under way.
    """

    keys: int
    size: int
    memory: int
    workers: int


def tasks(number: int, array: Array, store: Store, measure: Measure, counts: Counts) -> Iterator[Task]:
    """The tasks of one array, the number of which is given, in C order."""
    indices = _missing(array, store, counts)
    block = _block_shape(array, measure)
    if block is None:
        yield from (Keys(number, batch) for batch in batches(array, indices, measure))
        return
    from nczarr.link.regions import blocks

    for region, keys in blocks(array, block, indices):
        yield Block(number, region, keys)


def _missing(array: Array, store: Store, counts: Counts) -> Iterator[Index]:
    """The keys to make, but for those that are there; these are counted."""
    size = math.prod(array.unit) * array.element
    for index in array.indices():
        if store.is_done(array.key(index)):
            counts.skip(size)
        else:
            yield index


def batches(array: Array, indices: Iterable[Index], measure: Measure) -> Iterator[tuple[Index, ...]]:
    """Keys in groups that are worth a task."""
    size = math.prod(array.unit) * array.element
    return cut(indices, min(measure.keys, measure.size // max(1, size)))


def apart(array: Array, indices: Iterable[Index]) -> Iterator[tuple[Index, ...]]:
    """Keys that travel: one by one, but for chunks that lie side by side, in one shard of a distant source."""
    regions = array.source.together if array.source is not None else None
    if regions is None or array.target.layout.shards is not None:
        yield from cut(indices, 1)
        return

    def home(index: Index) -> Index:
        lengths = zip(index, array.unit, regions, strict=True)
        return tuple(number * own // region for number, own, region in lengths)

    for _, group in groupby(indices, home):
        yield from cut(group, fetched_at_once(array))


def fetched_at_once(array: Array) -> int:
    """Chunks that are brought here from a distance at once."""
    return min(MOST, FETCHED // max(1, array.chunk_size * array.element))


def is_far(array: Array, store: Store) -> bool:
    """Whether what is read or put travels over a network."""
    return store.distant or (array.source is not None and array.source.distant)


def cut(items: Iterable[T], count: int) -> Iterator[tuple[T, ...]]:
    """Items in groups of so many, of one at least."""
    rest = iter(items)
    while group := tuple(islice(rest, max(1, count))):
        yield group


def _block_shape(array: Array, measure: Measure) -> tuple[int, ...] | None:
    """Lengths of the blocks of an array that gets other chunks; None where keys are made one by one."""
    if array.route != "rechunk" or array.source is None:
        return None
    memory = measure.memory
    room = max(memory // 2, memory - max(memory // 16, measure.workers * array.decoded * TIMES)) // array.element
    from nczarr.link.regions import block_shape  # few arrays get another grid

    return block_shape(array.target.layout.shape, array.unit, grid(array.source), room)
