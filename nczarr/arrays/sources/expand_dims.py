"""Array with an additional first dimension of length 1, for stacking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import DerivedSource, Layout, Stored


@dataclass(frozen=True, slots=True, eq=False)
class Raised(DerivedSource):
    """`source` with an additional first index; its chunks are the source's."""

    @property
    def layout(self) -> Layout:
        """Source layout with an additional length."""
        whole = self.source.layout
        shards = None if whole.shards is None else (1, *whole.shards)
        return whole._replace(shape=(1, *whole.shape), chunks=(1, *whole.chunks), shards=shards)

    @property
    def together(self) -> tuple[int, ...] | None:
        """Value of the source."""
        lengths = self.source.together
        return None if lengths is None else (1, *lengths)

    def fetched(self, regions: Sequence[Selection]) -> Raised:
        """Return the array with the regions' data in memory."""
        return Raised(self.source.fetched([region[1:] for region in regions if _holds(region)]))

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the source manifest: chunks have the same numbers."""
        return self.source.manifest(None if region is None else region[1:])

    @property
    def stored(self) -> Stored | None:
        """Encoding of the source's chunks."""
        stored = self.source.stored
        return None if stored is None else stored._replace(chunks=(1, *stored.chunks))

    def encoded(self, chunk: Index) -> bytes | None:
        """Return the source's bytes of a chunk."""
        return self.source.encoded(chunk[1:])

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the source's location of a chunk."""
        return self.source.place(chunk[1:])

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the source's locations of chunks."""
        return self.source.places(chunks[:, 1:])

    def recut(self, chunks: tuple[int, ...]) -> Raised | None:
        """Recut the source."""
        cut = self.source.recut(chunks[1:]) if chunks[:1] == (1,) else None
        return None if cut is None else Raised(cut)

    def occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the source's occupied blocks."""
        if region is None:
            return ((0, *index) for index in self.source.occupied(chunks[1:]))
        return ((0, *index) for index in self.source.occupied(chunks[1:], region[1:]) if region[0])

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the source's values of a region, in its shape (one more dimension) and the source's dtype."""
        return np.asarray(self.source.read(selection[1:]))[np.newaxis][selection[0]]

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        if _holds(selection):
            self.source.read_into(selection[1:], out[0, ...])


def _holds(region: Selection) -> bool:
    """Return whether a region contains index 0 of the first dimension."""
    start, stop, _ = region[0].indices(1)
    return start < stop
