"""Counts of a run: chunks and bytes by route, and readable byte counts."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Literal

from nczarr.names.records import NamedTuple

Route = Literal["nothing", "reference", "fill", "copy", "gather", "transcode", "rechunk", "encode"]
"""Routes of data, cheapest first: `nothing` (the target's fill value suffices),
`reference` (the target stores locations of encoded chunks), `fill` (chunks of
fill, because the target declares none), `copy` (encoded chunks are unchanged),
`gather` (plain elements move to other chunks), `transcode` (same chunks, other
codecs), `rechunk` (other chunks), `encode` (values that are not chunked: in a
text, in memory, behind a library).
"""


class Count(NamedTuple):
    """Counted chunks."""

    chunks: int = 0
    """Number of chunks."""
    size: int = 0
    """Encoded bytes in the target."""
    decoded: int = 0
    """Decoded bytes."""


class Step(NamedTuple):
    """Planned work on one part."""

    path: str
    """FQN of the variable."""
    part: str
    """Path of the part."""
    route: Route
    """Way in which its chunks are made."""
    chunks: int
    """Estimated number of chunks."""
    shape: tuple[int, ...]
    size: int
    """Bytes of values; 0 if unknown."""


Watcher = Callable[[int], None]
"""Callback for the decoded bytes of chunks as they are written."""


class Counts:
    """Sums by route, not thread-safe but for `finish`: one thread adds the others' counts. `watch` is not pickled.

    `skipped`: data keys that an earlier run put and this one did not remake.
    `chunks`: counted chunks of all routes.
    `finished`: chunks that are in the target, also of tasks that did not end.
    """

    def __init__(self, watch: Watcher | None = None) -> None:
        self.skipped = 0
        self.finished = 0
        self.chunks = 0
        self._lock = Lock()
        self._counts: dict[Route, Count] = {}
        self._watch = watch

    def __getstate__(self) -> tuple[int, int, int, dict[Route, Count]]:
        return self.skipped, self.finished, self.chunks, self._counts

    def __setstate__(self, state: tuple[int, int, int, dict[Route, Count]]) -> None:
        self.skipped, self.finished, self.chunks, self._counts = state
        self._lock = Lock()
        self._watch = None

    def add(self, route: Route, chunks: int, size: int, decoded: int = 0) -> None:
        """Count written chunks: their bytes, and their `decoded` bytes."""
        count = self._counts.get(route, Count())
        self._counts[route] = Count(count.chunks + chunks, count.size + size, count.decoded + decoded)
        self.chunks += chunks
        if self._watch is not None:
            self._watch(decoded)

    def skip(self, decoded: int) -> None:
        """Count an existing key with `decoded` bytes of values."""
        self.skipped += 1
        if self._watch is not None:
            self._watch(decoded)

    def finish(self, chunks: int) -> None:
        """Count chunks of a key that was put, in any thread."""
        with self._lock:
            self.finished += chunks

    def update(self, other: Counts) -> None:
        """Add the counts of an unwatched object."""
        for route, count in other._counts.items():
            self.add(route, *count)
        self.skipped += other.skipped
        if other.finished:
            self.finish(other.finished)

    def __getitem__(self, route: Route) -> Count:
        return self._counts.get(route, Count())

    @property
    def total(self) -> Count:
        """Sum of all routes."""
        counts = self._counts.values()
        return Count(
            sum(count.chunks for count in counts),
            sum(count.size for count in counts),
            sum(count.decoded for count in counts),
        )


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def bytes_text(count: int) -> str:
    """Return a readable byte count: three digits and a unit."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 0 if unit == 0 or value >= 100 else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"
