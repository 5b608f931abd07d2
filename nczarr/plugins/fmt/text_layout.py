"""Layout of a formatted text: tokens in their places, and between them the comments of the source.

A format says for each token whether it begins a line, and how it is joined to
the token before it (`TokenPlace`). Comments lie in the source between tokens:
one on a line of its own gets the indentation of what follows, others stay on
the line of the token before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_TRIVIA = re.compile(rb"\r\n|\r|\n|//[^\r\n]*+|/\*(?s:.*?)\*/")
_LINE_END = re.compile(rb"[ \t\f]*(?:\r\n|\r|\n)")
BOM = b"\xef\xbb\xbf"


class TokenPlace(NamedTuple):
    """Place of one token in the formatted text."""

    start: int
    """First byte in the source."""
    end: int
    """Byte after the last in the source."""
    text: bytes
    """Text of the token in the result."""
    indent: bytes | None = None
    """Indentation of a token that begins a line; None: it continues one."""
    margin: bytes = b""
    """Indentation where a comment, or a line break that stays, puts a continuing token on a new line."""
    blank: bool = True
    """A blank before a token that continues a line."""
    keeps_break: bool = False
    """The author's line break before a continuing token stays."""
    inner: bytes | None = None
    """Indentation of comments that the author indented more than this token; None: that of the token."""
    outer: bytes | None = None
    """Indentation of comments that the author indented less than this token; None: that of the token."""


class TextLayout(NamedTuple):
    """A formatted text, and what it must have in common with its source."""

    text: bytes
    """The text in UTF-8, with one newline at its end."""
    tokens: bytes
    """Digest of all tokens with their kinds."""
    comments: tuple[bytes, ...]
    """Comments in order, without blanks at the ends of their lines."""


_NONE, _TRAILING, _LINE, _LEADING = range(4)
"""The last comment before a token: none, behind a token, up to the end of its line, first on a line."""


class TextComposer:
    """Writer of a formatted text, token by token."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(BOM) if data.startswith(BOM) else 0
        self._pieces: list[bytes] = []
        self.comments: list[bytes] = []

    def compose(self, places: Iterable[TokenPlace]) -> bytes:
        """Return the text of all tokens in order."""
        for place in places:
            self._add(place)
        self._add_comments(TokenPlace(len(self._data), len(self._data), b"", indent=b""))
        return b"".join(self._pieces) + b"\n"

    def _add(self, place: TokenPlace) -> None:
        """Append a token after its comments, on a new line, behind a blank, or directly."""
        breaks, comment = self._add_comments(place)
        if place.indent is not None and not (comment == _LEADING and not breaks):
            self._break_line(breaks, place.indent)
        elif comment == _LINE or (breaks and (place.keeps_break or comment == _LEADING)):
            self._break_line(breaks if place.keeps_break else 1, place.margin)
        elif place.blank or (comment and place.text[:1] not in b",)"):
            self._pieces.append(b" ")
        self._pieces.append(place.text)
        self._at = place.end

    def _break_line(self, breaks: int, indent: bytes) -> None:
        """Begin a line, after an empty one if the author left some."""
        if self._pieces:
            self._pieces.append(b"\n\n" if breaks > 1 else b"\n")
        self._pieces.append(indent)

    def _add_comments(self, place: TokenPlace) -> tuple[int, int]:
        """Add the comments before a token; return the number of line breaks after them, and the last one's position."""
        gap = self._data[self._at : place.start]
        if b"/" not in gap and b"\r" not in gap:
            return gap.count(b"\n"), _NONE
        breaks, last = 0, _NONE
        for match in _TRIVIA.finditer(gap):
            piece = match.group()
            if not piece.startswith(b"/"):
                breaks += 1
                continue
            comment = _LINE_END.sub(b"\n", piece).rstrip(b" \t\f")
            self.comments.append(comment)
            if breaks or not self._pieces:
                stays = place.indent is not None or place.keeps_break
                self._break_line(breaks if stays else 1, self._indentation(place, self._at + match.start()))
                last = _LEADING
            else:
                self._pieces.append(b" ")
                last = _LEADING if last == _LEADING else _TRAILING
            self._pieces.append(comment)
            if piece.startswith(b"//"):
                last = _LINE
            breaks = 0
        return breaks, last

    def _indentation(self, place: TokenPlace, offset: int) -> bytes:
        """Return the indentation of a comment that stands first on its line."""
        if place.indent is None:
            return place.margin
        if place.inner is not None and column(self._data, offset) > column(self._data, place.start):
            return place.inner
        if place.outer is not None and column(self._data, offset) < column(self._data, place.start):
            return place.outer
        return place.indent


def column(data: bytes, offset: int) -> int:
    """Return the column of an offset, from 0, with tabs to multiples of eight."""
    start = data.rfind(b"\n", 0, offset) + 1
    start = max(start, data.rfind(b"\r", start, offset) + 1)
    return len(data[start:offset].decode("utf-8", "replace").expandtabs(8))
