"""The records of a sequence, each in a block with a heap of its own, as rows with one heap.

Comes in: where the blocks lie, as the index has seen them. Goes out: rows one behind the other. Records without strings
that are alike in everything but their row, as writers make them, are taken all at once. Invariant: what a record says
of its row and heap agrees with what it has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire import protobuf
from nczarr.formats.ncstream.wire.limits import bad, contradictory
from nczarr.formats.ncstream.wire.protobuf import Buffer

MAGIC = 4
"""Bytes of what stands before each block, and at the end."""


class Gathered(NamedTuple):
    """Rows of all records: `length` bytes each, `members` as the records say. `counts` are those of all heaps, and
    `before` how many of these lie in the heaps before that of a row."""

    data: bytes
    length: int
    members: tuple[int, ...]
    counts: NDArray[np.int64]
    before: NDArray[np.int64]
    strings: list[Any]


class Sequence:
    """The blocks of a sequence of `count` records between two places; `base` is the offset of the buffer in its stream.

    Raises RefusedError.
    """

    def __init__(self, buffer: Buffer, start: int, end: int, count: int, base: int) -> None:
        self._buffer = buffer
        self._start = start
        self._end = end - MAGIC
        self._count = count
        self._base = base

    def gathered(self) -> Gathered:
        """All records."""
        return self._alike() or self._each()

    def _record(self, at: int) -> tuple[int, int]:
        """Where the block of the record lies whose magic is here."""
        length, start = protobuf.varint(self._buffer, at + MAGIC, self._end, self._base)
        return start, start + length

    def _parsed(self, start: int, end: int) -> pb.StructureData:
        data: Any = memoryview(self._buffer)[start:end]
        try:
            message = pb.StructureData.FromString(data)
        except DecodeError:
            raise bad("a record is no protobuf message of its kind", self._base + start) from None
        rows = rows_of(message)
        if rows * message.rowLength != len(message.data) or (rows and not message.rowLength):
            text = f"{rows} rows of {message.rowLength} bytes in {len(message.data)} bytes"
            raise contradictory(text, self._base + start, self._base + end)
        if sum(message.heapCount) != len(message.sdata):
            text = f"a heap of {sum(message.heapCount)} strings, of which {len(message.sdata)} are there"
            raise contradictory(text, self._base + start, self._base + end)
        return message

    def _alike(self) -> Gathered | None:
        """All records at once, if they differ in nothing but their row; else None."""
        size = self._end - self._start
        if self._count < 2 or size % self._count:
            return None
        start, end = self._record(self._start)
        first = self._parsed(start, end)
        rows = [
            (value, after) for number, _, _, value, after in protobuf.fields(self._buffer, start, end) if number == 2
        ]
        if first.sdata or len(rows) != 1 or end - self._start != size // self._count:
            return None
        every = np.frombuffer(self._buffer, np.uint8, size, self._start).reshape(self._count, -1)
        begin, stop = rows[0][0] - self._start, rows[0][1] - self._start
        if (every[:, :begin] != every[0, :begin]).any() or (every[:, stop:] != every[0, stop:]).any():
            return None
        none = np.zeros(0, np.int64)
        data = every[:, begin:stop].tobytes()
        return Gathered(data, first.rowLength, tuple(first.member), none, none, [])

    def _each(self) -> Gathered:
        """Record by record."""
        data = bytearray()
        strings: list[Any] = []
        counts: list[int] = []
        before: list[int] = []
        like: tuple[int, tuple[int, ...]] | None = None
        at = self._start
        for _ in range(self._count):
            start, end = self._record(at)
            message = self._parsed(start, end)
            found = (message.rowLength, tuple(message.member))
            like = like or found
            if found != like:
                raise contradictory("records of one sequence differ in their members", self._base + start)
            data += message.data
            before += [len(counts)] * rows_of(message)
            strings += message.sdata
            counts += message.heapCount
            at = end
        length, members = like or (0, ())
        heaps = np.array(before if strings else [], np.int64)
        return Gathered(bytes(data), length, members, np.array(counts, np.int64), heaps, strings)


def rows_of(message: pb.StructureData) -> int:
    """How many rows a block has; it need not say that it is one."""
    return message.nrows if message.HasField("nrows") else 1
