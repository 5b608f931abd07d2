"""Packed rows with a string heap: structures and sequences in `Data` messages.

Invariant: rows are big-endian; each string member of a row has its own heap
entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire import protobuf
from nczarr.formats.ncstream.wire.element_types import Section, dtype_of, shape_of, write_section
from nczarr.formats.ncstream.wire.framing import DATA, LAST_RECORD, RECORD, framed
from nczarr.formats.ncstream.wire.trees import FixedNumbers, RawStrings, Records, UnknownRows, nil_runs
from nczarr.formats.ncstream.write.byte_pieces import Piece, UnwritableError, check_block, raw

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


def begun(message: pb.Data) -> bytes:
    """Return the magic and header block of a message."""
    return framed(DATA, message)


class _Strings(NamedTuple):
    """Strings of one member."""

    items: Sequence[bytes | None]
    """The strings."""
    cells: int
    """Number of entries per row."""
    length: int
    """Number of strings per entry."""


class _Packed(NamedTuple):
    """Rows, and the strings of all members in entry order."""

    rows: NDArray[Any]
    """Packed rows."""
    strings: list[_Strings]
    """Strings of all members in entry order."""


def structure(name: bytes, tree: Records | UnknownRows, section: Section) -> Iterator[Piece]:
    """Yield a message with all records in one block."""
    strings: list[bytes | None]
    if isinstance(tree, UnknownRows):
        rows, big, counts = tree.values, tree.big, list(map(len, tree.heap))
        strings = [item for texts in tree.heap for item in texts]
    else:
        check_places(len(tree), section, "records")
        packed, big = _packed(tree, own_heaps=False), True
        rows = packed.rows
        counts = [member.length for member in packed.strings for _ in range(member.cells * len(tree))]
        strings = [item for member in packed.strings for item in member.items]
    message = pb.StructureData(nrows=len(tree), rowLength=rows.dtype.itemsize, heapCount=counts)
    message.sdata.extend(item or b"" for item in strings)
    top = head(name, pb.STRUCTURE, section, big=big)
    top.nil.extend(nil_runs(strings))
    size = int(rows.size) * int(rows.dtype.itemsize)
    field = protobuf.tagged(2, size) if size else b""
    rest = message.SerializeToString(deterministic=True)
    total = len(field) + size + len(rest)
    check_block(total, "a structure")
    yield begun(top) + protobuf.encoded(total) + field
    yield from raw(rows, rows.dtype)
    yield rest


def check_places(count: int, section: Section, what: str = "values", places_each: int = 1) -> None:
    """Raise UnwritableError unless a section has as many places as values; `places_each`: places of one."""
    places = math.prod(shape_of(section))
    if places != count * places_each:
        raise UnwritableError(f"{count} {what}, but the section has {places} places")


def sequence(name: bytes, tree: Records | UnknownRows) -> Iterator[Piece]:
    """Yield a message with one block per record. Raises UnwritableError for undefined records with strings."""
    if isinstance(tree, UnknownRows):
        if tree.heap:
            raise UnwritableError("undefined records of a sequence have strings")
        packed = _Packed(tree.values, [])
    else:
        packed = _packed(tree, own_heaps=True)
    big = tree.big if isinstance(tree, UnknownRows) else True
    top = head(name, pb.SEQUENCE, None, big=big)
    count = len(tree)
    top.nil.extend(nil_runs(list(_in_order(packed, count))))
    yield begun(top)
    for start in range(0, count, BATCH):
        yield _records(packed, start, min(count, start + BATCH))
    yield LAST_RECORD


def _in_order(packed: _Packed, count: int) -> Iterator[bytes | None]:
    """Yield all strings of a sequence, record by record."""
    for record in range(count if packed.strings else 0):
        for member in packed.strings:
            times = member.cells * member.length
            yield from member.items[record * times : (record + 1) * times]


def _records(packed: _Packed, start: int, stop: int) -> bytes:
    """Return consecutive records with their magics."""
    length = packed.rows.dtype.itemsize
    data = b"".join(raw(packed.rows[start:stop], packed.rows.dtype))
    rest = pb.StructureData(nrows=1, rowLength=length)
    before = protobuf.tagged(2, length)
    if not packed.strings:
        after = rest.SerializeToString(deterministic=True)
        front = RECORD + protobuf.encoded(len(before) + length + len(after)) + before
        records = np.empty((stop - start, len(front) + length + len(after)), np.uint8)
        records[:, : len(front)] = np.frombuffer(front, np.uint8)
        records[:, len(front) : len(front) + length] = np.frombuffer(data, np.uint8).reshape(-1, length)
        records[:, len(front) + length :] = np.frombuffer(after, np.uint8)
        return records.tobytes()
    rest.heapCount.extend([member.length for member in packed.strings for _ in range(member.cells)])
    parts: list[bytes] = []
    for record in range(start, stop):
        del rest.sdata[:]
        for member in packed.strings:
            times = member.cells * member.length
            rest.sdata.extend(item or b"" for item in member.items[record * times : (record + 1) * times])
        after = rest.SerializeToString(deterministic=True)
        place = (record - start) * length
        block = before + data[place : place + length] + after
        parts += (RECORD, protobuf.encoded(len(block)), block)
    return b"".join(parts)


def _packed(tree: Records, *, own_heaps: bool) -> _Packed:
    """Pack records as rows; `own_heaps`: whether every record has its own heap."""
    if not tree.names:
        raise UnwritableError("records without a member")
    tree = _in_order_of_headers(tree)
    rows = np.empty(tree.length, _dtype(tree))
    strings: list[_Strings] = []
    _fill(tree, rows, strings, _Heap(tree.length, own_heaps=own_heaps))
    return _Packed(rows, strings)


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


def _fill(tree: Records, rows: NDArray[Any], strings: list[_Strings], heap: _Heap) -> None:
    for name, shape, member in zip(tree.names, tree.shapes, tree.members, strict=True):
        into = rows[name]
        if isinstance(member, Records):
            _fill(member, into, strings, heap)
        elif isinstance(member, RawStrings):
            cells = int(rows.size)
            into[...] = heap.take(cells).reshape(into.shape)
            length = math.prod(shape)
            count = heap.records
            strings.append(_Strings(member.items, cells // count if count else 0, length))
        elif isinstance(member, FixedNumbers):
            into[...] = member.values.reshape(into.shape)
