"""What a run moved: chunks and bytes by the way that they took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

Route = Literal["nothing", "reference", "fill", "copy", "gather", "transcode", "rechunk", "encode"]
"""The ways of data, cheapest first: `nothing` (the target's fill value says it all), `reference` (the
target says where encoded chunks lie), `fill` (chunks of
nothing but fill, written because the target declares none), `copy` (encoded chunks move as they are), `gather` (plain
elements move into other chunks), `transcode` (the same chunks by other codecs), `rechunk` (other chunks), `encode`
(values that lie in no chunks: of a text, in memory, behind a library).
"""


class Count(NamedTuple):
    """Chunks, the bytes that they take in the target, and those that they have decoded."""

    chunks: int = 0
    size: int = 0
    decoded: int = 0


class Step(NamedTuple):
    """What is going to be done with one part of a variable: its way, and how many chunks there are, as far as a look
    at the source tells. `size`: bytes of the values, 0 where only the data tell.
    """

    path: str
    part: str
    route: Route
    chunks: int
    shape: tuple[int, ...]
    size: int


Watcher = Callable[[int], None]
"""Told of the bytes that chunks have decoded, as they are written."""


class Counts:
    """A sum by route. Not for threads: one adds up what the others report. `watch` stays in the process that gave it.

    `skipped`: keys of data that an earlier run had put, and that nobody made again.
    """

    def __init__(self, watch: Watcher | None = None) -> None:
        self.skipped = 0
        self._counts: dict[Route, Count] = {}
        self._watch = watch

    def __getstate__(self) -> tuple[int, dict[Route, Count]]:
        return self.skipped, self._counts

    def __setstate__(self, state: tuple[int, dict[Route, Count]]) -> None:
        self.skipped, self._counts = state
        self._watch = None

    def add(self, route: Route, chunks: int, size: int, decoded: int = 0) -> None:
        """Count chunks that were written: their bytes, and those that they have `decoded`."""
        known = self._counts.get(route, Count())
        self._counts[route] = Count(known.chunks + chunks, known.size + size, known.decoded + decoded)
        if self._watch is not None:
            self._watch(decoded)

    def skip(self, decoded: int) -> None:
        """Count a key that was there already; its values have so many bytes."""
        self.skipped += 1
        if self._watch is not None:
            self._watch(decoded)

    def update(self, other: Counts) -> None:
        """Count what others have counted, who did not watch."""
        for route, count in other._counts.items():
            self.add(route, *count)
        self.skipped += other.skipped

    def __getitem__(self, route: Route) -> Count:
        return self._counts.get(route, Count())

    @property
    def by_route(self) -> Mapping[Route, Count]:
        """The sums, in the order in which routes were first counted."""
        return dict(self._counts)

    @property
    def total(self) -> Count:
        """Everything."""
        counts = self._counts.values()
        return Count(
            sum(each.chunks for each in counts), sum(each.size for each in counts), sum(each.decoded for each in counts)
        )
