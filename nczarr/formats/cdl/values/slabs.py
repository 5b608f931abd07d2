"""Slabs of a value list: pieces of text that end in a comma, without comments.

A slab fits the processor cache, and its memory is reused instead of newly
mapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.diagnostics.source import Buffer

_LINE_END = re.compile(rb"[\r\n]")


class Slab(NamedTuple):
    """A piece of a list."""

    text: bytes
    """Text with a blank for each comment."""
    size: int
    """Length in the source in bytes."""


class _Comment(NamedTuple):
    """Range of a comment."""

    start: int
    """First byte."""
    stop: int
    """Byte after the last."""
    closed: bool
    """False if the text ends inside the comment."""


def slabs(data: Buffer, start: int, end: int, size: int) -> Iterator[Slab]:
    """Yield slabs of `data[start:end]` of about `size` bytes, cut after commas outside comments."""
    at = start
    while at < end:
        slab = _cut(data, at, end, size)
        yield slab
        at += slab.size


def _cut(data: Buffer, at: int, end: int, size: int) -> Slab:
    while at + size < end:
        piece = bytes(data[at : at + size])
        comments = list(_comments(piece))
        limit = len(piece)
        for comment in reversed(comments):
            comma = piece.rfind(b",", comment.stop, limit)
            if comma >= 0:
                break
            limit = comment.start
        else:
            comma = piece.rfind(b",", 0, limit)
        if comma >= 0:
            return Slab(_blanked(piece[: comma + 1], comments), comma + 1)
        size *= 2
    piece = bytes(data[at:end])
    return Slab(_blanked(piece, list(_comments(piece))), end - at)


def _comments(text: bytes) -> Iterator[_Comment]:
    at = text.find(b"/")
    while at >= 0:
        stop = at + 1
        if text.startswith(b"//", at):
            line = _LINE_END.search(text, at)
            stop = line.start() if line else len(text)
            yield _Comment(at, stop, closed=True)
        elif text.startswith(b"/*", at):
            closing = text.find(b"*/", at + 2)
            stop = closing + 2 if closing >= 0 else len(text)
            yield _Comment(at, stop, closed=closing >= 0)
        at = text.find(b"/", stop)


def _blanked(text: bytes, comments: list[_Comment]) -> bytes:
    """Replace each closed comment by a blank."""
    pieces: list[bytes] = []
    done = 0
    for comment in comments:
        if comment.closed and comment.stop <= len(text):
            pieces.append(text[done : comment.start])
            done = comment.stop
    return b" ".join([*pieces, text[done:]]) if pieces else text
