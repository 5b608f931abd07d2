"""Search index of all datasets below the root: names, titles, variables, standard names.

A thread of low priority builds it, beginning with the first request that needs
it, and rests now and then. A later request starts another pass, which
reads changed datasets alone. Datasets, texts and the time of a pass have
limits; what cannot be read is found by its name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from threading import Event, Lock, Thread, get_native_id
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.serve.answers import BUSY, UNKNOWN, RefusedRequestError
from nczarr.plugins.serve.dataset_cache import CachedDataset, Stamp, stamp_of
from nczarr.plugins.serve.places import Root, ServedPlace
from nczarr.stores import local_paths

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked

MOST = 20_000
"""Maximum datasets of the index."""

CHARACTERS = 32 << 20
"""Maximum characters of all texts."""

LONGEST = 64 << 10
"""Maximum characters of the texts of one dataset."""

SECONDS = 900.0
"""Maximum seconds of one pass."""

REST = 0.25
"""Seconds of rest for each second of work; the thread has a low priority too."""

AGE = 5.0
"""Seconds after which a request starts another pass."""

LARGEST = 4 << 20
"""Maximum bytes of a file that must all be read to know its variables."""

FOLDED = ("standard_name", "long_name")
"""Attributes of variables that are searched."""


class SearchRecord(NamedTuple):
    """Searchable texts of one dataset."""

    segments: tuple[str, ...]
    """Segments of its name."""
    stamp: Stamp
    """State of its files."""
    title: str = ""
    names: tuple[str, ...] = ()
    """Names, standard names and long names of variables."""
    text: str = ""
    """Everything that is searched, folded."""

    @property
    def weight(self) -> int:
        """Approximate characters."""
        return len(self.title) + len(self.text) + sum(map(len, self.names)) + 200


class Hits(NamedTuple):
    """Result of a search."""

    found: list[SearchRecord]
    """Datasets with the names of variables that match; matches of their own names first."""
    total: int
    """Number of matching datasets."""
    complete: bool
    """True if all datasets have been looked at since the server was started."""
    full: bool
    """True if there are more datasets than the index takes."""


class SearchIndex:
    """Index of one server. Thread-safe. `read`: opens a dataset without caching it."""

    def __init__(self, root: Root, read: Callable[[ServedPlace, int], CachedDataset]) -> None:
        self._root = root
        self._read = read
        self._records: dict[tuple[str, ...], SearchRecord] = {}
        self._lock = Lock()
        self._thread: Thread | None = None
        self._ended = Event()
        self._last: float | None = None
        self._full = False

    def refresh(self) -> None:
        """Start a pass unless one runs or has just ended."""
        with self._lock:
            is_new = self._last is None or time.monotonic() - self._last > AGE
            if self._thread is not None or self._ended.is_set() or not is_new:
                return
            self._thread = Thread(target=self._pass, name="nczarr-index", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the pass after the dataset that it reads."""
        self._ended.set()

    def search(self, words: str, below: Sequence[str], most: int) -> Hits:
        """Return the datasets below a folder in which every word occurs, at most `most`."""
        self.refresh()
        wanted = words.casefold().split()
        with self._lock:
            records = list(self._records.values())
            complete = self._last is not None
        start = tuple(below)
        hits = [
            each
            for each in records
            if each.segments[: len(start)] == start and all(word in each.text for word in wanted)
        ]
        hits.sort(key=lambda each: (not all(word in each.segments[-1].casefold() for word in wanted), each.segments))
        found = []
        for each in hits[:most]:
            matches = [name for name in each.names if any(word in name.casefold() for word in wanted)]
            found.append(each._replace(names=tuple(matches[:8])))
        return Hits(found, len(hits), complete, self._full)

    def _pass(self) -> None:
        """Look at all datasets once."""
        with suppress(AttributeError, OSError):  # where threads have no priority of their own
            os.setpriority(os.PRIO_PROCESS, get_native_id(), 19)
        try:
            self._look()
        finally:
            with self._lock:
                self._thread, self._last = None, time.monotonic()

    def _look(self) -> None:
        """Look at all datasets below the root and replace the records, up to the limits of number, size and time."""
        end = time.monotonic() + SECONDS
        seen: set[tuple[str, ...]] = set()
        weight, full = 0, False
        self._name_all()
        for place in self._places():
            if self._ended.is_set():
                return
            if len(seen) >= MOST or weight > CHARACTERS or time.monotonic() > end:
                full = True
                break
            record = self._record(place)
            if record is None:
                with self._lock:
                    self._records.pop(place.segments, None)
                continue
            seen.add(record.segments)
            weight += record.weight
            with self._lock:
                self._records[record.segments] = record
        with self._lock:
            self._records = {key: record for key, record in self._records.items() if key in seen}
            self._full = full

    def _name_all(self) -> None:
        """Make the names of all datasets searchable before any is read, which takes long."""
        for place in islice(self._places(), MOST):
            if self._ended.is_set():
                return
            with self._lock:
                self._records.setdefault(place.segments, _name(place, ()))

    def _places(self) -> Iterator[ServedPlace]:
        """Yield the datasets below the root; folders that cannot be listed have none."""
        top = self._root.find(())
        folders, linked = [] if top is None else [top], list[ServedPlace]()
        visited: set[str] = set()
        while folders or linked:
            folder = (folders or linked).pop()  # links last: what they lead to has a name of its own
            if folder.path in visited:
                continue
            visited.add(folder.path)
            inner = []
            try:
                for name in self._root.names(folder):
                    place = self._root.child(folder, name)
                    if place is None:
                        continue
                    if not place.folder:
                        yield place
                    elif place.path == local_paths.join(folder.path, name):
                        inner.append(place)
                    else:
                        linked.append(place)
            except OSError:
                continue
            folders += reversed(inner)

    def _record(self, place: ServedPlace) -> SearchRecord | None:
        """Return the texts of a dataset; None for other files."""
        with self._lock:
            known = self._records.get(place.segments)
        try:
            stamp = stamp_of(place)
            if known is not None and known.stamp == stamp:
                return known
            begun = time.monotonic()
            try:
                checked = self._read(place, LARGEST).checked
                return _record(place, stamp, checked)
            finally:
                self._ended.wait(min(1.0, REST * (time.monotonic() - begun)))
        except RefusedRequestError as error:
            if error.status == UNKNOWN:
                return None
            is_settled = error.status != BUSY  # else the next pass looks at it again
            return _name(place, stamp if is_settled else ())
        except CompileError:
            return _name(place, stamp)
        except OSError:
            return None


def _name(place: ServedPlace, stamp: Stamp) -> SearchRecord:
    return SearchRecord(place.segments, stamp, text=place.name.casefold())


def _record(place: ServedPlace, stamp: Stamp, checked: Checked) -> SearchRecord:
    """Return the texts of an open dataset."""
    from nczarr.pipeline.select.physical import attributes_of, text_of

    title = text_of(attributes_of(checked, "/"), "title")[:500]
    found: dict[str, None] = {}
    room = LONGEST
    for path, variable in checked.variables.items():
        wanted: dict[str, Any] = {}
        if any(each.name in FOLDED for each in variable.attributes):
            wanted = dict(attributes_of(checked, path))
        for text in (path.removeprefix("/"), *(text_of(wanted, name) for name in FOLDED)):
            if text and text not in found:
                found[text] = None
                room -= len(text)
        if room < 0:
            break
    text = "\n".join((place.name, title, *found)).casefold()
    return SearchRecord(place.segments, stamp, title, tuple(found), text)
