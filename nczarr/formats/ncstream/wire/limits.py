"""How much a stream may ask for, and what is said of one that cannot be read.

Every limit is checked before anything is allocated, and no count is believed beyond the bytes that are there.
"""

from __future__ import annotations

from typing import NamedTuple

LONGEST_BLOCK = 2**31 - 1
"""Bytes of one block: other programs count them in signed 32-bit integers."""

MOST_DIMENSIONS = 32
"""Dimensions of an array that every numpy can hold."""

LARGEST = 2**63
"""Counts and places are less."""


class Limits(NamedTuple):
    """What a reader of streams takes.

    `block`: bytes of one block. `message`: bytes of one data message with all its blocks, where it comes through a pipe
    and has to be kept. `description`: bytes of what a data message says of itself, values aside. `inflated`: bytes
    that one compressed block may become. `columns`: members that one data message may have, `nesting`: how deep they
    lie in each other.
    """

    block: int = LONGEST_BLOCK
    message: int = 1 << 32
    description: int = 1 << 20
    inflated: int = 1 << 30
    columns: int = 100_000
    nesting: int = 64


DEFAULT = Limits()
"""Limits where nobody sets others."""


class RefusedError(ValueError):
    """Bytes that are no stream, or ask for too much: a code, a message, and where, as byte offsets."""

    def __init__(self, code: str, message: str, start: int, end: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = start if end is None else end


def bad(message: str, start: int, end: int | None = None) -> RefusedError:
    """What does not follow the format."""
    return RefusedError("bad-ncstream", message, start, end)


def truncated(what: str, start: int, end: int | None = None) -> RefusedError:
    """What the stream ends within."""
    return RefusedError("truncated-ncstream", f"the stream ends within {what}", start, end)


def contradictory(message: str, start: int, end: int | None = None) -> RefusedError:
    """Counts of a message that do not agree."""
    return RefusedError("contradictory-ncstream", message, start, end)


def oversized(message: str, start: int, end: int | None = None) -> RefusedError:
    """What is more than the limits let pass."""
    return RefusedError("oversized-ncstream", message, start, end)
