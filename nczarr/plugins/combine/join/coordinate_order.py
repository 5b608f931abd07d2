"""Order of coordinate values from source to source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import ArraySource
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.names import list_first
from nczarr.plugins.combine.arrays.repack import NumberPacking
from nczarr.plugins.combine.join.axis_order import AxisOrder
from nczarr.semantics.checked import Checked

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
