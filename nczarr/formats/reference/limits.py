"""Limits of reference documents, whose expansion can exceed their size by any factor."""

from typing import NamedTuple

LARGEST_END = 2**63
"""Exclusive upper limit of offset + length."""


class Limits(NamedTuple):
    """Limits for reading reference documents."""

    entries: int = 10_000_000
    """Maximum number of references in all."""
    text: int = 65_536
    """Maximum length of a rendered text, in characters."""
    depth: int = 100
    """Maximum nesting of expressions."""
    document: int = 1 << 30
    """Maximum size of the document in bytes."""
    value: int = 64 << 20
    """Maximum size of one text in bytes."""
    output: int = 1 << 33
    """Maximum size of the expanded document in bytes."""
    jinja: bool = False
    """Render texts beyond the grammar with jinja2."""
    repeated: bool = False
    """Read the last of repeated members, with a warning; otherwise they are errors."""


DEFAULT = Limits()
"""Default limits."""


def shorten(text: str, most: int = 60) -> str:
    """Return a text for messages, of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 3]}…"
