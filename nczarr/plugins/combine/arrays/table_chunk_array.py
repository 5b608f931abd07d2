"""Arrays described by the places of their chunks alone: what remains of a source that was read and let go.

The places are columns of numbers; short chunks may be held as bytes. So a
thousand files are a table, without open handles, trees or indices of files. A
file that changed since then is not read.
"""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from threading import Lock
from typing import Any, NamedTuple, NoReturn, Self

from nczarr.arrays.chunks.chunk_grid_array import ChunkGridArray, FetchedChunk
from nczarr.arrays.chunks.grid import Encoding, unreadable
from nczarr.arrays.chunks.manifest import ChunkPlace, PlaceColumns, columns_from, columns_of, some, unmask
from nczarr.arrays.chunks.occupancy import blocks_of_chunks, rows_between
from nczarr.arrays.codecs.chain import expressible, to_configs
from nczarr.arrays.codecs.lengths import measure_linked, misfit
from nczarr.arrays.codecs.table import list_decoded_filters
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import (
    Index,
    Region,
    chunk_ranges,
    grid_of,
    index_of,
    indices_of,
    number_of,
    region_or_all,
    unravel,
)
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Stored, itemsize
from nczarr.ast.dataset import SHUFFLE
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.names.records import frozen
from nczarr.stores import ranges
from nczarr.stores.ranges import Range
from nczarr.stores.spool import origin
from nczarr.stores.url import is_remote

HELD = 1 << 20
"""Maximum bytes of the chunks of one array that are held without a place."""

WINDOW = 1 << 18
"""Bytes of a remote object that are fetched together, of chunks of at most half as many."""

_windows: ranges.BoundedCache[tuple[str, int, str], bytes] = ranges.BoundedCache(1 << 24, len)

_locks = tuple(Lock() for _ in range(16))

Facts = Mapping[str, Mapping[str, Any]]
"""Recorded properties of files and objects, by path or URL."""


class LocatedForm(NamedTuple):
    """Properties of a located array besides its shape and places: arrays of one form may share a grid."""

    dtype: Descr
    """Type of the values."""
    stored: Stored
    """Encoding of the chunks."""
    fill: bytes | None
    """Value of missing chunks, as in a layout."""
    undefined: bool
    """True if missing chunks have undefined values."""
    distant: bool
    """True if the chunks are in remote objects."""

    def layout(self, shape: tuple[int, ...]) -> Layout:
        """Return the layout of an array of this shape."""
        return Layout(self.dtype, shape, self.stored.chunks, self.stored.codecs, self.fill)


@frozen
class TableChunkArray(ChunkGridArray):
    """An array of chunks at known places."""

    form: LocatedForm
    """Properties besides shape and places."""
    shape: tuple[int, ...]
    """Length of each dimension."""
    table: PlaceColumns
    """Places of the chunks, sorted by chunk."""
    held: Mapping[int, bytes]
    """Encoded bytes of chunks without a place, by linear index."""
    facts: Facts = field(default_factory=dict)
    """Properties of the files when their places were found."""
    storage: StorageOptions = field(default_factory=StorageOptions)
    """Options for remote objects."""

    @property
    def layout(self) -> Layout:
        """Layout of the array."""
        return self.form.layout(self.shape)

    @property
    def stored(self) -> Stored:
        """Encoding of the chunks."""
        return self.form.stored

    @property
    def undefined(self) -> bool:
        """True if missing chunks have undefined values."""
        return self.form.undefined

    @property
    def distant(self) -> bool:
        """True if the chunks are in remote objects."""
        return self.form.distant

    @property
    def noted(self) -> Facts:
        """Recorded properties of the files."""
        return self.facts

    def manifest(self, region: Region | None = None) -> PlaceColumns:
        """Return the places of the chunks."""
        return self.table

    @property
    def counts(self) -> tuple[int, ...]:
        """Shape of the chunk grid."""
        return grid_of(self.shape, self.form.stored.chunks)

    def replace(self, **changes: Any) -> Self:
        """Return the array with other fields."""
        return replace(self, **changes)

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the place of a chunk in a local file. Raises OSError if the file has changed."""
        place = self._place(number_of(chunk, self.counts))
        if place is None or is_remote(place.path):
            return None
        self._check(place.path)
        return ChunkPlace(*self._range(place), place.mask)

    def _place(self, number: int) -> ChunkPlace | None:
        row = int(np.searchsorted(self.table.chunk, number))
        if row == len(self.table.chunk) or self.table.chunk[row] != number:
            return None
        source, offset, length, mask = (int(column[row]) for column in self.table[2:])
        return ChunkPlace(self.table.sources[source], offset, length, mask)

    def _range(self, place: ChunkPlace) -> Range:
        """Return the range of a local place; a whole file has its present length."""
        length = os.path.getsize(place.path) if place.length < 0 else place.length
        return Range(place.path, place.offset, length)

    def _check(self, path: str) -> None:
        """Raise OSError if a local file differs from its recorded properties."""
        then = self.facts.get(path)
        if then and not is_remote(path):
            from nczarr.stores.stat import changes, facts, read_noted

            for change in changes(read_noted(then), facts(path)):
                raise OSError(None, f"the file has changed since it was read: {change}", path)

    def _fetch(self, place: ChunkPlace) -> bytes:
        """Return the bytes of a remote chunk; near short ones share a request."""
        from nczarr.stores.places import find_places

        connection = find_places(place.path).connect(place.path, self.storage)
        facts, end = self.facts.get(place.path) or {}, place.offset + place.length
        if "size" in facts and 0 <= place.length <= WINDOW // 2 and end <= int(facts["size"]):
            begin = place.offset // WINDOW * WINDOW
            key, stop = (place.path, begin, repr(facts)), min(int(facts["size"]), begin + WINDOW * 3 // 2)
            with _locks[hash(key) % len(_locks)]:  # of several threads, one fetches it
                window = _windows.get(key)
                if window is None:
                    window = connection.call("cat_file", "", start=begin, end=stop, size=stop - begin)
                    if len(window) != stop - begin:
                        text = f"{len(window)} bytes arrived, but {stop - begin} were requested"
                        raise OSError(None, text, connection.shown)
                    _windows.put(key, window)
            return bytes(window[place.offset - begin : end - begin])
        whole = place.length < 0
        bounds = {} if whole else {"start": place.offset, "end": place.offset + place.length, "size": place.length}
        data: bytes = connection.call("cat_file", "", **bounds)
        if not whole and len(data) != place.length:
            raise OSError(None, f"{len(data)} bytes arrived, but {place.length} were requested", connection.shown)
        return data

    def fetch(self, index: Index) -> FetchedChunk | None:
        """Return the encoded bytes of a chunk, with checked length; None if it is missing."""
        number = number_of(index, self.counts)
        data_here = self.held.get(number)
        if data_here is not None:
            return FetchedChunk(data_here)
        place = self._place(number)
        if place is None:
            return None
        self._check(place.path)
        data = self._fetch(place) if is_remote(place.path) else ranges.read(self._range(place))
        expected = measure_linked(self.stored.dtype, self.stored.chunks, unmask(self.stored.codecs, place.mask))
        if expected is not None and expected != len(data):
            self.fail(index, misfit(len(data), expected))
        return FetchedChunk(data, place.mask)

    @property
    def encoding(self) -> Encoding:
        """Encoding of the chunks, which are decoded here."""
        return Encoding(self.stored.dtype, tuple(to_configs(self.stored.codecs, itemsize(self.stored.dtype))))

    def fail(self, index: Index, reason: str) -> NoReturn:
        """Raise CompileError for the place of a chunk that cannot be decoded."""
        place = self._place(number_of(index, self.counts))
        path, offset = ("", 0) if place is None else place[:2]
        unreadable(path, f"the chunk cannot be decoded: {reason}", offset=offset)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet a chunk with a place or bytes, in C order."""
        numbers, counts, chunk_lengths = self.table.chunk, self.counts, self.stored.chunks
        if len(numbers) + len(self.held) == math.prod(counts):
            return ArraySource.list_occupied(self, chunks, region)
        if self.held:
            numbers = np.union1d(numbers, np.fromiter(self.held, np.int64, len(self.held)))
        if region is None and chunks == chunk_lengths:
            return indices_of(unravel(numbers, counts))
        cells = region_or_all(region, self.shape)
        table = unravel(numbers[rows_between(numbers, counts, chunk_ranges(chunk_lengths, cells))], counts)
        return blocks_of_chunks(table, chunk_lengths, chunks, cells)


def form_of(source: ArraySource) -> LocatedForm | None:
    """Return the form of a source; None if places alone do not define its values, or nothing decodes them here."""
    layout, stored = source.layout, source.stored
    if (
        stored is None
        or varies(stored.chunks)
        or layout.dtype == "|O"
        or layout.order != "C"
        or source.deferred is not None
    ):
        return None
    size = itemsize(stored.dtype)
    shuffled = {codec.parameters[:1] for codec in stored.codecs if codec.id == SHUFFLE}
    if not size or not expressible(stored.codecs, list_decoded_filters()) or not shuffled <= {(), (size,)}:
        return None
    if 0 in layout.shape or source.extent != layout.shape or source.unstored != layout.fill:
        return None
    return LocatedForm(layout.dtype, stored, layout.fill, source.undefined, source.distant)


def locate(source: ArraySource, short: int) -> TableChunkArray | None:
    """Return a source as places; None if they do not define its values. Raises OSError, CompileError.

    Chunks of at most `short` bytes that are not remote become bytes, as do those
    without a place.
    """
    form = form_of(source)
    if form is None:
        return None
    manifest = source.manifest()
    table = columns_from(()) if manifest is None else columns_of(manifest)
    if (table.chunk[1:] < table.chunk[:-1]).any():
        table = some(table, np.argsort(table.chunk, kind="stable"))
    shape = source.layout.shape
    counts = grid_of(shape, form.stored.chunks)
    chunk_bytes: dict[int, bytes] = {}
    if not form.distant and short >= 0:
        here = np.array([origin(path) is None for path in table.sources] or [True], bool)
        brief = (table.length <= short) & (table.length >= 0) & (table.mask == 0) & here[table.source]
        for number in table.chunk[brief].tolist():
            data = source.read_encoded(index_of(number, counts))
            if data is None:
                return None
            chunk_bytes[number] = data
        table = some(table, ~brief) if chunk_bytes else table
    if len(table.chunk) + len(chunk_bytes) < math.prod(counts):
        size, numbers = 0, {*table.chunk.tolist(), *chunk_bytes}
        for index in source.list_occupied(form.stored.chunks):
            number = number_of(index, counts)
            if number in numbers:
                continue
            data = source.read_encoded(index)
            size += 0 if data is None else len(data)
            if data is None or size > HELD:
                return None
            chunk_bytes[number] = data
    return TableChunkArray(form, shape, table, chunk_bytes)
