"""Shards of an array in a store: their indices and chunk locations.

A shard in a file is read by ranges. Only parts of a distant shard are fetched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from nczarr.arrays.array_steps import ABSENT, index_size, index_table
from nczarr.arrays.blocks import Index, grid_of, number_of
from nczarr.arrays.chunk_keys import Listing
from nczarr.arrays.decode import DECODING_ERRORS
from nczarr.arrays.grid import Encoding, kept, unreadable
from nczarr.arrays.index_table import LARGEST, raveled
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.source import ArraySource, Layout
from nczarr.ast.rectilinear import shape_of, varies
from nczarr.capabilities import ChunkKeys
from nczarr.stores import ranges
from nczarr.stores.base import Store
from nczarr.stores.ranges import Range


@dataclass(frozen=True, slots=True, eq=False)
class KeyedArray(ArraySource):
    """Array of a store in which each chunk, or each shard of chunks, has a key."""

    layout: Layout
    """Layout of the array."""
    store: Store
    """The store."""
    chunk_keys: ChunkKeys
    """Names of chunks or shards."""
    encoding: Encoding
    """Encoding of the chunks."""

    @property
    def keyed(self) -> bool:
        """True."""
        return True

    @property
    def noted(self) -> Mapping[str, Mapping[str, Any]]:
        """Value of the store."""
        return self.store.target_facts

    @property
    def keys(self) -> Listing:
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
    firsts = (number * length // own for number, length, own in zip(home, shards, chunks, strict=True))
    place = number_of(tuple(number - first for number, first in zip(chunk, firsts, strict=True)), counts)
    offset, length = int(table[2 * place]), int(table[2 * place + 1])
    if offset == length == ABSENT:
        return None
    if shard is not None and offset + length > (shard.length if isinstance(shard, Range) else len(shard)):
        array.unreadable(array.key(home), "the index points beyond the end of the shard")
    return shard, offset, length


class InShard(NamedTuple):
    """Chunks of one shard."""

    home: Index
    """Index of the shard."""
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
        found = _shard(array, home, math.prod(grid_of(shape_of(home, shards), array.layout.chunks)))
        if found is None:
            continue
        whole, table = found
        rows = np.concatenate(parts)
        offset, length = table[0::2][number[rows]].astype(np.uint64), table[1::2][number[rows]].astype(np.uint64)
        stored = (offset != ABSENT) | (length != ABSENT)
        rows, offset, length = rows[stored], offset[stored], length[stored]
        size = LARGEST if whole is None else whole.length if isinstance(whole, Range) else len(whole)
        is_inside = bool(((offset <= size) & (length <= np.uint64(size) - np.minimum(offset, np.uint64(size)))).all())
        yield InShard(home, whole, rows, offset.astype(np.int64), length.astype(np.int64), is_inside)


def _in_homes(
    chunks: NDArray[np.int64], own: tuple[int, ...], shards: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the shards of some chunks, and the linear index of each chunk in its shard.

    `chunks`: int64, shape (chunks, dimensions), indices in C order; the shards
    have the same form. `own`: shape of a chunk.
    """
    if not varies(shards):
        counts = grid_of(shards, own)
        per_shard = np.array(counts, np.int64).reshape(1, -1)
        homes = chunks // per_shard
        return homes, raveled(chunks - homes * per_shard, counts)
    homes, number = np.empty_like(chunks), np.zeros(len(chunks), np.int64)
    for axis, (length, shard) in enumerate(zip(own, shards, strict=True)):
        homes[:, axis] = home = chunks[:, axis] * length // shard
        first, end = home * shard // length, (home + 1) * shard // length
        number = number * (end - first) + chunks[:, axis] - first
    return homes, number


def _shard(array: KeyedArray, index: Index, count: int) -> tuple[bytes | Range | None, NDArray[np.uint64]] | None:
    """Return a shard (bytes, a range of its file, or None if distant), and its index of offsets and lengths.

    The index is uint64 in either byte order, shape (2 × chunks,): offset and
    length alternate. Raises OSError, CompileError with `unreadable-chunk`.
    """
    known: tuple[bytes | Range | None, NDArray[np.uint64]] | None = kept.get((array.keys, "shard", index))
    if known is not None:
        return known
    array.keys.check_seen()
    key = array.key(index)
    if array.store.distant:
        with array.keys.lock:  # others that want the same index wait for it
            again: tuple[None, NDArray[np.uint64]] | None = kept.get((array.keys, "shard", index))
            return again or _distant_shard(array, index, key, count)
    place = array.store.locate(key)
    shard: bytes | Range | None = place if place is not None else array.store.get(key)
    if shard is None:
        array.keys.check_absent(index)
        return None
    length = shard.length if isinstance(shard, Range) else len(shard)
    size = _index_size(array, count)
    if length < size:
        array.unreadable(key, "the shard is shorter than its index")
    begin = 0 if array.encoding.index_first else length - size
    if isinstance(shard, Range):
        table = ranges.read(Range(shard.path, shard.offset + begin, size))
    else:
        table = shard[begin : begin + size]
    found = shard, _table(array, table, key, count)
    kept.put((array.keys, "shard", index), found, 16 * count + (0 if isinstance(shard, Range) else length))
    return found


def _distant_shard(array: KeyedArray, index: Index, key: str, count: int) -> tuple[None, NDArray[np.uint64]] | None:
    """Return None (no shard) and the index of a distant shard: uint64, shape (2 × chunks,); None if not stored."""
    size = _index_size(array, count)
    table = array.store.part(key, 0 if array.encoding.index_first else -size, size)
    if table is None:
        array.keys.check_absent(index)
        return None
    found = None, _table(array, table, key, count)
    kept.put((array.keys, "shard", index), found, 16 * count)
    return found


def _index_size(array: KeyedArray, count: int) -> int:
    """Return the bytes of a shard's index."""
    return index_size(array.encoding.index_steps, count)


def _table(array: KeyedArray, data: bytes, key: str, count: int) -> NDArray[np.uint64]:
    """Decode a shard's index: uint64 in either byte order, shape (2 × chunks,), offset and length alternate.

    Raises CompileError with `unreadable-chunk`.
    """
    try:
        return index_table(data, array.encoding.index_steps, count)
    except DECODING_ERRORS as error:
        array.unreadable(key, f"the index of the shard: {error}")
