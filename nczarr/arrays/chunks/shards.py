"""Shards of an array in a store: their indices and chunk locations.

A shard in a file is read by ranges. Only parts of a distant shard are fetched.
"""

from __future__ import annotations

import errno
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from nczarr.arrays.chunks.chunk_grid_array import ChunkGridArray
from nczarr.arrays.chunks.grid import Encoding, kept, unreadable
from nczarr.arrays.chunks.manifest import KeyListing, PlaceColumns, columns_from
from nczarr.arrays.chunks.occupancy import chunks_in
from nczarr.arrays.codecs.chain import DECODING_ERRORS
from nczarr.arrays.codecs.lengths import measure_fixed
from nczarr.arrays.codecs.sharding_indexed import ShardIndex, index_size, index_table, shard_index
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import LARGEST, Index, Region, grid_of, indices_of, number_of, ravel, region_or_all, unravel
from nczarr.arrays.sources.source import Layout
from nczarr.ast.rectilinear import shape_of, varies
from nczarr.diagnostics.report import CompileError
from nczarr.names.records import NamedTuple, frozen
from nczarr.registry import ChunkKeys
from nczarr.stores import ranges
from nczarr.stores.base import Store
from nczarr.stores.ranges import Range, neighbours


@frozen
class KeyedArray(ChunkGridArray):
    """Array of a store in which each chunk, or each shard of chunks, has a key."""

    layout: Layout
    store: Store
    chunk_keys: ChunkKeys
    """Names of chunks or shards."""
    encoding: Encoding
    """Encoding of the chunks."""

    keyed = True

    @property
    def noted(self) -> Mapping[str, Mapping[str, Any]]:
        """Value of the store."""
        return self.store.target_facts

    @property
    def keys(self) -> KeyListing:
        """Keys of the array in this process."""
        raise NotImplementedError

    @property
    def rewritable(self) -> bool:
        """True if the chain of chunks and the index of shards are those that we write."""
        steps = [step.get("id") for step in self.encoding.index_steps]
        endian = all(step.get("endian", "little") == "little" for step in self.encoding.index_steps)
        plain = self.layout.shards is None or (
            steps == ["bytes", "crc32c"] and endian and not self.encoding.index_first
        )
        return plain and self.stored is not None

    def key(self, index: Index) -> str:
        """Return the key of a chunk or shard."""
        return self.chunk_keys.key(index)

    def home(self, index: Index) -> Index:
        """Return the key index of a chunk."""
        layout = self.layout
        if layout.shards is None:
            return index
        lengths = zip(index, layout.chunks, layout.shards, strict=True)
        return tuple(number * chunk // shard for number, chunk, shard in lengths)

    def layout_of(self, chunk: Index) -> Layout:
        """Return the layout with the shape of one chunk."""
        layout = self.layout
        return layout._replace(chunks=shape_of(chunk, layout.chunks)) if self.keys.varies else layout

    def part(self, key: str, offset: int, length: int) -> bytes:
        """Return a range of a distant shard that existed before. Raises OSError."""
        data = self.store.part(key, offset, length)
        if data is None:
            raise OSError(errno.EIO, "the shard no longer exists", f"{self.store.path}/{key}")
        return data

    def unreadable(self, key: str, reason: str) -> NoReturn:
        """Raise CompileError with `unreadable-chunk` for a key."""
        unreadable(self.store.path, f"the chunk cannot be decoded: {reason}", key)


def in_shard(array: KeyedArray, chunk: Index) -> tuple[bytes | Range | None, int, int] | None:
    """Return the shard of a chunk, and the chunk's offset and length in it; None if not stored.

    Raises OSError, CompileError with `unreadable-chunk`.
    """
    chunks, shards = array.layout.chunks, array.layout.shards or array.layout.chunks
    home = array.home(chunk)
    counts = grid_of(shape_of(home, shards), chunks)
    whole = _shard(array, home, math.prod(counts))
    if whole is None:
        return None
    shard, table = whole
    firsts = (
        number * length // chunk_length for number, length, chunk_length in zip(home, shards, chunks, strict=True)
    )
    place = number_of(tuple(number - first for number, first in zip(chunk, firsts, strict=True)), counts)
    row = bisect_left(table.number, place)
    if row == len(table.number) or table.number[row] != place:
        return None
    offset, length = int(table.offset[row]), int(table.length[row])
    if shard is not None and offset + length > (shard.length if isinstance(shard, Range) else len(shard)):
        array.unreadable(array.key(home), "the index points beyond the end of the shard")
    return shard, offset, length


class InShard(NamedTuple):
    """Chunks of one shard."""

    home: Index
    whole: bytes | Range | None
    """Bytes of the shard, or its range of a file; None if distant."""
    row: NDArray[np.int64]
    """Number of each chunk among the requested ones."""
    offset: NDArray[np.int64]
    """Start in the shard, in bytes."""
    length: NDArray[np.int64]
    """Length in bytes."""
    is_inside: bool
    """False if the index points beyond the end of the shard."""


def in_shards(array: KeyedArray, chunks: NDArray[np.int64]) -> Iterator[InShard]:
    """Yield the stored ones of some chunks by shard, in the order of their first chunks.

    `chunks`: int64, shape (chunks, dimensions), indices in C order. Raises OSError,
    CompileError with `unreadable-chunk`.
    """
    shards = array.layout.shards or array.layout.chunks
    homes, number = _in_homes(chunks, array.layout.chunks, shards)
    changes = np.flatnonzero((homes[1:] != homes[:-1]).any(axis=1)) + 1
    visits: dict[Index, list[NDArray[np.int64]]] = {}
    for rows in np.split(np.arange(len(chunks)), changes):
        if len(rows):
            visits.setdefault(tuple(homes[rows[0]].tolist()), []).append(rows)
    for home, parts in visits.items():
        shard_and_index = _shard(array, home, math.prod(grid_of(shape_of(home, shards), array.layout.chunks)))
        if shard_and_index is None:
            continue
        whole, table = shard_and_index
        rows = np.concatenate(parts)
        stored, places = table.rows(number[rows])
        rows, offset, length = rows[stored], table.offset[places], table.length[places]
        size = LARGEST if whole is None else whole.length if isinstance(whole, Range) else len(whole)
        is_inside = bool(((offset <= size) & (length <= np.uint64(size) - np.minimum(offset, np.uint64(size)))).all())
        yield InShard(home, whole, rows, offset.astype(np.int64), length.astype(np.int64), is_inside)


def list_stored_in_shards(array: KeyedArray, shards: NDArray[np.int64], region: Region) -> NDArray[np.int64]:
    """Return the stored chunks of some shards in a region, and the first one of a shard with an unreadable index.

    Reading it reports the index. A shard may declare any number of chunks: without an index they are not listed.
    `shards`, result: indices, int64, shape (indices, dimensions). Raises OSError.
    """
    layout, tables = array.layout, []
    assert layout.shards is not None
    for home in indices_of(shards):  # one by one: a shard has many chunks
        counts = grid_of(shape_of(home, layout.shards), layout.chunks)
        try:
            shard = _shard(array, home, math.prod(counts))
        except CompileError:
            tables.append(_first_chunk(layout, home, region))
            continue
        if shard is not None:
            lengths = zip(home, layout.shards, layout.chunks, strict=True)
            first = np.array([number * length // chunk_length for number, length, chunk_length in lengths], np.int64)
            tables.append(chunks_in(unravel(shard[1].number, counts) + first, layout.chunks, region))
    return np.concatenate(tables) if tables else shards[:0]


def fetch_in_shards(array: KeyedArray, chunks: Sequence[Index]) -> dict[Index, bytes]:
    """Return the encoded bytes of stored chunks in distant shards; near ones share a request. Raises OSError."""
    shards: dict[Index, list[tuple[int, int, Index]]] = {}
    for index in chunks:
        place = in_shard(array, index)
        if place is not None:
            shards.setdefault(array.home(index), []).append((*place[1:], index))
    at_hand: dict[Index, bytes] = {}
    for home, places in shards.items():
        for begin, end, group in neighbours(places):
            data = memoryview(array.part(array.key(home), begin, end - begin))
            for offset, length, index in group:
                at_hand[index] = bytes(data[offset - begin : offset - begin + length])
    return at_hand


def places_in_shards(
    array: KeyedArray, chunks: NDArray[np.int64], misfit: Callable[[NDArray[np.int64]], bool]
) -> PlaceColumns | None:
    """Return the file locations of chunks in shards, as `ArraySource.places`; None if one is wrong. Raises OSError.

    `misfit`: returns whether one of some encoded lengths is wrong.
    """
    sources, pieces = dict[str, int](), []
    for part in in_shards(array, chunks):
        whole, length = part.whole, part.length
        if not part.is_inside or (isinstance(whole, Range) and misfit(length)):
            return None
        if isinstance(whole, Range):
            source = np.full(len(length), sources.setdefault(whole.path, len(sources)), np.int64)
            pieces.append((part.row, source, whole.offset + part.offset, length))
    return _join_columns(sources, pieces) or columns_from(())


def columns_in_shards(array: KeyedArray, shards: NDArray[np.int64], region: Region | None) -> PlaceColumns | None:
    """Return the public locations of the chunks of a region in some shards; None without any.

    `shards`: indices, int64, shape (shards, dimensions). Raises OSError, CompileError
    for a chunk beyond the end of its shard.
    """
    layout, sources, pieces = array.layout, dict[str, int](), []
    counts = grid_of(layout.shape, layout.chunks)
    for row in range(len(shards)):  # one by one: a shard has many chunks
        home = shards[row : row + 1]
        whole = array.store.refer(array.key(tuple(home[0].tolist())))
        if whole is None or whole.url is None:
            continue
        chunks = list_stored_in_shards(array, home, region_or_all(region, layout.shape))
        for part in in_shards(array, chunks):
            if not part.is_inside:
                for index in indices_of(chunks):  # the first chunk beyond the end raises
                    in_shard(array, index)
            source = np.full(len(part.row), sources.setdefault(whole.url, len(sources)), np.int64)
            pieces.append((ravel(chunks[part.row], counts), source, whole.offset + part.offset, part.length))
    return _join_columns(sources, pieces)


def _join_columns(sources: Mapping[str, int], pieces: Sequence[tuple[NDArray[np.int64], ...]]) -> PlaceColumns | None:
    """Return pieces of the columns `chunk`, `source`, `offset` and `length`, sorted by chunk; None without rows."""
    if not sum(len(piece[0]) for piece in pieces):
        return None
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    chunk, source, offset, length = (column[order] for column in columns)
    return PlaceColumns(tuple(sources), chunk, source, offset, length, np.zeros(len(chunk), np.int32))


def _first_chunk(layout: Layout, home: Index, region: Region) -> NDArray[np.int64]:
    """Return the first chunk of a shard in a region: int64, shape (1, dimensions)."""
    assert layout.shards is not None
    lengths = zip(home, layout.shards, layout.chunks, region, strict=True)
    return np.array([[max(number * shard, asked[0]) // chunk for number, shard, chunk, asked in lengths]], np.int64)


def _in_homes(
    chunks: NDArray[np.int64], chunk_shape: tuple[int, ...], shards: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the shards of some chunks, and the linear index of each chunk in its shard.

    `chunks`: int64, shape (chunks, dimensions), indices in C order; the shards
    have the same form. `chunk_shape`: shape of a chunk.
    """
    if not varies(shards):
        counts = grid_of(shards, chunk_shape)
        per_shard = np.array(counts, np.int64).reshape(1, -1)
        homes = chunks // per_shard
        return homes, ravel(chunks - homes * per_shard, counts)
    homes, number = np.empty_like(chunks), np.zeros(len(chunks), np.int64)
    for axis, (length, shard) in enumerate(zip(chunk_shape, shards, strict=True)):
        homes[:, axis] = home = chunks[:, axis] * length // shard
        first, end = home * shard // length, (home + 1) * shard // length
        number = number * (end - first) + chunks[:, axis] - first
    return homes, number


def _shard(array: KeyedArray, index: Index, count: int) -> tuple[bytes | Range | None, ShardIndex] | None:
    """Return a shard (bytes, a range of its file, or None if distant), and its index; None if it is not stored.

    Raises OSError, CompileError with `unreadable-chunk`.
    """
    cached: tuple[bytes | Range | None, ShardIndex] | None = kept.get((array.keys.token, "shard", index))
    if cached is not None:
        return cached
    array.keys.check_seen()
    key = array.key(index)
    if array.store.distant:
        with array.keys.lock:  # others that want the same index wait for it
            again: tuple[None, ShardIndex] | None = kept.get((array.keys.token, "shard", index))
            return again or _distant_shard(array, index, key, count)
    place = array.store.locate(key)
    size = _index_size(array, count)
    if place is None and array.store.archive:
        decoded = measure_fixed(array.encoding.dtype, shape_of(index, array.layout.shards or array.layout.chunks))
        array.store.check_chunk(key, None if decoded is None else decoded + size)
    shard: bytes | Range | None = place if place is not None else array.store.get(key)
    if shard is None:
        array.keys.check_absent(index)
        return None
    length = shard.length if isinstance(shard, Range) else len(shard)
    if length < size:
        array.unreadable(key, "the shard is shorter than its index")
    begin = 0 if array.encoding.index_first else length - size
    if isinstance(shard, Range):
        table = ranges.read(Range(shard.path, shard.offset + begin, size))
    else:
        table = shard[begin : begin + size]
    shard_and_index = shard, _decode_index(array, table, key, count)
    kept.put(
        (array.keys.token, "shard", index),
        shard_and_index,
        shard_and_index[1].size + (0 if isinstance(shard, Range) else length),
    )
    return shard_and_index


def _distant_shard(array: KeyedArray, index: Index, key: str, count: int) -> tuple[None, ShardIndex] | None:
    """Return None (no shard) and the index of a distant shard; None if it is not stored."""
    size = _index_size(array, count)
    table = array.store.part(key, 0 if array.encoding.index_first else -size, size)
    if table is None:
        array.keys.check_absent(index)
        return None
    shard_and_index = None, _decode_index(array, table, key, count)
    kept.put((array.keys.token, "shard", index), shard_and_index, shard_and_index[1].size)
    return shard_and_index


def _index_size(array: KeyedArray, count: int) -> int:
    """Return the bytes of a shard's index."""
    return index_size(array.encoding.index_steps, count)


def _decode_index(array: KeyedArray, data: bytes, key: str, count: int) -> ShardIndex:
    """Decode a shard's index. Raises CompileError with `unreadable-chunk`."""
    try:
        return shard_index(index_table(data, array.encoding.index_steps, count))
    except DECODING_ERRORS as error:
        array.unreadable(key, f"the index of the shard: {error}")
