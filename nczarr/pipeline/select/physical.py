"""Physical values of a variable: packing, missing values and times, by the attributes of the CF conventions.

Also the indices of a coordinate's cells that have requested values. A value of a
text is a date if the coordinate has units of time, a string if it holds strings,
else a number. It is compared in the coordinate's type. Dates are compared to the
millisecond where numbers are inexact.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.time_units import CALENDARS, Units, date_text, dates, period
from nczarr.ast import EnumType
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.reader import dtype_of, reader_of, value_of, without_padding
from nczarr.pipeline.select.selection import CoordinateRange, Label
from nczarr.semantics.checked import Checked

NUMBERS = frozenset(("byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double"))
"""Atomic types of numbers."""

BYTES = frozenset(("byte", "ubyte"))
"""Types whose default fill value is a value as any other (NetCDF Users Guide, "Fill Values")."""


class Physical(NamedTuple):
    """Conversion of the stored values of a variable to physical ones."""

    scale: float | None = None
    """Factor; None without packing."""
    offset: float | None = None
    """Summand; None without packing."""
    sign: str = ""
    """NumPy's kind of the integers that stored ones of the other sign stand for: `u` or `i`; empty: as stored."""
    missing: tuple[Any, ...] = ()
    """Stored values that stand for missing ones."""
    lowest: Any = None
    """Smallest valid stored value."""
    highest: Any = None
    """Largest valid stored value."""
    units: str = ""
    """Units of the values."""
    label: str = ""
    """Name for people."""
    times: Units | None = None
    """Encoding of times."""

    def mask(self, stored: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the physical values of stored ones, and where they are missing. Both have the shape of `stored`.

        Values keep their dtype unless they are packed: then they are float64.
        """
        values = self._with_sign(stored)
        absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)
        for mark in self.missing:
            absent |= values == self._with_sign(np.asarray(mark))
        with np.errstate(invalid="ignore"):
            if self.lowest is not None:
                absent |= values < self._with_sign(np.asarray(self.lowest))
            if self.highest is not None:
                absent |= values > self._with_sign(np.asarray(self.highest))
        if self.scale is not None or self.offset is not None:
            values = values.astype("f8") * (1.0 if self.scale is None else self.scale)
            values += 0.0 if self.offset is None else self.offset
        return values, absent

    def floats(self, stored: NDArray[Any]) -> NDArray[np.float64]:
        """Return the physical values of stored ones as float64, NaN where they are missing."""
        values, absent = self.mask(stored)
        numbers = values.astype("f8", copy=True)
        numbers[absent] = np.nan
        return numbers

    def _with_sign(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.view(f"{self.sign}{values.dtype.itemsize}") if self.sign and values.dtype.kind in "iu" else values

    def text(self, value: float) -> str:
        """Return a physical value in words: a date for times."""
        if value != value:
            return "missing"
        if self.times is not None and abs(value) < 1e18:
            calendar_name = CALENDARS[(self.times.calendar or "").lower()]
            seconds = self.times.start + self.times.unit * Fraction(float(value))
            if abs(seconds) < 10**12:  # 30,000 years
                return date_text(seconds, calendar_name)
        return f"{value:.6g}"

    @property
    def axis(self) -> str:
        """Title of an axis: the label with the units."""
        if self.times is not None:
            calendar_name = (self.times.calendar or "").lower()
            return self.label + (
                "" if CALENDARS[calendar_name] in ("standard", "proleptic_gregorian") else f" ({calendar_name})"
            )
        return f"{self.label} ({self.units})" if self.units and self.units != "1" else self.label


def is_numeric(checked: Checked, path: str) -> bool:
    """Return whether a variable holds numbers, enums included."""
    name = checked.variables[path].type
    return name in NUMBERS or isinstance(checked.types.get(name), EnumType)


def attributes_of(checked: Checked, path: str) -> Mapping[str, Any]:
    """Return the values of the attributes of a variable or group by name, texts without NULs at the end."""
    node = checked.variables.get(path) or checked.groups[path]
    return {attribute.name: without_padding(value_of(attribute.value, checked.types)) for attribute in node.attributes}


def text_of(attributes: Mapping[str, Any], *attribute_names: str) -> str:
    """Return the first of these attributes that is a text with content."""
    for name in attribute_names:
        value = attributes.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def physical(checked: Checked, path: str) -> Physical:
    """Return the conversion of a variable of numbers, by its attributes."""
    attributes, variable = attributes_of(checked, path), checked.variables[path]
    units = text_of(attributes, "units")
    calendar = text_of(attributes, "calendar") or "standard"
    scale, offset = _read_number(attributes.get("scale_factor")), _read_number(attributes.get("add_offset"))
    lowest, highest = attributes.get("valid_min"), attributes.get("valid_max")
    both = _numbers(attributes.get("valid_range"))
    if len(both) == 2:
        lowest, highest = both
    missing = [*_numbers(attributes.get("_FillValue")), *_numbers(attributes.get("missing_value"))]
    fill = checked.fills[path]
    if "_FillValue" not in attributes and fill is not None and variable.type in NUMBERS - BYTES:
        missing += _numbers(value_of(fill, checked.types))
    kind = dtype_of(variable.type, checked.types)
    return Physical(
        scale,
        offset,
        {"true": "u", "false": "i"}.get(text_of(attributes, "_Unsigned").lower(), ""),
        tuple(mark for value in missing if (mark := _convert_stored(value, kind)) is not None),
        next(iter(_numbers(lowest)), None),
        next(iter(_numbers(highest)), None),
        units,
        text_of(attributes, "long_name", "standard_name") or variable.name,
        dates(units, calendar) if scale is None and offset is None else None,
    )


def _convert_stored(value: Any, kind: np.dtype[Any]) -> Any:
    """Return a value in the type of the stored ones; None if no stored value can equal it."""
    if value != value:
        return None  # NaN is missing anyway
    with np.errstate(all="ignore"):
        converted = np.asarray(value).astype(kind)
    return converted[()] if kind.kind == "f" or converted == value else None


def _numbers(value: Any) -> list[Any]:
    """Return the numbers of an attribute."""
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)) if value.dtype.kind in "iuf" else []
    return [value] if isinstance(value, np.number) else []


def _read_number(value: Any) -> float | None:
    numbers = _numbers(value)
    return float(numbers[0]) if len(numbers) == 1 and np.isfinite(numbers[0]) else None


LONGITUDE_UNITS = frozenset(("degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"))
"""Units of longitude (CF conventions, 4.2); values repeat after 360."""

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
        if conversion.units in LONGITUDE_UNITS and (turned := coordinate.find_nearer(interval.low, nearest)):
            text = f"`{path}` has a nearer longitude, by another number"
            report.warning("omitted-longitudes", text, requested.span, helps=turned)
        return range(nearest, nearest + 1)
    if interval.low > interval.high:
        if not coordinate.descends():
            text = f"the first bound of `{path}`, {requested.low}, is above the second, {requested.high}"
            helps = [f"the values of `{path}` do not descend, and a range does not continue at the other end"]
            report.error("unmatched-selection", text, requested.span, helps=helps)
            return None
        interval = _interval(requested._replace(low=requested.high, high=requested.low), conversion)
    match = coordinate.within(interval)
    turned = coordinate.find_turned(interval, match) if conversion.units in LONGITUDE_UNITS else []
    found = _adjacent(match, requested, path, report, lambda: [*turned, *coordinate.words(interval)])
    if found is not None and turned:
        text = f"`{path}` has more cells of these longitudes, by other numbers: they are left out"
        report.warning("omitted-longitudes", text, requested.span, helps=turned)
    return found


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
    low, high = (None if bound is None else _parse(bound, conversion) for bound in (requested.low, requested.high))
    return Interval(
        -math.inf if low is None else low.low,
        math.inf if high is None else high.high,
        False if high is None else high.open,
    )


def _parse(label: Label, conversion: Physical) -> Interval:
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
        self.length = _find_stored_length(path, checked)

    def blocks(self) -> Iterator[tuple[int, NDArray[Any], NDArray[np.bool_]]]:
        """Yield the first index, values and missing values of each block."""
        for start in range(0, self.length, BLOCK):
            yield (start, *self._values(range(start, min(start + BLOCK, self.length))))

    def _values(self, indices: range) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return self.conversion.mask(self.reader.outer(self.type, [indices]))

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
        """Return which values are in an interval; floats may miss its bounds by a rounding error."""
        low, high = interval.low, interval.high
        if values.dtype.kind in "iu":
            first = -math.inf if low == -math.inf else math.ceil(low)
            last = math.inf if high == math.inf else math.ceil(high) - 1 if interval.open else math.floor(high)
            return (values >= first) & (values <= last)
        slack, kind = self._slack(values, interval), values.dtype.type
        above = values >= _convert_bound(low, kind) - slack
        if interval.open:
            return np.asarray(above & (values < _convert_bound(high, kind) - slack))
        return np.asarray(above & (values <= _convert_bound(high, kind) + slack))

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

    def find_turned(self, interval: Interval, match: Match) -> list[str]:
        """Return a help that names the numbers by which an axis has further cells of a range of longitudes."""
        if not math.isfinite(interval.high - interval.low):
            return []
        for turn in (360, -360):
            other = Interval(float(interval.low) + turn, float(interval.high) + turn)
            found = self.within(other)
            if found.first is None:
                continue
            if match.first is None or found.last > match.last or found.first < match.first:
                bounds = ":".join(
                    dict.fromkeys(self.conversion.text(float(bound)) for bound in (other.low, other.high))
                )
                verb = "they are" if ":" in bounds else "it is"
                return [f"{verb} `--sel {self.path.removeprefix('/')}={bounds}` here"]
        return []

    def find_nearer(self, value: Fraction | float, nearest: int) -> list[str]:
        """Return a help that names a longitude nearer to a value than the chosen cell, by another number."""
        for turn in (360, -360):
            if (index := self.nearest(float(value) + turn)) is not None:
                (old,), (new,) = (self._values(range(one, one + 1))[0].astype("f8") for one in (nearest, index))
                if abs(new - float(value) - turn) < abs(old - float(value)):
                    return [f"it is `--sel {self.path.removeprefix('/')}~{self.conversion.text(float(new))}` here"]
        return []

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
            helps.append(f"the nearest value is {value}: `--sel {self.path.removeprefix('/')}~{value}`")
        return helps


def _convert_bound(value: Fraction | float, kind: Any) -> Any:
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
    for start in range(0, length := _find_stored_length(path, checked), BLOCK):
        texts = reader.outer(kind, [range(start, min(start + BLOCK, length))])
        match.add(start, np.array([_as_text(text) == requested for text in texts.tolist()], np.bool_))
    helps = ["texts have no order, so `:` is a part of the value"] if ":" in requested else []
    return _adjacent(match, selected._replace(low=requested, high=requested), path, report, lambda: helps)


def _as_text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _find_stored_length(path: str, checked: Checked) -> int:
    """Return the number of cells that may have been written; those beyond it match nothing."""
    arrays = checked.parts.get(path)
    return 0 if not arrays else max(array.extent[0] for array in arrays.values() if array.extent)
