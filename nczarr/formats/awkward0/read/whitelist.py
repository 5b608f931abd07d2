"""Whitelists of functions that a document may name; they only restrict the table.

A pattern is a list of parts, matched case-sensitively by fnmatch with those of
a function. A single part matches a whole module. Otherwise the numbers of parts
must agree, but a final constructor may be omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

Whitelist = str | Sequence[str] | Sequence[Sequence[str]] | None
"""Patterns; None allows every table function. One text, or one list of texts, is one pattern."""

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
    if len(pattern) != len(parts) and len(pattern) != 1:
        return False
    return bool(pattern) and all(map(fnmatchcase, parts, pattern))
