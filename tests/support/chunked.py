"""A source that says that its values lie in encoded chunks, and counts how often each would be decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.regions import Index, Region, Selection, every_block, region_of
from nczarr.arrays.sources.source import ArraySource, Stored
from nczarr.ast import Codec


class Chunked(ArraySource):
    """The values of another source."""

    def __init__(self, inner: ArraySource, chunks: tuple[int, ...]) -> None:
        self.inner = inner
        self.layout = inner.layout._replace(chunks=chunks)
        self.decoded: Counter[Index] = Counter()

    @property
    def stored(self) -> Stored:
        return Stored(self.layout.dtype, self.layout.chunks, (Codec(id=1, parameters=(5,)),))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        return self.inner.list_occupied(chunks, region)

    def read(self, selection: Selection) -> Any:
        for index in every_block(self.layout.shape, self.layout.chunks):
            place = region_of(index, self.layout.chunks, self.layout.shape)
            if all(a.start < b.stop and b.start < a.stop for a, b in zip(place, selection, strict=True)):
                self.decoded[index] += 1
        return self.inner.read(selection)
