"""Heaps and B-trees of groups, attributes and texts of variable length.

Source: HDF5 File Format Specification 3.0, III.A.2 (version 2 B-trees), III.D (local heaps), III.E (global heaps),
III.G (fractal heaps).
"""

from collections.abc import Iterable, Iterator
from functools import partial
from struct import unpack_from
from typing import NamedTuple

from nczarr.formats.netcdf4.header.file_bytes import (
    CHECKSUM,
    UNDEFINED,
    HeaderFile,
    UnknownStructureError,
    UnreadableHeaderError,
    verify,
)

DEEPEST = 32
"""Maximum depth of a tree."""

MOST_RECORDS = 1 << 22
"""Maximum records of a B-tree."""


def bytes_for(number: int) -> int:
    """Return the bytes that hold a number."""
    return (number.bit_length() + 7) // 8 or 1


# ---- version 2 B-trees ----------------------------------------------------------------------------------------------
class _Tree(NamedTuple):
    """Form of the nodes of a B-tree."""

    record_type: int
    """Number of the specification, such as `_HUGE`."""
    node_size: int
    """Bytes of a node."""
    record_size: int
    """Bytes of a record."""
    count_width: int
    """Bytes of a node's number of records."""
    total_widths: tuple[int, ...]
    """Bytes of the number of records below a node, by its depth; 0 for leaves."""


def read_tree_records(file: HeaderFile, address: int, record_type: int) -> Iterator[bytes]:
    """Yield the records of a B-tree of a type, in their order. Raises UnreadableHeaderError."""
    if address == UNDEFINED:
        return
    head = file.read_checked(address, 34, b"BTHD")
    _, stored_type, node_size, record_size, depth, _, _, root, count, record_count = unpack_from("<BBIHHBBQHQ", head, 4)
    if head[4]:  # III.A.2: version 0 is the only one
        raise UnknownStructureError(f"version {head[4]} of a B-tree")
    is_damaged = stored_type != record_type or depth > DEEPEST or record_count > MOST_RECORDS
    if is_damaged or not record_size or node_size < 10 + record_size:  # 10: signature, version, type and checksum
        raise UnreadableHeaderError("a B-tree is damaged")
    most_in_leaf = (node_size - 10) // record_size
    most_below, count_width, total_widths = most_in_leaf, bytes_for(most_in_leaf), [0]
    for _ in range(depth):
        pointer = 8 + count_width + total_widths[-1]  # address, count of records and, above leaves, their total
        fitting = (node_size - 10 - pointer) // (record_size + pointer)
        most_below = (fitting + 1) * most_below + fitting
        total_widths.append(bytes_for(most_below))
    if root == UNDEFINED:  # a tree without records has no root node
        return
    tree = _Tree(record_type, node_size, record_size, count_width, tuple(total_widths))
    tree_records = list(_read_node_records(file, tree, root, count, depth))
    if len(tree_records) != record_count:
        raise UnreadableHeaderError("a B-tree is damaged")
    yield from tree_records


def _read_node_records(file: HeaderFile, tree: _Tree, address: int, count: int, depth: int) -> Iterator[bytes]:
    """Yield the records below a node of a version 2 B-tree, in order; `depth` 0 is a leaf."""
    record_size = tree.record_size
    pointer_size = 8 + tree.count_width + tree.total_widths[depth - 1] if depth else 0
    node_length = 6 + count * record_size + (count + 1) * pointer_size  # 6: signature, version and type
    if node_length + CHECKSUM > tree.node_size:
        raise UnreadableHeaderError("a B-tree is damaged")
    node = file.read_checked(address, node_length, b"BTIN" if depth else b"BTLF")  # III.A.2: internal node or leaf
    if node[4] or node[5] != tree.record_type:
        raise UnreadableHeaderError("a B-tree is damaged")
    pointers_start = 6 + count * record_size
    for position in range(count + 1):
        if depth:
            pointer_start = pointers_start + position * pointer_size
            (child_address,) = unpack_from("<Q", node, pointer_start)
            child_count = int.from_bytes(node[pointer_start + 8 : pointer_start + 8 + tree.count_width], "little")
            yield from _read_node_records(file, tree, child_address, child_count, depth - 1)
        if position < count:
            yield node[6 + position * record_size : 6 + (position + 1) * record_size]


# ---- fractal heaps --------------------------------------------------------------------------------------------------
_HUGE, _HUGE_OBJECT = 1, 0x10
"""Type of the B-tree of objects with places of their own; first byte of their IDs."""


class FractalHeap:
    """Heap of links or attributes. Everything raises UnreadableHeaderError."""

    def __init__(self, file: HeaderFile, address: int) -> None:
        """Read the header `FRHP`: the doubling table of blocks, and the widths of offsets and lengths in ids."""
        head = file.read_checked(address, 142, b"FRHP")  # 142 bytes: eight-byte offsets and lengths, no filters
        filters = int.from_bytes(head[7:9], "little")
        (largest,) = unpack_from("<I", head, 10)
        (self._huge_objects,) = unpack_from("<Q", head, 22)
        self._columns, self._start, direct, bits = unpack_from("<HQQH", head, 110)
        self._root, self._rows = unpack_from("<QH", head, 132)
        if head[4] or filters:
            raise UnknownStructureError("a fractal heap with filters" if filters else "the version of a fractal heap")
        if not self._columns or not self._start or bits > 64:
            raise UnreadableHeaderError("a fractal heap is damaged")
        self._file = file
        self._has_checksums = bool(head[9] & 2)  # bit 1: direct blocks have a checksum
        self._offset = (bits + 7) // 8  # the maximum heap size is stored as a number of bits
        self._length = min(bytes_for(largest), (direct.bit_length() - 1 + 7) // 8)  # an object lies in one direct block
        self._direct_rows = direct.bit_length() - self._start.bit_length() + 2  # the first two rows are equal
        self._blocks: dict[int, bytes] = {}
        self._children: dict[tuple[int, int, int], tuple[int, ...]] = {}

    def get(self, number: bytes) -> bytes:
        """Return an object by its heap ID."""
        if number[0] == _HUGE_OBJECT:
            return self._huge(int.from_bytes(number[1:], "little"))
        if number[0]:  # objects within their ID, and other versions
            raise UnknownStructureError(f"objects of kind {number[0]} in a fractal heap")
        offset = int.from_bytes(number[1 : 1 + self._offset], "little")
        length = int.from_bytes(number[1 + self._offset : 1 + self._offset + self._length], "little")
        block, first = self._block(offset)
        data = block[offset - first : offset - first + length]
        if len(data) != length or not length:
            raise UnreadableHeaderError("a fractal heap is damaged")
        return data

    def _huge(self, number: int) -> bytes:
        """Return an object that has its own place in the file, by its number."""
        for record in read_tree_records(self._file, self._huge_objects, _HUGE):
            address, length, owner = unpack_from("<QQQ", record)
            if owner == number:
                return self._file.read(address, length)
        raise UnreadableHeaderError("a fractal heap is damaged")

    def _block(self, offset: int) -> tuple[bytes, int]:
        """Return the direct block that has an offset, and its own offset."""
        if not self._rows:  # 0 rows: the root is a direct block
            return self._read_direct_block(self._root, self._start, 0), 0
        address, rows, first = self._root, self._rows, 0
        for _ in range(DEEPEST):
            children = self._indirect(address, rows, first)
            row, size, start = 0, self._start, first
            while offset >= start + size * self._columns:
                start += size * self._columns
                row += 1
                size = self._start << max(0, row - 1)  # from the third row on, each is twice as large
                if row >= rows:
                    raise UnreadableHeaderError("a fractal heap is damaged")
            column = (offset - start) // size
            address, first = children[row * self._columns + column], start + column * size
            if row < self._direct_rows:
                return self._read_direct_block(address, size, first), first
            rows = size.bit_length() - (self._start * self._columns).bit_length() + 1
        raise UnreadableHeaderError("a fractal heap is damaged")

    def _indirect(self, address: int, rows: int, first: int) -> tuple[int, ...]:
        """Return the addresses in an indirect block, which each object below it asks for."""
        known = self._children.get((address, rows, first))
        if known is not None:
            return known
        count, start = rows * self._columns, 13 + self._offset
        block = self._file.read_checked(address, start + 8 * count, b"FHIB")
        if int.from_bytes(block[13:start], "little") != first:
            raise UnreadableHeaderError("a fractal heap is damaged")
        children = self._children[address, rows, first] = unpack_from(f"<{count}Q", block, start)
        return children

    def _read_direct_block(self, address: int, size: int, first: int) -> bytes:
        """Return a direct block, verified; `first` is the heap offset that the block must state."""
        block = self._blocks.get(address)
        if block is None:
            block = self._file.read(address, size)
            start = 13 + self._offset
            if not block.startswith(b"FHDB\0") or int.from_bytes(block[13:start], "little") != first:
                raise UnreadableHeaderError("a fractal heap is damaged")
            if self._has_checksums:
                unsealed = block[:start] + bytes(CHECKSUM) + block[start + CHECKSUM :]  # computed with its place zeroed
                verify(unsealed, block[start : start + CHECKSUM])
            self._blocks[address] = block
        return block


# ---- local and global heaps -----------------------------------------------------------------------------------------
_NO_FREE_SPACE = 1
"""Offset after the last free space."""


def local_heap(file: HeaderFile, address: int) -> bytes:
    """Return the data of a group's local heap. Raises UnreadableHeaderError."""
    head = file.read(address, 32)  # III.D: size, head of the free list, address of the data
    size, free, data = unpack_from("<QQQ", head, 8)
    if not head.startswith(b"HEAP\0"):
        raise UnreadableHeaderError("a local heap is damaged")
    block = file.read(data, size)
    for _ in range(size // 16 + 1):  # HDF5 refuses a heap with a damaged list of free space
        if free == _NO_FREE_SPACE:
            return block
        start = free
        free, length = unpack_from("<QQ", block, start)
        if not length or start + length > size:
            break
    raise UnreadableHeaderError("a local heap is damaged")


def _address(element: bytes) -> int:
    """Return the address of the collection in an element: 16 bytes with number of items, address, index in it."""
    return int.from_bytes(element[4:12], "little")


ROOM, EXPANSION = 1 << 30, 16
"""Bytes of texts and lists of a file, and more for each byte of it: many cells may name one of them."""

TOO_MUCH = "its texts and lists have far more bytes than the file"


class GlobalHeap:
    """Texts and lists of variable length, by the address of a collection and an index."""

    def __init__(self, file: HeaderFile) -> None:
        self._file = file
        self._room = ROOM + EXPANSION * file.size
        self._collections: dict[int, tuple[bytes, dict[int, slice]]] = {}

    def load(self, elements: Iterable[bytes]) -> None:
        """Read the collections of many elements, those of a remote file side by side. Raises UnreadableHeaderError."""
        new = sorted({_address(element) for element in elements} - self._collections.keys() - {0})
        collections = self._file.together([partial(self._read_collection, address) for address in new])
        self._collections.update(zip(new, collections, strict=True))

    def text(self, element: bytes) -> bytes | None:
        """Return a text up to its first NUL; None for NIL. Raises UnreadableHeaderError."""
        return self.get(element, 1).partition(b"\0")[0] if _address(element) else None

    def find(self, element: bytes, size: int) -> bytes | None:
        """Return the bytes of a list or text; None for NIL. Raises UnreadableHeaderError."""
        return self.get(element, size) if element[4:12].strip(b"\0") else None  # `_address`, quickly

    def get(self, element: bytes, size: int) -> bytes:
        """Return the bytes of a list. `element`: its 16 bytes; `size`: of an item. Raises UnreadableHeaderError."""
        length, address, index = unpack_from("<IQI", element)
        if not length:
            return b""
        data = self.item(address, index)
        if len(data) < length * size:
            raise UnreadableHeaderError("a global heap is damaged")
        return data[: length * size]

    def item(self, address: int, index: int) -> bytes:
        """Return an object of a collection. Raises UnreadableHeaderError."""
        collection = self._collections.get(address)
        if collection is None:
            collection = self._collections[address] = self._read_collection(address)
        data, places = collection
        place = places.get(index)
        if place is None:
            raise UnreadableHeaderError("a global heap is damaged")
        self._room -= place.stop - place.start
        if self._room < 0:
            raise UnreadableHeaderError(TOO_MUCH)
        return data[place]

    def _read_collection(self, address: int) -> tuple[bytes, dict[int, slice]]:
        """Read a collection: its bytes, and the places of its objects by index."""
        head = self._file.read(address, 16)
        (size,) = unpack_from("<Q", head, 8)
        if not head.startswith(b"GCOL\1") or size < 16:
            raise UnreadableHeaderError("a global heap is damaged")
        data = self._file.read(address, size)
        places: dict[int, slice] = {}
        at = 16
        while at + 16 <= size:
            index, _, _, length = unpack_from("<HHIQ", data, at)  # III.E: index, references, reserved, size
            if not index:  # object 0 is the free space at the end of the collection
                break
            at += 16
            if at + length > size or index in places:
                raise UnreadableHeaderError("a global heap is damaged")
            places[index] = slice(at, at + length)
            at += (length + 7) // 8 * 8  # objects are padded to multiples of 8 bytes
        return data, places
