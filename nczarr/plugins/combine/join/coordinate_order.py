"""Order of coordinate values from source to source, and of all cells along a joined dimension by these values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import ArraySource
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.names import list_first
from nczarr.plugins.combine.arrays.cell_positions import GAP, CellRun, runs_of_cells
from nczarr.plugins.combine.arrays.repack import NumberPacking
from nczarr.semantics.checked import Checked

Duplicates = Literal["error", "first", "last"]
"""Rule for a coordinate value that several sources have, or one several times."""


class Overlap(NamedTuple):
    """Two cells of sources with the same coordinate value."""

    position: int
    """Position in the result."""
    one: int
    """Number of the first source."""
    one_cell: int
    """Cell of the first source."""
    other: int
    """Number of the second source."""
    other_cell: int
    """Cell of the second source."""


class AxisOrder(NamedTuple):
    """Where the cells of all sources lie along a joined dimension."""

    length: int
    """Length of the dimension in the result."""
    values: NDArray[Any] | None
    """Values of its coordinate in the result; None without one."""
    lengths: NDArray[np.int64]
    """Length of each source: int64, shape (sources,)."""
    positions: NDArray[np.int64]
    """Position of each cell of all sources in sequence: int64."""

    def list_sources(self) -> list[int] | None:
        """Return the numbers of the sources with cells in their order; None if one is not whole in the result."""
        numbers, begins = np.flatnonzero(self.lengths), np.cumsum(self.lengths) - self.lengths
        starts, lengths = self.positions[begins[numbers]], self.lengths[numbers]
        inside = np.arange(len(self.positions)) - np.repeat(begins[numbers], lengths)
        if len(self.positions) != self.length or (self.positions != np.repeat(starts, lengths) + inside).any():
            return None
        order: list[int] = numbers[np.argsort(starts)].tolist()
        return order

    def arrange(self, numbers: NDArray[np.int64], rule: Duplicates) -> tuple[list[CellRun], list[Overlap]]:
        """Return the runs of cells of some sources, and the cells that several of them have.

        `numbers`: the sources, ascending, int64.
        """
        chosen = np.zeros(len(self.lengths), bool)
        chosen[numbers] = True
        every_source = np.repeat(np.arange(len(self.lengths)), self.lengths)
        begins = np.cumsum(self.lengths) - self.lengths
        every_cell = np.arange(len(every_source)) - np.repeat(begins, self.lengths)
        rows = chosen[every_source]
        sources, cells, positions = every_source[rows], every_cell[rows], self.positions[rows]
        owners, places = np.full(self.length, GAP, np.int64), np.zeros(self.length, np.int64)
        turn = slice(None) if rule == "last" else slice(None, None, -1)  # the last of equal positions is kept
        owners[positions[turn]] = sources[turn]
        places[positions[turn]] = cells[turn]
        order = np.argsort(positions, kind="stable")
        twice = np.flatnonzero(np.diff(positions[order]) == 0)
        one, other = order[twice], order[twice + 1]
        columns = (positions[one], sources[one], cells[one], sources[other], cells[other])
        overlaps = [Overlap(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        return list(runs_of_cells(owners, places)), overlaps


def in_sequence(lengths: Sequence[int]) -> AxisOrder:
    """Return the order of sources that follow each other."""
    total = sum(lengths)
    return AxisOrder(total, None, np.array(lengths, np.int64), np.arange(total))


def by_values(values: Sequence[NDArray[Any]], *, sort: bool, negative: bool = False) -> AxisOrder:
    """Return the order of sources by their coordinate values, each of which has one position.

    `values`: of each source, shape (cells,), without missing ones. `sort`: values
    ascend, or descend if they do so in all sources; otherwise each has the place
    of its first occurrence. `negative`: they ascend if their numbers descend.
    """
    lengths = np.array([len(array) for array in values], np.int64)
    every = np.concatenate(values) if len(values) else np.zeros(0)
    distinct, first, places = np.unique(every, return_index=True, return_inverse=True)
    places = places.reshape(-1)
    rank = np.arange(len(distinct))
    if not sort:
        rank[np.argsort(first, kind="stable")] = np.arange(len(distinct))
    elif _all_descend(values) or (negative and not _all_descend([array[::-1] for array in values])):
        rank = rank[::-1]
    ordered = np.empty_like(distinct)
    ordered[rank] = distinct
    return AxisOrder(len(distinct), ordered, lengths, rank[places])


def _all_descend(values: Sequence[NDArray[Any]]) -> bool:
    """Return whether values descend in all sources that have several."""
    several = [array for array in values if len(array) > 1]
    return bool(several) and all((array[1:] < array[:-1]).all() for array in several)


def union_of(values: Sequence[NDArray[Any]], *, negative: bool = False) -> NDArray[Any]:
    """Return the union of coordinate values, ascending unless they are all equal, as xarray does.

    `negative`: they ascend if their numbers descend.
    """
    first, *others = values
    if all(len(first) == len(other) and (first == other).all() for other in others):
        return first
    filled = [array for array in values if len(array)]
    if len(filled) < 2:
        return filled[0] if filled else first
    union = np.unique(np.concatenate(filled))
    return union[::-1] if negative else union


def positions_in(union: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each value in a union that has it: int64, the shape of `values`."""
    order = np.argsort(union, kind="stable")
    return np.asarray(order[np.searchsorted(union, values, sorter=order)], np.int64)


PIECE = 1 << 20
"""Values read at once."""

NAMED = 8
"""Maximum sources in a message."""

NATURAL = "give the sources in the natural order of their names (`ls -v`), in which the values increase"

RULES = "`--duplicates first` or `--duplicates last` keeps one"

UNSORTED = "keep the cells in the order of the sources with `--unsorted`"


def words_of(checked: Checked, path: str) -> Callable[[Any], str]:
    """Return the function that shows a stored value of a coordinate: a date if it counts time."""
    from nczarr.pipeline.compare.difference import show
    from nczarr.pipeline.select.physical import is_numeric, physical

    decoding = physical(checked, path) if path in checked.variables and is_numeric(checked, path) else None
    if decoding is None or decoding.times is None:
        return show
    return lambda value: decoding.text(float(decoding.floats(np.asarray([value]))[0]))


class CoordinateOrder(NamedTuple):
    """First and last value of a coordinate of one source, and where it falls."""

    first: Any
    """First value, a NumPy scalar."""
    last: Any
    """Last value."""
    fall: tuple[Any, Any] | None = None
    """The first value that is not greater than its predecessor, behind this predecessor."""
    falls: bool = False
    """True if each value is less than its predecessor."""

    missing: bool = False
    """True if a value is missing."""


def order_of(
    source: ArraySource, *, last: bool = False, packing: NumberPacking | None = None
) -> tuple[CoordinateOrder | None, NDArray[Any] | None]:
    """Return the order of a scalar or one-dimensional array, and its values if they were read at once.

    An empty array has no order. `last`: only the last two values are read, and count.
    `packing`: form of the stored numbers; None: they are what they are, and NaN is missing.
    Raises OSError, CompileError.
    """
    shape = source.layout.shape
    length = shape[0] if shape else 1
    start = max(0, length - 2) if last and shape else 0
    first = final = fall = piece = None
    falls_always, missing = length > 1, False
    for begin in range(start, length, PIECE):
        region = (slice(begin, min(begin + PIECE, length)),) if shape else ()
        piece = source.read(region)
        values, absent = _numbers(piece.reshape(-1), packing)
        missing |= absent
        if final is not None:
            falls_always &= bool(values[0] < final)
            if fall is None and not values[0] > final:
                fall = (final, values[0])
        falls_always &= bool((values[1:] < values[:-1]).all())
        falls = np.flatnonzero(~(values[1:] > values[:-1]))
        if len(falls) and fall is None:
            fall = (values[falls[0]], values[falls[0] + 1])
        first, final = values[0] if first is None else first, values[-1]
    order = None if first is None else CoordinateOrder(first, final, fall, falls_always, missing)
    return order, piece if length <= PIECE and not start else None


def _numbers(values: NDArray[Any], packing: NumberPacking | None) -> tuple[NDArray[Any], bool]:
    """Return stored numbers with the signs that they mean, in their shape, and whether one is missing."""
    if packing is None:
        return values, bool(values.dtype.kind == "f" and np.isnan(values).any())
    if packing.dtype != packing.element:
        values = values.astype(packing.element, copy=False).view(packing.dtype)
    return values, bool(packing.find_missing(values).any())


class _SourceOrder(NamedTuple):
    """Order of a coordinate in one source."""

    name: str
    """Name of the source for messages."""
    order: CoordinateOrder


class OrderFault(NamedTuple):
    """The places where a coordinate does not increase, in words."""

    message: str
    """The first place, with its sources."""
    notes: tuple[str, ...]
    """Further facts about the order."""
    helps: tuple[str, ...]
    """Remedies, the best one first."""
    severity: Severity = Severity.ERROR
    """A warning for sources of one value each that strictly decrease, which may be meant."""

    def report(self, report: Report) -> None:
        """Report the code unordered-coordinate."""
        report.add(Diagnostic("unordered-coordinate", self.severity, self.message, notes=self.notes, helps=self.helps))


class Ascending:
    """Orders of a numeric coordinate by source; values may descend if they do so in all sources and between them."""

    def __init__(self, path: str, show_value: Callable[[Any], str], *, extends: bool = False) -> None:
        self.path = path
        self._fixed = int(extends)  # the target that is extended stays the first one
        self._show = show_value
        self._sources: list[_SourceOrder] = []

    def add(self, name: str, order: CoordinateOrder) -> None:
        """Add the next source."""
        self._sources.append(_SourceOrder(name, order))

    def find_fault(self, *, sortable: bool = True) -> OrderFault | None:
        """Return the values that are not greater than their predecessors; None if all ascend, or all descend.

        `sortable`: the cells can be sorted by the coordinate.
        """
        places = list(self._list_places(self._sources))
        missing = any(source.order.missing for source in self._sources)
        falls = _descends(self._sources) and any(source.order.falls for source in self._sources)
        if not places or (falls and not missing):
            return None
        more = len(places) - 1
        notes = [f"the same at {more} more place{'s' * (more != 1)}"] if more else []
        twice = [name for name, count in Counter(source.name for source in self._sources).items() if count > 1]
        if twice:
            notes.append(f"given several times: {list_first(twice, NAMED)}")
        severity = Severity.WARNING if _descends(self._sources) else Severity.ERROR
        return OrderFault(places[0], tuple(notes), tuple(self._list_helps(twice, sortable=sortable)), severity)

    def _list_helps(self, twice: list[str], *, sortable: bool) -> Iterator[str]:
        """Yield what can be done about the order, the best remedy first."""
        orders = [source.order for source in self._sources]
        if any(order.missing for order in orders):
            yield "leave out the sources with missing values, which have no place in an order"
            return
        if twice:
            yield "give each source once"
        rest = sorted(self._sources[self._fixed :], key=lambda source: natural_key(source.name))
        natural = [*self._sources[: self._fixed], *rest]
        if not twice and not any(self._list_places(natural)):
            listed = list_first((source.name for source in rest), NAMED)
            yield f"{NATURAL}: {listed}"
        if sortable:
            yield f"sort all cells by `{self.path}` with `--sort`; {RULES} of equal values"
        if not _descends(self._sources):
            yield UNSORTED

    def _list_places(self, sources: Iterable[_SourceOrder]) -> Iterator[str]:
        """Yield each value that is not greater than its predecessor, in words."""
        before: _SourceOrder | None = None
        for source in sources:
            order = source.order
            if before is not None and not order.first > before.order.last:
                yield self._describe(order.first, f" in `{source.name}`", before.order.last, before.name)
            if order.fall is not None:
                yield self._describe(order.fall[1], "", order.fall[0], source.name)
            if order.missing:
                yield f"`{self.path}` has missing values in `{source.name}`"
            before = source

    def _describe(self, value: Any, place: str, before: Any, source: str) -> str:
        """Return the message for a value at a place that is not greater than the one before it."""
        pair = f"{self._show(value)}{place} after {self._show(before)} in `{source}`"
        return f"the values of `{self.path}` do not increase: {pair}"


def _descends(sources: Iterable[_SourceOrder]) -> bool:
    """Return whether values strictly decrease in all sources and between them."""
    last = None
    for _, order in sources:
        single = bool(order.first == order.last) and order.fall is None
        if not (order.falls or single) or not (last is None or bool(order.first < last)):
            return False
        last = order.last
    return True


def report_unordered(
    path: str, order: AxisOrder, names: Sequence[str], show: Callable[[Any], str], report: Report
) -> None:
    """Report unordered-coordinate for values of a result that neither increase nor decrease. `names`: the sources."""
    values = order.values
    if values is None or (values[1:] < values[:-1]).all():
        return
    falls = np.flatnonzero(~(values[1:] > values[:-1]))
    if not len(falls):
        return
    place, owners = int(falls[0]), np.repeat(np.arange(len(order.lengths)), order.lengths)
    before, after = (names[owners[order.positions == place + step][0]] for step in (0, 1))
    text = f"{show(values[place + 1])} in `{after}` after {show(values[place])} in `{before}`"
    helps = [f"sort all cells by `{path}` with `--sort`", UNSORTED]
    report.error("unordered-coordinate", f"the values of `{path}` do not increase: {text}", helps=helps)


def natural_key(name: str) -> list[tuple[str, int]]:
    """Return the key by which names are sorted as people do: `f_2` before `f_10`."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]
