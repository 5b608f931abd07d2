"""How much a document may ask for: what one describes can be larger than what is given by any factor."""

from __future__ import annotations

from typing import NamedTuple

LARGEST = 2**63
"""Lengths and offsets are less."""


class Limits(NamedTuple):
    """What a reader of documents takes.

    `document`: bytes of the JSON text; `values`: commas and brackets in it. `nesting`: levels of expressions, and of
    brackets in a JSON value; arrays lie at most twice as deep in each other. `blobs`: how many are read. `inflated`:
    bytes that compressed blobs have in all, behind the decompressors; `unsized`: those of one without a count
    of elements. `expanded`: bytes that arrays may have beyond what is given, where pieces stand several times, items
    have no bytes or are a default. `arrays`: expressions, and arrays and values, of which each counts as often as
    something leads to it.
    """

    document: int = 64 << 20
    values: int = 2_000_000
    nesting: int = 100
    blobs: int = 1_000_000
    inflated: int = 1 << 30
    unsized: int = 16 << 20
    expanded: int = 256 << 20
    arrays: int = 500_000


DEFAULT = Limits()
"""Limits where nobody sets others."""


MOST_PACKED = 200
"""A member or dataset that is larger than `Limits.unsized` has at most so many bytes for each that is stored."""


class Budget:
    """What the members of one container may still inflate to."""

    def __init__(self, limits: Limits, document: str) -> None:
        self._limits = limits
        self._document = document
        self._left = limits.inflated

    def spend(self, name: str, size: int, stored: int) -> None:
        """Count the bytes of something of which so many are stored, before it is read. Raises RefusedError."""
        limits, text = self._limits, None
        if name == self._document and size > limits.document:
            text = f"the document has {size} bytes, more than the limit, {limits.document}"
        elif size - stored > self._left:
            text = f"{shown(name)} inflates to {size} bytes, more than the limit leaves"
        elif size > limits.unsized and size > stored * MOST_PACKED:
            text = f"{shown(name)} inflates from {stored} bytes to {size}: data are seldom so small"
        if text is not None:
            raise RefusedError("oversized-awkward", text)
        self._left -= max(0, size - stored)


class At(NamedTuple):
    """A place in a document: a step from the place above."""

    above: At | None
    step: str | int

    def path(self) -> tuple[str | int, ...]:
        """All steps from the root."""
        steps = []
        here: At | None = self
        while here is not None:
            steps.append(here.step)
            here = here.above
        return tuple(reversed(steps))


class RefusedError(ValueError):
    """Something that cannot be read; `code` is what a diagnostic about it has, `at` where it is, if that is known."""

    def __init__(self, code: str, message: str, at: At | None = None, helps: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.helps = helps


def shown(value: object) -> str:
    """A text or number of a document, for a message: on one line, and not long."""
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**40 else "an integer of many digits"
    return text if len(text) <= 60 else f"{text[:57]}…"
