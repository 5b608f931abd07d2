"""What is known of readers: rules, the places where they find something, and the peers that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from nczarr.source import NOWHERE, Span


class Place(NamedTuple):
    """One spot where a rule found something: a document of a store with a JSON pointer, or a place in a file.

    `what`: what is there, in words. `does` and `instead`: in this case, where they differ from the rule's.
    """

    key: str
    pointer: str
    what: str
    does: str = ""
    instead: str = ""
    span: Span = NOWHERE
    since: str = ""
    """The first release that does it, `3.4`; empty for all."""
    until: str = ""
    """The first release that no longer does it; empty for none."""


class Rule(NamedTuple):
    """One known fault of a reader.

    `code`: of the diagnostics; its page says what the fault is. `does`: what the reader does, behind its name.
    `seen`: the versions that did so. `instead`: what is to be done about it. `find`: of the peer's view of a store.
    """

    code: str
    does: str
    seen: str
    instead: str
    find: Callable[[Any], Iterator[Place]]


class Peer(NamedTuple):
    """One reader. `stores`: rules about stores, each of which looks at the `view` that is made of `Documents`.

    `files`: rules about netCDF files, which look at `Checked`; None if the reader reads none.
    """

    name: str
    title: str
    versions: str
    stores: tuple[Rule, ...]
    view: Callable[[Any], Any]
    files: tuple[Rule, ...] | None = None
    releases: tuple[str, ...] = ()
    """Releases of zarr-python that the rules tell apart, oldest first; empty where there is one."""
    release: str = ""
    """The release that is asked about; empty for the newest."""

    def concerns(self, place: Place) -> bool:
        """Whether the release that is asked about does what was found."""
        if not self.releases:
            return True
        asked = number(self.release or self.releases[-1])
        return number(place.since) <= asked and not (place.until and asked >= number(place.until))


def number(release: str) -> tuple[int, ...]:
    """Return a release as numbers that can be compared; the empty text as `()`."""
    return tuple(int(each) for each in release.split(".")) if release else ()
