r"""Positions of the protocol: lines, and columns in UTF-16, UTF-8 or UTF-32, from byte offsets and back.

Lines end in `\n`, `\r\n` or `\r` alone, as in the protocol and in `Source`.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from lsprotocol.types import Position, Range

_CONTINUED = bytes(range(0x80, 0xC0))
_ABOVE_PLANE = bytes(range(0xF0, 0x100))


class Lines:
    """Places of the lines of a text in UTF-8. `encoding`: the client's, such as `utf-16`."""

    def __init__(self, data: bytes, encoding: str) -> None:
        self.data = data
        self.encoding = encoding
        self.starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        if len(self.starts) > 1 and not data.endswith((b"\n", b"\r")):
            self.starts.pop()

    def _count(self, piece: bytes) -> int:
        """Return the columns of a piece of a line."""
        if piece.isascii() or self.encoding == "utf-8":
            return len(piece)
        characters = len(piece.translate(None, _CONTINUED))
        if self.encoding == "utf-32":
            return characters
        return characters + len(piece) - len(piece.translate(None, _ABOVE_PLANE))

    def _end_of(self, line: int) -> int:
        """Return the byte after the last one of a line, without its end."""
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.data)
        return start + len(self.data[start:end].rstrip(b"\r\n"))

    def length_of(self, line: int) -> int:
        """Return the columns of a line."""
        return self._count(self.data[self.starts[line] : self._end_of(line)])

    def position(self, offset: int, *, after: bool = False) -> Position:
        """Return the position of a byte; inside a character that of the character, or with `after` of the next one."""
        data, offset = self.data, min(max(offset, 0), len(self.data))
        while 0 < offset < len(data) and 0x80 <= data[offset] < 0xC0:
            offset += 1 if after else -1
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self.columns(self.starts[line], offset))

    def columns(self, start: int, end: int) -> int:
        """Return the columns between two bytes of a line."""
        return self._count(self.data[start:end].rstrip(b"\r\n"))

    def range(self, start: int, end: int) -> Range:
        """Return the range of some bytes."""
        return Range(self.position(start), self.position(max(start, end), after=True))

    def offset(self, position: Position) -> int:
        """Return the byte of a position; beyond the end of a line or of the text, that end."""
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.data)
        start, end = self.starts[position.line], self._end_of(position.line)
        column, piece = max(position.character, 0), self.data[start:end]
        if piece.isascii() or self.encoding == "utf-8":
            return min(start + column, end)
        at = start
        while at < end and column > 0:
            lead = self.data[at]
            length = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            column -= 2 if length == 4 and self.encoding == "utf-16" else 1
            if column < 0:
                break
            at = min(at + length, end)
        return at
