"""Limits of reference documents, whose expansion can exceed their size by any factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

INTEGER_BITS = 4096
"""Maximum size of integers in expressions, in bits."""

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


TEXTS = 16
"""Limit of all jinja2 texts together, as a multiple of the maximum text length."""

STEPS = 10_000_000
"""Maximum jinja2 steps for a document: about ten seconds."""


@dataclass(slots=True, eq=False)
class Account:
    """Resources that jinja2 used for a document."""

    characters: int = 0
    """Characters of all texts."""
    steps: int = 0
    """Steps of all texts."""

    def compile(self, characters: int, limits: Limits) -> None:
        """Count a text to compile. Raises RefusedTextError."""
        self.characters += characters
        if self.characters > TEXTS * limits.text:
            text = f"the strings for jinja2 have more than {TEXTS * limits.text} characters in all"
            raise RefusedTextError("oversized-expansion", text)

    def spend(self, steps: int) -> None:
        """Count steps. Raises RefusedTextError."""
        self.steps += steps
        if self.steps > STEPS:
            raise RefusedTextError("oversized-expansion", f"the strings for jinja2 need more than {STEPS} steps in all")


class RefusedTextError(ValueError):
    """An invalid or unrenderable text; `code` is that of its diagnostic, `place` its path in the document if known."""

    def __init__(self, code: str, message: str, place: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place


def shorten(text: str, most: int = 60) -> str:
    """Return a text for messages, of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 3]}…"


def check_length(length: int, limits: Limits) -> None:
    """Check the length of a text. Raises RefusedTextError."""
    if length > limits.text:
        raise RefusedTextError(
            "oversized-expansion", f"a string of {length} characters is longer than the limit, {limits.text}"
        )
