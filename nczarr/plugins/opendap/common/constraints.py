"""Constraint expressions of requests to our server: what both protocols have."""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.diagnostics.report import suggest

MOST_CLAUSES = 1000
"""Maximum clauses of one expression."""


class ConstraintError(ValueError):
    """An invalid constraint expression; the text says why."""


def missing(kind: str, written: str, name: str, others: Iterable[str]) -> ConstraintError:
    """Return the error of a written name that the dataset lacks. `others`: names that are like `name`, perhaps."""
    return ConstraintError("; ".join((f"there is no {kind} `{written[:80]}`", *suggest(name[:80], others))))
