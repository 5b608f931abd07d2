"""Hash of a variable's values in one array (docs/reference/digest.md, "Values"): fixed-size types, or strings.

Leaves are boxes of whole inner dimensions, hashed separately; their hashes are
combined along each dimension, `FAN` at a time. `Folding` accepts hashes by
region in C order, and stores only the ends of incomplete lists. Missing regions
are fill; its subtrees are computed once per level.

Tasks read and hash regions of whole leaves. If chunks must be decoded, regions
follow the chunk grid as far as memory allows, so that each is decoded about
once. A region too large for one task is first read in pieces. Unstored regions
are not read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from nczarr.arrays.execution.thread_pool import BARRIER, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, chunk_ranges, grid_of, lengths_of, linear_block, region_of
from nczarr.arrays.sources import windows
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, itemsize, little
from nczarr.arrays.sources.windows import chunk_shape_of
from nczarr.ast.rectilinear import largest, volume
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity

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
        """Append a hash `number` times: complete groups of `FAN` are hashed once for the level above."""
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
        """Append a hash to a level; a complete group is hashed and moves to the level above."""
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
        """Divide an array into leaves, which are numbered in C order; `fill` returns the bytes of a leaf of fill."""
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


BLOCK = 8 << 20
"""Bytes read by a task, if leaves and chunks allow it."""

WHOLE = 32 << 20
"""Maximum bytes of a region whose chunks one thread decodes."""

SMALL = 1 << 18
"""Bytes of values below which a thread costs more than it saves."""

TIMES = 3
"""Memory of a task, in regions: chunks in transfer, the region, and a copy in another byte order."""

TEXT = 16
"""Nominal bytes of a string or list for cutting leaves."""

HELD = 128
"""Assumed bytes of a string in memory."""

LENGTH = 8
"""Bytes of a string's length prefix, signed and little-endian; -1: NIL."""


class Hashed(NamedTuple):
    """Hashes of leaves in C order."""

    owner: ValueHasher
    """Values that were hashed."""
    hashes: bytes
    """The hashes, one after the other."""
    places: tuple[range, ...] | None
    """Box of the grid that they complete; None: more hashes follow."""


class ValueHasher:
    """Hasher of one variable: tasks, whose results it takes in order, and a final hash. A scalar has one element.

    `width`: nominal bytes of a value for cutting leaves.
    """

    def __init__(self, shape: tuple[int, ...], width: int) -> None:
        """Begin; `width`: bytes of an element. A scalar is an array of one element."""
        self.scalar = not shape
        self.shape = shape or (1,)
        self.leaf = leaf_shape(self.shape, width)
        self.empty = 0 in shape
        self._pending = bytearray()
        if not self.empty:
            self.folding = Folding(self.shape, self.leaf, self.leaf_of_fill)

    def leaf_of_fill(self, count: int) -> bytes:
        """Return the hash of a leaf of `count` unwritten cells."""
        raise NotImplementedError

    def tasks(self, crew: Crew, memory: int) -> Iterator[Task]:
        """Yield tasks that return `Hashed` or None; none for values without data."""
        yield from ()

    def take(self, hashed: Hashed) -> None:
        """Add the result of a task."""
        self._pending += hashed.hashes
        if hashed.places is not None:
            self.folding.put(hashed.places, bytes(self._pending))
            self._pending.clear()

    def root(self) -> bytes:
        """Return the hash of all values, after all results."""
        return sha256().digest() if self.empty else self.folding.root()


class Dense(ValueHasher):
    """Values of one array. `name` is for messages."""

    def __init__(self, source: ArraySource, shape: tuple[int, ...], name: str) -> None:
        self.source = source
        self.name = name
        self.element = itemsize(source.layout.dtype) or HELD
        super().__init__(shape, itemsize(source.layout.dtype) or TEXT)

    def leaf_of_fill(self, count: int) -> bytes:
        """Return the hash of a leaf of fill."""
        return sha256(encode(fill_array(self.source.layout, (count,)))).digest()

    def tasks(self, crew: Crew, memory: int) -> Iterator[Task]:
        """Yield one task per region, or, for large ones, tasks that read and tasks that hash.

        Raises CompileError with `oversized-chunk` if a chunk exceeds the
        memory.
        """
        if self.empty:
            return
        cells = None if self.scalar else choose_decoding_chunk(self.source)
        if cells is not None and volume(cells) * self.element > memory:
            if next(iter(self.source.list_occupied(cells)), None) is None:
                return  # all leaves are fill
            self._refuse_size(volume(cells) * self.element, memory)
        block = region_shape(self.shape, self.leaf, None if cells is None else largest(cells), self.element, memory)
        size = math.prod(block) * self.element
        here = math.prod(self.shape) * self.element <= SMALL and not self.source.distant
        occupied = self.source.list_occupied(() if self.scalar else block)
        apart = self.source.distant and self.source.together is None  # each chunk is a request, many are under way
        for index in occupied:
            region = region_of(index or (0,), block, self.shape)
            if cells is not None and apart and math.prod(block) > volume(cells):
                yield from self._in_pieces(region, cells, crew.workers, 0)
            elif cells is not None and size > BLOCK and (size > WHOLE or size * TIMES * crew.workers > memory):
                yield from self._in_pieces(region, cells, crew.workers)
            else:
                yield Task(partial(self._whole, region), size * TIMES, here)

    def _whole(self, region: Selection) -> Hashed:
        """Read and hash a region."""
        selection = () if self.scalar else region
        values = self.source.prefetch([selection]).read(selection).reshape(lengths_of(region))
        return Hashed(self, self._hashes(values), self.folding.places(region))

    def _in_pieces(
        self, region: Selection, cells: tuple[int, ...], workers: int, most: int = windows.PIECE
    ) -> Iterator[Task]:
        """Read a region by chunks, about `most` bytes per task, then hash it, both in threads."""
        yield BARRIER  # the region before it is given back
        window = windows.window(self.source.layout, region)
        chunk = max(volume(cells) * self.element, windows.PIECE)
        need = 2 * TIMES * chunk  # of half the memory: the region has the other
        for batch in windows.cut_groups(region, cells, self.element, most):
            yield Task(partial(window.fill, self.source, batch), need)
        yield BARRIER
        room = window.values
        rows = next((axis for axis, part in enumerate(region) if part.stop - part.start > 1), 0)
        step = self.leaf[rows] * max(1, -(-room.shape[rows] // (self.leaf[rows] * workers * 2)))
        if rows > self.folding.cut:
            step = room.shape[rows]
        for low in range(0, room.shape[rows], step):
            part = room[(slice(None),) * rows + (slice(low, low + step),)]
            last = low + step >= room.shape[rows]
            yield Task(partial(self._part, part, self.folding.places(region) if last else None))
        del room, window

    def _part(self, values: NDArray[Any], places: tuple[range, ...] | None) -> Hashed:
        return Hashed(self, self._hashes(values), places)

    def _hashes(self, values: NDArray[Any]) -> bytes:
        """Return the concatenated hashes of the leaves of a region, 32 bytes each.

        `values`: the region, or a part of it along its first dimension whose
        length is not 1; the layout's dtype.
        """
        cut, hashes = self.folding.cut, []
        inner = math.prod(values.shape[cut + 1 :])
        row, step = values.shape[cut] * inner, self.leaf[cut] * inner
        flat = np.ascontiguousarray(little(values)).reshape(-1)
        width = flat.dtype.itemsize
        view = None if flat.dtype.hasobject else flat.view(np.uint8).data
        for start in range(0, flat.size, row):
            for low in range(start, start + row, step):
                high = min(low + step, start + row)
                data = encode(flat[low:high]) if view is None else view[low * width : high * width]
                hashes.append(sha256(data).digest())
        return b"".join(hashes)

    def _refuse_size(self, size: int, memory: int) -> NoReturn:
        text = f"variable `{self.name}`: a chunk of {size} bytes must be decoded, and the limit is {memory}"
        helps = ("raise the limit with `--memory`",)
        raise CompileError([Diagnostic("oversized-chunk", Severity.ERROR, text, helps=helps)])


def encode(values: NDArray[Any]) -> bytes:
    """Return elements of an array (any shape) in C order, as hashed.

    Fixed-size dtypes are packed and little-endian; strings have length
    prefixes.
    """
    if not values.dtype.hasobject:
        return little(values).tobytes()
    pieces: list[bytes] = []
    for text in values.reshape(-1).tolist():
        if text is None:
            pieces.append(_NIL)
        else:
            pieces += (len(text).to_bytes(LENGTH, "little"), text)
    return b"".join(pieces)


_NIL = b"\xff" * LENGTH


def choose_decoding_chunk(source: ArraySource) -> tuple[int, ...] | None:
    """Return the chunk shape for decoding; None if regions cost only their size."""
    return None if source.viewed else tuple(max(1, length) for length in chunk_shape_of(source))


def region_shape(
    shape: tuple[int, ...], leaf: tuple[int, ...], cells: tuple[int, ...] | None, element: int, memory: int
) -> tuple[int, ...]:
    """Return the shape of regions to read: whole leaves, and whole chunks up to half the memory."""
    lengths = list(leaf)
    cut = max((axis for axis, length in enumerate(leaf) if length < shape[axis]), default=0)
    if cells is not None:
        for axis in range(cut):
            lengths[axis] = min(cells[axis], shape[axis])
        lengths[cut] = _multiple(leaf[cut], cells[cut], shape[cut])
        room = memory // 2 // element
        if math.prod(lengths) > room:
            block = windows.block_shape(shape, leaf, cells, room)
            return leaf if block is None else block
    for axis in range(cut, -1, -1):
        most = max(1, BLOCK // (math.prod(lengths) * element))
        lengths[axis] = min(lengths[axis] * most, shape[axis])
        if lengths[axis] < shape[axis]:
            break
    return tuple(lengths)


def _multiple(leaf: int, chunk: int, length: int) -> int:
    """Return a length of whole leaves that cuts few chunks: each once, or every eighth twice."""
    if leaf % chunk == 0 or chunk >= length:
        lengths_of_leaves = leaf if chunk < length else length
    else:
        lengths_of_leaves = chunk if chunk % leaf == 0 else -(-max(leaf, 8 * chunk) // leaf) * leaf
    return min(lengths_of_leaves, length)
