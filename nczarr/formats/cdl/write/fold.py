"""Folding of value lists at 80 columns, as in ncdump.

A value and its `, ` are never split. A value that would extend beyond column 78
starts a new line, unless it has at most two characters; the blank before a fold
stays.
"""

from __future__ import annotations

import re
from functools import lru_cache

LIMIT = 78
"""Line limit: 80 minus 2."""


def fold(items: list[str], column: int, indent: int, *, last: bool = True, words: bool = False) -> tuple[str, int]:
    """Return the items joined by `, ` and folded, and the column after them.

    Text starts at `column`; continuation lines are indented by `indent` + 4.
    Unless `last`, a `, ` follows. `words`: items contain no blanks, which
    allows a faster method.
    """
    if not items:
        return "", column
    if words and len(items) > 8:
        return _fold_words(items, column, indent, last=last)
    pieces: list[str] = []
    end = len(items) - 1 if last else len(items)
    for number, item in enumerate(items):
        written = item if number == end else item + ", "
        size = len(written) if written.isascii() else len(written.encode("utf-8", "surrogatepass"))
        if column + size > LIMIT and size > 2:
            pieces.append("\n" + " " * (indent + 4))
            column = indent + 4
        pieces.append(written)
        column += size
    return "".join(pieces), column


def _fold_words(items: list[str], column: int, indent: int, *, last: bool) -> tuple[str, int]:
    """Fold ASCII items without blanks by regular expression."""
    tail = items[-1] if last else ""
    text = ", ".join(items[:-1] if last else items) + ", "
    margin = " " * (indent + 4)
    room = LIMIT - column
    if len(text) <= room:
        column += len(text)
    else:
        cut = text.rfind(" ", 0, max(room, 0)) + 1
        lines = _lines(LIMIT - indent - 4).findall(text, cut)
        column = indent + 4 + len(lines[-1])
        text = text[:cut] + "".join(f"\n{margin}{line}" for line in lines)
    if len(tail) > 2 and column + len(tail) > LIMIT:
        return f"{text}\n{margin}{tail}", indent + 4 + len(tail)
    return text + tail, column + len(tail)


@lru_cache(maxsize=16)
def _lines(room: int) -> re.Pattern[str]:
    """Return the pattern of a line: as many whole words as fit, or one longer word."""
    return re.compile(rf".{{1,{max(room - 1, 1)}}} |[^ ]+ ")
