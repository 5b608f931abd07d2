"""Limits of texts that are rendered, and what rendering them has used."""

from __future__ import annotations

from dataclasses import dataclass

from nczarr.formats.reference.limits import Limits

INTEGER_BITS = 4096
"""Maximum size of integers in expressions, in bits."""

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


def check_length(length: int, limits: Limits) -> None:
    """Check the length of a text. Raises RefusedTextError."""
    if length > limits.text:
        raise RefusedTextError(
            "oversized-expansion", f"a string of {length} characters is longer than the limit, {limits.text}"
        )
