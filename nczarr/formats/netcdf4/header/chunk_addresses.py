"""Addresses of the chunks of one dataset, from the index in the file, as a table of columns.

Source: HDF5 File Format Specification 3.0, III.A.1 (version 1 B-trees), III.A.2 (version 2), VII (single chunk,
implicit, fixed array, extensible array).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from struct import unpack_from
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, grid_of, ravel, unravel
from nczarr.formats.netcdf4.header.file_bytes import (
    CHECKSUM,
    UNDEFINED,
    HeaderFile,
    UnknownStructureError,
    UnreadableHeaderError,
)
from nczarr.formats.netcdf4.header.heaps import DEEPEST, read_tree_records

_FARTHEST = 1 << 62
"""Largest address in a table."""


class ChunkTable(NamedTuple):
    """Allocated chunks in C order."""

    chunk: NDArray[np.int64]
    """Linear index in the grid."""
    offset: NDArray[np.int64]
    """Address in the file."""
    length: NDArray[np.int64]
    """Size in bytes."""
    mask: NDArray[np.int32]
    """Filter mask."""


def _locate(chunk: NDArray[np.int64], facts: NDArray[np.uint64]) -> ChunkTable:
    """Return the table of chunks; `facts`: address, size and mask, uint64, shape (chunks, 3).

    A damaged index has any address: one beyond int64 is after the end of every file.
    """
    facts = np.minimum(facts.reshape(-1, 3), np.uint64(_FARTHEST))
    return ChunkTable(chunk, facts[:, 0].astype(np.int64), facts[:, 1].astype(np.int64), facts[:, 2].astype(np.int32))


def _in_grid_order(table: ChunkTable) -> ChunkTable:
    if not (table.chunk[1:] <= table.chunk[:-1]).any():
        return table
    order = np.argsort(table.chunk, kind="stable")
    return ChunkTable(table.chunk[order], table.offset[order], table.length[order], table.mask[order])


def table_of_chunks(
    places: NDArray[np.int64],
    facts: NDArray[np.uint64],
    chunks: tuple[int, ...],
    extent: tuple[int, ...],
    shape: tuple[int, ...],
) -> ChunkTable:
    """Return the table of chunks within `extent`, numbered in the grid of `shape`.

    `places`: indices along each dimension, int64, shape (chunks, dimensions); `facts`: address, size and mask, uint64,
    shape (chunks, 3).
    """
    inside = (places < np.array(grid_of(extent, chunks), np.int64)).all(axis=1)
    return _in_grid_order(_locate(ravel(places[inside], grid_of(shape, chunks)), facts[inside]))


OLD_TREE, SINGLE, IMPLICIT, FIXED_ARRAY, EXTENSIBLE_ARRAY, NEW_TREE = range(6)
"""Kinds of indexes; layouts of version 4 number all but the first so."""

BY_LIBRARY = -1
"""Kind of an index that is not known here: the HDF5 library lists the chunks."""

_BY_CHUNK, _BY_CHUNK_FILTERED = 10, 11
"""Types of version 2 B-trees of chunks."""

_ENTRIES = 64
"""Entries of a full node of a version 1 B-tree, unless a program chose another number."""


class ChunkIndex(NamedTuple):
    """Index of the chunks of a dataset."""

    kind: int
    address: int
    size: int
    """Bytes of an element."""
    filtered: bool
    """True if chunks are filtered."""
    unfiltered_edges: bool = False
    """True if chunks that exceed the extent are unfiltered."""
    single: tuple[int, int] | None = None
    """Bytes and filter mask of a single filtered chunk."""
    most: tuple[int, ...] = ()
    """Maximum length of each dimension."""


def read_chunks(
    file: HeaderFile,
    index: ChunkIndex,
    chunks: tuple[int, ...],
    extent: tuple[int, ...],
    shape: tuple[int, ...],
    wanted: list[Index] | None = None,
) -> ChunkTable:
    """Return allocated chunks within `extent`, indexed in the grid of `shape`. Raises UnreadableHeaderError.

    `wanted`: only these chunks, sorted, each by its index along each dimension; others may be in the table too.
    """
    if index.address == UNDEFINED:  # the index is made with the first chunk
        places = np.empty((0, len(chunks)), np.int64)
        return table_of_chunks(places, np.empty((0, 3), np.uint64), chunks, extent, shape)
    size = math.prod(chunks) * index.size
    if index.kind == BY_LIBRARY:
        raise UnknownStructureError("the header of the dataset")
    if index.kind == OLD_TREE:
        walk = _OldTree(file, chunks, None if wanted is None else [_first(place, chunks) for place in wanted])
        places, facts = walk.list_chunks(index.address)
    elif index.kind == NEW_TREE:
        places, facts = _new_tree(file, index, len(chunks), size)
    else:
        counts = grid_of(index.most, chunks)
        count = math.prod(counts)
        if index.kind == SINGLE:
            facts = np.array([(index.address, *(index.single or (size, 0)))], np.uint64)
        elif index.kind == IMPLICIT:
            file.need(index.address, count * size)  # an implicit index has all chunks from the beginning
            facts = _of_one_size(np.arange(count, dtype=np.uint64) * np.uint64(size) + np.uint64(index.address), size)
        elif index.kind == FIXED_ARRAY:
            facts = _read_fixed_array(file, index, count, size)
        else:
            facts = ExtensibleArray(file, index, size).facts()
        if index.kind != EXTENSIBLE_ARRAY and len(facts) not in (0, count):
            raise UnreadableHeaderError("an index of chunks has another number of chunks")
        allocated = np.flatnonzero(facts[:, 0] != UNDEFINED)  # arrays have an address for each chunk, written or not
        facts = facts[allocated]
        is_growing = index.kind == EXTENSIBLE_ARRAY
        places = order_by_growth(allocated, index.most, counts) if is_growing else unravel(allocated, counts)
    facts[:, 0] += np.uint64(file.base)  # addresses in a file count from its base, behind a user block
    return table_of_chunks(places, facts, chunks, extent, shape)


def _first(place: Index, chunks: tuple[int, ...]) -> Index:
    return tuple(number * length for number, length in zip(place, chunks, strict=True))


class _OldTree:
    """Version 1 B-tree of chunks. `wanted`: first cells of the chunks that are looked up; None: all."""

    def __init__(self, file: HeaderFile, chunks: tuple[int, ...], wanted: list[Index] | None) -> None:
        """Compute the layout of the entries and the size of a node."""
        self._file = file
        self._chunks = np.array(chunks, np.uint64)
        self._wanted = wanted
        rank = len(chunks)
        self._entry = np.dtype([("size", "<u4"), ("mask", "<u4"), ("cell", "<u8", (rank + 1,)), ("address", "<u8")])
        self._size = 24 + _ENTRIES * self._entry.itemsize  # 24: signature, type, level, entries, two siblings

    def list_chunks(self, address: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the index of each chunk along each dimension, and its address, size and mask."""
        nodes, level, leaves = [address], None, []
        while nodes:
            below: list[int] = []
            read = self._file.together([partial(self._read_node, node) for node in nodes], self._size)
            if len(set(nodes)) < len(nodes) or {depth for depth, _ in read} != {read[0][0] if level is None else level}:
                raise UnreadableHeaderError("the index of chunks is damaged")
            for depth, entries in read:
                if not depth:
                    leaves.append(entries)
                else:
                    children = entries["address"].tolist()
                    below += children if self._wanted is None else [children[at] for at in self._find_touched(entries)]
            nodes, level = below, read[0][0] - 1
        entries = np.concatenate(leaves) if leaves else np.empty(0, self._entry)
        cells = entries["cell"][:, :-1]  # the last one counts bytes within an element: 0
        places = cells // self._chunks
        if (places * self._chunks != cells).any():
            raise UnreadableHeaderError("the index of chunks is damaged")
        facts = np.empty((len(entries), 3), np.uint64)
        facts[:, 0], facts[:, 1], facts[:, 2] = entries["address"], entries["size"], entries["mask"]
        return places.astype(np.int64), facts

    def _read_node(self, address: int) -> tuple[int, NDArray[Any]]:
        """Return the depth of a node above the leaves, and its entries."""
        head = self._file.read(address, 24)
        kind, depth, count = unpack_from("<BBH", head, 4)
        if not head.startswith(b"TREE") or kind != 1 or depth > DEEPEST:  # III.A.1: type 1 is for chunks
            raise UnreadableHeaderError("the index of chunks is damaged")
        return depth, np.frombuffer(self._file.read(address + 24, count * self._entry.itemsize), self._entry)

    def _find_touched(self, entries: NDArray[Any]) -> list[int]:
        """Return the children that may have chunks that are looked up."""
        cells = [tuple(cell) for cell in entries["cell"][:, :-1].tolist()]
        return sorted({max(0, bisect_right(cells, cell) - 1) for cell in self._wanted or ()} if cells else ())


def _new_tree(
    file: HeaderFile, index: ChunkIndex, rank: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the places and the addresses, sizes and masks of the chunks in a version 2 B-tree."""
    kind = _BY_CHUNK_FILTERED if index.filtered else _BY_CHUNK
    rows = list(read_tree_records(file, index.address, kind))
    if not rows:
        return np.empty((0, rank), np.int64), np.empty((0, 3), np.uint64)
    table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    end = table.shape[1] - 8 * rank
    if end != 8 if kind == _BY_CHUNK else not 12 < end <= 20:  # an address alone, or also size and mask
        raise UnreadableHeaderError("the index of chunks is damaged")
    places = np.ascontiguousarray(table[:, end:]).view("<u8").reshape(len(rows), rank).astype(np.int64)
    return places, _split_records(table[:, :end], size)


def _split_records(table: NDArray[np.uint8], size: int) -> NDArray[np.uint64]:
    """Return address, size and mask of chunks: uint64, shape (chunks, 3).

    `table`: the address, and of filtered chunks size and mask, uint8, shape (chunks, bytes); `size`: of others.
    """
    addresses = _numbers(table[:, :8])
    if table.shape[1] == 8:
        return _of_one_size(addresses, size)
    return np.stack([addresses, _numbers(table[:, 8:-4]), _numbers(table[:, -4:])], axis=1)


def _of_one_size(addresses: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return address, size and mask of chunks without filters: uint64, shape (chunks, 3)."""
    return np.stack([addresses, np.full_like(addresses, size), np.zeros_like(addresses)], axis=1)


def _numbers(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return little-endian numbers of one to eight bytes: uint64, shape (rows,)."""
    wide = np.zeros((len(table), 8), np.uint8)
    wide[:, : table.shape[1]] = table
    return wide.view("<u8").reshape(-1)


def _read_fixed_array(file: HeaderFile, index: ChunkIndex, count: int, size: int) -> NDArray[np.uint64]:
    """Return address, size and mask of each chunk of a fixed array; no rows if none is allocated."""
    head = file.read_checked(index.address, 24, b"FAHD")
    client, width, bits, entries, block = unpack_from("<BBBQQ", head, 5)  # client 1: chunks with filters
    if head[4] or entries != count or client != index.filtered or not (13 <= width <= 20 if client else width == 8):
        raise UnreadableHeaderError("the index of chunks is damaged")
    if block == UNDEFINED:  # the block is made with the first chunk
        return np.empty((0, 3), np.uint64)
    file.need(block, count * width)
    per_page = 1 << min(bits, 62)
    if count <= per_page:  # a block with more entries is divided into pages
        data = file.read_checked(block, 14 + count * width, b"FADB")[14:]  # 14: signature, version, client, header
    else:
        data = _pages(file, block, count, width, per_page)
    return _split_records(np.frombuffer(data, np.uint8).reshape(count, width), size)


def _pages(file: HeaderFile, block: int, count: int, width: int, per_page: int) -> bytes:
    """Return the entries of a fixed array in pages; those of pages that were not written have no address."""
    lengths = [width * min(per_page, count - first) for first in range(0, count, per_page)]
    prefix = file.read_checked(block, 14 + (len(lengths) + 7) // 8, b"FADB")  # a bit for each page: was it written?
    at, pages = block + len(prefix) + CHECKSUM, []
    for page, length in enumerate(lengths):
        is_written = prefix[14 + page // 8] >> (7 - page % 8) & 1  # most significant bit first
        pages.append(file.read_checked(at, length, b"") if is_written else b"\xff" * length)
        at += length + CHECKSUM
    return b"".join(pages)


def order_by_growth(numbers: NDArray[np.int64], most: tuple[int, ...], counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the places of chunks of an extensible array, in whose order the unlimited dimension comes first."""
    growing = most.index(UNDEFINED)
    others = [axis for axis in range(len(counts)) if axis != growing]
    places = np.empty((len(numbers), len(counts)), np.int64)
    for axis in reversed(others):
        numbers, places[:, axis] = np.divmod(numbers, counts[axis])
    places[:, growing] = numbers
    return places


class ExtensibleArray:
    """Index of the chunks of a dataset with one unlimited dimension."""

    def __init__(self, file: HeaderFile, index: ChunkIndex, size: int) -> None:
        """Read the header block `EAHD`, and compute how the array grows; `size`: bytes of a chunk without filters."""
        head = file.read_checked(index.address, 68, b"EAHD")
        client, width, bits, in_index, least, pointers, page_bits = head[5:12]
        self._written, self._block = unpack_from("<Q", head, 44)[0], unpack_from("<Q", head, 60)[0]
        if head[4] or client != index.filtered or not (13 <= width <= 20 if client else width == 8) or bits > 64:
            raise UnreadableHeaderError("an extensible array is damaged")
        if not least or least & (least - 1) or not pointers or pointers & (pointers - 1):
            raise UnreadableHeaderError("an extensible array is damaged")
        self._file, self._size, self._width = file, size, width
        self._in_index, self._least = in_index, least
        self._offset = (bits + 7) // 8
        self._per_page = 1 << page_bits
        self._first_super = 2 * (pointers.bit_length() - 1)
        self._direct = 2 * (pointers - 1)
        self._supers = 1 + bits - (least.bit_length() - 1) - self._first_super

    def facts(self) -> NDArray[np.uint64]:
        """Return address, size and mask of each chunk, as far as chunks were written: uint64, shape (chunks, 3)."""
        if self._block == UNDEFINED:
            return np.empty((0, 3), np.uint64)
        data = b"".join(self._elements())[: self._written * self._width]  # the last block is longer than what is in use
        data = data[: len(data) // self._width * self._width]
        return _split_records(np.frombuffer(data, np.uint8).reshape(-1, self._width), self._size)

    def _elements(self) -> Iterator[bytes]:
        count, blocks = self._in_index * self._width, 8 * (self._direct + self._supers)
        block = self._file.read_checked(self._block, 14 + count + blocks, b"EAIB")  # 14: signature to header address
        yield block[14 : 14 + count]
        addresses = unpack_from(f"<{self._direct + self._supers}Q", block, 14 + count)
        done, place = self._in_index, 0
        for level in range(self._first_super + self._supers):
            number, length = 1 << (level // 2), self._least << ((level + 1) // 2)  # number and length double by turns
            if done >= self._written:
                return
            if level < self._first_super:  # the index block has the addresses of the first data blocks
                data_blocks, bitmap = addresses[place : place + number], b""
                place += number
            else:
                address = addresses[self._direct + level - self._first_super]
                data_blocks, bitmap = self._super_block(address, number, length)
            pages = -(-length // self._per_page) if length > self._per_page else 0
            for at, address in enumerate(data_blocks):
                if done >= self._written:
                    return
                bits = [bitmap[bit // 8] >> (7 - bit % 8) & 1 for bit in range(at * pages, (at + 1) * pages)]
                yield self._data_block(address, length, bits)
                done += length

    def _super_block(self, address: int, number: int, length: int) -> tuple[tuple[int, ...], bytes]:
        """Return the addresses of data blocks, and a bit for each of their pages that was written."""
        pages = -(-length // self._per_page) if length > self._per_page else 0
        start, bits = 14 + self._offset, number * ((pages + 7) // 8)
        if address == UNDEFINED:
            return (UNDEFINED,) * number, bytes(bits)
        block = self._file.read_checked(address, start + bits + 8 * number, b"EASB")
        return unpack_from(f"<{number}Q", block, start + bits), block[start : start + bits]

    def _data_block(self, address: int, length: int, pages: list[int]) -> bytes:
        """Return the bytes of the elements of a data block. `pages`: 1 for each that was written."""
        size = length * self._width
        if address == UNDEFINED:
            return b"\xff" * size  # without an address: never written
        start = 14 + self._offset
        if not pages:
            return self._file.read_checked(address, start + size, b"EADB")[start:]
        self._file.read_checked(address, start, b"EADB")
        at, out, page_size = address + start + CHECKSUM, [], self._per_page * self._width
        for is_written in pages:
            out.append(self._file.read_checked(at, page_size, b"") if is_written else b"\xff" * page_size)
            at += page_size + CHECKSUM
        return b"".join(out)
