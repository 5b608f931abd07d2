"""Semantic tokens: colours of names by their role, and of words, strings, numbers and comments."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import SemanticTokens, SemanticTokensLegend, SemanticTokensParams, SemanticTokensRangeParams

from nczarr.plugins.lsp.documents import View

_TYPES = (
    "namespace", "type", "parameter", "variable", "property", "enumMember", "keyword", "string", "number", "comment",
)  # fmt: skip
_MODIFIERS = ("declaration", "defaultLibrary")
_ROLES = {
    "dataset": "namespace",
    "group": "namespace",
    "type": "type",
    "atomic": "type",
    "dimension": "parameter",
    "variable": "variable",
    "owner": "variable",
    "attribute": "property",
    "field": "property",
    "constant": "enumMember",
}
_LEXEMES = {"keyword": "keyword", "atomic": "type", "string": "string", "number": "number", "comment": "comment"}
_DECLARATION, _LIBRARY = 1, 2

LEGEND = SemanticTokensLegend(list(_TYPES), list(_MODIFIERS))
"""Names of the numbers in the tokens."""


def list_tokens(view: View, params: SemanticTokensParams) -> SemanticTokens:
    """Return the tokens of a text."""
    return SemanticTokens(_encode(view, 0, len(view.text.data)))


def list_tokens_in_range(view: View, params: SemanticTokensRangeParams) -> SemanticTokens:
    """Return the tokens of some lines."""
    return SemanticTokens(_encode(view, view.offset(params.range.start), view.offset(params.range.end)))


def _list_colours(view: View) -> Iterator[tuple[int, int, str, int]]:
    """Yield the bytes, type and modifiers of each token, by place; none overlap."""
    index, at, number = view.text.index, 0, 0
    entries = [entry for entry in index.entries if not entry.quoted]
    for lexeme in view.text.lexemes:
        while number < len(entries) and entries[number].mention.start < lexeme.start:
            number += 1
        while number < len(entries) and entries[number].mention.start < max(lexeme.end, at):
            mention, key = entries[number].mention, entries[number].key
            number += 1
            if mention.start < at:
                continue
            role = key.role if mention.role == "owner" and key is not None else mention.role
            modifiers = _DECLARATION if mention.extent is not None else _LIBRARY if role == "atomic" else 0
            colour = "keyword" if view.text.data[mention.start : mention.end] == b"fill" else _ROLES[role]
            yield mention.start, mention.end, colour, modifiers
            at = mention.end
        if lexeme.start >= at and lexeme.kind in _LEXEMES:
            yield lexeme.start, lexeme.end, _LEXEMES[lexeme.kind], _LIBRARY if lexeme.kind == "atomic" else 0
            at = lexeme.end


def _encode(view: View, first: int, last: int) -> list[int]:
    """Return tokens as numbers: line and column relative to the token before, length, type, modifiers."""
    lines, data = view.text.lines, view.text.data
    numbers: list[int] = []
    line, column = 0, 0
    for start, end, colour, modifiers in _list_colours(view):
        if end <= first or start >= last:
            continue
        at = start
        while at < end:
            place = lines.position(at)
            stop = lines.starts[place.line + 1] if place.line + 1 < len(lines.starts) else len(data)
            length = lines.columns(at, min(end, stop))
            if length > 0:
                relative = place.character - column if place.line == line else place.character
                numbers += [place.line - line, relative, length, _TYPES.index(colour), modifiers]
                line, column = place.line, place.character
            at = stop
    return numbers
