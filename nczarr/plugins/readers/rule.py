"""Faults of readers as data: tables of faults, what is found in a source, and the readers."""

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


class Peer(NamedTuple):
    """One reader."""

    name: str
    """Name on the command line."""
    title: str
    """Name in messages."""
    versions: str
    """Versions that the faults describe."""
    stores: tuple[ReaderFault, ...]
    """Faults with stores, in the order of messages."""
    find: tuple[Find, ...]
    """Functions that find them."""
    view: Callable[[Any], Any]
    """Returns the reader's view of `StoreDocuments`."""
    files: tuple[ReaderFault, ...] | None = None
    """Faults with netCDF files; None if the reader cannot read them."""
    find_in_files: tuple[Find, ...] = ()
    """Functions that find them in `Checked`."""
    releases: tuple[str, ...] = ()
    """Releases that the faults distinguish, oldest first; empty if there is only one."""
    library: str = ""
    """Library whose releases these are; empty: the reader itself."""
    release: str = ""
    """Selected release; empty for the newest."""
    convention: str = ""
    """Name of the convention for `--declare`, if the faults are those of a convention instead of a reader."""
    of_datasets: bool = False
    """True if `find_in_files` finds the faults of a source of any format, in `StoredDataset`."""
    reads: Callable[[Any], bool] | None = None
    """Tells whether the faults suit the `StoreDocuments` of a store; None: those of every store."""

    def concerns(self, finding: Finding) -> bool:
        """Return whether a finding affects the selected release."""
        if not self.releases:
            return True
        asked = number(self.release or self.releases[-1])
        return number(finding.since) <= asked and not (finding.until and asked >= number(finding.until))


def number(release: str) -> tuple[int, ...]:
    """Return a release as comparable numbers; an empty text as `()`."""
    return tuple(int(part) for part in release.split(".")) if release else ()
