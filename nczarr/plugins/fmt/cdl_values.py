"""Value lists in the style of the formatter: the author's lines, with one blank after each comma.

A list of `data:` on one line of more than `WIDEST` columns is folded as ncdump
folds it. Lines of a list that begins on its own line are rows, as ncdump
indents them, or continue one if the author indented them more than the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nczarr.formats.cdl.write.value_texts import fold
from nczarr.plugins.fmt.text_layout import TokenPlace

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


def value_tokens(text: bytes) -> Iterator[bytes]:
    """Yield the tokens of a value list without blanks and comments."""
    return (token for token in _TOKEN.findall(text) if token)


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
