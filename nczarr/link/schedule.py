"""Which tasks a plan has: keys in batches that are worth a task, blocks of arrays that get other chunks.

Keys that an earlier run has put, whole, are in none: they are counted, and neither read nor made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from nczarr.data.counts import Counts
from nczarr.data.matching import grid
from nczarr.data.source import Index
from nczarr.link import regions
from nczarr.link.tasks import Array, Block, Keys, Task
from nczarr.stores.base import Store

TIMES = 4
"""What decoding and encoding take in memory, in chunks: encoded and decoded of either side."""


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
    block = block_shape(array, measure)
    if block is None:
        yield from (Keys(number, batch) for batch in batches(array, indices, measure))
        return
    for region, keys in regions.blocks(array, block, indices):
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
    rest = iter(indices)
    size = math.prod(array.unit) * array.element
    count = max(1, min(measure.keys, measure.size // max(1, size)))
    while batch := tuple(islice(rest, count)):
        yield batch


def block_shape(array: Array, measure: Measure) -> tuple[int, ...] | None:
    """Lengths of the blocks of an array that gets other chunks; None where keys are made one by one."""
    if array.route != "rechunk" or array.source is None:
        return None
    memory = measure.memory
    room = max(memory // 2, memory - max(memory // 16, measure.workers * array.decoded * TIMES)) // array.element
    return regions.block_shape(array.target.layout.shape, array.unit, grid(array.source), room)
