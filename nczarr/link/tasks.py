"""Tasks: the keys of one part, chunks or shards, as independent pieces of work, each a plain description.

An array is described once; a task names it by its number among the arrays of the plan. Both can be pickled, so that a
task may be done wherever source and target are in reach.

Invariant: enumerating tasks takes time in proportion to what is stored, never to the declared shape: a sparse
array's chunks come from the source's own `occupied`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from nczarr.arrays.blocks import Index, Selection, every_block, region_of
from nczarr.arrays.counts import Route
from nczarr.arrays.route import grid
from nczarr.arrays.source import ArraySource, itemsize
from nczarr.capabilities import ChunkKeys
from nczarr.link.route import route
from nczarr.plan.plans import StorePlan, Target

TEXT = 64
"""Bytes that a text takes in memory, about, where its length is not known."""


class Array(NamedTuple):
    """One part on its way; no source means nothing but fill.

    `only`: the keys to be made, if not all. `path` and `part` name it for people.
    """

    path: str
    part: str
    chunk_keys: ChunkKeys
    target: Target
    source: ArraySource | None
    route: Route
    only: tuple[Index, ...] | None = None

    def key(self, index: Index) -> str:
        """The key of a chunk or shard."""
        return self.chunk_keys.key(index)

    @property
    def unit(self) -> tuple[int, ...]:
        """The lengths of what lies in one key: of a shard, or a chunk."""
        return self.target.layout.shards or self.target.layout.chunks

    def indices(self) -> Iterator[Index]:
        """The keys to make, chunks or shards, in C order."""
        if self.only is not None:
            return iter(self.only)
        layout = self.target.layout
        if self.target.sparse and self.source is not None:
            return self.source.occupied(self.unit)
        return every_block(layout.shape, self.unit)

    def region(self, index: Index) -> Selection:
        """The part of the array that a chunk covers; an edge chunk's is shorter than the chunk."""
        layout = self.target.layout
        return region_of(index, layout.chunks, layout.shape)

    @property
    def chunk_size(self) -> int:
        """Elements of one chunk."""
        return math.prod(self.target.layout.chunks)

    @property
    def element(self) -> int:
        """Bytes of an element in memory, about."""
        return itemsize(self.target.layout.dtype) or TEXT

    @property
    def decoded(self) -> int:
        """Bytes of the largest chunk that is decoded on the way, of source or target; 0 where none is."""
        if self.route in ("nothing", "reference", "copy"):
            return 0
        own = self.chunk_size
        if self.source is not None and self.route in ("transcode", "rechunk") and not self.source.viewed:
            own = max(own, math.prod(grid(self.source)))
        return own * self.element


class Keys(NamedTuple):
    """Some keys of an array, each to be made on its own."""

    array: int
    indices: tuple[Index, ...]


class Block(NamedTuple):
    """Some keys of an array, to be made of one region of it that is read first (`rechunk`)."""

    array: int
    region: Selection
    indices: tuple[Index, ...]


Task: TypeAlias = Keys | Block


def arrays(plan: StorePlan) -> Iterator[Array]:
    """Every part that has chunks to be made, in the order of the plan."""
    capabilities = plan.form.capabilities
    assert capabilities.arrays is not None
    for path, targets in plan.targets.items():
        sources = plan.parts.get(path, {})
        for part, target in targets.items():
            source = sources.get(part)
            way = route(source, target, by_reference=capabilities.arrays.by_reference)
            if way == "nothing":
                continue
            yield Array(path, part, plan.chunk_keys(path, part), target, source, way)
