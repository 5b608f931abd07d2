"""Hash tree over the values of one variable (docs/reference/digest.md, "Values").

Leaves are boxes of whole inner dimensions, hashed separately; their hashes are
combined along each dimension, `FAN` at a time. `Folding` accepts hashes by
region in C order, and stores only the ends of incomplete lists. Missing regions
are fill; its subtrees are computed once per level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from hashlib import sha256

from nczarr.arrays.regions import Index, Selection, chunk_ranges, grid_of, linear_block

LEAF = 1 << 16
"""Bytes of a leaf, unless one value is larger."""

FAN = 256
"""Hashes combined at once."""

SIZE = 32
"""Bytes of a hash."""


def leaf_shape(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return the shape of leaves for elements of `width` nominal bytes."""
    return linear_block(shape, max(1, LEAF // max(1, width)))


class HashTree:
    """Incremental hash of a list of hashes: `FAN` at a time are hashed until one is left."""

    def __init__(self) -> None:
        self.count = 0
        self._levels: list[bytearray] = [bytearray()]

    def add(self, digest: bytes) -> None:
        """Append one hash."""
        self.count += 1
        self._push(0, digest)

    def add_same(self, digest: bytes, number: int) -> None:
        """Append a hash `number` times, in logarithmic time."""
        self.count += number
        self._push_same(0, digest, number)

    def _push_same(self, level: int, digest: bytes, number: int) -> None:
        begun = len(self._levels[level]) // SIZE if level < len(self._levels) else 0
        for _ in range(min(number, -begun % FAN)):  # to the end of the group that has been begun
            self._push(level, digest)
            number -= 1
        groups, rest = divmod(number, FAN)
        if groups:
            self._push_same(level + 1, sha256(digest * FAN).digest(), groups)
        for _ in range(rest):
            self._push(level, digest)

    def _push(self, level: int, digest: bytes) -> None:
        while level >= len(self._levels):
            self._levels.append(bytearray())
        pending = self._levels[level]
        pending += digest
        if len(pending) == FAN * SIZE:
            self._levels[level] = bytearray()
            self._push(level + 1, sha256(pending).digest())

    def root(self) -> bytes:
        """Return the hash of the list, or the only hash. Nothing can be appended afterwards."""
        level = 0
        while True:
            pending = self._levels[level]
            if len(pending) == SIZE and not any(self._levels[level + 1 :]):
                return bytes(pending)
            if pending:
                self._push(level + 1, sha256(pending).digest())
            level += 1


class Folding:
    """Root of a hash tree; `fill(count)` hashes a fill leaf; `shape` is not empty and has no length 0."""

    def __init__(self, shape: tuple[int, ...], leaf: tuple[int, ...], fill: Callable[[int], bytes]) -> None:
        self.grid = grid_of(shape, leaf)
        self.cut = max((axis for axis, number in enumerate(self.grid) if number > 1), default=0)
        """The dimension along which leaves are cut; later ones are whole in each."""
        within = math.prod(leaf[self.cut + 1 :])
        self._sizes = leaf[self.cut] * within, (shape[self.cut] - (self.grid[self.cut] - 1) * leaf[self.cut]) * within
        self._leaf = leaf
        self._fill = fill
        self._fills: dict[int, bytes] = {}
        self._open: list[dict[Index, HashTree]] = [{} for _ in range(self.cut + 1)]
        """Lists that are not complete, by their places; those of places of one length together."""
        self._last: tuple[range, ...] | None = None

    def places(self, region: Selection) -> tuple[range, ...]:
        """Return the grid places of the leaves in a region, along the dimensions up to the cut."""
        return tuple(chunk_ranges(self._leaf[: self.cut + 1], region[: self.cut + 1]))

    def put(self, places: tuple[range, ...], hashes: bytes) -> None:
        """Add the hashes of leaves at these grid places, up to the cut, in C order.

        Boxes are in C order; those that share a place along a dimension have
        the same range there.
        """
        if self._last is not None:
            pairs = enumerate(zip(places, self._last, strict=True))
            self._close(next((axis for axis, (new, old) in pairs if new != old), self.cut))
        self._last = places
        at = 0
        for index in itertools.product(*places[:-1]):
            listing = self._listing(index)
            self._pad(listing, self.cut, places[-1].start)
            for _ in places[-1]:
                listing.add(hashes[at : at + SIZE])
                at += SIZE

    def root(self) -> bytes:
        """Return the hash of the array."""
        self._close(0)
        top = self._listing(())
        self._pad(top, 0, self.grid[0])
        return top.root()

    def _listing(self, index: Index) -> HashTree:
        lists = self._open[len(index)]
        if index not in lists:
            lists[index] = HashTree()
        return lists[index]

    def _close(self, axis: int) -> None:
        """Complete the lists deeper than the first `axis` dimensions."""
        for depth in range(self.cut, axis, -1):
            for index, listing in sorted(self._open[depth].items()):
                self._pad(listing, depth, self.grid[depth])
                above = self._listing(index[:-1])
                self._pad(above, depth - 1, index[-1])
                above.add(listing.root())
            self._open[depth].clear()

    def _pad(self, listing: HashTree, axis: int, until: int) -> None:
        """Append fill along a dimension."""
        missing = until - listing.count
        if missing <= 0:
            return
        if axis < self.cut:
            listing.add_same(self._of_fill(axis + 1), missing)
            return
        if until == self.grid[axis]:
            missing -= 1
        if missing:
            listing.add_same(self._leaf_of_fill(0), missing)
        if until == self.grid[axis]:
            listing.add(self._leaf_of_fill(1))

    def _leaf_of_fill(self, which: int) -> bytes:
        """Return the hash of a leaf of fill; `which` 0: a whole one, 1: the last along the cut."""
        count = self._sizes[which]
        if -count not in self._fills:
            self._fills[-count] = self._fill(count)
        return self._fills[-count]

    def _of_fill(self, depth: int) -> bytes:
        """Return the hash of a fill subtree at `depth` dimensions."""
        if depth not in self._fills:
            listing = HashTree()
            self._pad(listing, depth, self.grid[depth])
            self._fills[depth] = listing.root()
        return self._fills[depth]
