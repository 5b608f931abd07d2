r"""Section syntax of the Common Data Model: `temp(0:9:2, :, 5)`.

    text     := part { ';' part }
    part     := selector { '.' selector }                   behind a dot: a member of the structure before it
    selector := name [ '(' extent { ',' extent } ')' ]
    extent   := ':' | index | first ':' last | first ':' last ':' stride     from 0, the last included
    name     := [ '/' ] { group '/' } variable              `\` before any of `/ \ ( ) ; , .` and blank

`sections` parses a text to one `Section` per part, with unescaped names. A
syntax error is one bad-section, at its column. Escapes are read from left to
right: a backslash quotes the next character. `written` is the inverse: its
output parses to the same names and indices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.select.selection import Extent, Extents, Section

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
_RESERVED = re.compile(r"[/\\();,.]")
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
    parsed = [_section(part, place, report, members=members) for part in tree.find_data("part")]
    parsed.sort(key=lambda section: section.span.start)
    return tuple(parsed) if report.errors == before else ()


def written(
    path: Iterable[str],
    ranges: Sequence[range | None] | None = None,
    members: Iterable[tuple[str, Sequence[range | None] | None]] = (),
) -> str:
    """Return the section for these indices of a variable, given by its names from the root, or of members.

    None stands for a whole dimension, or for all. Raises ValueError for an
    empty or descending range, and for an empty name: sections cannot express
    them.
    """
    first = "".join("/" + _escaped(name) for name in path) + _parenthesized(ranges)
    if not first:
        raise ValueError("a section must begin with a variable name")
    return ".".join([first, *(_escaped(name) + _parenthesized(extents) for name, extents in members)])


def _escaped(name: str) -> str:
    """Return an escaped name; leading and trailing blanks, which would be trimmed, get a backslash too."""
    if not name:
        raise ValueError("a section cannot have an empty name")
    text = _RESERVED.sub(r"\\\g<0>", name[:-1])
    last = "\\" + name[-1] if name[-1].isspace() or _RESERVED.match(name[-1]) else name[-1]
    return ("\\" if text[:1].isspace() else "") + text + last


def _parenthesized(ranges: Sequence[range | None] | None) -> str:
    return "(" + ",".join(map(_extent_text, ranges)) + ")" if ranges else ""


def _extent_text(indices: range | None) -> str:
    if indices is None:
        return ":"
    if not indices or indices.start < 0 or indices.step < 1:
        raise ValueError(f"a section cannot have the indices {indices!r}")
    return f"{indices.start}:{indices[-1]}" + (f":{indices.step}" if indices.step > 1 else "")


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


def _section(part: Tree[Token], place: _Place, report: Report, *, members: bool) -> Section:
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
    return tuple(_extent(extent, place, report) for extent in extents.children)  # type: ignore[union-attr, arg-type]


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


def _extent(extent: Tree[Token], place: _Place, report: Report) -> Extent | None:
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
