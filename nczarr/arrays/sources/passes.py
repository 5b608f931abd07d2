"""Passes that change the chunks of an array within a memory: one, or two with a scratch array between them.

In one pass a region of whole target chunks is read and then written. If the
memory holds few of them, each source chunk is decoded for many regions. In two
passes the source is read once, by blocks of its own chunks, into a scratch array
without codecs. Its chunks are the elementwise minimum of a block and a target
chunk, so that both passes touch each of them once (the rule of rechunker).
"""

import math
from typing import NamedTuple

from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.sources.windows import (
    TEXT,
    TIMES,
    block_shape,
    chunk_shape_of,
    count_decodings,
    needs_window,
    reading_shape,
    remaining_memory,
    slab_shape,
)
from nczarr.ast.rectilinear import varies, volume

WORTHWHILE = 1.5
"""Decoded bytes for each byte of values above which two passes cost less than one."""

WORTHWHILE_PAGED = 8
"""The same of values that are mapped, not decoded: each byte of scratch costs more than one of a mapped page."""

LEAST = 1 << 14
"""Bytes of a scratch chunk, unless a block is smaller: shorter ranges take longer to find than to read."""


class Scratch(NamedTuple):
    """Shape of a scratch array."""

    chunks: tuple[int, ...]
    """Lengths of its chunks."""
    block: tuple[int, ...]
    """Lengths of a block, which is read at once and is one file: whole chunks."""


class Budget(NamedTuple):
    """Memory of a run, and how a target takes its chunks."""

    memory: int
    """Bytes of pending values."""
    workers: int
    """Number of threads."""
    ordered: bool
    """True if the target needs its chunks in C order."""


class Passes(NamedTuple):
    """Cost of changing the chunks of one array."""

    size: int
    """Bytes of the values."""
    decodings: float
    """Decoded bytes of the source for each byte of values, in all passes as they are planned."""
    memory: int
    """Bytes of values in memory at once, at most."""
    scratch: Scratch | None
    """Array between two passes; None: one pass."""
    one_pass: float
    """The same as `decodings` if there was one pass."""

    @property
    def number(self) -> int:
        """Number of passes."""
        return 1 if self.scratch is None else 2

    @property
    def read(self) -> int:
        """Bytes of values that are read, from the source and from scratch."""
        return round(self.decodings * self.size) + self.scratch_size

    @property
    def written(self) -> int:
        """Bytes of values that are written, to scratch and to the target."""
        return self.size + self.scratch_size

    @property
    def scratch_size(self) -> int:
        """Bytes of the scratch array at most."""
        return 0 if self.scratch is None else self.size


def plan_passes(source: ArraySource, unit: tuple[int, ...], chunks: tuple[int, ...], budget: Budget) -> Passes:
    """Return how an array gets other chunks.

    `chunks`: lengths of a target chunk; `unit`: those of a key, a shard or a chunk.
    Values of unknown length and rectilinear grids take one pass.
    """
    shape, element = source.layout.shape, itemsize(source.layout.dtype) or TEXT
    size = math.prod(shape) * element
    decoded = _measure_decoded(source, chunks) * element
    alone = min(budget.memory, budget.workers * decoded * TIMES)
    if not size or not needs_window(source, chunks):
        decodings = 1.0 if source.viewed or chunk_shape_of(source) == chunks else count_decodings(source, chunks)
        return Passes(size, decodings, alone, None, decodings)
    room = remaining_memory(budget.memory, budget.workers, decoded * TIMES) // element
    region = slab_shape(source, chunks, room) if budget.ordered else None
    if not budget.ordered and not varies(unit):
        region = block_shape(shape, unit, reading_shape(source), room)
    decodings = count_decodings(source, region or chunks)
    in_one = Passes(size, decodings, min(budget.memory, volume(region or ()) * element + alone), None, decodings)
    if (
        decodings <= (WORTHWHILE_PAGED if source.paged else WORTHWHILE)
        or not itemsize(source.layout.dtype)
        or varies(chunks)
        or varies(reading_shape(source))
    ):
        return in_one
    scratch = shape_scratch(shape, reading_shape(source), chunks, element, room)
    if scratch is None or (staged := count_decodings(source, scratch.block)) >= decodings:
        return in_one
    memory = min(budget.memory, math.prod(map(min, scratch.block, shape)) * element + alone)
    return Passes(size, staged, memory, scratch, decodings)


def _measure_decoded(source: ArraySource, chunks: tuple[int, ...]) -> int:
    """Return the elements of the largest chunk that is decoded or encoded."""
    return volume(chunks) if source.viewed else max(volume(chunks), volume(chunk_shape_of(source)))


def shape_scratch(
    shape: tuple[int, ...], cells: tuple[int, ...], chunks: tuple[int, ...], element: int, room: int
) -> Scratch | None:
    """Return the shape of a scratch array between two grids, its blocks of at most `room` elements.

    None if a source chunk has more. A block grows where source chunks are shortest
    beside target chunks.

    >>> shape_scratch((400, 1500, 1500), (1, 1500, 1500), (400, 50, 50), 4, 40_000_000)
    Scratch(chunks=(17, 50, 50), block=(17, 1500, 1500))
    """
    lengths = [min(cell, extent) for cell, extent in zip(cells, shape, strict=True)]
    ends = [min(chunk, extent) for chunk, extent in zip(chunks, shape, strict=True)]
    if math.prod(lengths) > room:
        return None
    open_axes = {axis for axis in range(len(shape)) if lengths[axis] < ends[axis]}
    while open_axes:
        axis = max(open_axes, key=lambda candidate: (ends[candidate] / lengths[candidate], candidate))
        most = room * lengths[axis] // math.prod(lengths)
        lengths[axis] = _grow(shape[axis], min(cells[axis], shape[axis]), ends[axis], most)
        open_axes.discard(axis)
    fitted = [
        _fit_lengths(length, end, min(cell, extent), extent)
        for length, end, cell, extent in zip(lengths, ends, cells, shape, strict=True)
    ]
    scratch_chunks = _lengthen([chunk for chunk, _ in fitted], [block for _, block in fitted], LEAST // element)
    return Scratch(scratch_chunks, tuple(block for _, block in fitted))


def _grow(extent: int, cell: int, end: int, most: int) -> int:
    """Return a length of whole cells up to `most`, at least `end` if there is room; even shares of the extent."""
    count, cells = -(-extent // cell), max(1, min(most // cell, -(-end // cell)))
    shares = -(-count // cells)
    return min(extent, -(-count // shares) * cell)


def _fit_lengths(length: int, end: int, cell: int, extent: int) -> tuple[int, int]:
    """Return the lengths of chunk and block along an axis: a block has whole chunks, and whole cells or all of it."""
    if length <= end:
        return length, length
    if length >= extent:
        return end, -(-extent // end) * end
    common = math.lcm(cell, end)
    if common <= length:
        return end, length // common * common
    return max(part for part in range(1, end + 1) if length % part == 0), length


def _lengthen(chunks: list[int], block: list[int], cells: int) -> tuple[int, ...]:
    """Lengthen chunks of few cells, along the last axes first, by whole multiples that divide the block."""
    for axis in range(len(chunks) - 1, -1, -1):
        times = block[axis] // chunks[axis]
        least = -(-cells // math.prod(chunks))
        divisors = [part for part in range(1, times + 1) if times % part == 0]
        chunks[axis] *= next((part for part in divisors if part >= least), times)
    return tuple(chunks)
