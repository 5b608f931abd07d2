"""Faults of readers as data: tables of faults, and what is found in a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from nczarr.diagnostics.report import NOWHERE, Span


class Finding(NamedTuple):
    """One finding: a store document with a JSON pointer, or a position in a file."""

    fault: str
    """Name of the fault."""
    key: str
    pointer: str
    """JSON pointer."""
    what: str
    """Description of the finding."""
    does: str = ""
    """Predicate that overrides that of the fault."""
    instead: str = ""
    """Remedy that overrides that of the fault."""
    span: Span = NOWHERE
    """Position in a file."""
    since: str = ""
    """First affected release, such as `3.4`; empty for all."""
    until: str = ""
    """First release without the fault; empty without such a release."""


Find: TypeAlias = Callable[[Any], Iterator[Finding]]
"""Function that finds faults of one subject in the reader's view of a source."""


class ReaderFault(NamedTuple):
    """One known fault of a reader."""

    name: str
    """Its code; behind a colon a word, where the reader has several faults of one code."""
    does: str
    """Predicate after the reader's name."""
    instead: str
    """Remedy."""
    seen: str
    """Affected versions."""

    @property
    def code(self) -> str:
        """Code of its diagnostics."""
        return self.name.partition(":")[0]


def faults(seen: str, *rows: tuple[str, ...]) -> tuple[ReaderFault, ...]:
    """Return the faults of a table: name, predicate, remedy, and the affected versions unless these are `seen`."""
    return tuple(ReaderFault(*row[:3], *("",) * (3 - len(row)), *(row[3:] or (seen,))) for row in rows)


def of_arrays(*finds: Callable[[Any], Iterator[Finding]]) -> Find:
    """Return a function that finds faults array by array: `view.arrays` yields the arrays."""
    return lambda view: (finding for array in view.arrays for find in finds for finding in find(array))


def number(release: str) -> tuple[int, ...]:
    """Return a release as comparable numbers; an empty text as `()`."""
    return tuple(int(part) for part in release.split(".")) if release else ()
