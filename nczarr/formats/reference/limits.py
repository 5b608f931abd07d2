"""How much a reference document may ask for: what one expands to can be larger than itself by any factor."""

from __future__ import annotations

from typing import NamedTuple

INTEGER_BITS = 4096
"""No integer of an expression has more bits."""

LARGEST_END = 2**63
"""Offset and length of a reference add up to less."""


class Limits(NamedTuple):
    """What a reader of documents takes: `entries` in all, characters of each `text` that is rendered, levels of
    brackets and operators (`depth`), bytes of any text in a document (`value`), of the `document` itself and of the
    expanded one (`output`). `jinja`: texts beyond the grammar are rendered by jinja2. `repeated`: of members that stand
    twice in one object the last is read, with a warning.
    """

    entries: int = 10_000_000
    text: int = 65_536
    depth: int = 100
    document: int = 1 << 30
    value: int = 64 << 20
    output: int = 1 << 33
    jinja: bool = False
    repeated: bool = False


DEFAULT = Limits()
"""Limits where nobody sets others."""


TEXTS = 16
"""Texts of jinja2 have in all at most so many times the characters of the longest text."""

STEPS = 10_000_000
"""Steps that jinja2 may take for a document: some ten seconds."""


class Account:
    """What the texts of a document have taken of jinja2."""

    __slots__ = ("characters", "steps")

    def __init__(self) -> None:
        self.characters = 0
        self.steps = 0

    def compile(self, characters: int, limits: Limits) -> None:
        """Count a text that becomes a program. Raises RefusedTextError."""
        self.characters += characters
        if self.characters > TEXTS * limits.text:
            text = f"the texts for jinja2 have more than {TEXTS * limits.text} characters in all"
            raise RefusedTextError("oversized-expansion", text)

    def spend(self, steps: int) -> None:
        """Count steps. Raises RefusedTextError."""
        self.steps += steps
        if self.steps > STEPS:
            raise RefusedTextError("oversized-expansion", f"the texts for jinja2 take more than {STEPS} steps in all")


class RefusedTextError(ValueError):
    """A text that cannot be read or rendered; `code` is what a diagnostic about it has."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_length(length: int, limits: Limits) -> None:
    """Refuse a text of so many characters. Raises RefusedTextError."""
    if length > limits.text:
        raise RefusedTextError(
            "oversized-expansion", f"a text of {length} characters is longer than the limit, {limits.text}"
        )
