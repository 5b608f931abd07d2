"""Array source of a chunked HDF5 dataset: byte ranges of the file, decoded here in any thread.

HDF5 lists chunk positions once, on first use. Chunks with filters that cannot
be decoded here are copied as bytes; the library reads their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from threading import Lock
from typing import Any, NoReturn

from nczarr.arrays.chunks import small_chunks
from nczarr.arrays.chunks.chunk_grid_array import ChunkGridArray, FetchedChunk
from nczarr.arrays.chunks.grid import Encoding, kept, unreadable
from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns, unmask
from nczarr.arrays.chunks.occupancy import blocks_of_chunks, chunks_in, rows_between
from nczarr.arrays.codecs.lengths import measure_linked, misfit
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Region,
    Selection,
    chunk_ranges,
    covering_regions,
    distinct,
    every_block,
    every_index,
    grid_of,
    indices_of,
    lengths_within,
    number_of,
    ravel,
    region_or_all,
    table_of,
    unravel,
)
from nczarr.arrays.sources.decoded_parts import DecodedCells, VariableSections
from nczarr.arrays.sources.source import ArraySource, IndexPlace, Layout, Stored, itemsize
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.formats.netcdf4.header.chunk_addresses import OLD_TREE, ChunkIndex, ChunkTable, read_chunks
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, NotedHeaderFile, header_file, reason_of
from nczarr.names.records import frozen
from nczarr.stores import ranges
from nczarr.stores.ranges import Range

MAPPED = 8 << 20
"""Size in bytes above which an unfiltered chunk is mapped instead of read whole."""

_NOWHERE = 1 << 62
"""Address behind the end of every file."""

FEW = 32
"""Maximum chunks of a remote file that are looked up one by one."""

FEW_LOCAL = 4
"""Maximum chunks of a local file that are looked up one by one: HDF5 may walk through the index for each."""

MANY = 1 << 12
"""Chunks of a local array from which some are looked up one by one: the whole table is read at once below."""

_MAKING = Lock()
"""Held while an array gets its `KnownChunks`."""


class KnownChunks:
    """Places of an array's chunks in one process, as far as they were asked for; also the array's cache key."""

    def __init__(self) -> None:
        self.table: ChunkTable | None = None
        """The chunk table, once it was needed."""
        self.rows: dict[int, tuple[int, int, int] | None] = {}
        """Offset, length and mask of chunks that were looked up one by one; None: not allocated."""
        self.lengths: dict[int, int | None] = {}
        """Size of a chunk in bytes by mask of skipped steps; None if it depends on the values."""

    def unknown(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of chunk numbers that were not looked up."""
        return [row for row, number in enumerate(numbers) if number not in self.rows]

    def note(self, numbers: Iterable[int], table: ChunkTable) -> None:
        """Record the table of chunks that were looked up."""
        places = zip(table.offset.tolist(), table.length.tolist(), table.mask.tolist(), strict=True)
        rows: dict[int, tuple[int, int, int] | None] = dict.fromkeys(numbers)
        rows.update(zip(table.chunk.tolist(), places, strict=True))
        self.rows.update(rows)

    def few(self, numbers: Iterable[int]) -> ChunkTable:
        """Return the table of some chunks that were looked up."""
        rows = [(number, *row) for number in sorted(numbers) if (row := self.rows[number]) is not None]
        columns = np.array(rows, np.int64).reshape(-1, 4).T.copy()
        return ChunkTable(columns[0], columns[1], columns[2], columns[3].astype(np.int32))


class DatasetSections(VariableSections):
    """Sections of a dataset of a file."""

    group: tuple[str, ...]
    name: str


@frozen
class IndexChunkArray(ChunkGridArray):
    """A dataset whose chunks are decoded here. Beyond its extent, values are the layout's fill."""

    layout: Layout
    file: FileBytes
    reach: tuple[int, ...]
    """Extent of the dataset."""
    form: Stored
    """Encoding of the chunks."""
    steps: tuple[dict[str, Any], ...] | None
    """Decoding steps; None if they are impossible here."""
    unfiltered_edges: bool
    """True if chunks that exceed the extent are unfiltered."""
    sections: DatasetSections
    """Regions of the same array, read by the library."""
    own: bytes | None
    """Value of unwritten cells within the extent."""
    index: ChunkIndex
    undefined: bool = False
    """True if HDF5 does not initialize unwritten cells."""
    _own: list[Any] = field(default_factory=list, repr=False)
    """Process-local `KnownChunks`, in a list that is empty until the first lookup."""
    _at_hand: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    """Encoded chunks fetched from a remote file, by offset."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the description alone."""
        described = (
            self.layout, self.file, self.reach, self.form, self.steps, self.unfiltered_edges, self.sections,
            self.own, self.index, self.undefined,
        )  # fmt: skip
        return IndexChunkArray, described

    @property
    def stored(self) -> Stored:
        """Encoding of chunks with a zero filter mask."""
        return self.form

    @property
    def extent(self) -> tuple[int, ...]:
        """Shape of the dataset."""
        return self.reach

    @property
    def unstored(self) -> bytes | None:
        """HDF5's fill value."""
        return self.own

    @property
    def viewed(self) -> bool:
        """True if chunks are mapped."""
        stored = self.stored
        return not self.distant and not stored.codecs and math.prod(stored.chunks) * itemsize(stored.dtype) > MAPPED

    @property
    def distant(self) -> bool:
        """True if the file is remote."""
        return self.file.remote is not None

    @property
    def together(self) -> tuple[int, ...] | None:
        """The whole array if the file is remote: chunks may be adjacent anywhere."""
        return tuple(max(1, length) for length in self.layout.shape) if self.distant else None

    def prefetch(self, regions: Sequence[Selection]) -> IndexChunkArray:
        """Return the array with the encoded chunks of a remote file in memory; near ones share a request."""
        remote = self.file.remote
        if remote is None:
            return self
        indices = covering_regions(regions, self.layout.chunks)
        new = sorted(index for index in indices if kept.get((self._known, "chunk", index)) is None)
        if len(new) < 2:
            return self
        columns = self.places(table_of(new, len(self.layout.chunks)), cut=True)
        places = list(zip(columns.offset.tolist(), columns.length.tolist(), strict=True))
        data = remote.several(places)
        offsets = (offset for offset, _ in places)
        return replace(self, _own=self._own, _at_hand=dict(zip(offsets, data, strict=True)))

    def near(self, selection: Selection) -> IndexChunkArray:
        """Return the array with the chunks of a region in memory, if the file is remote; else look up their places."""
        if self.distant and self._at_hand:
            return self
        bounds = (part.indices(length)[:2] for part, length in zip(selection, self.layout.shape, strict=True))
        region = tuple(slice(start, max(start, stop)) for start, stop in bounds)
        if self.distant:
            return self.prefetch([region])
        touched = math.prod(map(len, chunk_ranges(self.layout.chunks, region)))
        if self._known.table is None and touched > FEW_LOCAL:
            self._table  # noqa: B018 - one walk through the index, instead of one for each of the first chunks
        return self

    def manifest(self, region: Region | None = None) -> Manifest:
        """Return the allocated chunks whose bytes alone define their values. Raises OSError."""
        rows = self._table_in(region)
        if self._outgrown:
            whole = ~self._are_cut(self._indices(rows))
            rows = ChunkTable(rows.chunk[whole], rows.offset[whole], rows.length[whole], rows.mask[whole])
        source = np.zeros(len(rows.chunk), np.int64)
        return PlaceColumns((str(self.file.path),), rows.chunk, source, rows.offset, rows.length, rows.mask)

    @property
    def _outgrown(self) -> bool:
        """True if the array is larger than the dataset."""
        return self.extent != self.layout.shape

    def _is_cut(self, index: Index) -> bool:
        """Return whether the dataset ends within a chunk of the array: bytes beyond are undefined."""
        lengths = zip(index, self.layout.chunks, self.extent, self.layout.shape, strict=True)
        return any(end < (number + 1) * chunk_length and end < length for number, chunk_length, end, length in lengths)

    def _are_cut(self, chunks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return `_is_cut` of many chunks: bool, shape (chunks,). `chunks`: int64, shape (chunks, dimensions)."""
        ends, extent = (chunks + 1) * np.array(self.layout.chunks, np.int64), np.array(self.extent, np.int64)
        is_short = (extent < ends) & (extent < np.array(self.layout.shape, np.int64))
        return np.asarray(is_short.any(axis=1))

    @property
    def _known(self) -> KnownChunks:
        """Chunk table and lengths of the array in this process."""
        if not self._own:
            with _MAKING:
                if not self._own:
                    self._own.append(KnownChunks())
        chunks: KnownChunks = self._own[0]
        return chunks

    @property
    def _table(self) -> ChunkTable:
        """Chunk table, read from HDF5 once in a process. Raises OSError."""
        in_process = self._known
        if in_process.table is None:
            in_process.table = self._read_index(None)
        return in_process.table

    def _table_of(self, chunks: NDArray[np.int64]) -> ChunkTable:
        """Return a chunk table that has these chunks: int64, shape (chunks, dimensions). Raises OSError.

        The whole table of a remote file may take hundreds of requests, a few chunks take three.
        """
        in_process, counts = self._known, grid_of(self.layout.shape, self.layout.chunks)
        if in_process.table is not None or len(chunks) > FEW or not (self.distant or math.prod(counts) > MANY):
            return self._table
        numbers = ravel(chunks, counts).tolist()
        new = in_process.unknown(numbers)
        if new and not self.distant and len(in_process.rows) + len(new) > FEW_LOCAL:
            return self._table
        if new:
            looked_up = self._read_index(chunks[new])
            in_process.note([numbers[row] for row in new], looked_up)
        return in_process.few(numbers)

    def _table_in(self, region: Region | None) -> ChunkTable:
        """Return a chunk table that has the chunks with an index of a region; None: all. Raises OSError."""
        if region is None or not region:
            return self._table
        ranges = chunk_ranges(self.layout.chunks, region)
        few = math.prod(map(len, ranges)) <= FEW
        table = self._table_of(table_of(every_index(ranges), len(region))) if few else self._table
        rows = rows_between(table.chunk, grid_of(self.layout.shape, self.layout.chunks), ranges)
        return ChunkTable(table.chunk[rows], table.offset[rows], table.length[rows], table.mask[rows])

    def _read_index(self, chunks: NDArray[np.int64] | None) -> ChunkTable:
        """Read the chunk table from the file. Raises OSError, CompileError for a damaged index.

        `chunks`: only these are needed, int64, shape (chunks, dimensions), in C order.
        """
        self.file.check()
        wanted = None if chunks is None else list(indices_of(chunks))
        remote = self.file.remote
        if remote is not None and wanted is None:
            remote.expect_index()
        path, shapes = str(self.file.path), (self.layout.chunks, self.extent, self.layout.shape)
        try:
            with header_file(path) as file:
                file.root()
                table = read_chunks(file, self.index, *shapes, wanted)
        except DAMAGE as error:
            from nczarr.formats.netcdf4.library_objects import find_chunks  # rarely needed

            try:
                table = find_chunks(path, (self.sections.group, self.sections.name), *shapes)
            except OSError as refusal:
                reason = f"{reason_of(error)}; {refusal.strerror or refusal}"
                unreadable(self.file.name, f"the places of its chunks cannot be read: {reason}")
        return self._mask_beyond(table)

    def place_index(self) -> IndexPlace | None:
        """Return the places of the index and of the chunks; None without chunks. Raises OSError, CompileError."""
        first = self._table.offset.min(initial=_NOWHERE)
        if first == _NOWHERE:
            return None
        try:
            with header_file(str(self.file.path), NotedHeaderFile) as file:
                file.root()
                file.farthest = -1
                read_chunks(file, self.index, self.layout.chunks, self.extent, self.layout.shape)
                return IndexPlace(file.farthest, int(first), self.index.kind != OLD_TREE)
        except DAMAGE as error:
            unreadable(self.file.name, f"the places of its chunks cannot be read: {reason_of(error)}")

    def _mask_beyond(self, table: ChunkTable) -> ChunkTable:
        """Return a table in which chunks that exceed the extent have the mask of their filters."""
        if self.unfiltered_edges and self.stored.codecs:  # HDF5 may leave chunks across the edge unfiltered
            ends = (self._indices(table) + 1) * np.array(self.layout.chunks, np.int64)
            table.mask[(ends > np.array(self.extent, np.int64)).any(axis=1)] = (1 << len(self.stored.codecs)) - 1
        return table

    @property
    def listing(self) -> Callable[[Sequence[range]], Iterable[Index]]:
        """Function that lists the allocated chunks from the table."""
        return self._list_allocated

    def _list_allocated(self, ranges: Sequence[range]) -> Iterator[Index]:
        """Return the allocated chunks within a range of indices along each dimension. Raises OSError."""
        table = self._table.chunk
        counts = grid_of(self.layout.shape, self.layout.chunks)
        chunks = unravel(table[rows_between(table, counts, ranges)], counts)
        return indices_of(chunks_in(chunks, (1,) * len(counts), tuple(ranges)))

    def _indices(self, table: ChunkTable) -> NDArray[np.int64]:
        """Return the grid indices of all allocated chunks in C order: int64, shape (chunks, dimensions)."""
        return unravel(table.chunk, grid_of(self.layout.shape, self.layout.chunks))

    def find_place(self, index: Index) -> ChunkPlace | None:
        """Return a chunk's location, even if its bytes beyond the extent are undefined; None if unallocated.

        Raises OSError if the file is unavailable or changed, CompileError for a
        wrong chunk length.
        """
        self.file.check()
        table = self._table_of(table_of([index], len(index)))
        number = number_of(index, grid_of(self.layout.shape, self.layout.chunks))
        row = int(np.searchsorted(table.chunk, number))
        if row == len(table.chunk) or table.chunk[row] != number:
            return None
        place = ChunkPlace(str(self.file.path), int(table.offset[row]), int(table.length[row]), int(table.mask[row]))
        expected = self._length(place.mask)
        if expected is not None and place.length != expected:
            self._unreadable(misfit(place.length, expected), place.offset)
        return place

    def _length(self, mask: int) -> int | None:
        """Return the bytes of chunks with this filter mask; None if they depend on the values."""
        lengths = self._known.lengths
        if mask not in lengths:
            codecs = unmask(self.stored.codecs, mask)
            lengths[mask] = measure_linked(self.stored.dtype, self.layout.chunks, codecs)
        return lengths[mask]

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the locations of many chunks, from one look at the file and the table."""
        self.file.check()
        table = self._table_of(chunks)
        numbers = ravel(chunks, grid_of(self.layout.shape, self.layout.chunks))
        rows = np.searchsorted(table.chunk, numbers)
        there = rows < len(table.chunk)
        there[there] = table.chunk[rows[there]] == numbers[there]
        if self._outgrown and not cut:
            there &= ~self._are_cut(chunks)
        present = np.flatnonzero(there)
        rows = rows[present]
        lengths, masks = table.length[rows], table.mask[rows]
        for mask in distinct(masks).tolist():
            expected = self._length(mask)
            if expected is not None and ((masks == mask) & (lengths != expected)).any():
                return ArraySource.places(self, chunks, cut=cut)  # the first wrong one raises
        return PlaceColumns((str(self.file.path),), present, np.zeros_like(present), table.offset[rows], lengths, masks)

    def _unreadable(self, reason: str, offset: int) -> NoReturn:
        unreadable(self.file.name, f"the chunk cannot be decoded: {reason}", offset=offset)

    def fail(self, index: Index, reason: str) -> NoReturn:
        """Raise CompileError for the place of a chunk that cannot be decoded."""
        place = self.find_place(index)
        self._unreadable(reason, 0 if place is None else place.offset)

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return a chunk's location; None if unallocated, cut by the dataset's end, or in a remote file.

        Raises OSError if the file is unavailable or changed.
        """
        return None if self.distant else self._find_copied(chunk)

    def _find_copied(self, chunk: Index) -> ChunkPlace | None:
        """Return the location of a chunk whose bytes define its values; None of others. Raises OSError."""
        return None if self._outgrown and self._is_cut(chunk) else self.find_place(chunk)

    def _bytes(self, place: ChunkPlace) -> bytes:
        """Return the bytes of a chunk. Raises OSError."""
        data = self._at_hand.get(place.offset)
        return ranges.read(Range(*place[:3])) if data is None else data

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the bytes of a chunk after the whole codec chain; None also if its bytes do not define its values."""
        return None if self._outgrown and self._is_cut(chunk) else ChunkGridArray.read_encoded(self, chunk)

    def fetch(self, index: Index) -> FetchedChunk | None:
        """Return the encoded bytes of a chunk; None if it is unallocated."""
        place = self.find_place(index)
        return None if place is None else FetchedChunk(self._bytes(place), place.mask)

    def fetch_many(self, chunks: NDArray[np.int64]) -> small_chunks.EncodedChunks:
        """Return the encoded bytes of many chunks, from one look at the table."""
        return small_chunks.locate(self.places(chunks, cut=True))

    @property
    def encoding(self) -> Encoding:
        """Encoding of the chunks."""
        return Encoding(self.form.dtype, self.steps or ())

    @property
    def identity(self) -> object:
        """Chunk table of this process."""
        return self._known

    def _read_by_library(self, selection: Selection) -> NDArray[Any]:
        return DecodedCells(self.sections, "", self.layout).read(selection)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region; by the library, if its chunks cannot be decoded here."""
        return self._read_by_library(selection) if self.steps is None else ChunkGridArray.read(self, selection)

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        if self.steps is None:
            out[...] = self._read_by_library(selection)
        else:
            ChunkGridArray.read_into(self, selection, out)

    def chunk(self, index: Index) -> NDArray[Any] | None:
        """Return a whole decoded chunk in the layout's dtype; None if it is not allocated."""
        place = self._map(index)
        if place is None:
            return ChunkGridArray.chunk(self, index)
        return self._read_unfiltered(index, place, tuple(map(slice, self.layout.chunks)))

    def put(self, index: Index, inside: Selection, out: NDArray[Any]) -> bool:
        """Decode a part of a chunk into `out`; return False if the chunk is not allocated."""
        place = self._map(index)
        if place is None:
            return ChunkGridArray.put(self, index, inside, out)
        out[...] = self._read_unfiltered(index, place, inside)
        return True

    def _map(self, index: Index) -> ChunkPlace | None:
        """Return the place of a large chunk without steps in a local file, of which any part can be read alone."""
        if self.distant or math.prod(self.layout.chunks) * itemsize(self.stored.dtype) <= MAPPED:
            return None
        place = self.find_place(index)
        return None if place is None or place.length <= MAPPED or self.steps_of(place.mask) else place

    def _read_unfiltered(self, index: Index, place: ChunkPlace, region: Selection) -> NDArray[Any]:
        """Return a region of an unfiltered chunk, read from the file alone, in the stored dtype. Raises OSError."""
        if place.offset + place.length > self.file.size:
            self.fail(index, misfit(max(0, self.file.size - place.offset), place.length))
        dtype, chunks = self.stored.dtype, self.layout.chunks
        stride = math.prod(chunks[1:]) * (itemsize(dtype) or 0)
        return AffineArray(Layout(dtype, chunks, chunks), self.file, place.offset, stride).read(region)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that overlap allocated chunks, in C order.

        If unwritten cells differ from the layout's fill: all blocks of the extent.
        """
        if self.own != self.layout.fill:
            lengths = self.extent if region is None else lengths_within(region, self.extent)
            return iter(()) if 0 in lengths else every_block(lengths, chunks)
        table = self._indices(self._table_in(region))
        if region is None and chunks == self.layout.chunks:
            return indices_of(table)
        return blocks_of_chunks(table, self.layout.chunks, chunks, region_or_all(region, self.layout.shape))
