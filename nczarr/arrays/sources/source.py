"""Array sources: descriptions of one array's values, without reading them.

Data never enter the tree. Each variable has a tree of parts (`parts.py`), and
each part is one `ArraySource`: a plain, picklable description. Handles are
opened where the work is done. NumPy is imported only where needed, because
metadata operations must start fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from nczarr.arrays.chunks.manifest import ChunkPlace, KeyListing, Manifest, PlaceColumns, columns_from
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, every_block, indices_of
from nczarr.ast.dataset import Codec
from nczarr.names.records import NamedTuple, frozen, replace

Descr: TypeAlias = "str | tuple[tuple[str, Descr, tuple[int, ...]], ...]"
"""Element type in NumPy's notation: `"<i4"`, `"|S1"`, `"|V4"`, `"|O"` (strings
as `bytes | None`), or fields of a packed record as (name, type, shape).
"""

Order: TypeAlias = Literal["C", "F"]
"""Element order in a chunk: the last index (C) or the first (F) changes fastest."""


def numpy_dtype(descr: Descr) -> np.dtype[Any]:
    """Return the NumPy dtype; records are packed."""
    if isinstance(descr, str):
        return np.dtype(descr)
    return np.dtype([(name, numpy_dtype(field), shape) for name, field, shape in descr])


def little(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a little-endian array of the same shape, as in the tree's constants; no copy if possible."""
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


def little_descr(descr: Descr) -> Descr:
    """Return the little-endian element type."""
    if isinstance(descr, str):
        return descr.replace(">", "<")
    return tuple((name, little_descr(field), shape) for name, field, shape in descr)


def big_descr(descr: Descr) -> Descr:
    """Return the big-endian element type."""
    if isinstance(descr, str):
        return descr.replace("<", ">")
    return tuple((name, big_descr(field), shape) for name, field, shape in descr)


def itemsize(descr: Descr) -> int:
    """Return the bytes of one element; 0 for variable-length texts."""
    if isinstance(descr, str):
        if descr[1] in "MmU":
            return 8 if descr[1] != "U" else 4 * int(descr[2:])
        return 0 if descr == "|O" else int(descr[2:])
    return sum(itemsize(field) * math.prod(shape) for _, field, shape in descr)


def is_number(descr: Descr) -> bool:
    """Return whether elements are numbers, truth values or times."""
    return isinstance(descr, str) and descr[1] in "iufbcMm"


class Layout(NamedTuple):
    """Layout of one array."""

    dtype: Descr
    """Type of the elements."""
    shape: tuple[int, ...]
    """Length of each dimension."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension: the shape itself for one chunk, `()` for a scalar."""
    codecs: tuple[Codec, ...] = ()
    """Codecs in encoding order."""
    fill: bytes | None = None
    """Value of unwritten cells in the bytes of `dtype`, or as text; None: zeros or empty texts, and no fill value."""
    shards: tuple[int, ...] | None = None
    """Shard length of each dimension, a multiple of `chunks`; None without shards."""
    order: Order = "C"
    """Order of elements in a chunk: the last (`C`) or the first (`F`) dimension changes fastest."""


def fill_of(source: ArraySource) -> bytes | None:
    """Return a source's fill value, little-endian as in the tree's constants; None if it has none."""
    dtype, fill = source.layout.dtype, source.layout.fill
    if fill is None or dtype == "|O":
        return fill
    if isinstance(dtype, str):
        return fill[::-1] if dtype[0] == ">" else fill
    return little(np.frombuffer(fill, numpy_dtype(dtype))).tobytes()


def convert_fill(fill: bytes | None, dtype: Descr) -> bytes | None:
    """Return a little-endian fill value in the bytes of a dtype, for a layout."""
    return fill[::-1] if fill is not None and isinstance(dtype, str) and dtype[0] == ">" else fill


def find_unwritten(source: ArraySource) -> bytes:
    """Return the value of unwritten cells in `read`: one little-endian element, or a text."""
    fill = fill_of(source)
    return bytes(itemsize(source.layout.dtype)) if fill is None else fill


class Stored(NamedTuple):
    """Encoding of a source's chunks, which are whole, in C order, and padded at edges."""

    dtype: Descr
    """Stored element with byte order."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    codecs: tuple[Codec, ...]
    """Codecs in encoding order."""


class Deferred(Protocol):
    """Values that a graph of tasks computes."""

    array: Any
    """The dask array."""

    @property
    def scheduler(self) -> str | None:
        """Address of the scheduler of a cluster that computes the values; None if threads of this process do."""

    def region(self, selection: Selection, client: Any) -> Any:
        """Return the future of the values of a region, which the cluster of this client computes."""


class IndexPlace(NamedTuple):
    """Place of a chunk index in a file, and of the chunks."""

    last: int
    """Address of the part of the index that is farthest behind; -1 without an index."""
    first_chunk: int
    """Lowest address of a chunk."""
    newer: bool = False
    """True if the index is of a kind that HDF5 1.8 and pyfive do not know."""


class ArraySource:
    """One array, readable in pieces: base of all sources, which are plain descriptions.

    A source has a `layout` and a `read`. The other defaults fit values in
    memory or behind a library: all cells written, no encoding, no network.
    Encoded chunks are `stored`, `manifest`, `read_encoded` and `place`; distant
    sources are `distant`, `together` and `prefetch`.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # a property here would be the default of a dataclass's field

        @property
        def layout(self) -> Layout:
            """Layout of the array in the source."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the dtype of `layout`; unwritten cells are fill.

        The result may be a read-only view of either byte order; see `little`.
        """
        raise NotImplementedError

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`: its shape, the layout's dtype in either byte order, any strides.

        Large regions are read by several threads. Chunks inside the region are not
        cached.
        """
        out[...] = self.read(selection)

    def pack(self, region: Selection) -> bytes | list[bytes | None] | None:
        """Return the bytes or texts of `read` in C order, where they are at hand without NumPy; None otherwise."""
        return None

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that may contain more than fill, in C order, without duplicates: all.

        `chunks`: block shape; blocks begin at the first index of the region. `region`:
        None for the whole array. Time and memory follow the blocks and the stored
        chunks in the region, not the declared shape.
        """
        return every_block(self.layout.shape if region is None else tuple(map(len, region)), chunks)

    @property
    def undefined(self) -> bool:
        """True if unwritten cells have no reliable value.

        `read` still returns the layout's fill, and writers write it. False: the
        fill is defined.
        """
        return False

    def open_fragments(self, region: Region | None = None) -> ArraySource:
        """Return the array with the encoded chunks of datasets that are opened on use; itself without any.

        `region`: the only cells that are needed; None: all. Raises OSError, CompileError.
        """
        return self

    @property
    def element(self) -> Descr:
        """Stored element with its byte order; by default that of the layout."""
        return self.layout.dtype

    def reads_as(self, other: ArraySource) -> bool:
        """Return whether another array reads the same keys in the same way: False, if that is unknown."""
        return False

    @property
    def nil(self) -> tuple[tuple[int, int], ...]:
        """Runs of NIL strings, as (start, length)."""
        return ()

    @property
    def extent(self) -> tuple[int, ...]:
        """Lengths of the box from the origin that may have been written; beyond it is the layout's fill."""
        return self.layout.shape

    @property
    def unstored(self) -> bytes | None:
        """Value of missing chunks inside the extent, in the bytes of `layout.dtype`.

        It may differ from the layout's fill: netCDF uses a fill of its own
        beyond the extent of an HDF5 dataset. Then every cell of the extent
        counts as occupied.
        """
        return self.layout.fill

    @property
    def viewed(self) -> bool:
        """True if a read costs no more than its region, because nothing is decoded."""
        return True

    @property
    def paged(self) -> bool:
        """True if a read costs the pages of a local file that its region touches, although nothing is decoded."""
        return False

    @property
    def repeats(self) -> bool:
        """True if the values repeat a fill value of several elements."""
        return False

    @property
    def given(self) -> bool:
        """True if the values are those of a text or a caller, and were never decoded."""
        return False

    @property
    def lossy(self) -> frozenset[str]:
        """Names of the codecs of its chunks that may not restore the values that were encoded."""
        return frozenset()

    @property
    def keyed(self) -> bool:
        """True if each chunk or shard has a key in a store."""
        return False

    @property
    def keys(self) -> KeyListing | None:
        """Keys of the array in its store, one per chunk or shard; None without a store."""
        return None

    @property
    def rewritable(self) -> bool:
        """True if keys that are made for `layout` can replace those of the store."""
        return False

    @property
    def distant(self) -> bool:
        """True if reads use a network, so that many should run concurrently."""
        return False

    @property
    def deferred(self) -> Deferred | None:
        """Tasks that compute the values; None if they are stored."""
        return None

    @property
    def together(self) -> tuple[int, ...] | None:
        """Approximate region lengths in which `prefetch` combines chunks into one request; None: no combination."""
        return None

    def prefetch(self, regions: Sequence[Selection]) -> ArraySource:
        """Return the array with the encoded data of these regions in memory, from few requests.

        Returns the array itself if there is no gain. Raises OSError.
        """
        return self

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the byte ranges of encoded chunks; None for values of a text or computed ones. Raises OSError.

        `region`: chunks that have no index of it may be omitted; None: all chunks.
        """
        return None

    @property
    def noted(self) -> Mapping[str, Mapping[str, Any]]:
        """Recorded properties of files and objects, by path or URL as in the manifest: size, time, tag."""
        return {}

    def place_index(self) -> IndexPlace | None:
        """Return the places of the array's index and chunks in a file; None without stored chunks. Raises OSError."""
        return None

    @property
    def stored(self) -> Stored | None:
        """Encoding of the chunks of `read_encoded` and `place`; None: no chunks, or no known chain."""
        return None

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the encoded bytes of a chunk of the source's grid; None: not stored."""
        return None

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the file location of an encoded chunk of the source's grid.

        None: not stored, not in a file, or not alone sufficient for the values
        (e.g. after the array has grown beyond the chunk). Raises OSError if the
        file is unreachable.
        """
        return None

    def find_place(self, chunk: Index) -> ChunkPlace | None:
        """Return `place`, regardless of the bytes beyond the extent. Raises OSError."""
        return self.place(chunk)

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the file locations of many encoded chunks; chunks without `place` have no row.

        `chunks`: int64, shape (chunks, dimensions), indices in C order. `cut`: as
        `find_place` instead of `place`. Column `chunk` of the result is the row of
        `chunks`. Raises OSError, CompileError as `place` does for one of them.
        """
        find = self.find_place if cut else self.place
        return columns_from(enumerate(map(find, indices_of(chunks))))

    def recut(self, chunks: tuple[int, ...]) -> ArraySource | None:
        """Return the array with other encoded chunks; None (mostly) if they would not be full byte ranges."""
        return None


@frozen
class DerivedSource(ArraySource):
    """Array made cell by cell of one other array, whose properties are the defaults."""

    source: ArraySource
    """The other array."""

    @property
    def undefined(self) -> bool:
        """Value of the source."""
        return self.source.undefined

    def open_fragments(self, region: Region | None = None) -> ArraySource:
        """Return the array of the opened source."""
        opened = self.source.open_fragments()
        return self if opened is self.source else replace(self, source=opened)

    @property
    def viewed(self) -> bool:
        """Value of the source."""
        return self.source.viewed

    @property
    def distant(self) -> bool:
        """Value of the source."""
        return self.source.distant

    @property
    def noted(self) -> Mapping[str, Mapping[str, Any]]:
        """Value of the source."""
        return self.source.noted

    @property
    def given(self) -> bool:
        """Value of the source."""
        return self.source.given

    @property
    def lossy(self) -> frozenset[str]:
        """Codecs of the source."""
        return self.source.lossy

    @property
    def together(self) -> tuple[int, ...] | None:
        """Value of the source."""
        return self.source.together

    def place_index(self) -> IndexPlace | None:
        """Return the places of the source."""
        return self.source.place_index()

    def prefetch(self, regions: Sequence[Selection]) -> Self:
        """Return the array with the regions' data in memory."""
        return replace(self, source=self.source.prefetch(regions))


Parts: TypeAlias = dict[str, ArraySource]
"""Arrays of one variable by path: mostly `""`; `counts` and `content` of a vlen, and so on."""
