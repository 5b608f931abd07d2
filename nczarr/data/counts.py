"""What a run moved: chunks and bytes by the way that they took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Route = Literal["nothing", "fill", "copy", "gather", "transcode", "rechunk", "encode"]
"""The ways of data, cheapest first (DESIGN §6): `nothing` (the target's fill value says it all), `fill` (chunks of
nothing but fill, written because the target declares none), `copy` (encoded chunks move as they are), `gather` (plain
elements move into other chunks), `transcode` (the same chunks by other codecs), `rechunk` (other chunks), `encode`
(values that lie in no chunks: of a text, in memory, behind a library).
"""


class Count(NamedTuple):
    """Chunks and the bytes that they take in the target."""

    chunks: int = 0
    size: int = 0


class Counts:
    """A sum by route. Not for threads: one adds up what the others report."""

    def __init__(self) -> None:
        self._counts: dict[Route, Count] = {}

    def add(self, route: Route, chunks: int, size: int) -> None:
        """Count chunks that were written."""
        known = self._counts.get(route, Count())
        self._counts[route] = Count(known.chunks + chunks, known.size + size)

    def merge(self, other: Mapping[Route, Count]) -> None:
        """Count what another has counted."""
        for route, count in other.items():
            self.add(route, *count)

    def __getitem__(self, route: Route) -> Count:
        return self._counts.get(route, Count())

    @property
    def by_route(self) -> Mapping[Route, Count]:
        """The sums, in the order in which routes were first counted."""
        return dict(self._counts)

    @property
    def total(self) -> Count:
        """Everything."""
        return Count(
            sum(each.chunks for each in self._counts.values()), sum(each.size for each in self._counts.values())
        )
