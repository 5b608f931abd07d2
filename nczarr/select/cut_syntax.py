r"""Syntax of cuts of dimensions: `time=0:11`, and of selections by coordinate values: `lat=-30:30`, `lat~45.3`.

    cut       := name '=' ( index | [ index ] ':' [ index ] [ ':' stride ] )      the last index is included
    selection := name '=' ( value | [ value ] ':' [ value ] ) | name '~' value    both bounds are included

An index below 0 counts from the end. `\` stands before each of `\ = ~` in a
name. Dates contain colons: a colon divides two bounds only if a number or a
year follows it. Texts have no order, so that of a coordinate of texts everything
after `=` is one value, colons included.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.select.selection import CoordinateRange, DimensionRange, Label

_CUT = re.compile(r"\s*((?:\\.|[^\\=~])+?)\s*([=~])\s*(.*?)\s*", re.DOTALL)
_INDICES = re.compile(r"(-?[0-9]{1,18})|(-?[0-9]{1,18})?:(-?[0-9]{1,18})?(?::([0-9]{1,18}))?")
_DATE_BOUNDS = re.compile(r"([+-]?[0-9]{4,}(?:-[^:]*(?::[0-9.Z+]+){0,2})?)?:([+-]?[0-9]{4,}.*)?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def dimension_range(text: str, report: Report, option: str = "--dim") -> DimensionRange | None:
    """Parse a cut of a dimension; None after an error. Reports bad-selection."""
    match = _CUT.fullmatch(text)
    indices = _INDICES.fullmatch(match[3]) if match is not None and match[2] == "=" else None
    if match is None or indices is None:
        helps = ["write `time=5`, `time=0:11`, `time=-12:` or `time=0:99:2`; the last index is included"]
        report.error("bad-selection", "a name and indices are expected", _span(option, text, match), helps=helps)
        return None
    span, name = _span(option, text, match), _ESCAPED.sub(r"\1", match[1])
    if indices[1] is not None:
        index = int(indices[1])
        return DimensionRange(name, slice(index, _after(index)), span=span)
    if indices[4] is not None and not int(indices[4]):
        report.error("bad-selection", "a stride of 0 is invalid", span, helps=["the smallest stride is 1"])
        return None
    first, last = (None if end is None else int(end) for end in indices.group(2, 3))
    stop = None if last is None else _after(last)
    return DimensionRange(name, slice(first, stop, int(indices[4] or 1)), span=span)


def coordinate_range(text: str, report: Report, option: str = "--sel") -> CoordinateRange | None:
    """Parse a selection by values; None after an error. Reports bad-selection."""
    match = _CUT.fullmatch(text)
    span = _span(option, text, match)
    if match is None or not match[3] or match[3] == ":":
        helps = ["write `lat=-30:30`, `time=2000-01:2000-12`, `lev=500`, or `lat~45.3` for the nearest value"]
        report.error("bad-selection", "a name and values are expected", span, helps=helps)
        return None
    name, written = _ESCAPED.sub(r"\1", match[1]), match[3]
    if match[2] == "~":
        return CoordinateRange(name, written, written, nearest=True, span=span)
    low, high = _bounds(written)
    return CoordinateRange(name, low, high, span=span, text=written)


def dimension_ranges_of(cuts: Mapping[str, slice | int]) -> tuple[DimensionRange, ...]:
    """Return the cuts that Python's indices request. Raises TypeError, ValueError."""
    return tuple(_dimension_range(name, index) for name, index in cuts.items())


def coordinate_ranges_of(values: Mapping[str, Any], nearest: Mapping[str, Any]) -> tuple[CoordinateRange, ...]:
    """Return the selections that Python's values request. Raises TypeError, ValueError."""
    selections = []
    for name, value in values.items():
        if isinstance(value, slice):
            if value.step is not None:
                raise ValueError(f"sel={{{name!r}: {value!r}}}: values have no step; cut the dimension with `dims`")
            value = (value.start, value.stop)
        if not isinstance(value, tuple | list):
            value = (value, value)
        if len(value) != 2:
            raise ValueError(f"sel={{{name!r}: {value!r}}}: one value is expected, or the two bounds of a range")
        low, high = (None if bound is None else _label("sel", name, bound) for bound in value)
        selections.append(CoordinateRange(name, low, high))
    for name, value in nearest.items():
        label = _label("nearest", name, value)
        selections.append(CoordinateRange(name, label, label, nearest=True))
    return tuple(selections)


def _dimension_range(name: str, index: slice | int) -> DimensionRange:
    if isinstance(index, slice):
        if index.step is not None and index.step < 1:
            raise ValueError(f"dims={{{name!r}: {index!r}}}: a step is at least 1")
        return DimensionRange(name, index, strict=False)
    if not hasattr(index, "__index__") or isinstance(index, bool):
        raise TypeError(f"dims={{{name!r}: {index!r}}}: an integer or a slice is expected")
    number = index.__index__()
    return DimensionRange(name, slice(number, _after(number)))


def _label(option: str, name: str, value: Any) -> Label:
    """Return a value of Python, NumPy or cftime as a number or text. Raises TypeError, ValueError."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.date) or hasattr(value, "isoformat"):
        return str(value.isoformat())
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return str(value)
    if kind and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{option}={{{name!r}: {value!r}}}: a number, a text or a date is expected")
    if value != value:
        raise ValueError(f"{option}={{{name!r}: {value!r}}}: NaN equals no value")
    return value


def _after(index: int) -> int | None:
    """Return the stop of a slice that ends with this index."""
    return None if index == -1 else index + 1


def _bounds(text: str) -> tuple[str | None, str | None]:
    """Return both bounds of a range; equal ones for a single value."""
    dates = _DATE_BOUNDS.fullmatch(text)
    if dates is not None and (dates[1] or dates[2]):
        return dates[1] or None, dates[2] or None
    if re.fullmatch(r"[+-]?[0-9]{4,}-.*", text, re.DOTALL) or text.count(":") != 1:
        return text, text
    low, high = (bound.strip() for bound in text.split(":"))
    return low or None, high or None


def _span(option: str, text: str, match: re.Match[str] | None) -> Span:
    """Return the place of the indices or values, or of the whole text."""
    data = text.encode("utf-8", "surrogateescape")
    start = 0 if match is None else len(text[: match.start(3)].encode("utf-8", "surrogateescape"))
    return Span(Source(option, data), start, max(start + 1, len(data)))
