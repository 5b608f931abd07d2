"""Writes encoded chunks to a netCDF-4 file: copied from the source, or encoded in threads; HDF5 only records them.

After the library's declarations, chunked variables of fixed-size types need
neither it nor HDF5's single-threaded filters. One thread writes finished chunks
in grid order: the file does not depend on the number of threads.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_uint, c_uint64, c_void_p, cast
from functools import partial
from typing import Any, NamedTuple

from nczarr.arrays.chunks.manifest import ChunkPlace, PlaceColumns, runs, some
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.execution.counts import Counts, Route
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.execution.thread_pool import BARRIER, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, every_block, region_of, table_of
from nczarr.arrays.sources.memory import is_all, pad_chunk
from nczarr.arrays.sources.source import ArraySource, Layout, itemsize, numpy_dtype
from nczarr.arrays.sources.windows import (
    TIMES,
    choose_route,
    list_fill_tasks,
    matches,
    needs_window,
    reading_shape,
    remaining_memory,
    slab_shape,
    slabs,
    window,
)
from nczarr.arrays.values.elements import in_order
from nczarr.ast.rectilinear import volume
from nczarr.formats.netcdf4.fill_values import restore
from nczarr.formats.netcdf4.hdf5 import Hdf5, find, flush_written, hdf5, open_file
from nczarr.formats.netcdf4.header.dataset_info import CHUNKED, DatasetInfo
from nczarr.formats.netcdf4.header.file_bytes import header_file
from nczarr.formats.netcdf4.header.file_objects import ObjectTable, read_objects
from nczarr.formats.netcdf4.library import Library
from nczarr.names import split
from nczarr.plan.plans import FilePlan
from nczarr.stores import ranges
from nczarr.stores.ranges import Range

LOCATED = 1 << 14
"""Maximum number of chunks that are located at once."""

LARGE = 32 << 20
"""Chunk size in bytes above which the kernel copies, so that it is never all in memory."""

MOST = 64
"""Maximum number of remote chunks fetched at once."""

FETCHED = 8 << 20
"""Maximum size of their decoded values, in bytes."""

SMALL = 1 << 16
"""Number of elements below which threads do not pay off."""

COPIES = 3
"""Copies of a chunk in memory during encoding: stored, decoded, encoded."""


class Into(NamedTuple):
    """A dataset that receives chunks."""

    dataset: int
    """Identifier of the dataset."""
    layout: Layout
    fill: bytes
    """Fill value in the bytes of its type."""
    skips: bool
    """True if chunks of fill values may be omitted."""
    known: bool
    """True if its filters can be applied here; otherwise chunks that cannot be copied are written unfiltered."""
    is_fast: bool = False
    """True if deflate is encoded by ISA-L (`--codec zlib:fast`)."""
    ends: bool = False
    """True if the dataset has the extent of the source's dataset."""

    @property
    def size(self) -> int:
        """Size of an unfiltered chunk, in bytes."""
        return math.prod(self.layout.chunks) * itemsize(self.layout.dtype)


class Ready(NamedTuple):
    """A chunk to write."""

    place: Index
    """Its grid index."""
    chunk: bytes | ChunkPlace
    """Its bytes, or their place in a file."""
    mask: int
    """Filter mask."""
    copied: bool
    """True if the chunk is unchanged from the source."""

    @property
    def length(self) -> int:
        """Size of the chunk in bytes."""
        return self.chunk.length if isinstance(self.chunk, ChunkPlace) else len(self.chunk)


class Located(NamedTuple):
    """Chunks to copy from files."""

    chunks: NDArray[np.int64]
    """Their grid indices: int64, shape (chunks, dimensions)."""
    columns: PlaceColumns
    """Their places, one row per chunk."""


class ChunkWriter:
    """Writer of chunks of one HDF5 file that the netCDF library has open too."""

    def __init__(
        self,
        h5: Hdf5,
        file: int,
        objects: ObjectTable,
        path: str,
        crew: Crew,
        counts: Counts,
        specifications: Mapping[str, str],
    ) -> None:
        self._h5 = h5
        self._file = file
        self._objects = objects
        self._path = path
        self._crew = crew
        self._counts = counts
        self._specifications = specifications

    def write(
        self,
        variable: str,
        source: ArraySource,
        alike: Callable[[DatasetInfo], bool],
        default: bytes | None,
    ) -> bool:
        """Write a variable if its chunks can be copied or encoded here; else return False.

        The dataset gets the source's shape; with copied chunks it may end at
        the source's extent, because the last chunks hold undefined values
        beyond. `variable`: its FQN. `alike`: whether unwritten cells equal the source's. `default`:
        value beyond the end of a dataset without a fill value. Raises OSError.
        """
        *above, name = split(variable)
        group = tuple(above)
        with LOCK:
            dataset = find(self._h5, self._file, group, name)
        if dataset < 0:
            return False
        try:
            stored = self._objects.objects[self._objects.find(group, name)].dataset
            if stored is None:
                return False
            info = stored.info
            into = _describe_target(dataset, info, source, skips=alike(info))
            if into is None:
                return False
            into = into._replace(is_fast=codecs.is_fast(self._specifications, variable))
            moved = matches(source.stored, into.layout)
            ends = moved and source.extent != source.layout.shape and _ends_alike(source, into, info, default)
            if ends:
                into = into._replace(layout=into.layout._replace(shape=source.extent), ends=True, skips=True)
            shape = into.layout.shape
            if info.extent != shape:
                with LOCK:
                    self._h5.do("H5Dset_extent", dataset, (c_uint64 * len(shape))(*shape))
            other: Route = "transcode" if moved else choose_route(source, into.layout)
            for chunks in self._crew.results(_tasks(source, into, self._crew, moved=moved)):
                for ready in chunks or ():
                    if isinstance(ready, Located):
                        self._put_located(into, ready)
                    else:
                        self._put(into, ready)
                        self._counts.add("copy" if ready.copied else other, 1, ready.length, into.size)
        finally:
            with LOCK:
                self._h5.H5Dclose(dataset)
        return True

    def restore_fills(self, plan: FilePlan) -> None:
        """Restore the `_FillValue` of variables declared with another one. Raises OSError."""
        restore(self._h5, self._file, plan)

    def _put(self, into: Into, ready: Ready) -> None:
        """Write one chunk; `_move` writes large ones that are in a file."""
        place, chunk, mask, _ = ready
        first = [number * length for number, length in zip(place, into.layout.chunks, strict=True)]
        start = (c_uint64 * len(first))(*first)
        if isinstance(chunk, ChunkPlace) and chunk.length > LARGE and hasattr(mmap, "MAP_ANONYMOUS"):
            self._move(into, start, chunk)
            return
        data = ranges.read(Range(*chunk[:3])) if isinstance(chunk, ChunkPlace) else chunk
        with LOCK:
            self._h5.do("H5Dwrite_chunk", into.dataset, 0, mask, start, len(data), cast(c_char_p(data), c_void_p))

    def _put_located(self, into: Into, located: Located) -> None:
        """Read adjacent chunks of files together, and write them."""
        columns, rank = located.columns, len(into.layout.chunks)
        corners = np.ascontiguousarray(located.chunks * np.array(into.layout.chunks, np.int64))
        starts = (c_uint64 * rank * len(corners)).from_buffer(corners.data)
        rows = zip(columns.mask.tolist(), starts, columns.length.tolist(), strict=True)
        for run in runs(columns):
            data = ranges.read(run) if isinstance(run, Range) else run
            address = cast(c_char_p(data), c_void_p).value or 0
            end = address + len(data)
            with LOCK:
                while address < end:
                    mask, start, length = next(rows)
                    self._h5.do("H5Dwrite_chunk", into.dataset, 0, mask, start, length, address)
                    address += length
            del data  # the next one takes its memory
        count = len(corners)
        self._counts.add("copy", count, int(columns.length.sum()), count * into.size)

    def _move(self, into: Into, start: Any, chunk: ChunkPlace) -> None:
        """Let HDF5 write unmapped zero pages, then copy the source's bytes to their place."""
        h5 = self._h5
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # shared pages would be made, one by one
        with mmap.mmap(-1, chunk.length, flags=private, prot=mmap.PROT_READ) as nothing, LOCK:
            pages = np.frombuffer(nothing, np.uint8).ctypes.data  # no view of them is kept: they could not be closed
            h5.do("H5Dwrite_chunk", into.dataset, 0, chunk.mask, start, chunk.length, pages)
            mask, address, size = c_uint(), c_uint64(), c_uint64()
            h5.do("H5Dget_chunk_info_by_coord", into.dataset, start, byref(mask), byref(address), byref(size))
        target = os.open(self._path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.lseek(target, address.value, os.SEEK_SET)
            ranges.copy_to(Range(*chunk[:3]), target)
        finally:
            os.close(target)


@contextmanager
def chunk_writer(lib: Library, path: str, plan: FilePlan, counts: Counts) -> Iterator[ChunkWriter]:
    """Yield a chunk writer for a file that the library is writing. Raises OSError."""
    h5, options = hdf5(lib), plan.options
    far = any(source.distant for parts in plan.checked.parts.values() for source in parts.values())
    with LOCK:
        file = open_file(h5, path, writing=True)
        if file < 0:
            lib.fail_hdf5("H5Fopen")
        flush_written(h5, path)
    try:
        with header_file(path) as declared:
            objects = read_objects(declared, path)
        with Crew(options.run.workers, options.run.memory, distant=far) as crew:
            yield ChunkWriter(h5, file, objects, path, crew, counts, options.layout.codecs)
    finally:
        with LOCK:
            h5.H5Fclose(file)


def _describe_target(dataset: int, info: DatasetInfo, source: ArraySource, *, skips: bool) -> Into | None:
    """Return how a dataset takes a source's chunks; None if impossible here."""
    if info.layout != CHUNKED or info.dtype is None or info.extent is None or len(info.extent) != len(info.chunks):
        return None
    if source.layout.dtype == "|O" or itemsize(source.layout.dtype) != itemsize(info.dtype):
        return None
    layout = Layout(info.dtype, source.layout.shape, info.chunks, info.filters)
    is_expressible = codecs.expressible(info.filters) and info.shuffled in (None, itemsize(info.dtype))
    # HDF5 may compute other parameters of a lossy filter: then chunks are written unfiltered, never encoded again
    is_lossy = not source.given and any(table.is_lossy_filter(codec) for codec in info.filters)
    if not is_expressible and not is_lossy and not matches(source.stored, layout):
        return None
    fill = info.fill if info.fill is not None else bytes(itemsize(info.dtype))
    return Into(dataset, layout, fill, skips, is_expressible)


def _ends_alike(source: ArraySource, into: Into, info: DatasetInfo, default: bytes | None) -> bool:
    """Return whether a dataset that ends at the source's extent shows equal values in unwritten cells.

    They show its fill value within the extent, and also beyond if user-defined,
    else the library's default.
    """
    if info.dtype is None:
        return False
    inside = in_order(into.fill, info.dtype, source.layout.dtype)
    beyond = inside if info.has_own_fill else default
    return inside == source.unstored and beyond == source.layout.fill


def _tasks(source: ArraySource, into: Into, crew: Crew, *, moved: bool) -> Iterator[Task]:
    """Yield tasks that produce the chunks, in grid order.

    Local copies run here, not in threads, and are located together. Adjacent remote
    data are fetched for several chunks at once. Sources with other chunks are read
    by slabs.
    """
    layout = into.layout
    indices: Iterator[Index] = (
        source.list_occupied(layout.chunks) if into.skips else every_block(layout.shape, layout.chunks)
    )
    small = math.prod(layout.shape) <= SMALL and not source.distant
    slab = _slab(source, into, crew)
    if slab is not None:
        for region, window_indices in slabs(source, layout.chunks, slab, indices):
            yield from _from_window(source, region, window_indices, into, crew)
        return
    if source.together is not None:
        count = max(1, min(MOST, FETCHED // max(1, into.size)))
        while group := tuple(itertools.islice(indices, count)):
            yield Task(partial(_fetch_chunks, source, group, into, moved=moved), (COPIES + 1) * into.size * len(group))
        return
    if not moved or source.distant:
        for index in indices:
            yield Task(partial(_make_chunks, source, index, into, moved=moved), COPIES * into.size, here=small)
        return
    count = max(1, min(LOCATED, FETCHED // max(1, into.size)))
    while group := tuple(itertools.islice(indices, count)):
        for index_or_run in _locate(source, group, into):
            if isinstance(index_or_run, Located):
                yield Task(partial(tuple, [index_or_run]), here=True)
                continue
            ready = _copy_chunk(source, index_or_run, into)
            if ready is not None:
                yield Task(
                    partial(tuple, [ready]), 0 if isinstance(ready.chunk, ChunkPlace) else ready.length, here=True
                )
            else:
                yield Task(
                    partial(_make_chunks, source, index_or_run, into, moved=False), COPIES * into.size, here=small
                )


def _slab(source: ArraySource, into: Into, crew: Crew) -> tuple[int, ...] | None:
    """Return the lengths of slabs to read before their chunks are made; None if chunks are read one by one."""
    if choose_route(source, into.layout) == "copy" or not (needs_window(source, into.layout.chunks) or source.deferred):
        return None
    decoded = max(into.size, volume(reading_shape(source)) * itemsize(into.layout.dtype))
    room = remaining_memory(crew.memory, crew.workers, decoded * TIMES)
    return slab_shape(source, into.layout.chunks, room // itemsize(into.layout.dtype))


def _from_window(
    source: ArraySource, region: Selection, indices: Iterator[Index], into: Into, crew: Crew
) -> Iterator[Task]:
    """Yield tasks that read a region by source chunks, then produce the chunks in it."""
    yield BARRIER  # the window before it is given back
    slab = window(source.layout, region)
    yield from list_fill_tasks(slab, source, crew.workers, crew.memory)
    yield BARRIER
    for index in indices:
        yield Task(partial(_make_chunks, slab, index, into, moved=False), COPIES * into.size)


def _locate(source: ArraySource, indices: tuple[Index, ...], into: Into) -> Iterator[Located | Index]:
    """Yield chunks to copy from files together, and the others one by one, in order. Raises OSError, CompileError."""
    chunks = table_of(indices, len(into.layout.chunks))
    columns = source.places(chunks, cut=into.ends)
    rows = columns.length <= LARGE
    if not into.layout.codecs:
        rows &= columns.length == into.size
    if columns.mask.any() and not _same_steps(source, into):
        rows &= columns.mask == 0
    columns = columns if rows.all() else some(columns, rows)
    others = np.setdiff1d(np.arange(len(indices)), columns.chunk, assume_unique=True)
    stops = np.searchsorted(columns.chunk, others).tolist()
    start = 0
    for stop, row in zip([*stops, len(columns.chunk)], [*others.tolist(), -1], strict=True):
        if start < stop:
            part = some(columns, slice(start, stop))
            yield Located(chunks[part.chunk], part)
            start = stop
        if row >= 0:
            yield indices[row]


def _make_chunks(source: ArraySource, index: Index, into: Into, *, moved: bool) -> tuple[Ready, ...]:
    """Return a copied chunk if possible, else an encoded one; empty for an omitted chunk."""
    ready = _copy_chunk(source, index, into) if moved else None
    ready = ready if ready is not None else _encode(source, index, into)
    return () if ready is None else (ready,)


def _fetch_chunks(source: ArraySource, indices: tuple[Index, ...], into: Into, *, moved: bool) -> tuple[Ready, ...]:
    """Fetch the data of several chunks at once and return the chunks."""
    layout = into.layout
    at_hand = source.prefetch([region_of(index, layout.chunks, layout.shape) for index in indices])
    return tuple(ready for index in indices for ready in _make_chunks(at_hand, index, into, moved=moved))


def _copy_chunk(source: ArraySource, index: Index, into: Into) -> Ready | None:
    """Return a chunk of the source unchanged, or None.

    Unfiltered chunks must be complete: HDF5, unlike store readers, accepts no
    fewer bytes.
    """
    whole = None if into.layout.codecs else into.size
    place = source.find_place(index) if into.ends else source.place(index)
    if place is not None and place.mask and not _same_steps(source, into):
        return None
    if place is not None:
        return Ready(index, place, place.mask, copied=True) if whole in (None, place.length) else None
    data = source.read_encoded(index)
    return Ready(index, data, 0, copied=True) if data is not None and whole in (None, len(data)) else None


def _same_steps(source: ArraySource, into: Into) -> bool:
    """Return whether a mask means the same in both chains: one may also shuffle single bytes."""
    stored = source.stored
    return stored is not None and [codec.id for codec in stored.codecs] == [codec.id for codec in into.layout.codecs]


def _encode(source: ArraySource, index: Index, into: Into) -> Ready | None:
    """Return an encoded chunk; None if it holds only fill and may be omitted."""
    layout = into.layout
    values = source.read(region_of(index, layout.chunks, layout.shape))
    full = pad_chunk(values.astype(numpy_dtype(layout.dtype), copy=False), layout.chunks, into.fill)
    if into.skips and is_all(full, into.fill):
        return None
    data = full.tobytes()
    if not into.known:
        return Ready(index, data, (1 << len(layout.codecs)) - 1, copied=False)  # bit i: filter i was skipped
    return Ready(index, codecs.encode(layout.codecs, data, itemsize(layout.dtype), fast=into.is_fast), 0, copied=False)
