"""Where a call of the builder stands: the caller's own file and line, as a span like any other."""

from __future__ import annotations

import linecache
import sys

from nczarr.source import Source, Span

_PACKAGE = __name__.rpartition(".")[0]


class Script(Source):
    """A Python file as a source whose offsets are lines: `2 * line` is the line's first word, one more its end.

    The text comes from `linecache`, so that code typed into a notebook shows as well as a file does.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, b"")

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column: of the first word, or behind the last."""
        line, end = divmod(offset, 2)
        text = self.line_text(line)
        return line, (len(text) if end else len(text) - len(text.lstrip())) + 1

    def line_text(self, line: int) -> str:
        """The text of a line, empty where Python has no text."""
        return linecache.getline(self.name, line).rstrip()


def caller() -> Span:
    """The statement outside this package that is being run."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    line = frame.f_lineno
    return Span(Script(frame.f_code.co_filename), 2 * line, 2 * line + 1)
