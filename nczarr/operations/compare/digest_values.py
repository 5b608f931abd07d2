"""Hash of a variable's values in one array: fixed-size types, or strings.

Tasks read and hash regions of whole leaves. If chunks must be decoded, regions
follow the chunk grid as far as memory allows, so that each is decoded about
once. A region too large for one task is first read in pieces. Unstored regions
are not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from nczarr.arrays.execution.thread_pool import BARRIER, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, lengths_of, region_of
from nczarr.arrays.sources import windows
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, itemsize, little
from nczarr.arrays.sources.windows import grid
from nczarr.ast.rectilinear import largest, volume
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.operations.compare.digest_tree import Folding, leaf_shape

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
        return sha256(encoded(fill_array(self.source.layout, (count,)))).digest()

    def tasks(self, crew: Crew, memory: int) -> Iterator[Task]:
        """Yield one task per region, or, for large ones, tasks that read and tasks that hash.

        Raises CompileError with `oversized-chunk` if a chunk exceeds the
        memory.
        """
        if self.empty:
            return
        cells = None if self.scalar else decoded_in(self.source)
        if cells is not None and volume(cells) * self.element > memory:
            self._oversized(volume(cells) * self.element, memory)
        block = region_shape(self.shape, self.leaf, None if cells is None else largest(cells), self.element, memory)
        size = math.prod(block) * self.element
        here = math.prod(self.shape) * self.element <= SMALL and not self.source.distant
        occupied = self.source.occupied(() if self.scalar else block)
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
        values = self.source.fetched([selection]).read(selection).reshape(lengths_of(region))
        return Hashed(self, self._hashes(values), self.folding.places(region))

    def _in_pieces(
        self, region: Selection, cells: tuple[int, ...], workers: int, most: int = windows.PIECE
    ) -> Iterator[Task]:
        """Read a region by chunks, about `most` bytes per task, then hash it, both in threads."""
        yield BARRIER  # the region before it is given back
        window = windows.window(self.source.layout, region)
        chunk = max(volume(cells) * self.element, windows.PIECE)
        need = 2 * TIMES * chunk  # of half the memory: the region has the other
        for batch in windows.along(region, cells, self.element, most):
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
                data = encoded(flat[low:high]) if view is None else view[low * width : high * width]
                hashes.append(sha256(data).digest())
        return b"".join(hashes)

    def _oversized(self, size: int, memory: int) -> NoReturn:
        text = f"variable `{self.name}`: a chunk of {size} bytes must be decoded, and the limit is {memory}"
        helps = ("raise the limit with `--memory`",)
        raise CompileError([Diagnostic("oversized-chunk", Severity.ERROR, text, helps=helps)])


def encoded(values: NDArray[Any]) -> bytes:
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


def decoded_in(source: ArraySource) -> tuple[int, ...] | None:
    """Return the chunk shape for decoding; None if regions cost only their size."""
    if source.viewed:
        return None
    return tuple(max(1, length) for length in grid(source))


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
    elif chunk % leaf == 0:
        lengths_of_leaves = chunk
    else:
        lengths_of_leaves = -(-max(leaf, 8 * chunk) // leaf) * leaf
    return min(lengths_of_leaves, length)
