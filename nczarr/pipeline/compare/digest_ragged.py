"""Hash of ragged values: lists, and records with strings or lists (docs/reference/digest.md, "Elements").

Leaves are stretches of cells. For each array of the type (arrays/values/parts.py), a
leaf hashes the elements of its cells, counts before content. So arrays are read
sequentially, some megabytes at a time, however long a list is. The start of the
next cells' content is the sum of counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from nczarr.arrays.execution.thread_pool import Crew, Task
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Selection, all_of, every_block, lengths_of, linear_block, region_of
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import Layout, Parts, itemsize
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types, is_fixed, part_tree, parts, size
from nczarr.ast.types import CompoundType, VlenType
from nczarr.pipeline.compare.difference import list_met_blocks
from nczarr.pipeline.compare.digest_values import BLOCK, TEXT, Hashed, ValueHasher, encode

if TYPE_CHECKING:
    from hashlib import _Hash


CELLS = 1 << 18
"""Cells processed at once; a library may have to reread as many for every piece of their content."""


def width(type_name: str, types: Types) -> int:
    """Return the nominal bytes of a value for cutting leaves: `TEXT` for each string and list."""
    declared = types.get(type_name)
    if isinstance(declared, VlenType) or type_name == "string":
        return TEXT
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        return sum(math.prod(field.shape) * width(field.type, types) for field in declared.fields)
    return size(type_name, types)


class RaggedHasher(ValueHasher):
    """Values of one variable of a variable-size type. Tasks run in the calling thread."""

    def __init__(self, sources: Parts, type_name: str, shape: tuple[int, ...], types: Types) -> None:
        """Begin; `leading` are the arrays with one element for each cell, unlike the contents of lists."""
        self.sources = sources
        self.type_name = type_name
        self.types = types
        self.leading = {path: source for path, source in sources.items() if "content" not in path.split("/")}
        self._ends: dict[str, int] = {}
        """By path of counts: where the content of the next cells begins."""
        super().__init__(shape, width(type_name, types))

    def tasks(self, crew: Crew, memory: int) -> Iterator[Task]:
        """Yield one task per region."""
        if self.empty:
            return
        room = max(1, min(CELLS, BLOCK // width(self.type_name, self.types)))
        block = _whole_leaves(self.shape, self.leaf, room)
        for index in self._list_occupied(block):
            yield Task(partial(self._hash_region, region_of(index, block, self.shape)), here=True)

    def _list_occupied(self, block: tuple[int, ...]) -> Iterator[Index]:
        """Yield blocks that may contain more than fill; only if fill has no content."""
        if self.scalar or self._fill_has_content():
            return every_block(self.shape, block)
        return list_met_blocks(self.leading.values(), block)

    def _fill_has_content(self) -> bool:
        counts = (source for path, source in self.leading.items() if path.rpartition("/")[2] == "counts")
        return any((source.layout.fill or b"").strip(b"\0") for source in counts)

    def _hash_region(self, region: Selection) -> Hashed:
        """Hash the leaves in a region, which is a linear range of cells."""
        cut = self.folding.cut
        inner = math.prod(self.shape[cut + 1 :])
        row = (region[cut].stop - region[cut].start) * inner
        rows = math.prod(lengths_of(region[:cut]))
        step = self.leaf[cut] * inner
        bounds = [first * row + at for first in range(rows) for at in range(0, row, step)] + [rows * row]
        hashers = [sha256() for _ in bounds[:-1]]
        self._hash_part(part_tree(self.type_name, self.types), () if self.scalar else region, bounds, hashers)
        return Hashed(self, b"".join(hasher.digest() for hasher in hashers), self.folding.places(region))

    def _hash_part(self, tree: PartTree, region: Selection | None, bounds: list[int], hashers: list[_Hash]) -> None:
        """Hash the values of a part of the type for all leaves.

        `region`: the cells, None: elements of content. `bounds`: start of each
        leaf's elements in the region or content, and the end of the last.
        """
        match tree:
            case ListTree():
                self._hash_sequences(tree, region, bounds, hashers)
            case RecordTree():
                for field, member in tree.members:
                    elements_per_cell = math.prod(field.shape)
                    inner = bounds if region is None else [bound * elements_per_cell for bound in bounds]
                    self._hash_part(member, region, inner, hashers)
            case PartLeaf():
                for number, values in self._read_pieces(tree.path, region, bounds):
                    hashers[number].update(encode(values))

    def _hash_sequences(
        self, tree: ListTree, region: Selection | None, bounds: list[int], hashers: list[_Hash]
    ) -> None:
        """Hash the counts of all leaves, then their content."""
        totals = [0] * len(hashers)
        for number, counts in self._read_pieces(tree.counts.path, region, bounds):
            hashers[number].update(encode(counts.astype("<i8", copy=False)))
            totals[number] += int(counts.sum())
        ends = list(accumulate(totals, initial=self._ends.get(tree.counts.path, 0)))
        self._ends[tree.counts.path] = ends[-1]
        self._hash_part(tree.content, None, ends, hashers)

    def _read_pieces(
        self, path: str, region: Selection | None, bounds: list[int]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the elements of one array in pieces, each with the number of its leaf.

        A piece has the layout's dtype; shape (elements,) for a region, else
        (elements, *inner shape).
        """
        source = self.sources[path]
        layout = source.layout
        if region is not None:
            whole = all_of(layout.shape[len(region) :])
            flat = source.read((*region, *whole)).reshape(-1)
            yield from _cut_at_leaves(flat, 0, bounds)
            return
        inner = layout.shape[1:]
        room = max(1, BLOCK // max(1, (itemsize(layout.dtype) or TEXT) * math.prod(inner)))
        for low in range(bounds[0], bounds[-1], room):
            high = min(low + room, bounds[-1])
            yield from _cut_at_leaves(source.read((slice(low, high), *all_of(inner))), low, bounds)

    def leaf_of_fill(self, count: int) -> bytes:
        """Return the hash of a leaf of `count` cells without content."""
        empty: Parts = {}
        for part in parts(self.type_name, (count,), self.types):
            layout = self.sources[part.path].layout
            shape = tuple(length or 0 for length in part.shape)
            empty[part.path] = fill_source(Layout(layout.dtype, shape, shape, fill=layout.fill))
        return leaf_of(empty, self.type_name, count, self.types)


def leaf_of(sources: Parts, type_name: str, count: int, types: Types) -> bytes:
    """Return the hash of one leaf: `count` cells of any type, from sources of that length."""
    hasher = sha256()
    tree = part_tree(type_name, types)
    RaggedHasher(sources, type_name, (count,), types)._hash_part(tree, (slice(0, count),), [0, count], [hasher])
    return hasher.digest()


def _whole_leaves(shape: tuple[int, ...], leaf: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the shape of linear ranges of whole leaves, at most `room` cells unless a leaf has more."""
    lengths = list(linear_block(shape, max(room, math.prod(leaf))))
    for axis, length in enumerate(lengths):
        if length < shape[axis]:
            lengths[axis] = max(leaf[axis], length // leaf[axis] * leaf[axis])
    return tuple(lengths)


def _cut_at_leaves(values: NDArray[Any], first: int, bounds: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Cut elements that begin at `first` at the ends of leaves, along their first dimension; keep the dtype.

    Yields the number of a leaf and its elements.
    """
    for number, (low, high) in enumerate(pairwise(bounds)):
        some = values[max(0, low - first) : max(0, high - first)]
        if len(some):
            yield number, some
