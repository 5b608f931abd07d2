"""Positions of builder calls: the caller's file and line as a span."""

from __future__ import annotations

import linecache
import sys

from nczarr.source import Source, Span

_PACKAGE = __name__.rpartition(".")[0]


class Script(Source):
    """A Python file as source; the offsets `2 * line` and `2 * line + 1` are the first word and the end of a
    line.

    The text comes from `linecache`, which also knows the code of notebooks.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, b"")

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of the first word, or of the end of the line."""
        line, end = divmod(offset, 2)
        text = self.line_text(line)
        return line, (len(text) if end else len(text) - len(text.lstrip())) + 1

    def line_text(self, line: int) -> str:
        """Return the text of a line, empty if unknown."""
        return linecache.getline(self.name, line).rstrip()


def caller() -> Span:
    """Return the span of the current statement outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    line = frame.f_lineno
    return Span(Script(frame.f_code.co_filename), 2 * line, 2 * line + 1)
