"""Rows of structures and sequences: packed records with a string heap.

With a declaration, rows become records whose members are views; without one
they stay raw. The records of a sequence, each a block with its own heap, become
rows with one heap; those without strings that differ only in their row, as
writers produce them, are read at once. Invariants: rows follow the byte order
flag; without it they are big-endian up to version 2. Row and heap sizes of a
block agree with its data.

Layout of a row: members in header order, structures last, packed; a string
member of any shape is one 4-byte heap index.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast.types import MAX_DEPTH
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.scan import StreamEntry, parse_message
from nczarr.plugins.ncstream.wire import element_types, protobuf
from nczarr.plugins.ncstream.wire.element_types import NUMPY, UNSIGNED, Declared, Section, dtype_of, shape_of
from nczarr.plugins.ncstream.wire.limits import MOST_DIMENSIONS, Limits, bad, contradictory, oversized
from nczarr.plugins.ncstream.wire.protobuf import Buffer
from nczarr.plugins.ncstream.wire.trees import FixedNumbers, RawStrings, Records, Tree, UnknownRows, with_nil

MAGIC = 4
"""Bytes of the magic before each block and at the end."""

_MEMBER, _DATA, _HEAP, _STRINGS = 1, 2, 3, 4
_BULK = frozenset({_MEMBER, _DATA, _HEAP})
_RUNS = frozenset({_MEMBER, _HEAP, _STRINGS})


class _Rows(NamedTuple):
    """Rows of one `StructureData` block, or of all records of a sequence."""

    buffer: Buffer
    """Buffer that contains them."""
    start: int
    rows: int
    """Number of rows."""
    length: int
    """Bytes of a row."""
    members: tuple[int, ...] = ()
    """Indices of the listed members."""
    counts: Any = ()
    """Number of strings in each heap entry: int64."""
    strings: Any = ()
    """Strings of the heap."""
    before: NDArray[np.int64] | None = None
    """By row, number of heap entries before its own; None for a single heap."""


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
        runs,).
        """
        return self._tree(self._block(), nil, section)

    def bare(self, cells: int) -> Tree:
        """Return rows without a StructureData, as the oldest writers store them."""
        size = self._end - self._start
        layout = self._layout(())
        length = size // cells if cells and layout is None else 0 if layout is None else layout.dtype.itemsize
        if not length or cells * length != size:
            if not cells and not size:
                return UnknownRows(np.zeros(0, "V1"), self._big)
            raise contradictory(f"{cells} rows in {size} bytes", self._base + self._start, self._base + self._end)
        return self._tree(_Rows(self._buffer, self._start, cells, length), None)

    def sequence(self, nil: NDArray[np.uint64]) -> Tree:
        """Return the records of a sequence, each with its own heap, as one array. `nil`: as for `structure`."""
        return self._tree(self._records_alike() or self._records(), nil)

    def absent_members(self, declared: pb.Structure) -> set[tuple[str, ...]]:
        """Return the paths of the members that the rows lack, because they list others or cannot hold them."""
        every: list[Declared] = [*declared.vars, *declared.structs]
        listed = self._list_members()
        outside = next((place for place in listed if place >= len(every)), None)
        if outside is not None:
            raise bad(f"a row has member {outside} of {len(every)}", self._entry.offset, self._base + self._end)
        absent = {(normal_name(every[place]),) for place in range(len(every)) if listed and place not in listed}
        return absent | set(_unheld(declared, ()))

    def _list_members(self) -> tuple[int, ...]:
        """Return the positions of the members in the rows, empty for all."""
        if self._entry.message.dataType == pb.SEQUENCE:
            return tuple(self._record(self._start)[2].member) if self._entry.blocks else ()
        if not self._entry.message.version:
            return ()
        message, bulk, (first, last) = self._split()
        _check_rows(_rows_of(message), message.rowLength, last - first, self._base + first)
        return self._read_members(bulk)

    def _tree(self, block: _Rows, nil: NDArray[np.uint64] | None, section: Section | None = None) -> Tree:
        """Convert rows to a tree."""
        layout = self._layout(block.members)
        if layout is None:
            dtype = np.dtype(f"V{max(1, block.length)}") if block.length < 1 << 31 else self._refuse(block.length)
        elif layout.dtype.itemsize != block.length and block.length:
            self._refuse(block.length, f", but the header gives {layout.dtype.itemsize}")
        else:
            dtype = layout.dtype
        rows = np.frombuffer(block.buffer, dtype, block.rows, block.start) if block.rows else np.zeros(0, dtype)
        chosen = self._choose_rows(section, block.rows)
        if chosen is not None:
            rows = rows[chosen]
        strings = block.strings if nil is None else with_nil(block.strings, nil, self._entry.offset)
        counts = np.asarray(block.counts, np.int64)
        if layout is None:
            starts = [0, *np.cumsum(counts).tolist()]
            heap = tuple(tuple(strings[a:b]) for a, b in itertools.pairwise(starts))
            return UnknownRows(rows, bool(self._big), heap)
        members = _Members(self._entry.offset, counts, strings, self._end - self._start)
        return members.records(rows, layout, block.before)

    def _layout(self, members: tuple[int, ...]) -> RowLayout | None:
        if self._declared is None:
            return None
        return _RowLayouts(self._limits, self._entry.offset, big=self._big).layout(self._declared, members)

    def _refuse(self, length: int, instead: str = "") -> Any:
        raise contradictory(f"a row has {length} bytes{instead}", self._entry.offset)

    def _choose_rows(self, section: Section | None, rows: int) -> NDArray[np.int64] | None:
        """Return the row numbers of a section if all rows are present: int64, shape (rows,).

        None: use the rows unchanged. Raises UnreadableStreamError if the number of rows
        suits neither.
        """
        if section is None or rows == math.prod(shape_of(section)):
            return None
        whole = element_types.lengths_of(self._declared) if self._declared is not None else (rows,)
        inside = all(not len(indices) or indices[-1] < size for indices, size in zip(section, whole, strict=False))
        if math.prod(whole) != rows or len(whole) != len(section) or not inside:
            if self._declared is None:
                return None
            text = f"{rows} rows, but the section has {math.prod(shape_of(section))} places"
            raise contradictory(text, self._entry.offset)
        cut = tuple(slice(indices.start, indices.stop, indices.step) for indices in section)
        return np.arange(rows).reshape(whole)[cut].reshape(-1)

    # ---- blocks ------------------------------------------------------------------------------------------------------

    def _block(self) -> _Rows:
        """Return the rows of a structure."""
        base, buffer, offset = self._base, self._buffer, self._base + self._start
        message, bulk, (first, last) = self._split()
        strings: list[Any] = []
        parse = pb.StructureData.FromString
        for run in bulk.get(_STRINGS, ()):
            view: Any = memoryview(buffer)[run[0] : run[1]]
            strings += parse(view).sdata
        counts = protobuf.read_repeated(buffer, bulk, _HEAP, lambda run: parse(run).heapCount, base=base).astype(
            np.int64
        )
        _check_heap(int(counts.sum()), len(strings), offset)
        rows = _rows_of(message)
        _check_rows(rows, message.rowLength, last - first, base + first)
        return _Rows(buffer, first, rows, message.rowLength, self._read_members(bulk), counts, strings)

    def _split(self) -> tuple[pb.StructureData, protobuf.Ranges, tuple[int, int]]:
        """Return the block of a structure without its bulk, the places of that, and the range of the rows."""
        small, bulk = protobuf.walk(
            self._buffer, self._start, self._end, bulk=_BULK, runs=_RUNS, limits=self._limits, base=self._base
        )
        message = parse_message(pb.StructureData, small, "data", self._base + self._start)
        return message, bulk, (bulk.get(_DATA) or [(self._end, self._end)])[-1]

    def _read_members(self, bulk: protobuf.Ranges) -> tuple[int, ...]:
        """Return the positions of the members that a block lists."""
        parse = pb.StructureData.FromString
        numbers = protobuf.read_repeated(self._buffer, bulk, _MEMBER, lambda run: parse(run).member, base=self._base)
        return tuple(numbers.tolist())

    def _record(self, at: int) -> tuple[int, int, pb.StructureData]:
        """Return the range and content of the block after the magic at `at`."""
        length, start = protobuf.varint(self._buffer, at + MAGIC, self._end - MAGIC, self._base)
        end = start + length
        data: Any = memoryview(self._buffer)[start:end]
        first, last = self._base + start, self._base + end
        try:
            message = pb.StructureData.FromString(data)
        except DecodeError:
            raise bad("a record is not a protobuf message of its kind", first) from None
        _check_rows(_rows_of(message), message.rowLength, len(message.data), first, last)
        _check_heap(sum(message.heapCount), len(message.sdata), first, last)
        return start, end, message

    def _records_alike(self) -> _Rows | None:
        """Return all records at once if they differ only in their row, else None."""
        count, size = self._entry.blocks, self._end - MAGIC - self._start
        if count < 2 or size % count:
            return None
        start, end, first = self._record(self._start)
        rows = [place for number, _, _, *place in protobuf.fields(self._buffer, start, end) if number == _DATA]
        if first.sdata or len(rows) != 1 or end - self._start != size // count:
            return None
        every = np.frombuffer(self._buffer, np.uint8, size, self._start).reshape(count, -1)
        begin, stop = rows[0][0] - self._start, rows[0][1] - self._start
        if (every[:, :begin] != every[0, :begin]).any() or (every[:, stop:] != every[0, stop:]).any():
            return None
        data, length = every[:, begin:stop].tobytes(), first.rowLength
        return _Rows(data, 0, len(data) // max(1, length), length, tuple(first.member), (), [])

    def _records(self) -> _Rows:
        """Return the records one by one."""
        data = bytearray()
        strings: list[Any] = []
        counts: list[int] = []
        before: list[int] = []
        like: tuple[int, tuple[int, ...]] | None = None
        at = self._start
        for _ in range(self._entry.blocks):
            start, at, message = self._record(at)
            shape = (message.rowLength, tuple(message.member))
            like = like or shape
            if shape != like:
                raise contradictory("records of one sequence differ in their members", self._base + start)
            data += message.data
            before += [len(counts)] * _rows_of(message)
            strings += message.sdata
            counts += message.heapCount
        length, members = like or (0, ())
        heaps = np.array(before, np.int64) if strings else None
        return _Rows(bytes(data), 0, len(data) // max(1, length), length, members, counts, strings, heaps)


def _rows_of(message: pb.StructureData) -> int:
    """Return the number of rows of a block; a missing count means 1."""
    return message.nrows if message.HasField("nrows") else 1


def _check_rows(rows: int, length: int, size: int, start: int, end: int | None = None) -> None:
    """Raise UnreadableStreamError unless the bytes and the number of rows agree; `start`, `end`: range of the block."""
    if rows * length != size or (rows and not length):
        end = start + size if end is None else end
        raise contradictory(f"{rows} rows of {length} bytes in {size} bytes", start, end)


def _check_heap(announced: int, strings: int, start: int, end: int | None = None) -> None:
    """Raise UnreadableStreamError unless a heap has as many strings as its entries announce."""
    if announced != strings:
        raise contradictory(f"a heap of {announced} strings, but only {strings} follow", start, end)


# ---- members ---------------------------------------------------------------------------------------------------------


class RowLayout(NamedTuple):
    """Layout of a row."""

    members: tuple[tuple[str, int, tuple[int, ...], RowLayout | None], ...]
    """Name, number of the type, shape and, of a structure, layout of each member."""
    dtype: np.dtype[np.void]
    """NumPy type of a row."""


def _is_unheld(declared: Declared) -> bool:
    """Return whether rows have no place for a member: it is a list, an opaque value or a sequence."""
    return element_types.find_ragged_place(declared) is not None or declared.dataType in (pb.OPAQUE, pb.SEQUENCE)


def _unheld(structure: pb.Structure, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the members that rows have no place for."""
    every: list[Declared] = [*structure.vars, *structure.structs]
    for member in every:
        below = (*path, normal_name(member))
        if _is_unheld(member):
            yield below
        elif isinstance(member, pb.Structure) and len(below) < MAX_DEPTH:
            yield from _unheld(member, below)


def normal_name(declared: Declared) -> str:
    """Return the name of a declaration as the tree spells it."""
    return names.normal(names.from_bytes(declared.name))


class _RowLayouts:
    """Builder of row layouts within limits."""

    def __init__(self, limits: Limits, offset: int, *, big: bool) -> None:
        self._limits = limits
        self._offset = offset
        self._big = big
        self._left = limits.columns

    def layout(self, structure: pb.Structure, only: Sequence[int] = (), depth: int = 0) -> RowLayout:
        """Return the row layout of a structure; `only`: positions of the members present, if not all.

        Omits lists, opaque values and sequences, as writers do. Raises
        UnreadableStreamError.
        """
        if depth > self._limits.nesting:
            raise oversized(f"structures are nested more than {self._limits.nesting} deep", self._offset)
        members: list[tuple[str, int, tuple[int, ...], RowLayout | None]] = []
        fields: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
        every: list[Declared] = [*structure.vars, *structure.structs]
        for place in only or range(len(every)):  # an empty list means all members
            if place >= len(every):
                raise bad(f"a row has member {place} of {len(every)}", self._offset)
            declared = every[place]
            self._left -= 1
            if self._left < 0:
                raise oversized(f"a structure has more than {self._limits.columns} members", self._offset)
            if _is_unheld(declared):
                continue
            name = declared.name.decode("utf-8", "surrogateescape")
            shape = element_types.lengths_of(declared)
            if len(shape) > MOST_DIMENSIONS - 1:
                raise oversized(f"a member has {len(shape)} dimensions", self._offset)
            inner = self.layout(declared, depth=depth + 1) if isinstance(declared, pb.Structure) else None
            data_type = pb.STRUCTURE if inner is not None else int(declared.dataType)
            dtype = self._dtype(declared) if inner is None else inner.dtype
            members.append((name, data_type, shape, inner))
            fields.append((name, dtype, () if data_type == pb.STRING else shape))
        field_names = {name for name, _, _ in fields}
        if "" in field_names or len(field_names) < len(fields):
            raise bad("a structure has members without a name, or two members of the same name", self._offset)
        size = sum(max(1, dtype.itemsize) * math.prod(max(1, length) for length in shape) for _, dtype, shape in fields)
        if size >= 1 << 31:  # the limit of numpy
            raise oversized(f"a row has {size} bytes", self._offset)
        return RowLayout(tuple(members), np.dtype(fields))

    def _dtype(self, declared: Declared) -> np.dtype[Any]:
        """Return the NumPy type of a number or of the index of strings."""
        data_type = int(declared.dataType)
        if data_type == pb.STRING:
            return dtype_of(pb.INT, big=self._big)
        if data_type not in NUMPY:
            raise bad(f"a member has the data type {data_type}", self._offset)
        return dtype_of(UNSIGNED[data_type] if element_types.is_unsigned(declared) else data_type, big=self._big)


class _Members:
    """Splitter of rows into members; `most`: bound on the total strings; `offset`: that of the message."""

    def __init__(self, offset: int, counts: NDArray[np.int64], strings: list[Any], most: int) -> None:
        self._offset = offset
        self._counts = counts
        self._starts = np.cumsum(counts) - counts
        self._strings = strings
        self._left = most

    def records(self, rows: NDArray[Any], layout: RowLayout, heaps: NDArray[np.int64] | None) -> Records:
        """Return the records of some rows. `heaps`: by row, entries in the heaps before its own, int64."""
        members: list[Tree] = []
        for name, data_type, shape, inner in layout.members:
            column = rows[name]
            deeper = heaps
            if heaps is not None and (data_type == pb.STRING or inner is not None):
                times = column.size // max(1, rows.size)
                deeper = np.repeat(heaps, times) if times != 1 else heaps
            if inner is not None:
                members.append(self.records(column.reshape(-1), inner, deeper))
            elif data_type == pb.STRING:
                members.append(self._texts(column.reshape(-1), shape, deeper))
            else:
                members.append(FixedNumbers(data_type, column))
        member_names, shapes = (tuple(member[place] for member in layout.members) for place in (0, 2))
        return Records(int(rows.size), member_names, shapes, tuple(members), rows)  # type: ignore[arg-type]

    def _texts(self, indices: NDArray[Any], shape: tuple[int, ...], heaps: NDArray[np.int64] | None) -> RawStrings:
        """Return strings of the heap; `indices`: of each row's first string, `heaps`: where its own heap begins."""
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
