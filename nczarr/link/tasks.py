"""Tasks: independent work on the keys (chunks or shards) of one part, and their schedule.

A task refers to its array by the number in the plan. Both can be pickled, so
that any process that reaches source and target can do a task.

Invariant: enumeration takes time proportional to stored data, not to the
declared shape. A sparse array's chunks come from the source's `occupied`.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import TypeAlias, TypeVar

from nczarr.arrays.execution.counts import Counts, Route
from nczarr.arrays.regions import Index, Selection, every_block, region_of
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.sources.windows import (
    FETCHED,
    TEXT,
    TIMES,
    block_shape,
    blocks,
    choose_route,
    chunk_shape_of,
    needs_window,
    reading_shape,
    remaining_memory,
)
from nczarr.ast.rectilinear import shape_of, varies, volume
from nczarr.names.records import NamedTuple
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.registry import ChunkKeys
from nczarr.stores.base import Store


class WrittenPart(NamedTuple):
    """One part to write."""

    path: str
    """FQN of the variable, for messages."""
    part: str
    """Path of the part, for messages."""
    chunk_keys: ChunkKeys
    """Names of the chunks."""
    target: PartTarget
    """Layout and encoding in the target."""
    source: ArraySource | None
    """Values; None: fill values only."""
    route: Route
    """Way in which chunks are made."""
    only: tuple[Index, ...] | None = None
    """Keys to make; None: all."""

    def key(self, index: Index) -> str:
        """Return the key of a chunk or shard."""
        return self.chunk_keys.key(index)

    @property
    def unit(self) -> tuple[int, ...]:
        """Shape of one key: of a shard, or a chunk."""
        return self.target.layout.shards or self.target.layout.chunks

    def indices(self) -> Iterator[Index]:
        """Return the indices of keys to make, in C order."""
        if self.only is not None:
            return iter(self.only)
        layout = self.target.layout
        if self.target.sparse and self.source is not None:
            return self.source.list_occupied(self.unit)
        return every_block(layout.shape, self.unit)

    def region(self, index: Index) -> Selection:
        """Return the array region of a chunk, clipped at the edge."""
        layout = self.target.layout
        return region_of(index, layout.chunks, layout.shape)

    def shape(self, index: Index) -> tuple[int, ...]:
        """Return the shape of a chunk, which may exceed the array's edge."""
        return shape_of(index, self.target.layout.chunks)

    @property
    def chunk_size(self) -> int:
        """Elements of the largest chunk."""
        return volume(self.target.layout.chunks)

    @property
    def element(self) -> int:
        """Estimated bytes of an element in memory."""
        return itemsize(self.target.layout.dtype) or TEXT

    @property
    def decoded(self) -> int:
        """Bytes of the largest source or target chunk that is decoded; 0 if none is."""
        if self.route in ("nothing", "reference", "copy"):
            return 0
        elements = self.chunk_size
        if self.source is not None and self.route in ("transcode", "rechunk") and not self.source.viewed:
            elements = max(elements, volume(chunk_shape_of(self.source)))
        return elements * self.element


class Keys(NamedTuple):
    """Keys of an array, made independently."""

    array: int
    """Number of the array."""
    indices: tuple[Index, ...]
    """Grid indices of the keys."""


class RegionTask(NamedTuple):
    """Keys of an array, made from one region that is read first (`rechunk`)."""

    array: int
    """Number of the array."""
    region: Selection
    """Region that is read first."""
    indices: tuple[Index, ...]
    """Grid indices of the keys."""


Task: TypeAlias = Keys | RegionTask


def arrays(plan: StorePlan) -> Iterator[WrittenPart]:
    """Yield every part with chunks to make, in plan order."""
    capabilities = plan.form.capabilities
    assert capabilities.arrays is not None
    for path, targets in plan.targets.items():
        sources = plan.parts.get(path, {})
        for part, target in targets.items():
            source = sources.get(part)
            way = route(source, target, by_reference=capabilities.arrays.by_reference)
            if way == "nothing":
                continue
            yield WrittenPart(path, part, plan.chunk_keys(path, part), target, source, way)


def route(source: ArraySource | None, target: PartTarget, *, by_reference: bool = False) -> Route:
    """Return the route of a part. `by_reference`: reference chunks where possible.

    It holds for most chunks: one that cannot be copied because a filter skipped
    it is encoded anew.
    """
    layout = target.layout
    if 0 in layout.shape:
        return "nothing"
    if source is None:
        return "nothing" if target.sparse else "fill"
    if by_reference:
        from nczarr.plan.reference_layout import refer_chunks  # few targets hold references

        if refer_chunks(source, layout) is not None:
            return "reference"
    return choose_route(source, layout)


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


def is_complete(array: WrittenPart, store: Store) -> bool:
    """Return whether an earlier run has put all keys of an array."""
    return next(_missing(array, store, Counts()), None) is None


def batches(array: WrittenPart, indices: Iterable[Index], measure: TaskSize) -> Iterator[tuple[Index, ...]]:
    """Group keys into batches that are worth a task."""
    size = volume(array.unit) * array.element
    return cut_into_groups(indices, min(measure.keys, measure.size // max(1, size)))


def group_for_transfer(array: WrittenPart, indices: Iterable[Index]) -> Iterator[tuple[Index, ...]]:
    """Yield keys for transfer: one by one, but chunks in one shard of a distant source together."""
    regions = array.source.together if array.source is not None else None
    if regions is None or array.target.layout.shards is not None:
        yield from cut_into_groups(indices, 1)
        return

    def find_shard(index: Index) -> Index:
        lengths = zip(index, array.unit, regions, strict=True)
        return tuple(number * unit_length // region for number, unit_length, region in lengths)

    for _, group in groupby(indices, find_shard):
        yield from cut_into_groups(group, count_fetched_at_once(array))


def count_fetched_at_once(array: WrittenPart) -> int:
    """Return the number of chunks to fetch at once from a distance."""
    return min(MOST, FETCHED // max(1, array.chunk_size * array.element))


def is_far(array: WrittenPart, store: Store) -> bool:
    """Return whether source or target are accessed over a network."""
    return store.distant or (array.source is not None and array.source.distant)


def cut_into_groups(items: Iterable[T], count: int) -> Iterator[tuple[T, ...]]:
    """Split items into groups of `count`, at least of one."""
    rest = iter(items)
    while group := tuple(islice(rest, max(1, count))):
        yield group


def _block_shape(array: WrittenPart, measure: TaskSize) -> tuple[int, ...] | None:
    """Return the block lengths of an array whose chunks change; None if keys are made one by one."""
    source = array.source
    if source is None or array.route not in ("rechunk", "transcode", "gather") or varies(array.unit):
        return None
    if not needs_window(source, array.target.layout.chunks):
        return None
    room = remaining_memory(measure.memory, measure.workers, array.decoded * TIMES) // array.element
    return block_shape(array.target.layout.shape, array.unit, reading_shape(source), room)
