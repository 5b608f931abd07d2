"""Packed rows with a string heap: structures and sequences in `Data` messages.

Invariant: rows are big-endian; each string member of a row has its own heap
entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import Section, dtype_of, shape_of, write_section
from nczarr.plugins.ncstream.wire.framing import DATA, LAST_RECORD, RECORD, frame
from nczarr.plugins.ncstream.wire.limits import LONGEST_BLOCK
from nczarr.plugins.ncstream.wire.trees import FixedNumbers, RawStrings, Records, UnknownRows, nil_runs

PIECE = 1 << 18
"""Bytes converted at once."""

Piece = bytes | bytearray | memoryview


class UnwritableError(ValueError):
    """Values that the format cannot represent."""


class Raw(NamedTuple):
    """Numbers that are converted to bytes when written."""

    values: NDArray[Any]
    """The numbers."""
    dtype: np.dtype[Any]
    """Type of the bytes."""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return int(self.values.size) * int(self.dtype.itemsize)


def size_of(pieces: Iterable[Piece | Raw]) -> int:
    """Return the total bytes of the pieces."""
    return sum(piece.size if isinstance(piece, Raw) else len(piece) for piece in pieces)


def write_pieces(pieces: Iterable[Piece | Raw]) -> Iterator[Piece]:
    """Yield the bytes of the pieces."""
    for piece in pieces:
        if isinstance(piece, Raw):
            yield from raw(piece.values, piece.dtype)
        else:
            yield piece


def raw(values: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array (any shape) in C order, converted to a dtype of the same width.

    Raises UnwritableError for another width, or elements without fixed size.
    """
    if not values.size:
        return
    if values.dtype.itemsize != dtype.itemsize or values.dtype.kind not in "iufbSV":
        raise UnwritableError(f"values of dtype {values.dtype} are not {dtype}")
    flat = values.reshape(-1)
    if not flat.flags.c_contiguous:
        flat = np.ascontiguousarray(flat)
    if flat.dtype.names is None and (dtype.itemsize == 1 or flat.dtype.str[0] == dtype.str[0]):
        yield flat.view(np.uint8).data
        return
    if flat.dtype == dtype:
        yield flat.view(np.uint8).data
        return
    step = max(1, PIECE // dtype.itemsize)
    for start in range(0, len(flat), step):
        yield flat[start : start + step].astype(dtype).view(np.uint8).data


def deflate_pieces(pieces: Iterable[Piece], level: int) -> list[bytes]:
    """Return a zlib stream. Its bytes are the same on every machine."""
    import zlib

    packer = zlib.compressobj(level)
    blocks = [packer.compress(piece) for piece in pieces]
    blocks.append(packer.flush())
    return [block for block in blocks if block]


def check_block(size: int, what: str) -> None:
    """Raise UnwritableError if a block is too large for other programs."""
    if size > LONGEST_BLOCK:
        raise UnwritableError(f"{what} needs {size} bytes, more than a block can have ({LONGEST_BLOCK})")


VERSION = 3
"""Version of both kinds of data message."""

BATCH = 1 << 14
"""Records of a sequence converted at once."""


def head(name: bytes, data_type: int, section: Section | None, *, big: bool = True) -> pb.Data:
    """Return the protobuf part of a `Data` message, with all fields that the first generation requires."""
    message = pb.Data(varName=name, dataType=pb.DataType.Name(data_type), bigend=big, version=VERSION)
    if section is not None:
        write_section(section, message.section)
    return message


class _Packed(NamedTuple):
    """Rows, and the strings of all members in entry order."""

    rows: NDArray[Any]
    big: bool = True
    """True for big-endian rows."""
    strings: Sequence[tuple[Sequence[bytes | None], int, int]] = ()
    """Strings of each member, its number of heap entries per row, and of strings per entry."""

    def strings_of(self, record: int) -> Iterator[bytes | None]:
        """Yield the strings of a record."""
        for items, cells, length in self.strings:
            yield from items[record * cells * length : (record + 1) * cells * length]


def structure(name: bytes, tree: Records | UnknownRows, section: Section) -> Iterator[Piece]:
    """Yield a message with all records in one block."""
    strings: list[bytes | None]
    if isinstance(tree, UnknownRows):
        packed, counts = _Packed(tree.values, tree.big), list(map(len, tree.heap))
        strings = [item for texts in tree.heap for item in texts]
    else:
        check_places(len(tree), section, "records")
        packed = _pack(tree, own_heaps=False)
        counts = [length for _, cells, length in packed.strings for _ in range(cells * len(tree))]
        strings = [item for items, _, _ in packed.strings for item in items]
    rows, dtype = packed.rows, packed.rows.dtype
    message = pb.StructureData(nrows=len(tree), rowLength=dtype.itemsize, heapCount=counts)
    message.sdata.extend(item or b"" for item in strings)
    top = head(name, pb.STRUCTURE, section, big=packed.big)
    top.nil.extend(nil_runs(strings))
    size = int(rows.size) * int(dtype.itemsize)
    field = protobuf.write_tag(2, size) if size else b""
    rest = message.SerializeToString(deterministic=True)
    total = len(field) + size + len(rest)
    check_block(total, "a structure")
    yield frame(DATA, top) + protobuf.encode(total) + field
    yield from raw(rows, dtype)
    yield rest


def check_places(count: int, section: Section, what: str = "values", places_each: int = 1) -> None:
    """Raise UnwritableError unless a section has as many places as values; `places_each`: places of one."""
    places = math.prod(shape_of(section))
    if places != count * places_each:
        raise UnwritableError(f"{count} {what}, but the section has {places} places")


def sequence(name: bytes, tree: Records | UnknownRows) -> Iterator[Piece]:
    """Yield a message with one block per record. Raises UnwritableError for undefined records with strings."""
    if isinstance(tree, UnknownRows) and tree.heap:
        raise UnwritableError("undefined records of a sequence have strings")
    packed = _Packed(tree.values, tree.big) if isinstance(tree, UnknownRows) else _pack(tree, own_heaps=True)
    top = head(name, pb.SEQUENCE, None, big=packed.big)
    count = len(tree)
    if packed.strings:
        top.nil.extend(nil_runs([item for record in range(count) for item in packed.strings_of(record)]))
    yield frame(DATA, top)
    for start in range(0, count, BATCH):
        yield _records(packed, start, min(count, start + BATCH))
    yield LAST_RECORD


def _records(packed: _Packed, start: int, stop: int) -> bytes:
    """Return consecutive records with their magics."""
    length = packed.rows.dtype.itemsize
    data = b"".join(raw(packed.rows[start:stop], packed.rows.dtype))
    rest = pb.StructureData(nrows=1, rowLength=length)
    before = protobuf.write_tag(2, length)
    if not packed.strings:
        after = rest.SerializeToString(deterministic=True)
        front = RECORD + protobuf.encode(len(before) + length + len(after)) + before
        records = np.empty((stop - start, len(front) + length + len(after)), np.uint8)
        records[:, : len(front)] = np.frombuffer(front, np.uint8)
        records[:, len(front) : len(front) + length] = np.frombuffer(data, np.uint8).reshape(-1, length)
        records[:, len(front) + length :] = np.frombuffer(after, np.uint8)
        return records.tobytes()
    rest.heapCount.extend([count for _, cells, count in packed.strings for _ in range(cells)])
    parts: list[bytes] = []
    for place, record in enumerate(range(start, stop)):
        del rest.sdata[:]
        rest.sdata.extend(item or b"" for item in packed.strings_of(record))
        block = before + data[place * length : (place + 1) * length] + rest.SerializeToString(deterministic=True)
        parts += (RECORD, protobuf.encode(len(block)), block)
    return b"".join(parts)


def _pack(tree: Records, *, own_heaps: bool) -> _Packed:
    """Pack records as rows; `own_heaps`: whether every record has its own heap."""
    if not tree.names:
        raise UnwritableError("records without a member")
    tree = _in_order_of_headers(tree)
    rows = np.empty(tree.length, _dtype(tree))
    strings: list[tuple[Sequence[bytes | None], int, int]] = []
    _pack_rows(tree, rows, strings, _Heap(tree.length, own_heaps=own_heaps))
    return _Packed(rows, strings=strings)


def _in_order_of_headers(tree: Records) -> Records:
    """Move structures behind the other members, as headers require."""
    places = sorted(range(len(tree.names)), key=lambda place: isinstance(tree.members[place], Records))
    members = (tree.members[place] for place in places)
    return Records(
        tree.length,
        tuple(tree.names[place] for place in places),
        tuple(tree.shapes[place] for place in places),
        tuple(_in_order_of_headers(member) if isinstance(member, Records) else member for member in members),
    )


class _Heap:
    """Allocator of heap entries for a number of records."""

    def __init__(self, count: int, *, own_heaps: bool) -> None:
        self.records = count
        self._own_heaps = own_heaps
        self._next = 0

    def take(self, cells: int) -> NDArray[np.int64]:
        """Return the entries of a member with `cells` cells in total: int64, shape (cells,)."""
        one = cells // self.records if self.records and self._own_heaps else cells
        entries = np.arange(cells, dtype=np.int64)
        if self._own_heaps and one:
            entries %= one
        entries += self._next
        self._next += one
        return entries


def _dtype(tree: Records) -> Any:
    """Return the big-endian dtype of a row; strings are indices into the heap."""
    fields: list[tuple[str, Any, tuple[int, ...]]] = []
    for name, shape, member in zip(tree.names, tree.shapes, tree.members, strict=True):
        match member:
            case FixedNumbers():
                fields.append((name, dtype_of(member.data_type, big=True), shape))
            case RawStrings():
                fields.append((name, dtype_of(pb.INT, big=True), ()))
            case Records():
                fields.append((name, _dtype(member), shape))
            case _:
                raise UnwritableError(f"the member `{name}` cannot be written in rows; write columns")
    return np.dtype(fields)


def _pack_rows(tree: Records, rows: NDArray[Any], strings: list[Any], heap: _Heap) -> None:
    """Fill rows with values of the members; strings are appended to `strings`, to be written to the heap."""
    for name, shape, member in zip(tree.names, tree.shapes, tree.members, strict=True):
        into = rows[name]
        if isinstance(member, Records):
            _pack_rows(member, into, strings, heap)
        elif isinstance(member, RawStrings):
            cells = int(rows.size)
            into[...] = heap.take(cells).reshape(into.shape)
            strings.append((member.items, cells // heap.records if heap.records else 0, math.prod(shape)))
        elif isinstance(member, FixedNumbers):
            into[...] = member.values.reshape(into.shape)
