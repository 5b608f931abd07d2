r"""Syntax of selections: sections of the Common Data Model, cuts of dimensions, and values of coordinates.

    text      := part { ';' part }                         `temp(0:9:2, :, 5)`
    part      := selector { '.' selector }                 behind a dot: a member of the structure before it
    selector  := name [ '(' extent { ',' extent } ')' ]
    extent    := ':' | index | first ':' last | first ':' last ':' stride     from 0, the last included
    name      := [ '/' ] { group '/' } variable            `\` before any of `/ \ ( ) ; , .` and blank

    cut       := name '=' ( index | [ index ] ':' [ index ] [ ':' stride ] )      the last index is included
    selection := name '=' ( value | [ value ] ':' [ value ] ) | name '~' value    both bounds are included

`sections` parses a text to one `Section` per part, with unescaped names. A
syntax error is one bad-section, at its column. Escapes are read from left to
right: a backslash quotes the next character.

In cuts (`time=0:11`) and selections (`lat=-30:30`, `lat~45.3`) an index below 0
counts from the end, and `\` stands before each of `\ = ~` in a name. Dates
contain colons: a colon divides two bounds only if a number or a year follows
it. Texts have no order, so that of a coordinate of texts everything after `=`
is one value, colons included.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import Report, Source, Span
from nczarr.pipeline.select.selection import CoordinateRange, DimensionRange, Extent, Extents, Label, Section

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput


GRAMMAR = r"""
start: part (";" part)* [";"]
part: selector ("." selector)*
selector: NAME [extents]
extents: "(" extent ("," extent)* ")"
extent: WHOLE | INDEX | INDEX WHOLE INDEX [WHOLE INDEX]
NAME: /(?:\\.|[^\\().;,\s])(?:\\.|[^\\().;,])*/s
INDEX: /[0-9]{1,19}/
WHOLE: ":"
%ignore /\s+/
"""

_EXPECTED = {
    "NAME": "the name of a variable", "INDEX": "an index", "WHOLE": "`:`", "LPAR": "`(`", "RPAR": "`)`",
    "COMMA": "`,`", "DOT": "`.`", "SEMICOLON": "`;`", "$END": "the end",
}  # fmt: skip
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SEGMENT = re.compile(r"((?:\\.|[^\\/])*)(/|\Z)", re.DOTALL)


def sections(text: str, report: Report, name: str = "--section", *, members: bool = False) -> tuple[Section, ...]:
    """Parse the sections of a text, called `name` in messages; return an empty tuple after an error.

    Without `members` a section of a structure member is refused.
    """
    from lark.exceptions import UnexpectedInput

    place = _Place(Source(name, text.encode("utf-8", "surrogateescape")), text)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        _refuse(error, place, report)
        return ()
    before = report.errors
    parsed = [_read_section(part, place, report, members=members) for part in tree.find_data("part")]
    parsed.sort(key=lambda section: section.span.start)
    return tuple(parsed) if report.errors == before else ()


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", propagate_positions=True)


class _Place:
    """Converter from the parser's character offsets to spans."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text

    def span(self, start: int, end: int) -> Span:
        """Return the span of a range of characters."""
        first = len(self.text[:start].encode("utf-8", "surrogateescape"))
        return Span(self.source, first, first + len(self.text[start:end].encode("utf-8", "surrogateescape")))


def _read_section(part: Tree[Token], place: _Place, report: Report, *, members: bool) -> Section:
    """Convert a parsed section, such as `group/var(0:9, :)`; report faults at their place in the text."""
    selectors = [selector for selector in part.children if not isinstance(selector, str)]
    named: Token = selectors[0].children[0]  # type: ignore[assignment]
    start = named.start_pos or 0
    if len(selectors) > 1 and not members:
        inner: Token = selectors[1].children[0]  # type: ignore[assignment]
        at = inner.start_pos or 0
        report.error(
            "bad-section",
            "a dot selects a member of a structure, and members cannot be selected",
            place.span(at - 1, inner.end_pos or at),
            helps=[f"write `{named}` for whole records; write a dot in a name as `\\.`"],
        )
    name = _without_blanks(str(named))
    span = place.span(start, start + len(name))
    path = _segments(name.removeprefix("/"))
    if not all(path) or not path:
        helps = ["slashes separate the names of groups and the variable; write a slash in a name as `\\/`"]
        report.error("bad-section", f"a name is missing next to a slash of `{name}`", span, helps=helps)
    return Section(
        path=path,
        absolute=name.startswith("/"),
        extents=_extents(selectors[0], place, report),
        span=span,
        members=tuple(_member(selector, place, report) for selector in selectors[1:]),
    )


def _member(selector: Tree[Token], place: _Place, report: Report) -> tuple[str, Extents]:
    name = _without_blanks(str(selector.children[0]))
    return _ESCAPED.sub(r"\1", name), _extents(selector, place, report)


def _extents(selector: Tree[Token], place: _Place, report: Report) -> Extents:
    extents = selector.children[1]
    if extents is None:
        return None
    return tuple(_read_extent(extent, place, report) for extent in extents.children)  # type: ignore[union-attr, arg-type]


def _without_blanks(written: str) -> str:
    """Strip trailing blanks, but not a first one after a backslash."""
    stripped = written.rstrip()
    slashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped if slashes % 2 == 0 else written[: len(stripped) + 1]


def _segments(written: str) -> tuple[str, ...]:
    """Return the unescaped names along a path."""
    unescaped: list[str] = []
    for match in _SEGMENT.finditer(written):
        name, slash = match.groups()
        unescaped.append(_ESCAPED.sub(r"\1", name))
        if not slash:
            break
    return tuple(unescaped)


def _read_extent(extent: Tree[Token], place: _Place, report: Report) -> Extent | None:
    """Convert `i`, `first:last` (inclusive) or `first:last:stride`; None for `:`."""
    tokens = [token for token in extent.children if token is not None]
    numbers = [int(str(token)) for token in tokens if token != ":"]
    if not numbers:
        return None
    first, last, stride = (*numbers, 1)[:3] if len(numbers) > 1 else (numbers[0], numbers[0], 1)
    begin: Token = tokens[0]  # type: ignore[assignment]
    end: Token = tokens[-1]  # type: ignore[assignment]
    span = place.span(begin.start_pos or 0, end.end_pos or 0)
    if last < first:
        report.error("bad-section", f"the last index, {last}, comes before the first, {first}", span)
    if not stride:
        report.error("bad-section", "a stride of 0 is invalid", span, helps=["the smallest stride is 1"])
    return Extent(first, last, stride or 1, span)


def _refuse(error: UnexpectedInput, place: _Place, report: Report) -> None:
    """Report the unexpected text, and the expected alternatives."""
    text = place.text
    at = error.pos_in_stream
    token = getattr(error, "token", None)
    if at is None or (token is not None and token.type == "$END"):
        at = len(text.rstrip())
    sets_of_tokens = (getattr(error, name, None) for name in ("accepts", "expected", "allowed"))
    expected: set[str] = next((set(tokens) for tokens in sets_of_tokens if tokens), set())
    words = [word for name, word in _EXPECTED.items() if name in expected]
    expectation = f"; expected {' or '.join(words)}" if words else ""
    fault = f"`{text[at]}` is not allowed here" if at < len(text.rstrip()) else "the section cannot end here"
    helps = ["a section looks like `temp(0:9:2, :, 5)`: one extent for each dimension, from 0, the last included"]
    if text[at : at + 1] == "-":
        helps = ["indices start at 0; negative indices are not supported"]
    elif at and text[at - 1] == ":" and "INDEX" in expected:
        helps = ["write `:` for a whole dimension, or the first and the last index"]
    report.error("bad-section", f"{fault}{expectation}", place.span(at, at + 1), helps=helps)


_CUT = re.compile(r"\s*((?:\\.|[^\\=~])+?)\s*([=~])\s*(.*?)\s*", re.DOTALL)
_INDICES = re.compile(r"(-?[0-9]{1,18})|(-?[0-9]{1,18})?:(-?[0-9]{1,18})?(?::([0-9]{1,18}))?")
_DATE_BOUNDS = re.compile(r"([+-]?[0-9]{4,}(?:-[^:]*(?::[0-9.Z+]+){0,2})?)?:([+-]?[0-9]{4,}.*)?", re.DOTALL)
_BACKSLASHED = re.compile(r"\\(.)", re.DOTALL)


def dimension_range(text: str, report: Report, option: str = "--dim") -> DimensionRange | None:
    """Parse a cut of a dimension; None after an error. Reports bad-selection."""
    match = _CUT.fullmatch(text)
    indices = _INDICES.fullmatch(match[3]) if match is not None and match[2] == "=" else None
    if match is None or indices is None:
        helps = ["write `time=5`, `time=0:11`, `time=-12:` or `time=0:99:2`; the last index is included"]
        report.error("bad-selection", "a name and indices are expected", _span(option, text, match), helps=helps)
        return None
    span, name = _span(option, text, match), _BACKSLASHED.sub(r"\1", match[1])
    if indices[1] is not None:
        index = int(indices[1])
        return DimensionRange(name, slice(index, _stop_after(index)), span=span)
    if indices[4] is not None and not int(indices[4]):
        report.error("bad-selection", "a stride of 0 is invalid", span, helps=["the smallest stride is 1"])
        return None
    first, last = (None if end is None else int(end) for end in indices.group(2, 3))
    stop = None if last is None else _stop_after(last)
    return DimensionRange(name, slice(first, stop, int(indices[4] or 1)), span=span)


def coordinate_range(text: str, report: Report, option: str = "--sel") -> CoordinateRange | None:
    """Parse a selection by values; None after an error. Reports bad-selection."""
    match = _CUT.fullmatch(text)
    span = _span(option, text, match)
    if match is None or not match[3] or match[3] == ":":
        helps = ["write `lat=-30:30`, `time=2000-01:2000-12`, `lev=500`, or `lat~45.3` for the nearest value"]
        report.error("bad-selection", "a name and values are expected", span, helps=helps)
        return None
    name, written = _BACKSLASHED.sub(r"\1", match[1]), match[3]
    if match[2] == "~":
        return CoordinateRange(name, written, written, nearest=True, span=span)
    low, high = _bounds(written)
    return CoordinateRange(name, low, high, span=span, text=written)


def dimension_ranges_of(cuts: Mapping[str, slice | int]) -> tuple[DimensionRange, ...]:
    """Return the cuts that Python's indices request. Raises TypeError, ValueError."""
    return tuple(_convert_dims_item(name, index) for name, index in cuts.items())


def coordinate_ranges_of(values: Mapping[str, Any], nearest: Mapping[str, Any]) -> tuple[CoordinateRange, ...]:
    """Return the selections that Python's values request. Raises TypeError, ValueError."""
    selections = []
    for name, value in values.items():
        if isinstance(value, slice):
            if value.step is not None:
                raise ValueError(f"sel={{{name!r}: {value!r}}}: values have no step; cut the dimension with `dims`")
            value = (value.start, value.stop)
        if not isinstance(value, tuple):  # no list: xarray's `sel` selects each of its values, and no range
            value = (value, value)
        if len(value) != 2:
            raise ValueError(f"sel={{{name!r}: {value!r}}}: one value is expected, or the two bounds of a range")
        low, high = (None if bound is None else _label("sel", name, bound) for bound in value)
        selections.append(CoordinateRange(name, low, high))
    for name, value in nearest.items():
        label = _label("nearest", name, value)
        selections.append(CoordinateRange(name, label, label, nearest=True))
    return tuple(selections)


def _convert_dims_item(name: str, index: slice | int) -> DimensionRange:
    """Convert an item of the argument `dims`: a slice may go beyond the dimension, an index may not."""
    if isinstance(index, slice):
        if index.step is not None and index.step < 1:
            raise ValueError(f"dims={{{name!r}: {index!r}}}: a step is at least 1")
        return DimensionRange(name, index, strict=False)
    if not hasattr(index, "__index__") or isinstance(index, bool):
        raise TypeError(f"dims={{{name!r}: {index!r}}}: an integer or a slice is expected")
    number = index.__index__()
    return DimensionRange(name, slice(number, _stop_after(number)))


def _label(option: str, name: str, value: Any) -> Label:
    """Return a value of Python, NumPy or cftime as a number or text. Raises TypeError, ValueError."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.date) or hasattr(value, "isoformat"):
        return str(value.isoformat())
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return str(value)
    if kind and not getattr(value, "ndim", 1):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        expected = "a number, a text or a date is expected" + (", or the slice of a range" if option == "sel" else "")
        raise TypeError(f"{option}={{{name!r}: {value!r}}}: {expected}")
    if value != value:
        raise ValueError(f"{option}={{{name!r}: {value!r}}}: NaN equals no value")
    return value


def _stop_after(index: int) -> int | None:
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
