"""Sources and places in them.

From a name and bytes (or their mmap) to lines and columns of offsets.
Invariant: a `Span` is only a position; it equals every other span, so that
trees that differ only in layout are equal. Lines and columns are computed only
for output.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from mmap import mmap
from typing import Any

Buffer = bytes | mmap
"""Data of a text: both slice to bytes, and `re` searches both. Binary files may be remote, or read by position."""

_LINE_END = re.compile(rb"\r\n|\r|\n")

HEAD = 1 << 16
"""Bytes of a source by which its format is detected."""

LONGEST_DOCUMENT = 1 << 20
"""Maximum bytes of a store's document with line numbers."""


class Source:
    """A named text, or a file of a `binary` format, as undecoded bytes.

    Places in a binary source are byte offsets, without lines. `key`: of a
    store's document, which is one place unless its bytes are stored, as few
    readers do. `path`: file with the bytes, if not the name.
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

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Pickle a mapped text by value, and a long or binary file without its bytes: its places are byte offsets."""
        state = {name: getattr(self, name) for name in Source.__slots__}
        if isinstance(self.data, mmap):
            state["binary"] = self.binary or len(self.data) > LONGEST_DOCUMENT
            state["data"] = b"" if state["binary"] else self.data[:]
        return None, state

    @property
    def has_lines(self) -> bool:
        """True if places have line and column; long documents of stores have none."""
        return not self.binary and (self.key is None or 0 < len(self.data) <= LONGEST_DOCUMENT)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.data))]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of a byte offset, from 1; columns are characters (an invalid byte counts as one)."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        before = bytes(self.data[starts[line - 1] : offset])
        return line, len(before.decode("utf-8", "surrogateescape")) + 1

    def place(self, offset: int) -> str:
        """Return an offset as text: `line:column`, or `byte offset` in a binary source."""
        return f"byte {offset}" if self.binary else ":".join(map(str, self.position(offset)))

    def line_text(self, line: int) -> str:
        """Return a line (from 1) without its end; invalid UTF-8 becomes U+FFFD."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.data)
        return bytes(self.data[starts[line - 1] : end]).rstrip(b"\r\n").decode("utf-8", "replace")

    def text(self, start: int, end: int) -> str:
        """Return the characters of a byte range; invalid bytes become surrogates, without loss."""
        return bytes(self.data[start:end]).decode("utf-8", "surrogateescape")


@dataclass(slots=True, eq=False)  # not frozen, which takes three times as long to make
class Span:
    """A byte range of a source. All spans are equal, because positions are not part of values."""

    source: Source | None
    """The source; None for no position."""
    start: int
    """First byte."""
    end: int
    """Byte after the last."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span)

    def __hash__(self) -> int:
        return 0


NOWHERE = Span(None, 0, 0)
"""Span of a node without text."""
