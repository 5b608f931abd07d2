"""Array of records whose fields have other names; bytes and chunks are those of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Descr, Layout, Stored, numpy_dtype
from nczarr.names.records import frozen


def relabel(written: Descr, named: Descr) -> Descr:
    """Return a dtype with the names of the fields of another one, position by position."""
    if isinstance(written, str) or isinstance(named, str):
        return written
    return tuple(
        (name, relabel(field, new_field), shape)
        for (_, field, shape), (name, new_field, _) in zip(written, named, strict=True)
    )


@frozen
class RenamedFields(DerivedSource):
    """Records of another array, with other names of fields."""

    named: Descr
    """Dtype that has the names."""

    @property
    def layout(self) -> Layout:
        """Layout of the source, with the names."""
        layout = self.source.layout
        return layout._replace(dtype=relabel(layout.dtype, self.named))

    def read(self, selection: Any) -> NDArray[Any]:
        """Return the records of a region, in its shape."""
        values = self.source.read(selection)
        return np.ascontiguousarray(values).view(numpy_dtype(relabel(self.source.layout.dtype, self.named)))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the source."""
        return self.source.list_occupied(chunks, region)

    @property
    def stored(self) -> Stored | None:
        """Encoding of the source's chunks."""
        stored = self.source.stored
        return None if stored is None else stored._replace(dtype=relabel(stored.dtype, self.named))

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the places of the source's chunks."""
        return self.source.manifest(region)

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the encoded bytes of a chunk of the source."""
        return self.source.read_encoded(chunk)

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the place of a chunk of the source."""
        return self.source.place(chunk)

    def find_place(self, chunk: Index) -> ChunkPlace | None:
        """Return the place of a chunk of the source, regardless of the bytes beyond the extent."""
        return self.source.find_place(chunk)

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the places of many chunks of the source."""
        return self.source.places(chunks, cut=cut)


def rename_fields(source: ArraySource, named: Descr) -> ArraySource:
    """Return an array whose records have the field names of a dtype; itself if it has them already."""
    dtype = source.layout.dtype
    return source if relabel(dtype, named) == dtype else RenamedFields(source, named)
