"""Arrays cut into a grid of encoded chunks: reading regions, decoding and caching, however a chunk is located.

Subclasses locate the bytes of a chunk: by its key or shard in a store, by the index
of an HDF5 dataset, or by a table of places. Raises CompileError with
`unreadable-chunk` for undecodable chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from nczarr.arrays.chunks import small_chunks
from nczarr.arrays.chunks.assembly import DIRECT, assemble, assemble_region
from nczarr.arrays.chunks.grid import Encoding, chunk_of, kept, put_chunk
from nczarr.arrays.codecs.chain import DECODING_ERRORS
from nczarr.arrays.codecs.table import Config
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, bounds_of, indices_of, lengths_of
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype


class FetchedChunk(NamedTuple):
    """Encoded bytes of one chunk."""

    data: bytes
    mask: int = 0
    """Skipped steps of the chain: bit i for step i."""


class ChunkGridArray(ArraySource):
    """Array of encoded chunks in a grid. Subclasses say where the bytes of a chunk are."""

    __slots__ = ()

    if TYPE_CHECKING:  # a property here would be the default of a dataclass's field

        @property
        def encoding(self) -> Encoding:
            """Encoding of the chunks."""

    def fetch(self, index: Index) -> FetchedChunk | None:
        """Return the encoded bytes of a chunk, with checked length; None if it is not stored.

        Raises OSError, CompileError.
        """
        raise NotImplementedError

    def fetch_many(self, chunks: NDArray[np.int64]) -> small_chunks.EncodedChunks:
        """Return the encoded bytes of many chunks. `chunks`: int64, shape (chunks, dimensions).

        Raises OSError, CompileError, or one of `DECODING_ERRORS` for a wrong index.
        """
        fetched = [(row, self.fetch(index)) for row, index in enumerate(indices_of(chunks))]
        stored = [(row, chunk) for row, chunk in fetched if chunk is not None]
        rows = np.array([row for row, _ in stored], np.int64)
        masks = np.array([chunk.mask for _, chunk in stored], np.int32)
        return small_chunks.EncodedChunks(rows, masks, [chunk.data for _, chunk in stored])

    def fail(self, index: Index, reason: str) -> NoReturn:
        """Raise CompileError for a chunk that cannot be decoded."""
        raise NotImplementedError

    def near(self, selection: Selection) -> Self:
        """Return the array prepared for a region: with its distant chunks in memory, if they share requests."""
        return self

    @property
    def identity(self) -> object:
        """Object that identifies the array in the cache of chunks of this process."""
        return self

    @property
    def listing(self) -> Callable[[Sequence[range]], Iterable[Index]] | None:
        """Function that lists the stored chunks in ranges of indices; None if that is too expensive."""
        return None

    def is_mostly_missing(self, selection: Selection) -> bool:
        """Return whether it is known without reading that most chunks of a large region are missing."""
        return False

    def layout_of(self, chunk: Index) -> Layout:
        """Return the layout with the shape of one chunk."""
        return self.layout

    @property
    def viewed(self) -> bool:
        """False: chunks are decoded."""
        return False

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError, CompileError."""
        small = self._small(selection)
        if small is not None:
            return small
        near = self.near(selection)
        if self.unstored == self.layout.fill:
            return assemble_region(near, self.layout, selection, self.extent, self.listing)
        region, inside = self._clip(selection)
        if inside == region:
            return assemble_region(near, self._written, inside, self.extent, self.listing)
        out = np.empty(lengths_of(region), numpy_dtype(self.layout.dtype))
        near._put(region, inside, out, direct=out.nbytes > DIRECT)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        if out.dtype.hasobject or out.dtype != numpy_dtype(self.layout.dtype):
            out[...] = self.read(selection)
            return
        small = self._small(selection)
        if small is not None:
            out[...] = small
            return
        region, inside = self._clip(selection)
        self.near(selection)._put(region, inside, out, direct=True)

    @property
    def _written(self) -> Layout:
        """Layout of the cells within the extent."""
        return self.layout._replace(fill=self.unstored)

    def _small(self, selection: Selection) -> NDArray[Any] | None:
        """Return a region of many small chunks; None of others."""
        if self.distant or self.is_mostly_missing(selection):
            return None
        return small_chunks.region(self._written, selection, self.extent, self.encoding, self.fetch_many)

    def _clip(self, selection: Selection) -> tuple[Selection, Selection]:
        """Return a region with explicit ends, none before its start, and its part within the extent."""
        bounds = bounds_of(selection, self.layout.shape)
        region = tuple(slice(start, max(start, stop)) for start, stop in bounds)
        return region, tuple(
            slice(part.start, min(part.stop, end)) for part, end in zip(region, self.extent, strict=True)
        )

    def _put(self, region: Selection, inside: Selection, out: NDArray[Any], *, direct: bool) -> None:
        """Put a region into `out`; `inside`: its part within the extent; `direct`: as in `assemble`."""
        if inside != region:
            out[...] = fill_array(self.layout, ())
        if all(part.start < part.stop for part in inside):
            place: Any = (*map(slice, lengths_of(inside)), ...)
            assemble(out[place], self, self._written, inside, self.extent, self.listing, direct=direct)

    def chunk(self, index: Index) -> NDArray[Any] | None:
        """Return a whole decoded chunk in the layout's dtype; None if it is not stored. It is cached."""
        cached: NDArray[Any] | None = kept.get((self.identity, "chunk", index))
        if cached is not None:
            return cached
        fetched = self.fetch(index)
        if fetched is None:
            return None
        dtype, _, permutation = self.encoding[:3]
        try:
            values = chunk_of(fetched.data, dtype, self.steps_of(fetched.mask), self.layout_of(index), permutation)
        except DECODING_ERRORS as error:
            self.fail(index, str(error) or type(error).__name__)
        kept.put_chunk(self.identity, index, values)
        return values

    def put(self, index: Index, inside: Selection, out: NDArray[Any]) -> bool:
        """Decode a part of a chunk into `out`; return False if the chunk is not stored."""
        cached: NDArray[Any] | None = kept.get((self.identity, "chunk", index))
        if cached is not None:
            out[...] = cached[inside]
            return True
        fetched = self.fetch(index)
        if fetched is None:
            return False
        dtype, _, permutation = self.encoding[:3]
        try:
            put_chunk(out, fetched.data, dtype, self.steps_of(fetched.mask), self.layout_of(index), inside, permutation)
        except DECODING_ERRORS as error:
            self.fail(index, str(error) or type(error).__name__)
        return True

    def steps_of(self, mask: int) -> Sequence[Config]:
        """Return the decoding steps of a chunk that its mask does not skip."""
        steps = self.encoding.steps
        return [step for number, step in enumerate(steps) if not mask >> number & 1] if mask else steps

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return a chunk's encoded bytes; None: not stored, or with skipped steps. Raises OSError, CompileError."""
        fetched = self.fetch(chunk)
        return None if fetched is None or fetched.mask else fetched.data
