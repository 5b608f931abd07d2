"""Formatter of CDL: the form of ncdump, with the author's comments, spellings and line breaks in value lists.

Every token keeps its text; only blanks and line breaks between tokens change.
The text between `netcdf` and the brace is a name as it stands; only the blanks
around it change.

A list of `data:` on one line of more than `WIDEST` columns is folded as ncdump
folds it. Lines of a list that begins on its own line are rows, as ncdump
indents them, or continue one if the author indented them more than the first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.frontend import check_syntax
from nczarr.formats.cdl.read.patterns import PRIMITIVES, SECTIONS
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.write.value_texts import fold
from nczarr.plugins.fmt.reformat import TextComposer, TextLayout, TokenPlace
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

WIDEST = 120
"""Columns of a line of values that is left as it is."""

_CONSTANT = (
    rb"""\"[^\"\\]*+(?:\\(?s:.)[^\"\\]*+)*\"|'(?:[^'\\]|\\(?s:.))?'|'(?:[^'\"\\\r\n/]|\\(?s:.)|/(?![/*]))*'|'"""
    rb"""|\\(?s:.)"""
)
"""Constants whose blanks stay: a string, a character or several of them, a single quote, an escaped character."""

_COMMENT = rb"//[^\r\n]*+|/\*(?s:.*?)\*/"
_COMMENTS = re.compile(_COMMENT)
_SPECIAL = re.compile(rb"[\"'\\/]")
_PLAIN_LINE = re.compile(rb"[^ \t\r\n\f](?:[^\r\n]*[^ \t\r\n\f])?")
_WORD = rb"[^ \t\r\n\f\"'/\\]++|%s|/(?![/*])" % _CONSTANT
_LINE = re.compile(rb"(?:%s)|((?:%s)(?:[ \t\f]*+(?:%s))*)" % (_COMMENT, _WORD, _WORD))
_KEPT = re.compile(rb"(%s)" % _CONSTANT)
_TOKEN = re.compile(rb"(?:%s)|([,{}()]|(?:[^\s,{}()\"'/\\]++|%s|/(?![/*]))+)" % (_COMMENT, _CONSTANT))
_BLANKS = re.compile(rb"[ \t\f]{2,}|[\t\f]")
_MARK = re.compile(rb"(?:%s)|([{(])|([)}])|(, )" % _CONSTANT)


def place_values(
    data: bytes, start: int, end: int, margin: bytes, *, row: bytes | None, width: int
) -> Iterator[TokenPlace]:
    """Yield the places of a list's pieces: its lines without comments.

    `margin`: indentation of lines that continue the first. `row`: indentation of
    rows; None for attributes, which have no rows and are never folded. `width`:
    columns before a list that begins behind its name.
    """
    lines = _cut_lines(data, start, end)
    base = -1
    before = start
    for number, (first, last, comma) in enumerate(lines):
        indent = margin
        here = _measure_indentation(data[before:first])
        is_line = here is not None
        if row is not None and here is not None:
            base = here if number == 0 else base
            indent = row if here <= base else margin
        text = space_values(data[first:last]) + comma
        if row is not None and len(lines) == 1:
            text = _fold(text, len(indent) if is_line else width, margin)
        yield TokenPlace(first, last, text, margin=indent, blank=not text.startswith(b","), keeps_break=True)
        before = last


def _measure_indentation(gap: bytes) -> int | None:
    """Return the columns before the line of a piece, None if it is on the line of the piece before.

    `gap`: text between both pieces. A line begins outside of comments.
    """
    if b"/" in gap:
        gap = _COMMENTS.sub(lambda match: b"#" * len(match.group()), gap)
    end = max(gap.rfind(b"\n"), gap.rfind(b"\r"))
    line = gap[end + 1 :]
    return None if end < 0 else len(line[: len(line) - len(line.lstrip())].expandtabs(8))


def _cut_lines(data: bytes, start: int, end: int) -> list[tuple[int, int, bytes]]:
    """Return start and end of the pieces of a list: its lines, and what stands between comments.

    A comma at the beginning of a line goes to the end of the line before, the third
    member.
    """
    if _SPECIAL.search(data, start, end) is None:
        spans = [match.span() for match in _PLAIN_LINE.finditer(data, start, end)]
    else:
        spans = [match.span(1) for match in _LINE.finditer(data, start, end) if match[1]]
    lines: list[tuple[int, int, bytes]] = []
    for first, last in spans:
        if data[first : first + 1] == b"," and lines and _lacks_comma(data, lines[-1], first):
            lines[-1] = (*lines[-1][:2], b",")
            rest = _PLAIN_LINE.search(data, first + 1, last)
            first = last if rest is None else rest.start()
        if first < last:
            lines.append((first, last, b""))
    return lines


def _lacks_comma(data: bytes, line: tuple[int, int, bytes], here: int) -> bool:
    """Return whether a line does not end with a comma, and only blanks stand between it and `here`."""
    return not line[2] and data[line[1] - 1 : line[1]] != b"," and not data[line[1] : here].strip()


def space_values(text: bytes) -> bytes:
    """Return the values of a line with one blank after each comma, and none inside braces."""
    if b'"' not in text and b"'" not in text and b"\\" not in text:
        return _space(text).strip(b" ")
    parts = _KEPT.split(text)
    parts[::2] = map(_space_between, parts[::2])
    parts[-1] = parts[-1].rstrip(b" ")
    return b"".join(parts)


def _space(text: bytes) -> bytes:
    text = _BLANKS.sub(b" ", text).replace(b" ,", b",").replace(b",", b", ").replace(b",  ", b", ")
    for wide, narrow in ((b"{ ", b"{"), (b" }", b"}"), (b"( ", b"("), (b" )", b")")):
        text = text.replace(wide, narrow)
    return text


_space_between = lru_cache(maxsize=256)(_space)
"""The few texts between strings."""


def _fold(text: bytes, start: int, margin: bytes) -> bytes:
    """Return a long line of values in several lines."""
    shown = text.decode("utf-8", "surrogateescape")
    if start + len(shown) + 2 <= WIDEST or "\n" in shown or "\r" in shown:
        return text
    items = _split_items(text)
    words = not any(b" " in item or not item.isascii() for item in items)
    folded = fold([item.decode("utf-8", "surrogateescape") for item in items], start, len(margin) - 4, words=words)[0]
    return re.sub(rb" +\n", b"\n", folded.encode("utf-8", "surrogateescape").lstrip(b"\n "))


def _split_items(text: bytes) -> list[bytes]:
    """Return the values of a line; one in braces is whole."""
    if _SPECIAL.search(text) is None and b"{" not in text and b"(" not in text:
        return text.split(b", ")
    items, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        if match[1]:
            depth += 1
        elif match[2]:
            depth -= 1
        elif match[3] and not depth:
            items.append(text[start : match.start()])
            start = match.end()
    return [*items, text[start:]]


_MEMBERS = {0: b"\t\t", P.TYPES: b"  ", P.DIMENSIONS: b"\t", P.VARIABLES: b"\t", P.DATA: b" "}
"""Indentation of the members of a section."""

_ATTRIBUTE = b"\t\t"
_NO_BLANK_BEFORE = frozenset((P.COMMA, P.LPAREN, P.RPAREN, P.COLON))
_NO_BLANK_AFTER = frozenset((P.LPAREN, P.COLON))


def reformat(source: Source, report: Report) -> TextLayout | None:
    """Return a text in the one style of CDL; None after reported faults of its syntax."""
    if not check_syntax(source, report):
        return None
    tokens = FastTokens(source, Report(), simple=False).scan()
    data = bytes(source.data)
    composer = TextComposer(data)
    text = composer.compose(_Arrangement(data, tokens).places())
    return TextLayout(text, _digest(data, tokens), tuple(composer.comments))


def _digest(data: bytes, tokens: list[Token]) -> bytes:
    """Return a digest of all tokens; a value list counts by its own tokens."""
    digest = hashlib.sha256()
    for token in tokens:
        text = data[token.start : token.end]
        if token.type == P.VALUES:
            text = b"\0".join(filter(None, _TOKEN.findall(text)))  # without blanks and comments
        elif token.type == P.DATASET_NAME:
            text = text.strip()
        digest.update(b"%d %s\0" % (token.type, text))
    return digest.digest()


class _Arrangement:
    """Places of the tokens of one text, with the state of the walk over them."""

    def __init__(self, data: bytes, tokens: list[Token]) -> None:
        self._data = data
        self._tokens = tokens
        self._depth = 0
        self._section = 0
        self._types: set[bytes] = set()  # names of declared types as they are written

    def places(self) -> Iterator[TokenPlace]:
        """Yield the place of each token."""
        yield from self._header()
        at = 3
        while (kind := self._tokens[at].type) != P.EOF:
            base = b"  " * self._depth
            inner = base + _MEMBERS[self._section]
            if kind == P.RBRACE:
                yield self._token(at)._replace(indent=base, inner=inner)
                self._depth, self._section = max(0, self._depth - 1), 0
                at += 1
            elif kind == P.GROUP:
                yield self._token(at)._replace(indent=base, inner=inner)
                yield from (self._token(number)._replace(margin=base + b"\t") for number in (at + 1, at + 2))
                self._depth, self._section = self._depth + 1, 0
                at += 3
            elif kind in _MEMBERS:
                yield self._token(at)._replace(indent=base, inner=inner)
                self._section = kind
                at += 1
            else:
                end = self._statement_end(at)
                yield from self._statement(at, end, base)
                at = end

    def _header(self) -> Iterator[TokenPlace]:
        """Yield `netcdf NAME {`. A name may hold what looks like a comment, whose line then ends before the brace."""
        name = self._tokens[1]
        text = self._data[name.start : name.end]
        trimmed = text.strip()
        yield self._token(0)._replace(indent=b"")
        if trimmed:
            start = name.start + text.index(trimmed)
            yield TokenPlace(start, start + len(trimmed), trimmed)
        yield self._token(2)._replace(indent=b"" if b"//" in trimmed else None)

    def _token(self, number: int) -> TokenPlace:
        token = self._tokens[number]
        return TokenPlace(token.start, token.end, self._text(number))

    def _text(self, number: int) -> bytes:
        token = self._tokens[number]
        return self._data[token.start : token.end]

    def _is_attribute(self, at: int) -> bool:
        """Return whether a statement is an attribute: `:a`, `x:a` or `T x:a`."""
        kinds = [token.type for token in self._tokens[at : at + 3]]
        return P.COLON in kinds and not {P.SEMICOLON, P.EQUALS}.intersection(kinds[: kinds.index(P.COLON)])

    def _statement_end(self, at: int) -> int:
        """Return the number of the token after a statement; a type's definition needs no semicolon."""
        tokens = self._tokens
        defines = self._section == P.TYPES and not self._is_attribute(at)
        inside, end = False, at
        while tokens[end].type != P.EOF:
            kind = tokens[end].type
            end += 1
            if kind == P.SEMICOLON and not inside:
                break
            if defines and kind == P.LBRACE:
                inside = True
            elif defines and kind == (P.RBRACE if inside else P.RPAREN):
                end += kind == P.RPAREN  # `int(*) name`, `opaque(3) name`
                end += tokens[end].type == P.SEMICOLON
                break
        if defines:
            first = [self._tokens[at].type, self._tokens[at + 1].type]
            named = at + 1 if first[0] == P.COMPOUND else at + 2 if first[1] == P.ENUM else end - 1
            self._types.add(self._text(named - (self._tokens[named].type == P.SEMICOLON)))
        return end

    def _statement(self, at: int, end: int, base: bytes) -> Iterator[TokenPlace]:
        """Yield the places of a statement's tokens."""
        is_attribute, compound = self._is_attribute(at), self._tokens[at].type == P.COMPOUND
        indent = base + (_ATTRIBUTE if is_attribute else _MEMBERS[self._section])
        margin = indent + (b"  " if self._section == P.TYPES and not is_attribute else b"\t")
        for number in range(at, end):
            token, before = self._tokens[number], self._tokens[number - 1].type
            if token.type == P.VALUES:
                row = None if is_attribute else b"  "
                margin = margin if is_attribute else base + b"    "
                width = len(base) + 4 + len(self._text(number - 2).decode("utf-8", "replace"))
                yield from place_values(self._data, token.start, token.end, margin, row=row, width=width)
                continue
            line, inner, outer = None, None, None
            if number == at:
                line = indent
                inner = base + _ATTRIBUTE if self._section == P.VARIABLES and not is_attribute else None
                outer = base if is_attribute and self._is_ownerless(at) else None
            elif compound and token.type == P.RBRACE:
                line, inner = indent, indent + b"  "
            elif compound and before in (P.LBRACE, P.SEMICOLON):
                line = indent + b"  "
                margin = line + b"  "
            has_blank = line is not None or self._has_blank(number, compound=compound)
            text = self._data[token.start : token.end]
            yield TokenPlace(token.start, token.end, text, line, margin, has_blank, before == P.COMMA, inner, outer)

    def _is_ownerless(self, at: int) -> bool:
        """Return whether an attribute belongs to its group."""
        if self._tokens[at].type == P.COLON:
            return True
        return self._tokens[at + 1].type == P.COLON and self._is_type(at)

    def _is_type(self, number: int) -> bool:
        return self._text(number) in self._types or self._text(number) in PRIMITIVES

    def _has_blank(self, number: int, *, compound: bool) -> bool:
        """Return whether a blank stands between a token and the one before it."""
        kind, before = self._tokens[number].type, self._tokens[number - 1].type
        if kind == P.COLON:
            word = self._text(number - 1)
            if word.lower() in SECTIONS:  # `data:` would begin a section
                return True
            if before == P.PATH:  # of a variable or of a type: only the author knows
                return self._tokens[number].start > self._tokens[number - 1].end
            alone = self._tokens[number - 2].type not in (P.NAME, P.PATH, P.PRIMITIVE)
            return alone and self._is_type(number - 1)
        if kind in _NO_BLANK_BEFORE or before in _NO_BLANK_AFTER:
            return False
        if compound:
            return bool(kind != P.SEMICOLON or before != P.RBRACE)
        return bool(before != P.LBRACE and kind != P.RBRACE)  # of an enum
