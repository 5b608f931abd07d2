"""Windows: array regions in memory, read so that chunks are rarely decoded twice; routes of chunks to a target.

A block consists of whole target keys. Threads fill its window by source chunks;
then its keys are made from memory. The larger the blocks, the fewer source
chunks are decoded repeatedly.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, groupby, islice
from operator import floordiv

from nczarr.arrays.codecs.chain import same_bytes
from nczarr.arrays.execution.counts import Route
from nczarr.arrays.execution.thread_pool import Task, limit
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import (
    Index,
    Selection,
    bounding,
    cut_along,
    grid_of,
    index_of,
    lengths_of,
    linear_block,
    number_of,
    repeat_chunks,
)
from nczarr.arrays.sources.memory import Window, fill_array
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Stored, itemsize, numpy_dtype
from nczarr.arrays.values.elements import field_of, model_dtype
from nczarr.ast.rectilinear import largest, varies, volume


def matches(stored: Stored | None, layout: Layout) -> bool:
    """Return whether a source's encoded chunk is a valid chunk of this layout."""
    return (
        stored is not None
        and not _lies_otherwise(layout)
        and stored.chunks == layout.chunks
        and plain(stored.dtype) == plain(layout.dtype)
        and same_bytes(stored.codecs, layout.codecs, itemsize(layout.dtype))
    )


def _lies_otherwise(layout: Layout) -> bool:
    """Return whether a chunk's bytes are not its elements in C order."""
    return layout.order == "F" and sum(length > 1 for length in layout.chunks) > 1


def plain(dtype: Descr) -> Descr:
    """Return the dtype without meaningless byte order; booleans and complex numbers become bytes and parts.

    So do the fields of records: dtypes of equal bytes are equal.
    """
    if isinstance(dtype, str) and dtype[1] in "bc":
        dtype = model_dtype(dtype)
    if not isinstance(dtype, str):
        parts = ((name, shape, *field_of(field)) for name, field, shape in dtype)
        return tuple((name, plain(inner), (*shape, *length)) for name, shape, inner, length in parts)
    if isinstance(dtype, str) and (dtype[1] in "SVO" or dtype[2:] == "1"):
        return "|" + dtype[1:]
    return dtype


def choose_route(source: ArraySource, layout: Layout) -> Route:
    """Return the route from a source to a target of this layout."""
    stored = source.stored
    if matches(stored, layout):
        return "copy"
    if stored is not None and not stored.codecs:
        alike = plain(stored.dtype) == plain(layout.dtype) and not _lies_otherwise(layout)
        return "gather" if not layout.codecs and alike else "transcode"
    if source.viewed:
        return "encode"
    return "transcode" if chunk_shape_of(source) == layout.chunks else "rechunk"


def chunk_shape_of(source: ArraySource) -> tuple[int, ...]:
    """Return the chunk shape in which a source is decoded."""
    return source.layout.chunks if source.stored is None else source.stored.chunks


PAGES = 1 << 16
"""Bytes that the system maps at once around a byte of a file."""


def reading_shape(source: ArraySource) -> tuple[int, ...]:
    """Return the shape in which a source is read: its chunks, or rows of as many bytes as the system maps at once."""
    if not source.paged:
        return chunk_shape_of(source)
    shape = source.layout.shape
    row = linear_block(shape[1:], max(1, PAGES // (itemsize(source.layout.dtype) or TEXT)))
    return (1, *row) if shape else ()


PIECE = 1 << 20
"""Bytes that one task reads into a window, unless a source chunk is larger."""

FETCHED = 8 << 20
"""Decoded bytes of adjacent chunks fetched from a distance at once."""

TIMES = 4
"""Memory of decoding and encoding, in chunks: encoded and decoded, of both sides."""

TEXT = 64
"""Estimated bytes of a text in memory if its length is unknown."""

WORTHWHILE = 16 << 20
"""Bytes of a slab that is not made longer without need."""


def block_shape(
    shape: tuple[int, ...], unit: tuple[int, ...], cells: tuple[int, ...], room: int
) -> tuple[int, ...] | None:
    """Return block lengths in whole target units, at most `room` elements; None if one unit has more.

    The axis that cuts source chunks most often grows first; the final lengths
    are even shares.
    """
    if math.prod(min(length, max(1, extent)) for length, extent in zip(unit, shape, strict=True)) > room:
        return None
    counts = [max(1, count) for count in grid_of(shape, unit)]
    block = [1] * len(shape)

    def taken(axis: int, units: int) -> int:
        """Return the elements of a block of so many units along this axis."""
        units_along = [*block[:axis], units, *block[axis + 1 :]]
        each_axis = zip(units_along, unit, shape, strict=True)
        return math.prod(min(number * length, max(1, extent)) for number, length, extent in each_axis)

    def waste(axis: int) -> float:
        """Estimate the decodings per source chunk caused by this axis."""
        length = min(block[axis] * unit[axis], shape[axis])
        return 1.0 if block[axis] >= counts[axis] else (length + int(cells[axis]) - 1) / length

    open_axes = {axis for axis in range(len(shape)) if block[axis] < counts[axis]}
    while open_axes:
        axis = max(open_axes, key=lambda candidate: (waste(candidate), candidate))
        if waste(axis) <= 1.0:
            break
        more = range(block[axis] + 1, counts[axis] + 1)
        most = block[axis] + bisect_right(more, room, key=partial(taken, axis))  # units that there is room for
        shares = -(-counts[axis] // most)
        block[axis] = -(-counts[axis] // shares)
        open_axes.discard(axis)
    each_axis = zip(block, unit, shape, strict=True)
    return tuple(min(number * length, max(1, extent)) for number, length, extent in each_axis)


def remaining_memory(memory: int, workers: int, chunks: int) -> int:
    """Return the bytes for a window while threads hold `chunks` bytes each to decode and encode."""
    return max(memory // 2, memory - max(memory // 16, workers * chunks))


def slab_shape(source: ArraySource, unit: tuple[int, ...], room: int) -> tuple[int, ...] | None:
    """Return the lengths of linear ranges of whole target chunks, at most `room` elements.

    None: they decode no source chunk less often than target chunks do, or one
    target chunk has more elements. Unlike blocks, slabs keep the target chunks
    in C order.
    """
    shape = source.layout.shape
    if math.prod(unit) > room or not shape:
        return None
    counts = linear_block(grid_of(shape, unit), room // math.prod(unit))
    cut = max((axis for axis, count in enumerate(counts) if count > 1), default=0)
    row = math.prod(unit) * math.prod(counts[cut + 1 :]) * (itemsize(source.layout.dtype) or TEXT)
    period = math.lcm(_cells(source)[cut], unit[cut]) // unit[cut]
    shorter = max(period, WORTHWHILE // row // period * period)
    slabs = [
        tuple(min(count * unit_length, length) for count, unit_length, length in zip(units, unit, shape, strict=True))
        for units in (counts, (*counts[:cut], min(shorter, counts[cut]), *counts[cut + 1 :]))
    ]
    slab = min(reversed(slabs), key=partial(count_decodings, source))
    return slab if count_decodings(source, slab) < count_decodings(source, unit) else None


def slabs(
    source: ArraySource, unit: tuple[int, ...], slab: tuple[int, ...], indices: Iterator[Index]
) -> Iterator[tuple[Selection, Iterator[Index]]]:
    """Yield the bounding regions of target chunks in C order, by slab, each with its chunks."""
    shape = source.layout.shape
    per_slab = grid_of(slab, unit)
    for _, group in groupby(indices, lambda index: tuple(map(floordiv, index, per_slab))):
        keys = tuple(group)
        yield bounding(keys, unit, shape), iter(keys)


def _cells(source: ArraySource) -> tuple[int, ...]:
    """Return the chunk shape in which a source is decoded, of at least one element."""
    return tuple(max(1, length) for length in largest(reading_shape(source)))


PLAIN = 1.5
"""Reads of an unencoded source chunk that cost less than a window."""


def needs_window(source: ArraySource, chunks: tuple[int, ...]) -> bool:
    """Return whether target chunks of this shape that are made one by one read source chunks too often."""
    if source.paged:
        return count_decodings(source, chunks) > PLAIN
    if source.viewed or chunk_shape_of(source) == chunks:
        return False
    plain = source.stored is not None and not source.stored.codecs
    if source.distant or source.deferred is not None:
        return not plain
    return count_decodings(source, chunks) > (PLAIN if plain else 1.0)


def count_decodings(source: ArraySource, lengths: tuple[int, ...]) -> float:
    """Return how often a source chunk is decoded on average if regions of these lengths are read one by one."""
    times = 1.0
    blocks = None if source.deferred is None else source.deferred.array.chunks
    for axis, (length, region_length, cell) in enumerate(
        zip(source.layout.shape, lengths, _cells(source), strict=True)
    ):
        if blocks is None:
            count, common = -(-length // cell), (length - 1) // math.lcm(cell, region_length)
        else:
            ends = list(accumulate(filter(None, blocks[axis])))
            count, common = len(ends), sum(end % region_length == 0 for end in ends[:-1])
        times *= (count + (length - 1) // region_length - common) / max(1, count)
    return times


def blocks(
    shape: tuple[int, ...], unit: tuple[int, ...], block: tuple[int, ...], indices: Iterator[Index]
) -> Iterator[tuple[Selection, tuple[Index, ...]]]:
    """Yield the regions of the keys to make, in C order, each with its keys in C order and without more elements.

    `unit`: shape of a key. `block`: region lengths, whole units or the array's.
    `indices`: the keys in C order.
    """
    counts, per_block = grid_of(shape, unit), grid_of(block, unit)
    steps = [math.prod(counts[axis + 1 :]) for axis in range(len(counts))]
    keys = np.fromiter((number_of(index, counts) for index in indices), np.int64)
    places = np.zeros(len(keys), np.int64)
    for axis, step in enumerate(steps):
        blocks_along = -(-counts[axis] // per_block[axis])
        places = places * blocks_along + keys // step % counts[axis] // per_block[axis]
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order])) + 1
    for group in np.split(keys[order], ends):
        if not len(group):
            continue
        indices_of_keys = tuple(index_of(key, counts) for key in group.tolist())
        yield bounding(indices_of_keys, unit, shape), indices_of_keys


def cut_groups(region: Selection, cells: tuple[int, ...], element: int, most: int = PIECE) -> Iterator[list[Selection]]:
    """Cut a region along chunks of these lengths, in groups of about `most` bytes, at least one chunk.

    Small chunks of a group are one region, which is read at once.
    """
    batch: list[Selection] = []
    size = 0
    for piece in cut_along(region, repeat_chunks(cells, lengths_of(region), most // max(1, element))):
        batch.append(piece)
        size += math.prod(lengths_of(piece)) * element
        if size >= most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def list_fill_tasks(window: Window, source: ArraySource, workers: int, memory: int) -> Iterator[Task]:
    """Yield the tasks that read a window's region, by source chunks. The rest of a sparse region becomes fill here.

    The blocks of computed values have any lengths, so one task reads all of them.
    """
    element = itemsize(source.layout.dtype) or TEXT
    if source.deferred is not None:
        yield Task(partial(_fill_at_once, window, source, workers, memory), here=True)
        return
    cells = reading_shape(source)
    most = PIECE
    if source.distant:
        most = FETCHED if source.together is not None else 0
    need = max(volume(cells) * element, PIECE) * TIMES + (most if source.distant else 0)
    stored = _find_stored_parts(source, window.region, cells)
    if stored is None:
        pieces = cut_groups(window.region, cells, element, most)
    else:
        window.values[...] = fill_array(window.layout, ())
        count = max(1, most // max(1, volume(cells) * element))
        pieces = (stored[start : start + count] for start in range(0, len(stored), count))
    for selections in pieces:
        yield Task(partial(window.fill, source, selections), need)


def _find_stored_parts(source: ArraySource, region: Selection, cells: tuple[int, ...]) -> list[Selection] | None:
    """Return the parts of a region in stored chunks of these lengths; None if more than half are stored."""
    if varies(cells) or not all(cells):
        return None
    firsts = [part.start // length for part, length in zip(region, cells, strict=True)]
    aligned = tuple(range(first * n, part.stop) for first, n, part in zip(firsts, cells, region, strict=True))
    most = math.prod(grid_of(tuple(map(len, aligned)), cells)) // 2
    chunks = list(islice(source.list_occupied(cells, aligned), most + 1))
    if len(chunks) > most:
        return None
    return [
        tuple(
            slice(max(part.start, (first + number) * length), min(part.stop, (first + number + 1) * length))
            for number, first, length, part in zip(chunk, firsts, cells, region, strict=True)
        )
        for chunk in chunks
    ]


def _fill_at_once(window: Window, source: ArraySource, workers: int, memory: int) -> None:
    with limit(workers, memory):
        window.fill(source, [window.region])


def window(layout: Layout, region: Selection) -> Window:
    """Return an empty window for a region of an array with this layout."""
    return Window(layout, region, np.empty(lengths_of(region), numpy_dtype(layout.dtype)))
