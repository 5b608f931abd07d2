"""Arrays chunked into keys of a store: an array source for every version of Zarr.

`grid.py` decodes and assembles chunks; this module finds their bytes. Raises
CompileError with `unreadable-chunk` for undecodable chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from heapq import merge
from itertools import groupby
from typing import Any, NoReturn, Self

from nczarr.arrays.chunks import small_chunks
from nczarr.arrays.chunks.chunk_grid_array import MANY, FetchedChunk
from nczarr.arrays.chunks.grid import convert, kept, unreadable
from nczarr.arrays.chunks.manifest import WHOLE, ChunkPlace, KeyListing, Manifest, PlaceColumns, columns_from
from nczarr.arrays.chunks.occupancy import blocks_of_chunks, blocks_of_runs, chunks_in
from nczarr.arrays.chunks.shards import (
    KeyedArray,
    columns_in_shards,
    fetch_in_shards,
    in_shard,
    in_shards,
    list_stored_in_shards,
    places_in_shards,
)
from nczarr.arrays.chunks.small_chunks import EncodedChunks
from nczarr.arrays.codecs.chain import DECODING_ERRORS, decode
from nczarr.arrays.codecs.lengths import is_plain, measure_decoded, measure_encoded, measure_fixed, misfit, texts_end
from nczarr.arrays.codecs.table import of_config_id
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Region,
    Selection,
    bounds_of,
    chunk_ranges,
    clip,
    covering_regions,
    grid_of,
    in_one,
    indices_of,
    number_of,
    region_or_all,
)
from nczarr.arrays.sources.memory import is_complete, put_nil
from nczarr.arrays.sources.source import ArraySource, Descr, Stored, itemsize, numpy_dtype
from nczarr.ast.rectilinear import largest, varies
from nczarr.names.records import frozen
from nczarr.registry import ChunkKeys
from nczarr.stores import ranges
from nczarr.stores.ranges import GAP, Range


@frozen
class KeyChunkArray(KeyedArray):
    """One array of a store."""

    nil: tuple[tuple[int, int], ...] = ()
    """Runs of NIL strings, as (start, length)."""
    undefined: bool = False
    """True if missing chunks have undefined values."""
    masks: Mapping[Index, int] = field(default_factory=dict)
    """Skipped steps of the chain by chunk. Bit i: step i was skipped, as in HDF5."""
    _own: list[Any] = field(default_factory=list, repr=False)
    """Keys of the array in this process, once made."""
    _at_hand: dict[Index, bytes] = field(default_factory=dict, repr=False)
    """Encoded chunks fetched from a distance."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the description and a digest of the keys: other processes must see the same. Raises OSError."""
        described = self.layout, self.store, self.chunk_keys, self.encoding, self.nil, self.undefined, self.masks
        return _elsewhere, (described, self.keys.digest())

    def move(self, chunk_keys: ChunkKeys) -> KeyChunkArray:
        """Return an array of the same description with other keys."""
        return KeyChunkArray(self.layout, self.store, chunk_keys, self.encoding, self.nil, self.undefined)

    @property
    def element(self) -> Descr:
        """Stored element of the encoding."""
        return self.encoding.dtype

    def reads_as(self, other: ArraySource) -> bool:
        """Return whether another array reads the same keys in the same way.

        An undefined value of missing chunks may be any other, and any value if none is missing.
        """
        size = itemsize(self.encoding.dtype)
        if not isinstance(other, KeyChunkArray) or _describe(self, size) != _describe(other, size):
            return False
        same_fill = not other.undefined and self.layout.fill == other.layout.fill
        return self.undefined or same_fill or is_complete(self)

    @property
    def distant(self) -> bool:
        """Value of the store."""
        return self.store.distant

    @property
    def together(self) -> tuple[int, ...] | None:
        """Shape of a distant shard; for references and archives the whole array: chunks may be adjacent anywhere."""
        if self._scattered and self.layout.shards is None:
            return tuple(max(1, length) for length in self.layout.shape) if self.store.distant else None
        shards = self.layout.shards if self.store.distant else None
        return None if shards is None else largest(shards)

    @property
    def _scattered(self) -> bool:
        """True if keys are ranges of files, which may be adjacent."""
        return self.store.refers or self.store.archive

    def prefetch(self, regions: Sequence[Selection]) -> Self:
        """Return the array with distant encoded chunks in memory; near ones share a request. Raises OSError."""
        if self.together is None:
            return self
        if self._scattered and self.layout.shards is None:
            keys = {self.key(index): index for index in covering_regions(regions, self.layout.chunks)}
            return replace(self, _at_hand={keys[key]: data for key, data in self.store.several(keys).items()})
        return replace(self, _at_hand=fetch_in_shards(self, sorted(covering_regions(regions, self.layout.chunks))))

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the locations of stored chunks in files or URL objects; None without any. Raises OSError.

        The manifest of the whole array is cached.
        """
        listing = self.keys
        if not listing.placed:
            if region is not None:
                return self._columns(region)
            listing.manifest, listing.placed = self._columns(None), True
        return listing.manifest

    def _list_stored_keys(self, region: Region | None, *, exactly: bool) -> NDArray[np.int64]:
        """Return the indices of stored keys that contain an index of a region: int64, shape (keys, dimensions).

        `exactly`: without keys that are not known to exist. Raises OSError.
        """
        if not region:
            return self.keys.table()
        unit = self.layout.shards or self.layout.chunks
        return chunks_in(self.keys.table_in(chunk_ranges(unit, region), exactly=exactly), unit, region)

    def _columns(self, region: Region | None) -> PlaceColumns | None:
        """Return number, URL, offset and length of each stored chunk in a region, as columns; None without any."""
        layout = self.layout
        counts = grid_of(layout.shape, layout.chunks)
        if layout.shards is not None:
            return columns_in_shards(self, self._list_stored_keys(region, exactly=True), region)

        def places() -> Iterator[tuple[int, ChunkPlace]]:
            """Yield number and place of each chunk that is a range of another file."""
            for index in indices_of(self._list_stored_keys(region, exactly=True)):
                reference = self.store.refer(self.key(index))
                if reference is None or reference.url is None:
                    continue
                length = WHOLE if reference.length is None else reference.length
                expected = self._length(index) if reference.length is None else None
                if expected is not None:
                    stated = self.store.find_size(self.key(index))
                    length = WHOLE if stated in (None, expected) else stated
                yield (
                    number_of(index, counts),
                    ChunkPlace(reference.url, reference.offset, length, self.masks.get(index, 0)),
                )

        columns = columns_from(places())
        return columns if len(columns.chunk) else None

    @property
    def stored(self) -> Stored | None:
        """Encoding of chunks; None if the axis order or a step of the chain is not one that we write."""
        encoding, codecs = self.encoding, self.layout.codecs
        if len(encoding.permutation or ()) > 1 or len(codecs) != len(encoding.steps):
            return None
        size = itemsize(encoding.dtype)
        if any(step.get("id") == "shuffle" and step.get("elementsize", 0) not in (0, size) for step in encoding.steps):
            return None
        return Stored(encoding.dtype, self.layout.chunks, codecs)

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return a chunk's location in a file; None if it is not stored in a file. Raises OSError."""
        place = self._find_place(chunk)
        if place is not None:
            self._fits(chunk, place.length)
            if self._plain_texts:
                self._check_texts(chunk, ranges.read(Range(*place[:3])))
        return place

    def _find_place(self, chunk: Index) -> ChunkPlace | None:
        """Locate the bytes of a chunk in a file or, by the index of its shard, in a shard; None if it has no place."""
        if self.layout.shards is None:
            self.keys.check_seen()
            whole = self.store.locate(self.key(chunk))
            return None if whole is None else ChunkPlace(*whole, self.masks.get(chunk, 0))
        stored_chunk = in_shard(self, chunk)
        if stored_chunk is None:
            return None
        shard, offset, length = stored_chunk
        return ChunkPlace(shard.path, shard.offset + offset, length) if isinstance(shard, Range) else None

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the locations of many chunks; those in shards are found together."""
        if self.layout.shards is None or self.masks or self._plain_texts or self.store.distant:
            return ArraySource.places(self, chunks, cut=cut)
        places = places_in_shards(self, chunks, self._misfit)
        return ArraySource.places(self, chunks, cut=cut) if places is None else places  # the first wrong one raises

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype; NIL strings are None."""
        part = self._read_part(selection)
        if part is not None:
            return part
        layout, out = self.layout, KeyedArray.read(self, selection)
        if self.nil and layout.dtype == "|O":
            out = out if out.flags.writeable else out.copy()
            put_nil(out, self.nil, [start for start, _ in bounds_of(selection, layout.shape)], layout.shape)
        return out

    def _read_part(self, selection: Selection) -> NDArray[Any] | None:
        """Return a small region of a large distant chunk that is not encoded, from its bytes alone; None of others."""
        layout, (dtype, steps, permutation) = self.layout, self.encoding[:3]
        bounds = bounds_of(selection, layout.shape)
        if not (self.distant and self.store.refers) or steps or permutation or layout.shards or self._at_hand:
            return None
        if dtype == "|O" or self.keys.varies or not in_one(bounds, layout.chunks):
            return None
        width = itemsize(dtype)
        strides = [width * math.prod(layout.chunks[axis + 1 :]) for axis in range(len(bounds))]
        index = tuple(start // length for (start, _), length in zip(bounds, layout.chunks, strict=True))
        first = [start % length for (start, _), length in zip(bounds, layout.chunks, strict=True)]
        shape = [stop - start for start, stop in bounds]
        length = sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True)) + width
        expected, key = self._length(index), self.key(index)
        if min(shape, default=0) < 1 or expected is None or length > expected - GAP:
            return None
        reference = self.store.refer(key)
        if reference is None or reference.length != expected or kept.get((self.identity, "chunk", index)) is not None:
            return None
        offset = sum(start * stride for start, stride in zip(first, strides, strict=True))
        data = self.store.part(key, offset, length)
        return None if data is None else convert(np.ndarray(shape, numpy_dtype(dtype), data, 0, strides), layout.dtype)

    def near(self, selection: Selection) -> Self:
        """Return the array with the distant chunks of a region in memory, if they share requests."""
        bounds = bounds_of(selection, self.layout.shape)
        if self.together is None or self._at_hand or in_one(bounds, self.layout.chunks):
            return self
        return self.prefetch([tuple(slice(*bound) for bound in bounds)])

    @property
    def listing(self) -> Callable[[Sequence[range]], Iterable[Index]] | None:
        """Function that lists stored chunks for `assemble`; None if that takes requests or is impossible."""
        return self._list_in if self.store.listed and (self.layout.shards is None or not self.distant) else None

    def _list_in(self, ranges: Sequence[range]) -> Iterator[Index]:
        """Return the stored chunks within a range of indices along each dimension."""
        layout = self.layout
        if layout.shards is None:
            return indices_of(self.keys.table_in(ranges, exactly=False))
        lengths = zip(ranges, layout.chunks, layout.shape, strict=True)
        region = tuple(range(part.start * length, min(part.stop * length, end)) for part, length, end in lengths)
        return indices_of(list_stored_in_shards(self, self._list_stored_keys(region, exactly=False), region))

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return a chunk's encoded bytes; None: not stored, or with skipped steps. Raises OSError, CompileError."""
        data = KeyedArray.read_encoded(self, chunk)
        if data is not None and self._plain_texts:
            self._check_texts(chunk, data)
        return data

    def fetch(self, index: Index) -> FetchedChunk | None:
        """Return the encoded bytes of a chunk, with checked length; None if it is not stored."""
        data = self._raw(index)
        return None if data is None else FetchedChunk(data, self.masks.get(index, 0))

    def _raw(self, chunk: Index) -> bytes | None:
        """Return the encoded bytes of a chunk, with checked length; None: not stored."""
        data = self._at_hand.get(chunk)
        if data is None and self.layout.shards is None:
            self.keys.check_seen()
            key = self.key(chunk)
            if self.store.archive:
                self.store.check_chunk(key, measure_fixed(self.encoding.dtype, self.layout_of(chunk).chunks))
            data = self.store.get(key)
            if data is None:
                self.keys.check_absent(chunk)
        elif data is None:
            stored_chunk = in_shard(self, chunk)
            if stored_chunk is None:
                return None
            shard, offset, length = stored_chunk
            self._fits(chunk, length)
            if isinstance(shard, Range):
                return ranges.read(Range(shard.path, shard.offset + offset, length))
            if shard is not None:
                return shard[offset : offset + length]
            data = self.part(self.key(self.home(chunk)), offset, length)
        if data is not None:
            self._fits(chunk, len(data))
        return data

    def is_mostly_missing(self, selection: Selection) -> bool:
        """Return whether listed keys show that most chunks of a large region are missing."""
        layout = self.layout
        if not self.store.listed or layout.shards is not None:
            return False
        box = chunk_ranges(layout.chunks, clip(selection, layout.shape))
        count = math.prod(map(len, box))
        if count <= MANY:
            return False
        first, end = np.array([(part.start, part.stop) for part in box], np.int64).T
        table = self.keys.table()
        return 2 * int(((table >= first) & (table < end)).all(axis=1).sum()) < count

    def fetch_many(self, chunks: NDArray[np.int64]) -> EncodedChunks:
        """Return the encoded bytes of many chunks; those in shards are found together."""
        if self.layout.shards is None or self.masks:
            return KeyedArray.fetch_many(self, chunks)
        parts = []
        for stored_chunks in in_shards(self, chunks):
            if not stored_chunks.is_inside or self._misfit(stored_chunks.length):
                raise ValueError("the index of a shard is wrong")
            if isinstance(stored_chunks.whole, Range):
                zeros = np.zeros(len(stored_chunks.row), np.int64)
                offset, masks = stored_chunks.whole.offset + stored_chunks.offset, zeros.astype(np.int32)
                place = PlaceColumns(
                    (stored_chunks.whole.path,), stored_chunks.row, zeros, offset, stored_chunks.length, masks
                )
                parts.append(small_chunks.locate(place))
            elif stored_chunks.whole is not None:
                bounds = zip(
                    stored_chunks.offset.tolist(), (stored_chunks.offset + stored_chunks.length).tolist(), strict=True
                )
                data = [stored_chunks.whole[begin:end] for begin, end in bounds]
                parts.append(EncodedChunks(stored_chunks.row, np.zeros(len(data), np.int32), data))
        return small_chunks.merge(parts)

    def _misfit(self, length: NDArray[np.int64]) -> bool:
        """Return whether a length of an encoded chunk is wrong; for many as `_fits` for one without a mask."""
        expected = self.keys.length
        if expected is None:  # no codec makes nothing of something
            return not length.all() and measure_decoded(self.encoding.dtype, self.layout.chunks) > 0
        return bool((length != expected).any())

    @property
    def _plain_texts(self) -> bool:
        """True if chunks are uncompressed texts, whose lengths are visible without decoding."""
        return self.encoding.dtype == "|O" and is_plain(self.encoding.steps)

    def _fits(self, chunk: Index, length: int) -> None:
        """Raise CompileError if the chunk shape does not allow this encoded length."""
        expected = self._length(chunk)
        if expected is None and not length:  # no codec makes nothing of something
            expected = measure_decoded(self.encoding.dtype, self.layout_of(chunk).chunks)
        if expected is not None and length != expected:
            self.fail(chunk, misfit(length, expected))

    def _length(self, chunk: Index) -> int | None:
        """Return the bytes of an encoded chunk; None if they depend on its values."""
        if chunk not in self.masks and not self.keys.varies:
            return self.keys.length
        return measure_encoded(
            self.encoding.dtype, self.layout_of(chunk).chunks, self.steps_of(self.masks.get(chunk, 0))
        )

    def _check_texts(self, chunk: Index, data: bytes) -> None:
        """Raise CompileError unless the texts of a chunk fill it."""
        try:
            texts_end(decode(data, self.encoding.steps, 1, None), math.prod(self.layout_of(chunk).chunks))
        except DECODING_ERRORS as error:
            self.fail(chunk, str(error) or type(error).__name__)

    @property
    def keys(self) -> KeyListing:
        """Keys of the array in this process; made once, because they identify the array."""
        if not self._own:
            self._own.append(self._begin_listing(None))
        listing: KeyListing = self._own[0]
        return listing

    def _begin_listing(self, expected: str | None) -> KeyListing:
        """Begin a listing of the keys in the store; `length` is that of all chunks if no codec changes it."""
        encoding = self.encoding
        counts = grid_of(self.layout.shape, self.layout.shards or self.layout.chunks)
        listing = KeyListing(self.store, self.chunk_keys, counts, expected)
        listing.varies = varies(self.layout.chunks)
        if not listing.varies:
            listing.length = measure_encoded(encoding.dtype, self.layout.chunks, encoding.steps)
        return listing

    @property
    def identity(self) -> object:
        """Token of the keys of the array, which are made once in a process."""
        return self.keys.token

    def fail(self, index: Index, reason: str) -> NoReturn:
        """Raise CompileError for the key of a chunk that cannot be decoded."""
        inside = "" if self.layout.shards is None else f", {list(index)} of the array,"
        unreadable(self.store.path, f"the chunk{inside} cannot be decoded: {reason}", self.key(self.home(index)))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet a stored chunk, in C order; of shards also their chunks count."""
        layout = self.layout
        unit = layout.shards or layout.chunks
        if not self.store.listed or (region is not None and not all(region)):
            return KeyedArray.list_occupied(self, chunks, region)
        if region is None and chunks == unit and not self.nil:
            return indices_of(self.keys.table())
        cells = region_or_all(region, layout.shape)
        table = self._list_stored_keys(region, exactly=False)
        cuts_shards = any(block < length for block, length in zip(largest(chunks), largest(unit), strict=True))
        if layout.shards is not None and cuts_shards and not self.distant:
            unit, table = layout.chunks, list_stored_in_shards(self, table, cells)
        blocks = blocks_of_chunks(table, unit, chunks, cells)
        if not self.nil:
            return blocks
        # A chunk of empty strings is not stored, and some of them may be NIL.
        nil = blocks_of_runs(self.nil, layout.shape, chunks, cells)
        return (index for index, _ in groupby(merge(blocks, nil)))


def _elsewhere(described: tuple[Any, ...], keys: str | None) -> KeyChunkArray:
    """Return an array from another process's description and key digest."""
    array = KeyChunkArray(*described)
    array._own.append(array._begin_listing(keys))
    return array


def _describe(array: KeyChunkArray, size: int) -> tuple[object, ...]:
    """Return everything that determines how chunks are found and decoded. `size`: bytes of an element."""
    layout, encoding = array.layout, array.encoding
    dtype = encoding.dtype
    if size == 1 and isinstance(dtype, str):  # such elements have no byte order
        dtype = f"|{dtype[1:]}"
    steps = []
    for step in encoding.steps:
        kind = of_config_id(step.get("id"))
        steps.append((step.get("id"), step if kind is None else kind.zarr3_configuration(step, size)))
    index = (encoding.index_steps, encoding.index_first)
    geometry = (layout.dtype, layout.shape, layout.chunks, layout.shards)
    return array.chunk_keys, geometry, dtype, steps, encoding.permutation, index, array.nil
