"""Column messages (`DataCol`), the second kind of data message: columns within one protobuf message.

A `MessageColumn` holds the positions of its values, without copies; number trees are
views of the buffer. Invariant: `nelems`, `vlens` and the available bytes agree
with the section, whose product is checked before allocation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import (
    NUMPY,
    Section,
    check_type,
    dtype_of,
    name_of,
    section_of,
    shape_of,
)
from nczarr.plugins.ncstream.wire.limits import Limits, bad, contradictory, oversized
from nczarr.plugins.ncstream.wire.protobuf import UNPACKED, Buffer
from nczarr.plugins.ncstream.wire.trees import FixedNumbers, Opaque, RaggedLists, RawStrings, Records, Tree, with_nil

PRIMITIVES, STRINGS, LENGTHS, OPAQUES, MEMBERS, NIL = 10, 11, 12, 13, 14, 1000
"""Fields of a column that hold values."""

_BULK = frozenset({PRIMITIVES, LENGTHS, MEMBERS, NIL})
_RUNS = frozenset({STRINGS, LENGTHS, OPAQUES})
_MEMBER = frozenset({1})
_UNPACKED = {STRINGS: STRINGS, OPAQUES: OPAQUES, LENGTHS: LENGTHS | UNPACKED, NIL: NIL | UNPACKED}
"""Fields with one tag per value, and their keys in `MessageColumn.ranges` (with `UNPACKED` for integers)."""

Places = tuple[tuple[int, int], ...]
"""Byte ranges (start, end) in a buffer."""


class MessageColumn(NamedTuple):
    """A column of a message."""

    message: pb.DataCol
    """The message without its values."""
    start: int
    """Start in the buffer."""
    ranges: dict[int, list[tuple[int, int]]]
    """Ranges of the values by field number."""
    members: tuple[MessageColumn, ...]

    @property
    def name(self) -> str:
        """Name as text, with surrogates for invalid UTF-8."""
        return self.message.name.decode("utf-8", "surrogateescape")

    @property
    def payload(self) -> tuple[int, int] | None:
        """Byte range of the numbers, None without numbers."""
        places = self.ranges.get(PRIMITIVES)
        return places[-1] if places else None


class ColumnParser:
    """Parser of the columns of one message; `base` is the stream offset of the buffer."""

    def __init__(self, buffer: Buffer, base: int, limits: Limits) -> None:
        self._buffer = buffer
        self._base = base
        self._limits = limits
        self._left = limits.columns

    def column(self, start: int, end: int, depth: int = 0) -> MessageColumn:
        """Return a column with its members. Raises UnreadableStreamError."""
        offset = self._base + start
        if depth > self._limits.nesting:
            raise oversized(f"members are nested more than {self._limits.nesting} deep", offset)
        self._left -= 1
        if self._left < 0:
            raise oversized(f"a message has more than {self._limits.columns} columns", offset)
        small, bulk = protobuf.walk(
            self._buffer,
            start,
            end,
            bulk=_BULK,
            runs=_RUNS,
            rest=lambda tag: self._rest(tag, end),
            limits=self._limits,
            base=self._base,
        )
        try:
            message = pb.DataCol.FromString(small)
        except DecodeError:
            raise bad("a column is not a protobuf message of its kind", offset, self._base + end) from None
        members = []
        for first, last in bulk.pop(MEMBERS, ()):
            for number, kind, _, value, after in protobuf.fields(self._buffer, first, last, self._base):
                if number in _MEMBER and kind == protobuf.BYTES:
                    members.append(self.column(value, after, depth + 1))
        return MessageColumn(message, start, bulk, tuple(members))

    def _rest(self, tag: int, end: int) -> list[int]:
        """Return the fields of a column's rest if all are strings, opaque values, lengths or NIL runs, else []."""
        try:
            message = pb.DataCol.FromString(protobuf.view(self._buffer, tag, end))
        except DecodeError:
            return []  # the check of each field finds the place
        present = {field.number for field, _ in message.ListFields()}
        return [_UNPACKED.get(number, number) for number in present] if present <= _UNPACKED.keys() else []


class ColumnDecoder:
    """Converter of one message's columns to trees."""

    def __init__(self, buffer: Buffer, base: int, *, big: bool) -> None:
        self._buffer = buffer
        self._base = base
        self._big = big

    def tree(self, column: MessageColumn, place: int | None) -> tuple[Section | None, Tree]:
        """Return section and values of a top-level column. `place`: position of the ragged dimension."""
        message = column.message
        offset = self._base + column.start
        section, dropped = section_of(message, offset, is_ragged=message.isVlen)
        if section is None:
            return None, self._tree(column, None)
        shape = shape_of(section)
        if message.isVlen and message.dataType in NUMPY:
            counts = self._counts(column)
            before = _outer(shape, len(counts), place if dropped is None else dropped)
            if before < len(shape):
                return section, self._arrays(column, counts, shape[before:])
        return section, self._tree(column, math.prod(shape))

    def _arrays(self, column: MessageColumn, counts: NDArray[np.int64], inner: tuple[int, ...]) -> RaggedLists:
        """Return lists of arrays, for dimensions after the ragged one.

        `counts`: elements or whole arrays of each list, int64, shape (lists,);
        `inner`: shape of an array. Raises UnreadableStreamError if the counts suit
        neither.
        """
        offset = self._base + column.start
        start, end = column.payload or (0, 0)
        elements = (end - start) // dtype_of(column.message.dataType, big=self._big).itemsize
        one, total = math.prod(inner), int(counts.sum())
        if total == elements:
            if not one or (counts % one).any():
                raise contradictory(f"a list does not consist of elements of {one} values", offset)
            counts = counts // one
        self._check_elements(column.message, total, offset)
        return RaggedLists(counts, self._numbers(column, int(counts.sum()) * one), inner)

    def _tree(self, column: MessageColumn, cells: int | None) -> Tree:
        """Return the tree of a column; `cells`: required number of cells, None if unspecified."""
        message = column.message
        offset = self._base + column.start
        check_type(message.dataType, offset)
        if message.isVlen:
            counts = self._counts(column)
            _check("lists", len(counts), cells, offset)
            elements = int(counts.sum())
            self._check_elements(message, elements, offset)
            inner = column.members
            if len(inner) == 1 and not inner[0].message.name and inner[0].message.isVlen:
                return RaggedLists(counts, self._tree(inner[0], elements))
            return RaggedLists(counts, self._flat(column, elements))
        if cells is None:
            cells = message.nelems if message.HasField("nelems") else self._length(column)
        self._check_elements(message, cells, offset)
        return self._flat(column, cells)

    def _check_elements(self, message: pb.DataCol, count: int, offset: int) -> None:
        if message.HasField("nelems") and message.nelems != count & 0xFFFF_FFFF:
            text = f"a column announces {message.nelems} elements, but its section or lists have {count}"
            raise contradictory(text, offset)

    def _length(self, column: MessageColumn) -> int:
        """Return the number of elements if nothing specifies it."""
        start, end = column.payload or (0, 0)
        if column.message.dataType in NUMPY:
            return (end - start) // dtype_of(column.message.dataType, big=self._big).itemsize
        if column.members:
            return 1
        return len(self._items(column, STRINGS if column.message.dataType == pb.STRING else OPAQUES))

    def _counts(self, column: MessageColumn) -> NDArray[np.int64]:
        def lengths(run: Any) -> Sequence[int]:
            return pb.DataCol.FromString(run).vlens

        return protobuf.read_repeated(self._buffer, column.ranges, LENGTHS, lengths, base=self._base).astype(np.int64)

    def _flat(self, column: MessageColumn, count: int) -> Tree:
        """Return `count` elements that are not lists."""
        message = column.message
        offset = self._base + column.start
        match message.dataType:
            case pb.STRING:
                items = self._items(column, STRINGS)
                _check("strings", len(items), count, offset)
                nil = self._nil(column)
                return RawStrings(with_nil(items, nil, offset))
            case pb.OPAQUE:
                items = self._items(column, OPAQUES)
                _check("opaque values", len(items), count, offset)
                return Opaque(items)
            case pb.STRUCTURE | pb.SEQUENCE:
                return self._records(column, count)
            case _:
                return self._numbers(column, count)

    def _numbers(self, column: MessageColumn, count: int) -> FixedNumbers:
        """Return `count` values of a column as a view of the buffer. Raises an error if its length differs."""
        dtype = dtype_of(column.message.dataType, big=self._big)
        start, end = column.payload or (column.start, column.start)
        if count * dtype.itemsize != end - start:
            text = f"{count} values of type {name_of(column.message.dataType)} in {end - start} bytes"
            raise contradictory(text, self._base + start, self._base + end)
        return FixedNumbers(column.message.dataType, np.frombuffer(self._buffer, dtype, count, start if count else 0))

    def _items(self, column: MessageColumn, number: int) -> list[Any]:
        items: list[Any] = []
        for place in column.ranges.get(number, ()):
            message = pb.DataCol.FromString(self._view(*place))
            items += message.stringdata if number == STRINGS else message.opaquedata
        return items

    def _nil(self, column: MessageColumn) -> NDArray[np.uint64]:
        def runs(run: Any) -> Sequence[int]:
            return pb.DataCol.FromString(run).nil

        some = protobuf.read_repeated(self._buffer, column.ranges, NIL, runs, wide=True, base=self._base)
        return np.concatenate([np.array(column.message.nil, np.uint64), some])

    def _view(self, start: int, end: int) -> Any:
        return memoryview(self._buffer)[start:end]

    def _records(self, column: MessageColumn, count: int) -> Records:
        """Return `count` records with the columns of their members."""
        offset = self._base + column.start
        names = tuple(member.name for member in column.members)
        if not names and count:
            raise contradictory(f"{count} records without a member", offset)
        if "" in names or len(set(names)) < len(names):
            raise bad("members without a name, or two members of the same name", offset)
        section, _ = section_of(column.message, offset)
        rank = 1 if column.message.isVlen else len(section or ())
        shapes, members = [], []
        for member in column.members:
            shape = self._own_shape(member, count, rank)
            shapes.append(shape)
            members.append(self._tree(member, count * math.prod(shape)))
        records = Records(count, names, tuple(shapes), tuple(members))
        size = record_size(records)
        if size >= 1 << 31:  # the limit of numpy
            raise oversized(f"a record has {size} bytes", offset)
        return records

    def _own_shape(self, member: MessageColumn, count: int, rank: int) -> tuple[int, ...]:
        """Return the member's own dimensions: its section without that of its records."""
        offset = self._base + member.start
        section, _ = section_of(member.message, offset, is_ragged=member.message.isVlen)
        if section is None:
            return ()
        shape = shape_of(section)
        cells = math.prod(shape)
        if math.prod(shape[:rank]) == count and len(shape) >= rank:
            return shape[rank:]
        if cells == count:
            return ()
        raise contradictory(f"the section of a member has {cells} places for {count} records", offset)


def _outer(shape: tuple[int, ...], lists: int, place: int | None) -> int:
    """Return how many section dimensions belong to the lists, not to their elements.

    `place`: position of the ragged dimension; if None, all belong to the lists
    if the count agrees.
    """
    if place is not None and place < len(shape) and math.prod(shape[:place]) == lists:
        return place
    if math.prod(shape) == lists:
        return len(shape)
    return next(
        (dimensions for dimensions in reversed(range(len(shape))) if math.prod(shape[:dimensions]) == lists), len(shape)
    )


def record_size(records: Records) -> int:
    """Return the bytes of a record in NumPy."""
    size = 0
    for member, shape in zip(records.members, records.shapes, strict=True):
        one = member.values.dtype.itemsize if isinstance(member, FixedNumbers) else 8
        size += math.prod(shape) * (record_size(member) if isinstance(member, Records) else one)
    return size


def _check(what: str, actual: int, expected: int | None, offset: int) -> None:
    if expected is not None and actual != expected:
        raise contradictory(f"{actual} {what}, but the section has {expected} places", offset)
