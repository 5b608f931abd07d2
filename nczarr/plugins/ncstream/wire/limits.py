"""Limits for streams, checked before allocation, and errors. Counts never exceed the available bytes."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

LONGEST_BLOCK = 2**31 - 1
"""Maximum bytes of one block: other programs use signed 32-bit lengths."""

MOST_DIMENSIONS = 32
"""Maximum dimensions of an array in every NumPy version."""

LARGEST = 2**63
"""Exclusive limit of counts and positions."""


class Limits(NamedTuple):
    """Limits for reading streams."""

    block: int = LONGEST_BLOCK
    """Maximum size of one block in bytes."""
    message: int = 1 << 32
    """Maximum size of one message that is buffered from a pipe, in bytes."""
    description: int = 1 << 20
    """Maximum size of a data message without its values, in bytes."""
    inflated: int = 1 << 30
    """Maximum size of one inflated block in bytes."""
    columns: int = 100_000
    """Maximum number of members in one data message."""
    nesting: int = 64
    """Maximum nesting of members."""


DEFAULT = Limits()
"""Default limits."""


class UnreadableStreamError(ValueError):
    """Invalid or oversized stream: code, message and byte range."""

    def __init__(self, code: str, message: str, start: int, end: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = start if end is None else end


bad = partial(UnreadableStreamError, "bad-ncstream")
"""Error for a format violation."""

contradictory = partial(UnreadableStreamError, "contradictory-ncstream")
"""Error for counts that disagree."""

oversized = partial(UnreadableStreamError, "oversized-ncstream")
"""Error for an exceeded limit."""


def truncation_error(what: str, start: int, end: int | None = None) -> UnreadableStreamError:
    """Return an error for a stream that ends in `what`."""
    return UnreadableStreamError("truncated-ncstream", f"the stream ends within {what}", start, end)
