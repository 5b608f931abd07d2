"""Lexer of DDS and DAS: bytes → tokens for the parser of `grammar/DAP2.g4`.

One regular expression makes the tokens of the grammar's own lexer (a test
compares them).
"""

from __future__ import annotations

import re

from nczarr.diagnostics.source import Source
from nczarr.syntax._generated.DAP2Parser import DAP2Parser as P
from nczarr.syntax.tokens import Token

MOST_BRACES = 64
"""Maximum nesting of braces."""

MOST_TOKENS = 1 << 22

_TOKEN = re.compile(
    rb"(?:[ \t\r\n]|#[^\r\n]*+)*(?:"
    rb'("(?:\\.|[^"\\])*")'  # 1 text
    rb"|([{}\[\];,=])"  # 2 mark
    rb'|((?i:array|maps)(?:[ \t\r\n]+:|:(?![^ \t\r\n{}\[\];,="])))'  # 3 array, maps
    rb'|([^ \t\r\n{}\[\];,="]+)'  # 4 word
    rb"|(.)"  # 5 anything else
    rb"|\Z)",
    re.DOTALL,
)
_MARKS = {
    b"{": P.LBRACE, b"}": P.RBRACE, b"[": P.LBRACKET, b"]": P.RBRACKET, b";": P.SEMI, b",": P.COMMA, b"=": P.EQUAL,
}  # fmt: skip
_WORDS = {
    b"dataset": P.DATASET, b"attributes": P.ATTRIBUTES, b"structure": P.STRUCTURE, b"sequence": P.SEQUENCE,
    b"grid": P.GRID,
}  # fmt: skip


class TextFaultError(ValueError):
    """A fault of a DDS or DAS; `start` and `end` are byte offsets."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.start, self.end = start, end


def scan(source: Source, start: int, stop: int) -> list[Token]:
    """Return the tokens of a part of a source, EOF last. Raises TextFaultError."""
    data = source.data
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(data, start, stop):
        group = match.lastindex
        if group is None:
            break
        first, end = match.span(group)
        word = match[group]
        if group == 1:
            kind = P.TEXT
        elif group == 2:
            kind = _MARKS[word]
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth > MOST_BRACES:
                raise TextFaultError(f"braces are nested more than {MOST_BRACES} deep", first, end)
        elif group == 3:
            kind = P.ARRAY if word[:1] in b"aA" else P.MAPS
        elif group == 4:
            kind = _WORDS.get(word.lower(), P.WORD)
        else:
            raise TextFaultError("a text is not closed", first, end)
        if len(tokens) > MOST_TOKENS:
            raise TextFaultError(f"the text has more than {MOST_TOKENS} words", first, end)
        tokens.append(Token(kind, first, end - 1))
    tokens.append(Token(P.EOF, stop, stop - 1))
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    return tokens
