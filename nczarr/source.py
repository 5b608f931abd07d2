"""Texts under compilation and places in them.

Comes in: a name and bytes (or an mmap of them). Goes out: offsets turned into lines and columns.
Invariant: a `Span` says *where*, never *what*; it equals every other span, so that two trees that differ
only in layout are equal. Lines and columns are worked out only when somebody prints them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from mmap import mmap

Buffer = bytes | mmap
"""What a source holds: both slice to bytes, both are searched by `re`."""

_LINE_END = re.compile(rb"\r\n|\r|\n")


LONGEST_DOCUMENT = 1 << 20
"""Bytes of a document of a store that is looked through for lines and columns."""


class Source:
    """A named text, or a file of a `binary` format: bytes as they lie there, decoded only where somebody looks.

    A place in a binary source is a byte offset; it has no lines. `key`: of a document of a store, which is a place as
    a whole unless its bytes are kept, which few readers do. `path`: the file that has the bytes, where that is not the
    name.
    """

    __slots__ = ("_starts", "binary", "data", "key", "name", "path")

    def __init__(
        self, name: str, data: Buffer, *, binary: bool = False, key: str | None = None, path: str | None = None
    ) -> None:
        self.name = name
        self.path = name if path is None else path
        self.key = key
        self.data = data
        self.binary = binary
        self._starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.data)} bytes)"

    @property
    def has_lines(self) -> bool:
        """Whether places in it have a line and a column; those of a long document of a store are not counted."""
        return not self.binary and (self.key is None or 0 < len(self.data) <= LONGEST_DOCUMENT)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.data))]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte offset, both from 1; a column is a character (an invalid byte counts as one)."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        before = bytes(self.data[starts[line - 1] : offset])
        return line, len(before.decode("utf-8", "surrogateescape")) + 1

    def place(self, offset: int) -> str:
        """An offset in words: `line:column`, or `byte offset` in a binary source."""
        return f"byte {offset}" if self.binary else ":".join(map(str, self.position(offset)))

    def line_text(self, line: int) -> str:
        """The text of a line (from 1) without its end; bytes that are not UTF-8 show as U+FFFD."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.data)
        return bytes(self.data[starts[line - 1] : end]).rstrip(b"\r\n").decode("utf-8", "replace")

    def text(self, start: int, end: int) -> str:
        """The characters of a byte range; invalid bytes become surrogates, so that nothing is lost."""
        return bytes(self.data[start:end]).decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A byte range of a source. All spans are equal: a position is never part of a value."""

    source: Source | None
    start: int
    end: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span)

    def __hash__(self) -> int:
        return 0

    def first(self) -> Span:
        """The empty span at this one's start."""
        return Span(self.source, self.start, self.start)


NOWHERE = Span(None, 0, 0)
"""The span of a node that no text stands behind."""
