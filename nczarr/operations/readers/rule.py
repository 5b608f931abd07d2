"""Data types for reader faults: rules, their findings, and peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from nczarr.diagnostics.source import NOWHERE, Span


class FindingPlace(NamedTuple):
    """One finding: a store document with a JSON pointer, or a position in a file."""

    key: str
    """Key of the document."""
    pointer: str
    """JSON pointer."""
    what: str
    """Description of the finding."""
    does: str = ""
    """Predicate that overrides that of the rule."""
    instead: str = ""
    """Remedy that overrides that of the rule."""
    span: Span = NOWHERE
    """Position in a file."""
    since: str = ""
    """First affected release, such as `3.4`; empty for all."""
    until: str = ""
    """First release without the fault; empty without such a release."""


class ReaderFault(NamedTuple):
    """One known fault of a reader."""

    code: str
    """Code of its diagnostics."""
    does: str
    """Predicate after the reader's name."""
    seen: str
    """Affected versions."""
    instead: str
    """Remedy."""
    find: Callable[[Any], Iterator[FindingPlace]]
    """Yields findings in the reader's view of a store."""


Find = TypeVar("Find", bound=Callable[[Any], Iterator[FindingPlace]])


class Rules(list[ReaderFault]):
    """Rules in the order of their functions, which `add` decorates.

    `seen`: affected versions unless a rule names others.
    """

    def __init__(self, seen: str) -> None:
        super().__init__()
        self.seen = seen

    def add(self, code: str, does: str, instead: str = "", *, seen: str = "") -> Callable[[Find], Find]:
        """Return a decorator that adds the rule of a function."""

        def decorate(find: Find) -> Find:
            self.append(ReaderFault(code, does, seen or self.seen, instead, find))
            return find

        return decorate


class Peer(NamedTuple):
    """One reader."""

    name: str
    """Name on the command line."""
    title: str
    """Name in messages."""
    versions: str
    """Versions that the rules describe."""
    stores: tuple[ReaderFault, ...]
    """Rules about stores."""
    view: Callable[[Any], Any]
    """Returns the reader's view of `StoreDocuments`."""
    files: tuple[ReaderFault, ...] | None = None
    """Rules about netCDF files, applied to `Checked`; None if the reader cannot read them."""
    releases: tuple[str, ...] = ()
    """Releases that the rules distinguish, oldest first; empty if there is only one."""
    release: str = ""
    """Selected release; empty for the newest."""
    convention: str = ""
    """Name of the convention for `--declare`, if the rules are those of a convention instead of a reader."""
    reads: Callable[[Any], bool] | None = None
    """Tells whether the rules suit the `StoreDocuments` of a store; None: those of every store."""

    def concerns(self, place: FindingPlace) -> bool:
        """Return whether a finding affects the selected release."""
        if not self.releases:
            return True
        asked = number(self.release or self.releases[-1])
        return number(place.since) <= asked and not (place.until and asked >= number(place.until))


def number(release: str) -> tuple[int, ...]:
    """Return a release as comparable numbers; an empty text as `()`."""
    return tuple(int(part) for part in release.split(".")) if release else ()
