"""An array with one more dimension, the first, of length 1: what is stacked with others along it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.blocks import Index, Selection
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.manifest import Manifest, Place
from nczarr.arrays.source import DerivedSource, Layout, Stored


@dataclass(frozen=True, slots=True, eq=False)
class Raised(DerivedSource):
    """The elements of `source` behind one more index. A chunk is one of the source's."""

    @property
    def layout(self) -> Layout:
        """The source's, with one more length."""
        whole = self.source.layout
        shards = None if whole.shards is None else (1, *whole.shards)
        return whole._replace(shape=(1, *whole.shape), chunks=(1, *whole.chunks), shards=shards)

    @property
    def together(self) -> tuple[int, ...] | None:
        """As the source's."""
        lengths = self.source.together
        return None if lengths is None else (1, *lengths)

    def fetched(self, regions: Sequence[Selection]) -> Raised:
        """The same with what the regions are made of at hand."""
        return Raised(self.source.fetched([region[1:] for region in regions if _holds(region)]))

    @property
    def manifest(self) -> Manifest | None:
        """The source's: chunks have the same numbers."""
        return self.source.manifest

    @property
    def stored(self) -> Stored | None:
        """How the source's chunks are encoded."""
        stored = self.source.stored
        return None if stored is None else stored._replace(chunks=(1, *stored.chunks))

    def encoded(self, chunk: Index) -> bytes | None:
        """The source's bytes of a chunk."""
        return self.source.encoded(chunk[1:])

    def place(self, chunk: Index) -> Place | None:
        """Where the source has the bytes of a chunk."""
        return self.source.place(chunk[1:])

    def recut(self, chunks: tuple[int, ...]) -> Raised | None:
        """The source's with other chunks."""
        cut = self.source.recut(chunks[1:]) if chunks[:1] == (1,) else None
        return None if cut is None else Raised(cut)

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """The source's."""
        return ((0, *index) for index in self.source.occupied(chunks[1:]))

    def read(self, selection: Selection) -> NDArray[Any]:
        """The source's values of a region."""
        return np.asarray(self.source.read(selection[1:]))[np.newaxis][selection[0]]


def _holds(region: Selection) -> bool:
    """Whether a region has the only index of the first dimension."""
    start, stop, _ = region[0].indices(1)
    return start < stop
