"""Rights of a document: its limits, the whitelist of functions, and the errors and warnings of both directions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from nczarr.diagnostics.report import CompileError, Report

LARGEST = 2**63
"""Exclusive limit of lengths and offsets."""


class Limits(NamedTuple):
    """Limits for reading Awkward documents."""

    document: int = 64 << 20
    """Maximum size of the JSON text in bytes."""
    values: int = 2_000_000
    """Maximum number of commas and brackets in the JSON text."""
    nesting: int = 100
    """Maximum nesting of expressions, and of brackets in a JSON value; arrays nest at most twice as deep."""
    blobs: int = 1_000_000
    """Maximum number of blobs that are read."""
    inflated: int = 1 << 30
    """Maximum size of all blobs after decompression, in bytes."""
    unsized: int = 16 << 20
    """Maximum inflated size of one blob without a number of elements, in bytes."""
    expanded: int = 256 << 20
    """Maximum size of arrays beyond the input, from repeated pieces, empty items and defaults, in bytes."""
    arrays: int = 500_000
    """Maximum number of expressions, and of arrays and values, counted once per reference."""


DEFAULT = Limits()
"""Default limits."""


class At(NamedTuple):
    """A position in a document: one step below another position."""

    above: At | None
    """The other position; None at the root."""
    step: str | int
    """Member name or index."""

    def path(self) -> tuple[str | int, ...]:
        """Return all steps from the root."""
        steps = []
        position: At | None = self
        while position is not None:
            steps.append(position.step)
            position = position.above
        return tuple(reversed(steps))


class UnreadableDocumentError(ValueError):
    """Unreadable input: diagnostic `code`, and position `at` if known."""

    def __init__(self, code: str, message: str, at: At | None = None, helps: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at
        self.helps = helps


def show(value: object) -> str:
    """Format a document value for a diagnostic: short, on one line."""
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**40 else "an integer with many digits"
    return text if len(text) <= 60 else f"{text[:57]}…"


Whitelist = str | Sequence[str] | Sequence[Sequence[str]] | None
"""Patterns; None allows every table function. One text, or one list of texts, is one pattern.

A pattern is a list of parts, matched case-sensitively by fnmatch with those of
a function. A single part matches a whole module. Otherwise the numbers of parts
must agree, but a final constructor may be omitted.
"""

CONSTRUCTORS = frozenset({"fromcounts", "fromoffsets", "frompairs", "fromtags", "fromview"})
"""Names of alternative constructors of classes."""


def patterns(whitelist: Whitelist) -> tuple[tuple[str, ...], ...] | None:
    """Return the patterns of a whitelist, None without a whitelist. Raises TypeError."""
    if whitelist is None:
        return None
    if isinstance(whitelist, str):
        return ((whitelist,),)
    entries: list[Any] = list(whitelist)
    if entries and isinstance(entries[0], str):
        entries = [entries]
    allowed = tuple((entry,) if isinstance(entry, str) else tuple(entry) for entry in entries)
    if not all(isinstance(part, str) for pattern in allowed for part in pattern):
        raise TypeError("a pattern of a whitelist must be a list of strings")
    return allowed


def allows(allowed: tuple[tuple[str, ...], ...] | None, *spellings: tuple[str, ...]) -> bool:
    """Return whether a pattern matches a spelling of a function."""
    return allowed is None or any(_takes(pattern, parts) for pattern in allowed for parts in spellings)


def _takes(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if len(pattern) > 1 and len(parts) == len(pattern) + 1 and parts[-1] in CONSTRUCTORS:
        parts = parts[:-1]
    # awkward0 compares the common length alone: `os.get*` would allow `os`
    if len(pattern) != len(parts) and len(pattern) != 1:
        return False
    return bool(pattern) and all(map(fnmatchcase, parts, pattern))


class LostPartsWarning(UserWarning):
    """Warning that some information of a written array was lost."""


def say(report: Report, result: object, *, caller: Report | None) -> None:
    """Raise CompileError if nothing was made; otherwise warn, unless the caller reads the report."""
    diagnostics = report.list_sorted()
    if result is None:
        raise CompileError(diagnostics)
    if caller is None:
        for diagnostic in diagnostics:
            warnings.warn(f"{diagnostic.code}: {diagnostic.message}", LostPartsWarning, stacklevel=4)
