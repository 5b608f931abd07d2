"""Runs of simple statements: SIMPLE tokens, parsed by regular expression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nczarr.ast import Attribute
from nczarr.diagnostics.source import Span
from nczarr.formats.cdl.read.patterns import PRIMITIVES, STATEMENT
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.formats.cdl.words import RESERVED
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.assembler import Assembler

_RESERVED_BYTES = frozenset(word.encode() for word in RESERVED)


def simple(assembler: Assembler, scope: GroupScope, run: Token) -> None:
    """Process a run of statements that match STATEMENT: attributes, variables, dimensions with plain names."""
    source = assembler.source
    for match in STATEMENT.finditer(source.data, run.start, run.end):
        which = match.lastindex
        if match.start("attribute") >= 0:
            _simple_attribute(assembler, scope, match)
        elif match.start("variable") >= 0:
            name = match["variable"].decode()
            start, end = match.span("variable")
            if match["variable"] in _RESERVED_BYTES:
                name = assembler.words.declared(start, end, "variable")
            raw = match["type"]
            uses = [Span(source, *match.span("type"))]
            dimensions: list[str] = []
            if match["dims"] is not None:
                dimensions = _simple_dimensions(assembler, match, uses)
            type_name = PRIMITIVES.get(raw) or raw.decode()
            assembler.declare(scope, type_name, name, dimensions, Span(source, start, end), uses)
        elif which is not None:
            _simple_dimension(assembler, scope, match)


def _simple_dimensions(assembler: Assembler, match: re.Match[bytes], uses: list[Span]) -> list[str]:
    at = match.start("dims")
    dimensions: list[str] = []
    for piece in match["dims"].split(b","):
        text = piece.strip(b" \t\r\n\f")
        start = at + piece.find(text)
        at += len(piece) + 1
        dimensions.append(text.decode())
        uses.append(Span(assembler.source, start, start + len(text)))
    return dimensions


def _simple_dimension(assembler: Assembler, scope: GroupScope, match: re.Match[bytes]) -> None:
    source = assembler.source
    start, end = match.span("dimension")
    name = match["dimension"].decode()
    if match["dimension"] in _RESERVED_BYTES:
        name = assembler.words.declared(start, end, "dimension")
    size: bytes = match["size"]
    unlimited = size in (b"UNLIMITED", b"unlimited")
    place, size_place = Span(source, start, end), Span(source, *match.span("size"))
    assembler.add_dimension(scope, name, None if unlimited else int(size), place, size_place, unlimited=unlimited)


def _simple_attribute(assembler: Assembler, scope: GroupScope, match: re.Match[bytes]) -> None:
    """Process an attribute with plain names; a fast path handles a text or one number of a variable or the group."""
    word1, word2, raw_name, text, other = match.group("word1", "word2", "attribute", "text", "other")
    name = raw_name.decode()
    place = Span(assembler.source, *match.span("attribute"))
    variable = scope.variable_by_name.get(word1.decode()) if word1 is not None and word2 is None else None
    if (variable is not None or word1 is None) and not name.startswith("_"):
        constant = assembler.text(text) if text is not None else assembler.plain(other, None)
        if constant is not None:
            attributes = variable.attributes if variable is not None else scope.attributes
            attributes.append(Attribute(name=name, value=constant, span=place))
            return
    low, high = match.span("text") if text is not None else match.span("other")
    values = (low - 1, high + 1) if text is not None else (low, high)
    if variable is not None:
        assembler.add_attribute(scope, variable, None, [], name, place, Span(assembler.source, *values))
        return
    words = [Token(P.NAME, *match.span(group)) for group in ("word1", "word2") if match[group] is not None]
    for word in words:
        word.stop -= 1
    assembler.attribute(scope, words, Token(P.NAME, place.start, place.end - 1), *values)
