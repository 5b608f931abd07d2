"""Comments of a text that hide warnings: `// nczarr: ignore[cf-units]`.

A comment concerns its line; alone on a line it concerns the next one as well.
"""

import re
from collections.abc import Iterable
from typing import Protocol

_COMMENT = re.compile(r"//.*?\bnczarr:\s*ignore\[([^\]]*)\]")


def matches(code: str, words: Iterable[str]) -> bool:
    """Return whether a code, or its first words, are among some."""
    return any(code == word or code.startswith(word + "-") for word in words)


class LinedText(Protocol):
    """A text by lines."""

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of a byte, from 1."""

    def line_text(self, line: int) -> str:
        """Return a line, from 1."""


def is_ignored(code: str, text: LinedText, offset: int) -> bool:
    """Return whether a comment at the line of a byte, or alone on the line above, names a code."""
    line, _ = text.position(offset)
    comments = [_COMMENT.search(text.line_text(line))]
    above = text.line_text(line - 1).strip()
    if above.startswith("//"):
        comments.append(_COMMENT.match(above))
    words = (word.strip() for comment in comments if comment is not None for word in comment[1].split(","))
    return matches(code, words)
