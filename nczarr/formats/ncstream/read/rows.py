"""Rows of structures and sequences: packed records with a string heap.

With a declaration, rows become records whose members are views; without one
they stay raw. The records of a sequence, each a block with its own heap, become
rows with one heap; those without strings that differ only in their row, as
writers produce them, are read at once. Invariants: rows follow the byte order
flag; without it they are big-endian up to version 2. Row and heap sizes of a
block agree with its data.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.scan import StreamEntry, parsed
from nczarr.formats.ncstream.wire import definitions, protobuf
from nczarr.formats.ncstream.wire.definitions import Declared, Layouts, RowLayout
from nczarr.formats.ncstream.wire.element_types import Section, shape_of
from nczarr.formats.ncstream.wire.limits import Limits, bad, contradictory
from nczarr.formats.ncstream.wire.protobuf import Buffer
from nczarr.formats.ncstream.wire.trees import FixedNumbers, RawStrings, Records, Tree, UnknownRows, with_nil

MAGIC = 4
"""Bytes of the magic before each block and at the end."""


_MEMBER, _DATA, _HEAP, _STRINGS = 1, 2, 3, 4
_BULK = frozenset({_MEMBER, _DATA, _HEAP})
_RUNS = frozenset({_MEMBER, _HEAP, _STRINGS})


class _RowBlock(NamedTuple):
    """A `StructureData` block."""

    rows: int
    """Number of rows."""
    length: int
    """Bytes of a row."""
    start: int
    """Start of the rows."""
    end: int
    """End of the rows."""
    members: tuple[int, ...]
    """Indices of its members."""
    counts: NDArray[np.int64]
    """Number of strings in each heap entry."""
    strings: list[Any]
    """Strings of the heap."""


class RowReader:
    """Decoder of the rows of one message. Raises UnreadableStreamError."""

    def __init__(
        self, entry: StreamEntry, buffer: Buffer, declared: Declared | None, limits: Limits, base: int
    ) -> None:
        assert entry.payload is not None
        self._entry = entry
        self._buffer = buffer
        self._limits = limits
        self._base = base
        self._declared = declared if isinstance(declared, pb.Structure) else None
        self._start, self._end = entry.payload
        message: pb.Data = entry.message
        self._big = message.bigend if message.HasField("bigend") else message.version < 3

    def structure(self, section: Section | None, nil: NDArray[np.uint64]) -> Tree:
        """Return the records of a structure. Selects the section if a server sends all records.

        `nil`: runs of NIL strings, alternating start and count, shape (2 ×
        runs,). Raises UnreadableStreamError.
        """
        block = self._block(self._start, self._end)
        _check_rows(block.rows, block.length, block.end - block.start, self._base + block.start)
        layout = self._layout(block.members)
        dtype = self._dtype(layout, block.length)
        rows = np.frombuffer(self._buffer, dtype, block.rows, block.start) if block.rows else np.zeros(0, dtype)
        chosen = self._chosen(section, block.rows)
        if chosen is not None:
            rows = rows[chosen]
        return self._tree(rows, layout, block.counts, with_nil(block.strings, nil, self._entry.offset))

    def bare(self, cells: int) -> Tree:
        """Return rows without a StructureData, as the oldest writers store them. Raises UnreadableStreamError."""
        size = self._end - self._start
        layout = self._layout(())
        length = size // cells if cells and layout is None else 0 if layout is None else layout.dtype.itemsize
        if not length or cells * length != size:
            if not cells and not size:
                return UnknownRows(np.zeros(0, "V1"), self._big)
            raise contradictory(f"{cells} rows in {size} bytes", self._base + self._start, self._base + self._end)
        rows = np.frombuffer(self._buffer, self._dtype(layout, length), cells, self._start)
        return self._tree(rows, layout, np.zeros(0, np.int64), [])

    def sequence(self, nil: NDArray[np.uint64]) -> Tree:
        """Return the records of a sequence, each with its own heap, as one array.

        `nil`: runs of NIL strings, alternating start and count, shape (2 ×
        runs,). Raises UnreadableStreamError.
        """
        entry = self._entry
        gathered = Sequence(self._buffer, self._start, self._end, entry.blocks, self._base).gathered()
        layout = self._layout(gathered.members)
        dtype = self._dtype(layout, gathered.length)
        rows = np.frombuffer(gathered.data, dtype) if gathered.data else np.zeros(0, dtype)
        heaps = gathered.before if gathered.strings else None
        return self._tree(rows, layout, gathered.counts, with_nil(gathered.strings, nil, entry.offset), heaps)

    def _block(self, start: int, end: int) -> _RowBlock:
        base = self._base
        small, bulk = protobuf.walk(self._buffer, start, end, bulk=_BULK, runs=_RUNS, limits=self._limits, base=base)
        message = parsed(pb.StructureData, small, "data", base + start)
        places = bulk.get(_DATA)
        first, last = places[-1] if places else (end, end)
        strings: list[Any] = []
        for run in bulk.get(_STRINGS, ()):
            view: Any = memoryview(self._buffer)[run[0] : run[1]]
            strings += pb.StructureData.FromString(view).sdata
        parse, buffer = pb.StructureData.FromString, self._buffer
        members = protobuf.repeated(buffer, bulk, _MEMBER, lambda run: parse(run).member, base=base).tolist()
        heap = protobuf.repeated(buffer, bulk, _HEAP, lambda run: parse(run).heapCount, base=base)
        counts = heap.astype(np.int64)
        rows = rows_of(message)
        if int(counts.sum()) != len(strings):
            raise contradictory(f"a heap of {int(counts.sum())} strings, but only {len(strings)} follow", base + start)
        return _RowBlock(rows, message.rowLength, first, last, tuple(members), counts, strings)

    def _layout(self, members: tuple[int, ...]) -> RowLayout | None:
        if self._declared is None:
            return None
        return Layouts(self._limits, self._entry.offset, big=self._big).layout(self._declared, members)

    def _dtype(self, layout: RowLayout | None, length: int) -> Any:
        if layout is None:
            return np.dtype(f"V{max(1, length)}") if length < 1 << 31 else self._refuse(length, None)
        if layout.dtype.itemsize != length and length:
            self._refuse(length, layout.dtype.itemsize)
        return layout.dtype

    def _refuse(self, length: int, expected: int | None) -> None:
        text = f"a row has {length} bytes" + ("" if expected is None else f", but the header gives {expected}")
        raise contradictory(text, self._entry.offset)

    def _chosen(self, section: Section | None, rows: int) -> NDArray[np.int64] | None:
        """Return the row numbers of a section if all rows are present: int64, shape (rows,).

        None: use the rows unchanged. Raises UnreadableStreamError if the number of rows
        suits neither.
        """
        if section is None or rows == math.prod(shape_of(section)):
            return None
        whole = definitions.shape_of(self._declared) if self._declared is not None else (rows,)
        inside = all(not len(indices) or indices[-1] < size for indices, size in zip(section, whole, strict=False))
        if math.prod(whole) != rows or len(whole) != len(section) or not inside:
            if self._declared is None:
                return None
            text = f"{rows} rows, but the section has {math.prod(shape_of(section))} places"
            raise contradictory(text, self._entry.offset)
        cut = tuple(slice(indices.start, indices.stop, indices.step) for indices in section)
        return np.arange(rows).reshape(whole)[cut].reshape(-1)

    # ---- members -----------------------------------------------------------------------------------------------------

    def _tree(
        self,
        rows: NDArray[Any],
        layout: RowLayout | None,
        counts: NDArray[np.int64],
        strings: list[Any],
        heaps: NDArray[np.int64] | None = None,
    ) -> Tree:
        """Convert rows to a tree.

        `rows`: shape (rows,), structured or `V{length}`. `counts`: strings of
        each heap entry, int64. `heaps`: by row, entries in the heaps before its
        own, int64, shape (rows,).
        """
        if layout is None:
            starts = [0, *np.cumsum(counts).tolist()]
            heap = tuple(tuple(strings[a:b]) for a, b in itertools.pairwise(starts))
            return UnknownRows(rows, bool(self._big), heap)
        members = _Members(self._entry.offset, counts, strings, self._end - self._start)
        return members.records(rows, layout, heaps)


class _Members:
    """Splitter of rows into members; `most`: bound on the total strings; `offset`: that of the message."""

    def __init__(self, offset: int, counts: NDArray[np.int64], strings: list[Any], most: int) -> None:
        self._offset = offset
        self._counts = counts
        self._starts = np.cumsum(counts) - counts
        self._strings = strings
        self._left = most

    def records(self, rows: NDArray[Any], layout: RowLayout, heaps: NDArray[np.int64] | None) -> Records:
        members: list[Tree] = []
        for name, data_type, shape, inner in layout.members:
            column = rows[name]
            deeper = heaps
            if heaps is not None and (data_type == pb.STRING or inner is not None):
                times = column.size // max(1, rows.size)
                deeper = np.repeat(heaps, times) if times != 1 else heaps
            if inner is not None:
                flat = column.reshape(-1)
                members.append(self.records(flat, inner, deeper))
            elif data_type == pb.STRING:
                members.append(self._texts(column.reshape(-1), shape, deeper))
            else:
                members.append(FixedNumbers(data_type, column))
        names = tuple(member.name for member in layout.members)
        return Records(int(rows.size), names, tuple(member.shape for member in layout.members), tuple(members), rows)

    def _texts(self, indices: NDArray[Any], shape: tuple[int, ...], heaps: NDArray[np.int64] | None) -> RawStrings:
        places = indices.astype(np.int64)
        if heaps is not None:
            places += heaps
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < len(self._counts):
            raise contradictory(f"a row refers to a string outside the heap of {len(self._counts)}", self._offset)
        count = math.prod(shape)
        if (self._counts[places] != count).any():
            raise contradictory(f"a member of {count} strings has a different number of strings", self._offset)
        self._left -= len(places) * count
        if self._left < 0:
            raise contradictory("rows refer to more strings than there are bytes", self._offset)
        texts: list[Any] = []
        for start in self._starts[places].tolist():
            texts += self._strings[start : start + count]
        return RawStrings(texts)


# ---- sequences -------------------------------------------------------------------------------------------------------


class GatheredRows(NamedTuple):
    """Rows of all records."""

    data: bytes
    """The rows, one after the other."""
    length: int
    """Bytes of a row."""
    members: tuple[int, ...]
    """Indices of the listed members."""
    counts: NDArray[np.int64]
    """Number of strings in each entry of all heaps."""
    before: NDArray[np.int64]
    """By row, number of entries in the heaps before its own."""
    strings: list[Any]
    """Strings of all heaps."""


class Sequence:
    """The blocks of a sequence of `count` records; `base` is the stream offset of the buffer.

    Raises UnreadableStreamError.
    """

    def __init__(self, buffer: Buffer, start: int, end: int, count: int, base: int) -> None:
        self._buffer = buffer
        self._start = start
        self._end = end - MAGIC
        self._count = count
        self._base = base

    def gathered(self) -> GatheredRows:
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
            raise bad("a record is not a protobuf message of its kind", self._base + start) from None
        _check_rows(rows_of(message), message.rowLength, len(message.data), self._base + start, self._base + end)
        if sum(message.heapCount) != len(message.sdata):
            text = f"a heap of {sum(message.heapCount)} strings, but only {len(message.sdata)} follow"
            raise contradictory(text, self._base + start, self._base + end)
        return message

    def _alike(self) -> GatheredRows | None:
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
        return GatheredRows(data, first.rowLength, tuple(first.member), none, none, [])

    def _each(self) -> GatheredRows:
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
            shape = (message.rowLength, tuple(message.member))
            like = like or shape
            if shape != like:
                raise contradictory("records of one sequence differ in their members", self._base + start)
            data += message.data
            before += [len(counts)] * rows_of(message)
            strings += message.sdata
            counts += message.heapCount
            at = end
        length, members = like or (0, ())
        heaps = np.array(before if strings else [], np.int64)
        return GatheredRows(bytes(data), length, members, np.array(counts, np.int64), heaps, strings)


def rows_of(message: pb.StructureData) -> int:
    """Return the number of rows of a block; a missing count means 1."""
    return message.nrows if message.HasField("nrows") else 1


def _check_rows(rows: int, length: int, size: int, start: int, end: int | None = None) -> None:
    """Raise UnreadableStreamError unless the bytes and the number of rows agree; `start`, `end`: range of the block."""
    if rows * length != size or (rows and not length):
        end = start + size if end is None else end
        raise contradictory(f"{rows} rows of {length} bytes in {size} bytes", start, end)
