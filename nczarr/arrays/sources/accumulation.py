"""One array of all sources along an axis: columns of chunk places, in which a source is a few rows.

Consecutive located sources of one form are a run. Its rows are numbers in
arrays that grow, so that ten thousand sources need as much memory as their
references. Other sources are kept as they are.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.chunks.table_chunk_array import Facts, LocatedForm, TableChunkArray
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import distinct, grid_of
from nczarr.arrays.sources.memory import ArrayInMemory, is_complete
from nczarr.arrays.sources.source import ArraySource, Layout, fill_of, numpy_dtype
from nczarr.diagnostics.secrets import StorageOptions


class Targets:
    """Files and objects of all sources: each path once, with its recorded properties."""

    def __init__(self, storage: StorageOptions) -> None:
        self.paths: list[str] = []
        self.facts: dict[str, Any] = {}
        self.storage = storage
        self._numbers: dict[str, int] = {}

    def number(self, path: str, facts: Facts) -> int:
        """Return the number of a path."""
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.paths)
            self.paths.append(path)
            if facts.get(path):
                self.facts[path] = facts[path]
        return number


class _Run:
    """Consecutive located sources of one form."""

    def __init__(self, form: LocatedForm, rest: tuple[int, ...]) -> None:
        self.form = form
        self.rest = rest
        """Shape without the axis."""
        self.numbers = array("q")
        """Number of each source."""
        self.lengths = array("q")
        """Length of each source along the axis."""
        self.ends = array("q")
        """Number of rows up to the end of each source."""
        self.chunk, self.target, self.offset, self.length, self.mask = (array("q") for _ in range(5))
        self.held: dict[tuple[int, int], bytes] = {}
        """Bytes of chunks by place in the run and chunk of the source."""
        self.values = bytearray()
        """Values of all sources, as long as each has them."""
        self.valued = True

    def add(
        self, number: int, length: int, source: TableChunkArray, targets: Targets, values: NDArray[Any] | None
    ) -> None:
        """Add a source."""
        table, place = source.table, len(self.numbers)
        self.numbers.append(number)
        self.lengths.append(length)
        numbers = np.array([targets.number(path, source.facts) for path in table.sources] or [0], np.int64)
        for column, numbers_of_column in (
            (self.chunk, table.chunk),
            (self.target, numbers[table.source]),
            (self.offset, table.offset),
            (self.length, table.length),
            (self.mask, table.mask.astype(np.int64)),
        ):
            column.frombytes(numbers_of_column.tobytes())
        self.ends.append(len(self.chunk))
        for chunk, data in source.held.items():
            self.held[place, chunk] = data
        if self.valued and values is not None:
            self.values += values.tobytes()
        else:
            self.valued = False

    def groups(self, axis: int) -> Iterator[tuple[int, int]]:
        """Yield the sources, from and to, that are one array: all but the last are whole chunks long."""
        chunk = self.form.stored.chunks[axis]
        lengths = np.frombuffer(self.lengths, np.int64)
        ragged = np.flatnonzero(lengths % chunk).tolist()
        edges = sorted({0, len(lengths), *ragged, *(number + 1 for number in ragged)})
        yield from pairwise(edges)

    def locate(self, axis: int, begin: int, end: int, targets: Targets) -> TableChunkArray:
        """Return some sources as one array."""
        lengths = np.frombuffer(self.lengths, np.int64)[begin:end]
        ends = np.frombuffer(self.ends, np.int64)
        first = int(ends[begin - 1]) if begin else 0
        rows = slice(first, int(ends[end - 1]))
        chunk, target, offset, length, mask = (
            np.frombuffer(column, np.int64)[rows]
            for column in (self.chunk, self.target, self.offset, self.length, self.mask)
        )
        source_rows = np.searchsorted(ends[begin:end], np.arange(rows.start, rows.stop), side="right")
        shape = (*self.rest[:axis], int(lengths.sum()), *self.rest[axis:])
        numbers = self._numbers(axis, lengths, chunk, source_rows)
        used = distinct(target)
        table = PlaceColumns(
            tuple(targets.paths[number] for number in used.tolist()),
            numbers,
            np.searchsorted(used, target).astype(np.int64),
            offset.copy(),
            length.copy(),
            mask.astype(np.int32),
        )
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            table = table._replace(**{name: getattr(table, name)[order] for name in table._fields[1:]})
        chunk_bytes: dict[int, bytes] = {}
        if self.held:
            keys = np.array([key for key in self.held if begin <= key[0] < end], np.int64).reshape(-1, 2)
            moved = self._numbers(axis, lengths, keys[:, 1], keys[:, 0] - begin)
            chunk_bytes = {
                number: self.held[place, chunk]
                for number, (place, chunk) in zip(moved.tolist(), keys.tolist(), strict=True)
            }
        return TableChunkArray(self.form, shape, table, chunk_bytes, targets.facts, targets.storage)

    def _numbers(
        self, axis: int, lengths: NDArray[np.int64], chunk: NDArray[np.int64], source_rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the numbers of chunks in the grid of some sources together.

        `chunk`: linear indices in the grid of their source; `source_rows`: places of the
        sources. Both and the result: int64, shape (chunks,).
        """
        chunks = self.form.stored.chunks
        rest = grid_of(self.rest, (*chunks[:axis], *chunks[axis + 1 :]))
        inner, chunk_length = math.prod(rest[axis:]), chunks[axis]
        along = -(-lengths // chunk_length)
        begins = np.concatenate(([0], np.cumsum(lengths)))[:-1] // chunk_length
        total = -(-int(lengths.sum()) // chunk_length)
        above, place = np.divmod(chunk, along[source_rows] * inner)
        return np.asarray((above * total + begins[source_rows]) * inner + place, np.int64)


class Accumulation:
    """One array of the sources, added in order."""

    def __init__(self, axis: int, targets: Targets) -> None:
        self.axis = axis
        self._targets = targets
        self._items: list[_Run | tuple[int, ArraySource]] = []
        self._first: ArraySource | None = None
        self._count = 0
        self._fill: tuple[int, bytes, ArraySource] | None = None
        self.unlike: tuple[int, int, bytes, bytes, ArraySource] | None = None
        """The first sources whose missing chunks differ: numbers, fill values, and the second of them."""

    def add(
        self, number: int, source: ArraySource, values: NDArray[Any] | None = None, whole: ArraySource | None = None
    ) -> None:
        """Add the array of a source. `values`: all of them, if they are known; `whole`: the array as it was opened."""
        self._count += bool(source.layout.shape[self.axis])
        if number == 0:
            self._first = whole
        self._compare(number, source)
        if not isinstance(source, TableChunkArray):
            self._items.append((number, source))
            return
        axis, shape = self.axis, source.shape
        rest = (*shape[:axis], *shape[axis + 1 :])
        last = self._items[-1] if self._items else None
        if not isinstance(last, _Run) or last.form != source.form or last.rest != rest:
            last = _Run(source.form, rest)
            self._items.append(last)
        last.add(number, shape[axis], source, self._targets, values)

    def _compare(self, number: int, source: ArraySource) -> None:
        """Compare the values of missing chunks with those of earlier sources."""
        fill = fill_of(source)
        if fill is None or source.undefined or self.unlike is not None:
            return
        self._fill = self._fill or (number, fill, source)
        if fill != self._fill[1] and not is_complete(source):
            self.unlike = (self._fill[0], number, self._fill[1], fill, source)

    def sources(self) -> tuple[list[ArraySource], list[int]]:
        """Return arrays that are all sources in order, and the number of the first source of each."""
        if self._count == 1 and self._first is not None and self._first.layout.shape[self.axis]:
            return [self._first], [0]
        arrays: list[ArraySource] = []
        numbers: list[int] = []
        for item in self._items:
            if not isinstance(item, _Run):
                numbers.append(item[0])
                arrays.append(item[1])
                continue
            for begin, end in item.groups(self.axis):
                numbers.append(item.numbers[begin])
                arrays.append(item.locate(self.axis, begin, end, self._targets))
        return arrays, numbers

    def with_values(self, sources: Sequence[ArraySource]) -> list[ArraySource]:
        """Return arrays as from `sources`, with the known values of those that are not in one grid."""
        arrays: list[ArraySource] = []
        rest = list(sources)
        for item in self._items:
            count = 1 if not isinstance(item, _Run) else sum(1 for _ in item.groups(self.axis))
            group_arrays, rest = rest[:count], rest[count:]
            if isinstance(item, _Run) and item.valued:
                group_arrays = [self._in_memory(item)]
            arrays += group_arrays
        return arrays

    def _in_memory(self, run: _Run) -> ArraySource:
        dtype = numpy_dtype(run.form.dtype)
        pieces, at = [], 0
        row_size = math.prod(run.rest) * dtype.itemsize
        for length in run.lengths:
            shape = (*run.rest[: self.axis], length, *run.rest[self.axis :])
            pieces.append(np.frombuffer(run.values, dtype, length * row_size // dtype.itemsize, at).reshape(shape))
            at += length * row_size
        values = np.concatenate(pieces, self.axis)
        chunks = tuple(
            max(1, min(chunk_length, end))
            for chunk_length, end in zip(run.form.stored.chunks, values.shape, strict=True)
        )
        return ArrayInMemory(Layout(run.form.dtype, values.shape, chunks, (), run.form.fill), values)
