"""Conversion of a sequence's records, each a block with its own heap, to rows with one heap.

Records without strings that differ only in their row, as writers produce them, are read at once. Invariant:
row and heap sizes of a record agree with its data.
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
"""Bytes of the magic before each block and at the end."""


class Gathered(NamedTuple):
    """Rows of all records, `length` bytes each, with the listed `members`.

    `counts`: entries of all heaps. `before`: by row, entries in the heaps before its own.
    """

    data: bytes
    length: int
    members: tuple[int, ...]
    counts: NDArray[np.int64]
    before: NDArray[np.int64]
    strings: list[Any]


class Sequence:
    """The blocks of a sequence of `count` records; `base` is the stream offset of the buffer. Raises RefusedError."""

    def __init__(self, buffer: Buffer, start: int, end: int, count: int, base: int) -> None:
        self._buffer = buffer
        self._start = start
        self._end = end - MAGIC
        self._count = count
        self._base = base

    def gathered(self) -> Gathered:
        """Return all records."""
        return self._alike() or self._each()

    def _record(self, at: int) -> tuple[int, int]:
        """Return the range of the block after the magic at `at`."""
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
        """Return all records at once if they differ only in their row, else None."""
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
        """Return the records one by one."""
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
    """Return the number of rows of a block; a missing count means 1."""
    return message.nrows if message.HasField("nrows") else 1
