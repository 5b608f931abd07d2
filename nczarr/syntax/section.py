"""Sections of variables as the Common Data Model writes them: `temp(0:9:2, :, 5)` → values and places.

    text     := selector { ';' selector }
    selector := name [ '(' extent { ',' extent } ')' ] { '.' member }
    extent   := ':' | index | first ':' last | first ':' last ':' stride     from 0, the last included
    name     := [ '/' ] { group '/' } variable              `\\` before any of `/ \\ ( ) ; , .` and blank

Comes in: one text. Goes out: a `Section` a selector, with names as they are meant. What is no section is one error,
bad-section, at its column. Source: the CDM section specification (ncstream §9).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nczarr.diagnostics import Report
from nczarr.options import Extent, Section
from nczarr.source import Source, Span

if TYPE_CHECKING:
    from lark import Token, Tree
    from lark.exceptions import UnexpectedInput

GRAMMAR = r"""
start: selector (";" selector)* [";"]
selector: member ("." member)*
member: NAME [extents]
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


def sections(text: str, report: Report, name: str = "--section") -> tuple[Section, ...]:
    """The sections of one text, which is called `name` in messages; none if an error stands in the report."""
    from lark import Lark
    from lark.exceptions import UnexpectedInput

    place = _Place(Source(name, text.encode("utf-8", "surrogateescape")), text)
    parser = Lark(GRAMMAR, parser="lalr", propagate_positions=True)
    try:
        tree = parser.parse(text)
    except UnexpectedInput as error:
        _refuse(error, place, report)
        return ()
    before = report.errors
    found = [_section(selector, place, report) for selector in tree.find_data("selector")]
    found.sort(key=lambda section: section.span.start)
    return tuple(found) if report.errors == before else ()


class _Place:
    """Turns places in characters, which the parser has, into spans."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text

    def span(self, start: int, end: int) -> Span:
        """The span of a range of characters."""
        first = len(self.text[:start].encode("utf-8", "surrogateescape"))
        return Span(self.source, first, first + len(self.text[start:end].encode("utf-8", "surrogateescape")))


def _section(selector: Tree[Token], place: _Place, report: Report) -> Section:
    members = [member for member in selector.children if not isinstance(member, str)]
    named: Token = members[0].children[0]  # type: ignore[assignment]
    start = named.start_pos or 0
    if len(members) > 1:
        inner: Token = members[1].children[0]  # type: ignore[assignment]
        at = inner.start_pos or 0
        report.error(
            "bad-section",
            "a dot leads to a member of a structure, and members are not cut out",
            place.span(at - 1, inner.end_pos or at),
            helps=[f"write `{named}` for whole records; a dot of a name is written `\\.`"],
        )
    written = _without_blanks(str(named))
    extents = members[0].children[1]
    ranges: tuple[Extent | None, ...] | None = None
    if extents is not None:
        ranges = tuple(_extent(extent, place, report) for extent in extents.children)  # type: ignore[union-attr, arg-type]
    return Section(
        path=_segments(written.removeprefix("/")),
        absolute=written.startswith("/"),
        extents=ranges,
        span=place.span(start, start + len(written)),
    )


def _without_blanks(written: str) -> str:
    """A name without blanks at its end, unless a backslash keeps the first of them."""
    stripped = written.rstrip()
    slashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped if slashes % 2 == 0 else written[: len(stripped) + 1]


def _segments(written: str) -> tuple[str, ...]:
    """The names along a path, without escapes."""
    return tuple(_ESCAPED.sub(r"\1", found[0]) for found in _SEGMENT.findall(written) if found != ("", ""))


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
        report.error("bad-section", "a stride of 0 leads nowhere", span, helps=["strides begin at 1"])
    return Extent(first, last, stride or 1, span)


def _refuse(error: UnexpectedInput, place: _Place, report: Report) -> None:
    """Report what does not belong where it stands, and what could stand there."""
    text = place.text
    at = error.pos_in_stream
    token = getattr(error, "token", None)
    if at is None or (token is not None and token.type == "$END"):
        at = len(text.rstrip())
    known = (getattr(error, name, None) for name in ("accepts", "expected", "allowed"))
    expected: set[str] = next((set(each) for each in known if each), set())
    words = [word for name, word in _EXPECTED.items() if name in expected]
    wanted = f"; {' or '.join(words)} could" if words else ""
    found = f"`{text[at]}` cannot stand" if at < len(text.rstrip()) else "the text cannot end"
    helps = ["a section looks like `temp(0:9:2, :, 5)`: one extent a dimension, from 0, the last included"]
    if text[at : at + 1] == "-":
        helps = ["indices count from 0 at the beginning; there are no negative ones"]
    elif at and text[at - 1] == ":" and "INDEX" in expected:
        helps = ["`:` alone is the whole dimension; otherwise the first and the last index are given"]
    report.error("bad-section", f"{found} here{wanted}", place.span(at, at + 1), helps=helps)
