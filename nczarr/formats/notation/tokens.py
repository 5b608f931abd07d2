"""Lexer of the notation: bytes → tokens for the parser of `grammar/NCZarr.g4`.

One regular expression makes the tokens of the grammar's own lexer (a test
compares them). Invalid tokens are reported, and replaced by their probable
meaning for the parser.
"""

from __future__ import annotations

import re

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import Token

MAX_BRACES = 200
"""Maximum nesting of braces: 64 groups, and constants of types nested 64 deep."""

_CHARACTER = rb"(?:[!#-.0-\[\]-z|~\x80-\xff]|\\[ -~])"
_TOKEN = re.compile(
    rb"(?:[ \t\r\n]|//[^\r\n]*+)*(?:"
    rb"((?:[!#-*,:-?A-\[\]-z|~\x80-\xff]|\\[ -~])" + _CHARACTER + rb"*+)"  # 1 word
    rb"|([{}])"  # 2 brace
    rb"|([-+.@0-9]" + _CHARACTER + rb"*+)"  # 3 number
    rb'|("(?:\\[^\r\n]|[^"\\\r\n])*"?)'  # 4 text
    rb"|((?:/" + _CHARACTER + rb"++)+|/)"  # 5 path
    rb"|(.)"  # 6 anything else
    rb"|\Z)",
    re.DOTALL,
)
_NUMBER = re.compile(
    rb"([0-9]++)|([+-][0-9]++)|([0-9]+\.[0-9]+\.[0-9]+)|(0[xX][0-9a-fA-F]+)|(@[0-9]+)|(-Infinity)"
    rb"|([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[0-9]+[eE][+-]?[0-9]+)"
)
_NUMBER_TYPES: tuple[int, ...] = (0, P.SIZE, P.INTEGER, P.ZARRVERSION, P.HEX, P.OFFSET, P.INFINITY, P.FLOAT)

WORDS: dict[bytes, int] = {
    literal.strip("'").encode("ascii"): kind
    for kind, literal in enumerate(P.literalNames)
    if literal.strip("'").isalnum() and literal != "<INVALID>"
} | {b"Infinity": P.INFINITY}
"""Keywords of the language and their token types."""


def scan(source: Source, report: Report) -> list[Token]:
    """Return all tokens, EOF last.

    Reports `invalid-utf8`, `nul-byte`, `bad-character`, `bad-number`,
    `unterminated-string`, and `too-deep-nesting` beyond `MAX_BRACES`, where the
    tokens end.
    """
    data = source.data
    start = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    _check_utf8(source, report)
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(data, start):
        group = match.lastindex
        if group is None:
            break
        first, end = match.span(group)
        if group == 1:
            kind = WORDS.get(match[1], P.NAME)
        elif group == 2:
            opens = match[2] == b"{"
            kind = P.LBRACE if opens else P.RBRACE
            depth += 1 if opens else -1
            if depth > MAX_BRACES:
                report.error(
                    "too-deep-nesting", f"braces are nested more than {MAX_BRACES} deep", Span(source, first, end)
                )
                break
        elif group == 3:
            kind = _number(source, first, end, match[3], report)
        elif group == 4:
            kind = P.STRING
            if end - first < 2 or data[end - 1 : end] != b'"' or _escaped_end(match[4]):
                where = Span(source, first, end)
                report.error("unterminated-string", "string is not closed before the end of its line", where)
        elif group == 5:
            kind = P.FQN
        else:
            _bad_character(source, first, match[6], report)
            continue
        tokens.append(Token(kind, first, end - 1))
    tokens.append(Token(P.EOF, len(data), len(data) - 1))
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    return tokens


def _escaped_end(text: bytes) -> bool:
    """Return whether the final quote is escaped, so that the text continues."""
    body = text[1:-1]
    return (len(body) - len(body.rstrip(b"\\"))) % 2 == 1


def _number(source: Source, first: int, end: int, text: bytes, report: Report) -> int:
    """Return a number's token type; an invalid one is reported and treated as a size."""
    match = _NUMBER.fullmatch(text)
    if match is not None and match.lastindex is not None:
        return _NUMBER_TYPES[match.lastindex]
    shown = text[:40].decode("utf-8", "replace")
    helps = [] if text[:1] not in b"0123456789" else [f"write a name that starts with a digit as `\\{shown}`"]
    if text.endswith(b","):
        helps = ["write values one after another, with blanks between them"]
    if text.lstrip(b"+-").lower() in (b"inf", b"infinity", b"nan"):
        helps = ["write `NaN`, `Infinity` or `-Infinity`"]
    report.error("bad-number", f"`{shown}` is not a number", Span(source, first, end), helps=helps)
    return _NUMBER_TYPES[1]


def _bad_character(source: Source, at: int, character: bytes, report: Report) -> None:
    where = Span(source, at, at + 1)
    if character == b"\0":
        report.error("nul-byte", "a NUL byte is not allowed in the notation", where)
    elif character == b"\\":
        report.error("bad-character", "a backslash does not escape anything here", where)
    else:
        report.error("bad-character", f"character {character.decode('latin-1')!r} is not allowed here", where)


def _check_utf8(source: Source, report: Report) -> None:
    """Report the first byte of each run of invalid UTF-8, at most twenty."""
    data = bytes(source.data)
    at = 0
    for _ in range(20):
        try:
            data[at:].decode("utf-8") if at else data.decode("utf-8")
        except UnicodeDecodeError as fault:
            at += fault.start
            text = f"byte 0x{data[at]:02X} is not UTF-8"
            helps = ["write bytes of a string that are not UTF-8 as `\\xHH`"]
            report.error("invalid-utf8", text, Span(source, at, at + 1), helps=helps)
            at += max(1, fault.end - fault.start)
        else:
            return
