"""Array sources: where the values of one array come from, described without reading them.

Data never enters the tree. Each variable has a tree of parts (`parts.py`), and each part is one `ArraySource`:
a plain, picklable description; handles are opened where the work is done. numpy is imported only by the
functions that need it, because metadata alone must start fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

from nczarr.arrays.blocks import Index, Selection, every_block
from nczarr.arrays.chunk_keys import Listing
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.manifest import Manifest, Place
from nczarr.ast.storage import Codec

Descr: TypeAlias = "str | tuple[tuple[str, Descr, tuple[int, ...]], ...]"
"""An element's type in numpy's own words: `"<i4"`, `"|S1"`, `"|V4"`, `"|O"` (strings as `bytes | None`), or the
fields of a packed record as (name, type, shape)."""

Order: TypeAlias = Literal["C", "F"]
"""How the elements of a chunk follow one another: the last index changes fastest, or the first."""


def numpy_dtype(descr: Descr) -> np.dtype[Any]:
    """The numpy dtype of a description; records are packed."""
    if isinstance(descr, str):
        return np.dtype(descr)
    return np.dtype([(name, numpy_dtype(field), shape) for name, field, shape in descr])


def little(values: NDArray[Any]) -> NDArray[Any]:
    """Values of a source in the byte order of the tree's constants, little-endian; the same array if they are so."""
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


def little_descr(descr: Descr) -> Descr:
    """The same elements in little-endian order."""
    if isinstance(descr, str):
        return descr.replace(">", "<")
    return tuple((name, little_descr(field), shape) for name, field, shape in descr)


def itemsize(descr: Descr) -> int:
    """Bytes of one element; 0 for texts of any length."""
    if isinstance(descr, str):
        return 0 if descr == "|O" else int(descr[2:])
    return sum(itemsize(field) * math.prod(shape) for _, field, shape in descr)


class Layout(NamedTuple):
    """How one array is laid out.

    `chunks` has one length a dimension (the shape itself for an array in one piece, `()` for a scalar);
    `codecs` are in the order of encoding; `fill` is what a source gives for cells that were never written, one element
    in the bytes of `dtype` (for strings the bytes of the text). None: zeros or empty texts, and no fill value.
    `shards` is a multiple of `chunks`, or None. `order`: whether the last or (`F`) the first dimension changes fastest
    within a chunk.
    """

    dtype: Descr
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    codecs: tuple[Codec, ...] = ()
    fill: bytes | None = None
    shards: tuple[int, ...] | None = None
    order: Order = "C"


def fill_of(source: ArraySource) -> bytes | None:
    """The fill value of a source in the byte order of the tree's constants, little-endian; None if it has none."""
    dtype, fill = source.layout.dtype, source.layout.fill
    if fill is None or dtype == "|O":
        return fill
    if isinstance(dtype, str):
        return fill[::-1] if dtype[0] == ">" else fill
    return little(np.frombuffer(fill, numpy_dtype(dtype))).tobytes()


def unwritten_of(source: ArraySource) -> bytes:
    """Return what `read` gives for a cell that was never written: one little-endian element, or the bytes of a text."""
    fill = fill_of(source)
    return bytes(itemsize(source.layout.dtype)) if fill is None else fill


class Stored(NamedTuple):
    """How the encoded chunks of a source lie: each is a whole chunk of `dtype` (byte order included) in C order, padded
    at the edges, behind the steps of `codecs` in the order of encoding.
    """

    dtype: Descr
    chunks: tuple[int, ...]
    codecs: tuple[Codec, ...]


class ArraySource:
    """One array, readable in pieces; base of all sources, which are plain descriptions.

    A source has a `layout` and a `read`. Everything else has a default, which is right for values in memory or behind a
    library: every cell is written, nothing is encoded, nothing travels. Encoded chunks are `stored`, `manifest`,
    `encoded` and `place`; sources far away are `distant`, `together` and `fetched`.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # a property here would be the default of a dataclass's field

        @property
        def layout(self) -> Layout:
            """The array as it lies in the source."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Decoded values of a region, in the dtype of `layout`; what was never written reads as fill.

        Perhaps a view, which is not to be written to, and of either byte order: `little` makes them all alike.
        """
        raise NotImplementedError

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks of a grid of this chunk shape that may hold anything but fill, in C order, each once: every chunk.

        Takes time in proportion to what is stored, never to the declared shape.
        """
        return every_block(self.layout.shape, chunks)

    @property
    def undefined(self) -> bool:
        """Whether a cell that was never written holds nothing that a reader may rely on.

        `read` gives the layout's fill there all the same, and writers write that. False: the fill is the defined value.
        """
        return False

    def cleared(self) -> ArraySource:
        """Return the same array with zeros where no chunk is stored in a store, for a variable without fill mode."""
        return self

    @property
    def extent(self) -> tuple[int, ...]:
        """Lengths of the box from the origin that may have been written to. The layout's fill lies beyond it."""
        return self.layout.shape

    @property
    def unstored(self) -> bytes | None:
        """Value that `read` gives inside the extent where no chunk is stored, in the bytes of `layout.dtype`.

        It is not always the layout's fill: netCDF fills the cells beyond the extent of an HDF5 dataset with a value of
        its own. Such a source counts every cell of the extent as occupied.
        """
        return self.layout.fill

    @property
    def viewed(self) -> bool:
        """Whether reading a region costs no more than the region holds, because nothing is decoded."""
        return True

    @property
    def repeats(self) -> bool:
        """Whether the values are a fill value of several elements over and over."""
        return False

    @property
    def keys(self) -> Listing | None:
        """The keys of the array in its store, one a chunk or shard; None: its values lie in no keys."""
        return None

    @property
    def distant(self) -> bool:
        """Whether every read travels over a network, so that many should be under way at once."""
        return False

    @property
    def together(self) -> tuple[int, ...] | None:
        """Lengths of regions, about, of which `fetched` brings several chunks by one request; None: of none."""
        return None

    def fetched(self, regions: Sequence[Selection]) -> ArraySource:
        """The same array with what these regions are made of at hand, brought here by few requests; the array itself
        where that gains nothing. Holds their encoded bytes in memory. Raises OSError.
        """
        return self

    @property
    def manifest(self) -> Manifest | None:
        """Where encoded chunks lie as byte ranges; None: nowhere (values of a text, computed ones). Raises OSError."""
        return None

    @property
    def stored(self) -> Stored | None:
        """How the chunks of `encoded` and `place` are encoded; None: there are none, or no chain of ours says how."""
        return None

    def encoded(self, chunk: Index) -> bytes | None:
        """The encoded bytes of a chunk of the source's own grid; None: not stored."""
        return None

    def place(self, chunk: Index) -> Place | None:
        """Where the encoded bytes of a chunk of the source's own grid lie in a file.

        None: not stored, not in a file, or in bytes that alone do not say what the array holds there (a chunk that an
        array has grown beyond, say). Raises OSError if the file is out of reach.
        """
        return None

    def found(self, chunk: Index) -> Place | None:
        """As `place`, whatever the bytes of the chunk hold beyond the extent. Raises OSError."""
        return self.place(chunk)

    def recut(self, chunks: tuple[int, ...]) -> ArraySource | None:
        """The same array with its encoded chunks cut otherwise; None where that cannot be: of most arrays, and where
        one of the chunks would not be a range of a file, or not full.
        """
        return None


@dataclass(frozen=True, slots=True, eq=False)
class DerivedSource(ArraySource):
    """Base of arrays made of one other `source`, cell by cell: what it is not asked otherwise is as of that source."""

    source: ArraySource

    @property
    def undefined(self) -> bool:
        """As the source."""
        return self.source.undefined

    def cleared(self) -> Self:
        """Of the source without its fill."""
        return replace(self, source=self.source.cleared())

    @property
    def viewed(self) -> bool:
        """As the source."""
        return self.source.viewed

    @property
    def distant(self) -> bool:
        """As the source."""
        return self.source.distant

    @property
    def together(self) -> tuple[int, ...] | None:
        """As the source's."""
        return self.source.together

    def fetched(self, regions: Sequence[Selection]) -> Self:
        """The same with what the regions are made of at hand."""
        return replace(self, source=self.source.fetched(regions))


Parts: TypeAlias = dict[str, ArraySource]
"""The arrays of one variable by path: `""` for most; `counts` and `content` of a vlen, and so on."""
