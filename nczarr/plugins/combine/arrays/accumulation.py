"""One array of all sources along an axis: columns of chunk places, in which a source is a few rows.

Located sources of one form are a run. Its rows are numbers in arrays that grow,
so that ten thousand sources need as much memory as their references. Other
sources are kept as they are. At the end, sources are arranged in any order.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import distinct, grid_of
from nczarr.arrays.sources.memory import ArrayInMemory, is_complete
from nczarr.arrays.sources.sliced import slice_source
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, convert_fill, fill_of, numpy_dtype
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.combine.arrays.cell_positions import GAP, CellRun
from nczarr.plugins.combine.arrays.table_chunk_array import Facts, LocatedForm, TableChunkArray


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
    """Located sources of one form."""

    def __init__(self, form: LocatedForm, rest: tuple[int, ...]) -> None:
        self.form = form
        self.rest = rest
        """Shape without the axis."""
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
        self.complete = True
        """True if no source lacks a chunk."""

    def add(self, length: int, source: TableChunkArray, targets: Targets, values: NDArray[Any] | None) -> int:
        """Add a source; return its place."""
        table, place = source.table, len(self.lengths)
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
        self.complete &= len(table.chunk) + len(source.held) == math.prod(source.counts)
        if self.valued and values is not None:
            self.values += values.tobytes()
        else:
            self.valued = False
        return place

    def locate(self, axis: int, group: _RunPart, targets: Targets, fill: bytes | None) -> TableChunkArray:
        """Return some sources as one array. `fill`: value of cells between them."""
        places = np.frombuffer(group.places, np.int64)
        begins = np.frombuffer(group.begins, np.int64)
        lengths = np.frombuffer(self.lengths, np.int64)[places]
        ends = np.frombuffer(self.ends, np.int64)
        counts = ends[places] - np.where(places > 0, ends[places - 1], 0)
        source_rows = np.repeat(np.arange(len(places)), counts)
        rows = np.arange(len(source_rows)) + np.repeat(ends[places] - np.cumsum(counts), counts)
        chunk, target, offset, length, mask = (
            np.frombuffer(column, np.int64)[rows]
            for column in (self.chunk, self.target, self.offset, self.length, self.mask)
        )
        shape = (*self.rest[:axis], group.length, *self.rest[axis:])
        numbers = self._numbers(axis, lengths, begins, group.length, chunk, source_rows)
        used = distinct(target)
        paths, owner = tuple(targets.paths[number] for number in used.tolist()), np.searchsorted(used, target)
        table = PlaceColumns(paths, numbers, owner.astype(np.int64), offset, length, mask.astype(np.int32))
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            table = table._replace(**{name: getattr(table, name)[order] for name in table._fields[1:]})
        chunk_bytes: dict[int, bytes] = {}
        if self.held:
            at = {place: number for number, place in enumerate(places.tolist())}
            keys = [key for key in self.held if key[0] in at]
            held_chunks = np.array([chunk for _, chunk in keys], np.int64)
            held_rows = np.array([at[place] for place, _ in keys], np.int64)
            moved = self._numbers(axis, lengths, begins, group.length, held_chunks, held_rows)
            chunk_bytes = {number: self.held[key] for number, key in zip(moved.tolist(), keys, strict=True)}
        form = self.form
        if fill is not None and self.complete:
            form = form._replace(fill=convert_fill(fill, form.dtype), undefined=False)
        return TableChunkArray(form, shape, table, chunk_bytes, targets.facts, targets.storage)

    def _numbers(
        self,
        axis: int,
        lengths: NDArray[np.int64],
        begins: NDArray[np.int64],
        total: int,
        chunk: NDArray[np.int64],
        source_rows: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the numbers of chunks in the grid of some sources together, whose length is `total`.

        `lengths`, `begins`: length and first index of each source; `chunk`: linear
        indices in the grid of their source; `source_rows`: numbers of the sources.
        These and the result: int64, shape (chunks,).
        """
        chunks = self.form.stored.chunks
        rest = grid_of(self.rest, (*chunks[:axis], *chunks[axis + 1 :]))
        inner, chunk_length = math.prod(rest[axis:]), chunks[axis]
        along = -(-lengths // chunk_length)
        above, place = np.divmod(chunk, along[source_rows] * inner)
        first = begins[source_rows] // chunk_length
        return np.asarray((above * -(-total // chunk_length) + first) * inner + place, np.int64)

    def in_memory(self, axis: int, group: _RunPart) -> ArraySource:
        """Return the known values of some sources as one array."""
        dtype = numpy_dtype(self.form.dtype)
        row_size = math.prod(self.rest) * dtype.itemsize
        ends = np.cumsum(np.frombuffer(self.lengths, np.int64)) * row_size
        pieces = []
        for place in group.places:
            length = self.lengths[place]
            shape = (*self.rest[:axis], length, *self.rest[axis:])
            begin = int(ends[place]) - length * row_size
            pieces.append(np.frombuffer(self.values, dtype, math.prod(shape), begin).reshape(shape))
        values = np.concatenate(pieces, axis)
        lengths = zip(self.form.stored.chunks, values.shape, strict=True)
        chunks = tuple(max(1, min(pair)) for pair in lengths)
        return ArrayInMemory(Layout(self.form.dtype, values.shape, chunks, (), self.form.fill), values)


class _RunPart:
    """Sources of a run, in the order of the result, that are one array."""

    def __init__(self, run: _Run, key: object, number: int) -> None:
        self.run = run
        self.key = key
        self.number = number
        """Number of the first source."""
        self.places = array("q")
        self.begins = array("q")
        self.length = 0

    def add(self, place: int, gap: int) -> None:
        """Add a source behind a gap."""
        self.places.append(place)
        self.begins.append(self.length + gap)
        self.length += gap + self.run.lengths[place]


class Frame(NamedTuple):
    """Result in which sources are arranged along one axis, in regard of its other axes."""

    key: Callable[[int], object] = lambda number: None
    """Returns equal keys for sources that lie in the same way along the other axes, by number."""
    place: Callable[[int, ArraySource], ArraySource] = lambda number, source: source
    """Returns the array of a source in the result's other lengths."""
    gap: Callable[[int], ArraySource] | None = None
    """Returns an array of fill of a length along the axis."""
    fill: Callable[[int], bytes | None] = lambda number: None
    """Returns the fill in the array of a source, little-endian or as text; None: gaps lie between arrays."""


FRAME = Frame()
"""A result without gaps, whose other lengths are those of every source."""


class Accumulation:
    """One array of the sources, added by their numbers."""

    def __init__(self, axis: int, targets: Targets) -> None:
        self.axis = axis
        self._targets = targets
        self._runs: dict[tuple[LocatedForm, tuple[int, ...]], _Run] = {}
        self._last: _Run | None = None
        self._homes: list[_Run | ArraySource | None] = []
        """Run or array of each source by number; None for one without the variable."""
        self._places = array("q")
        """Place of each source in its run."""
        self._whole: ArraySource | None = None
        self._fill: tuple[int, bytes, ArraySource] | None = None
        self.unlike: tuple[int, int, bytes, bytes, ArraySource] | None = None
        """The first sources whose missing chunks differ: numbers, fill values, and the second of them."""

    def add(
        self, number: int, source: ArraySource, values: NDArray[Any] | None = None, whole: ArraySource | None = None
    ) -> None:
        """Add the array of a source. `values`: all of them, if they are known; `whole`: the array as it was opened."""
        while len(self._homes) < number:
            self._homes.append(None)
            self._places.append(0)
        if number == 0:
            self._whole = whole
        self._compare(number, source)
        if not isinstance(source, TableChunkArray):
            self._homes.append(source)
            self._places.append(0)
            return
        axis, shape = self.axis, source.shape
        rest = (*shape[:axis], *shape[axis + 1 :])
        run = self._last
        if run is None or run.form != source.form or run.rest != rest:
            run = self._last = self._runs.setdefault((source.form, rest), _Run(source.form, rest))
        self._homes.append(run)
        self._places.append(run.add(shape[axis], source, self._targets, values))

    def _compare(self, number: int, source: ArraySource) -> None:
        """Compare the values of missing chunks with those of earlier sources."""
        fill = fill_of(source)
        if fill is None or source.undefined or self.unlike is not None:
            return
        self._fill = self._fill or (number, fill, source)
        if fill != self._fill[1] and not is_complete(source):
            self.unlike = (self._fill[0], number, self._fill[1], fill, source)

    def list_numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the sources with the variable: int64, ascending."""
        return np.array([number for number, home in enumerate(self._homes) if home is not None], np.int64)

    @property
    def dtype(self) -> Descr:
        """Type of the values of the first source."""
        home = next(home for home in self._homes if home is not None)
        return home.form.dtype if isinstance(home, _Run) else home.layout.dtype

    def measure(self, number: int) -> int:
        """Return the length of a source along the axis."""
        home = self._homes[number]
        assert home is not None
        return home.lengths[self._places[number]] if isinstance(home, _Run) else home.layout.shape[self.axis]

    def list_runs(self) -> list[CellRun]:
        """Return all sources as they were added."""
        return [CellRun(number, 0, self.measure(number)) for number in self.list_numbers().tolist()]

    def locate(self, number: int) -> ArraySource:
        """Return the array of a source."""
        home = self._homes[number]
        assert home is not None
        if not isinstance(home, _Run):
            return home
        group = _RunPart(home, None, number)
        group.add(self._places[number], 0)
        return home.locate(self.axis, group, self._targets, None)

    def arrange(
        self, order: Iterable[CellRun], frame: Frame = FRAME, *, known: bool = False
    ) -> tuple[list[ArraySource], list[int]]:
        """Return arrays that are the runs in order, and the number of the first source of each, `GAP` for fill.

        `known`: values that are known, instead of the chunks of sources that have them.
        """
        runs = list(order)
        alone = [run for run in runs if run.length]
        whole = self._whole
        if len(alone) == 1 and whole is not None and not known and alone[0] == (0, 0, whole.layout.shape[self.axis]):
            return [frame.place(0, whole)], [0]
        arrays: list[ArraySource] = []
        numbers: list[int] = []
        group: _RunPart | None = None
        gap = 0
        for run in [*runs, None]:
            if run is not None and run.source == GAP:
                gap += run.length
                continue
            home = None if run is None else self._homes[run.source]
            if run is not None and isinstance(home, _Run) and (run.start, run.stop) == (0, self.measure(run.source)):
                place, key = self._places[run.source], frame.key(run.source)
                alike = group is not None and group.run is home and group.key == key
                if group is None or not (alike and self._fits(group, gap, run.length, frame, known=known)):
                    self._put(group, gap, frame, arrays, numbers, known=known)
                    group, gap = _RunPart(home, key, run.source), 0
                group.add(place, gap)
                gap = 0
                continue
            self._put(group, gap, frame, arrays, numbers, known=known)
            group, gap = None, 0
            if run is not None:
                source = self.locate(run.source)
                lengths = [range(length) for length in source.layout.shape]
                lengths[self.axis] = range(run.start, run.stop)
                arrays.append(frame.place(run.source, slice_source(source, tuple(lengths))))
                numbers.append(run.source)
        if not arrays and frame.gap is not None:
            arrays, numbers = [frame.gap(0)], [GAP]
        return arrays, numbers

    def _fits(self, group: _RunPart, gap: int, length: int, frame: Frame, *, known: bool) -> bool:
        """Return whether a source of a length behind a gap can be part of the array of a group."""
        run = group.run
        if known and run.valued:
            return gap == 0
        fill = convert_fill(frame.fill(group.number), run.form.dtype)
        if gap and (fill is None or not (run.complete or run.form.fill == fill)):
            return False
        chunk = run.form.stored.chunks[self.axis]
        return not (group.length % chunk or gap % chunk or length % chunk)

    def _put(
        self,
        group: _RunPart | None,
        gap: int,
        frame: Frame,
        arrays: list[ArraySource],
        numbers: list[int],
        *,
        known: bool,
    ) -> None:
        """Add the array of a group, and that of the gap behind it."""
        if group is not None:
            run = group.run
            known = known and run.valued
            source = (
                run.in_memory(self.axis, group)
                if known
                else run.locate(self.axis, group, self._targets, frame.fill(group.number))
            )
            arrays.append(frame.place(group.number, source))
            numbers.append(group.number)
        if gap:
            assert frame.gap is not None
            arrays.append(frame.gap(gap))
            numbers.append(GAP)
