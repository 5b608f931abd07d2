"""Indices of a coordinate's cells that have requested values, decoded by the CF conventions.

A value of a text is a date if the coordinate has units of time, a string if it
holds strings, else a number. It is compared in the coordinate's type. Dates are
compared to the millisecond where numbers are inexact.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.time_units import CALENDARS, period
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.select.physical import Physical, is_numeric, physical
from nczarr.select.reader import reader_of
from nczarr.select.selection import CoordinateRange, Label

BLOCK = 1 << 18
"""Cells that are read at once."""

MILLISECOND = Fraction(1, 1000)
"""Accuracy of times that are not whole numbers."""


class Interval(NamedTuple):
    """Range of values, in the units of the coordinate."""

    low: Fraction | float
    """Lowest value."""
    high: Fraction | float
    """Highest value."""
    open: bool = False
    """True if the highest value is excluded."""


class Match:
    """Indices of the cells that match, collected block by block."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = -1
        self.count = 0

    def add(self, start: int, mask: NDArray[np.bool_]) -> None:
        """Add a block of cells."""
        indices = np.flatnonzero(mask)
        if len(indices):
            self.first = start + int(indices[0]) if self.first is None else self.first
            self.last = start + int(indices[-1])
            self.count += len(indices)


def indices_of(requested: CoordinateRange, path: str, checked: Checked, report: Report) -> range | None:
    """Return the adjacent cells with these values; None after an error. Raises OSError, CompileError.

    Reports unmatched-selection.
    """
    if checked.variables[path].type in ("string", "char"):
        return _text_indices(requested, path, checked, report)
    if not is_numeric(checked, path):
        text = f"`{path}` holds neither numbers nor texts"
        report.error("unmatched-selection", text, requested.span, helps=["cut its dimension by indices: `--dim`"])
        return None
    conversion = physical(checked, path)
    try:
        interval = _interval(requested, conversion)
    except ValueError as error:
        helps = [f"the units of `{path}` are `{conversion.units}`"] if conversion.units else []
        report.error("bad-selection", str(error), requested.span, helps=helps)
        return None
    coordinate = _Coordinate(path, conversion, checked)
    if requested.nearest:
        nearest = coordinate.nearest(interval.low)
        if nearest is None:
            report.error("unmatched-selection", f"`{path}` has no values", requested.span)
            return None
        return range(nearest, nearest + 1)
    if interval.low > interval.high:
        if not coordinate.descends():
            text = f"the first bound of `{path}`, {requested.low}, is above the second, {requested.high}"
            helps = [f"the values of `{path}` do not descend, and a range does not continue at the other end"]
            report.error("unmatched-selection", text, requested.span, helps=helps)
            return None
        interval = _interval(requested._replace(low=requested.high, high=requested.low), conversion)
    return _adjacent(coordinate.within(interval), requested, path, report, lambda: coordinate.words(interval))


def _adjacent(match: Match, requested: CoordinateRange, path: str, report: Report, words: Any) -> range | None:
    """Return the range of matching cells; report if no cell matches, or if others are among them."""
    what = f"{requested.low}" if requested.low == requested.high else f"between {requested.low} and {requested.high}"
    if requested.low is None or requested.high is None:
        what = f"up to {requested.high}" if requested.low is None else f"from {requested.low} on"
    if match.first is None:
        report.error("unmatched-selection", f"`{path}` has no value {what}", requested.span, helps=words())
        return None
    if match.count != match.last - match.first + 1:
        text = f"the values of `{path}` {what} are not adjacent: other values are among them"
        report.error("unmatched-selection", text, requested.span, helps=["cut the dimension by indices: `--dim`"])
        return None
    return range(match.first, match.last + 1)


def _interval(requested: CoordinateRange, conversion: Physical) -> Interval:
    """Return the requested values in the units of the coordinate. Raises ValueError for an invalid text."""
    low, high = (None if bound is None else _value(bound, conversion) for bound in (requested.low, requested.high))
    return Interval(
        -math.inf if low is None else low.low,
        math.inf if high is None else high.high,
        False if high is None else high.open,
    )


def _value(label: Label, conversion: Physical) -> Interval:
    """Return the values that a number or text means: one, or all times of a period. Raises ValueError."""
    times = conversion.times
    if isinstance(label, str) and times is not None:
        start, stop = period(label, CALENDARS[(times.calendar or "").lower()])
        return Interval((start - times.start) / times.unit, (stop - times.start) / times.unit, start != stop)
    try:
        number = Fraction(label)
    except (ValueError, OverflowError, ZeroDivisionError):
        number = math.inf if label == math.inf else -math.inf if label == -math.inf else None  # type: ignore[assignment]
    if number is None or (isinstance(label, str) and "/" in label):
        raise ValueError(f"`{label}` is not a number")
    if abs(number) != math.inf and abs(number) > sys.float_info.max:
        raise ValueError(f"`{names.readable(str(label)[:40])}` is beyond the numbers of type double")
    return Interval(number, number)


class _Coordinate:
    """Values of a coordinate of numbers."""

    def __init__(self, path: str, conversion: Physical, checked: Checked) -> None:
        self.path = path
        self.conversion = conversion
        self.type = checked.variables[path].type
        self.reader = reader_of(checked, path)
        self.length = _stored_length(path, checked)

    def blocks(self) -> Iterator[tuple[int, NDArray[Any], NDArray[np.bool_]]]:
        """Yield the first index, values and missing values of each block."""
        for start in range(0, self.length, BLOCK):
            yield (start, *self._values(range(start, min(start + BLOCK, self.length))))

    def _values(self, indices: range) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return self.conversion.masked(self.reader.outer(self.type, [indices]))

    def descends(self) -> bool:
        """Return whether the last value is below the first."""
        if self.length < 2:
            return True
        (first, last), _ = self._values(range(0, self.length, self.length - 1))
        return bool(last < first)

    def within(self, interval: Interval) -> Match:
        """Return the cells with a value of an interval."""
        match = Match()
        for start, values, missing in self.blocks():
            match.add(start, self._mask(values, interval) & ~missing)
        return match

    def _mask(self, values: NDArray[Any], interval: Interval) -> NDArray[np.bool_]:
        low, high = interval.low, interval.high
        if values.dtype.kind in "iu":
            first = -math.inf if low == -math.inf else math.ceil(low)
            last = math.inf if high == math.inf else math.ceil(high) - 1 if interval.open else math.floor(high)
            return (values >= first) & (values <= last)
        slack, kind = self._slack(values, interval), values.dtype.type
        above = values >= _bound(low, kind) - slack
        if interval.open:
            return np.asarray(above & (values < _bound(high, kind) - slack))
        return np.asarray(above & (values <= _bound(high, kind) + slack))

    def _slack(self, values: NDArray[Any], interval: Interval) -> Any:
        """Return the inaccuracy of decoded values, in their dtype."""
        kind, times, scale = values.dtype.type, self.conversion.times, self.conversion.scale
        if times is not None:
            ends = [abs(float(end)) for end in (interval.low, interval.high) if abs(end) != math.inf]
            return kind(max([float(MILLISECOND / 2 / times.unit), *(float(np.spacing(kind(end))) for end in ends)]))
        return kind(0 if scale is None else abs(scale) * 1e-6)

    def nearest(self, value: Fraction | float) -> int | None:
        """Return the index of the value next to this one, of two the larger; None without values."""
        best: tuple[float, float, int] | None = None
        for start, values, missing in self.blocks():
            floats = values.astype("f8")
            distance = np.where(missing, np.inf, np.abs(floats - float(value)))
            for index in np.flatnonzero(distance == distance.min()):
                candidate = (float(distance[index]), -float(floats[index]), start + int(index))
                if not missing[index] and (best is None or candidate < best):
                    best = candidate
        return None if best is None else best[2]

    def words(self, interval: Interval) -> list[str]:
        """Return helps that name the values that exist."""
        lowest, highest = math.inf, -math.inf
        for _, values, missing in self.blocks():
            if not missing.all():
                lowest = min(lowest, float(values[~missing].min()))
                highest = max(highest, float(values[~missing].max()))
        if lowest > highest:
            return [f"all values of `{self.path}` are missing"]
        text = self.conversion.text
        helps = [f"its values go from {text(lowest)} to {text(highest)}"]
        if interval.low == interval.high and (index := self.nearest(interval.low)) is not None:
            value = text(float(self._values(range(index, index + 1))[0][0]))
            helps.append(f"the nearest value is {value}; `~` instead of `=` selects it")
        return helps


def _bound(value: Fraction | float, kind: Any) -> Any:
    """Return a bound in a floating-point type; a finite one beyond the type becomes its largest value."""
    largest = float(np.finfo(kind).max)
    return kind(float(value) if abs(value) == math.inf else min(max(float(value), -largest), largest))


def _text_indices(selected: CoordinateRange, path: str, checked: Checked, report: Report) -> range | None:
    """Return the cells of texts that equal the requested one; a colon in it divides no bounds."""
    requested = selected.low if selected.text is None and selected.low == selected.high else selected.text
    if selected.nearest or not isinstance(requested, str):
        helps = [f"write one text: `{selected.name}=TEXT`"]
        report.error("unmatched-selection", f"`{path}` holds texts, which have no order", selected.span, helps=helps)
        return None
    match, reader, kind = Match(), reader_of(checked, path), checked.variables[path].type
    for start in range(0, length := _stored_length(path, checked), BLOCK):
        texts = reader.outer(kind, [range(start, min(start + BLOCK, length))])
        match.add(start, np.array([_as_text(text) == requested for text in texts.tolist()], np.bool_))
    helps = ["texts have no order, so `:` is a part of the value"] if ":" in requested else []
    return _adjacent(match, selected._replace(low=requested, high=requested), path, report, lambda: helps)


def _as_text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _stored_length(path: str, checked: Checked) -> int:
    """Return the number of cells that may have been written; those beyond it match nothing."""
    arrays = checked.parts.get(path)
    return 0 if not arrays else max(array.extent[0] for array in arrays.values() if array.extent)
