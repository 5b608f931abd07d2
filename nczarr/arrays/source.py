"""Array sources: where the values of one array come from, described without reading them.

Data never enters the tree. Each variable has a tree of parts (`parts.py`), and each part is one `ArraySource`:
a plain, picklable description; handles are opened where the work is done. numpy is imported only by the
functions that need it, because metadata alone must start fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, TypeAlias

from nczarr.ast.storage import Codec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nczarr.arrays.chunk_keys import Listing

Descr: TypeAlias = "str | tuple[tuple[str, Descr, tuple[int, ...]], ...]"
"""An element's type in numpy's own words: `"<i4"`, `"|S1"`, `"|V4"`, `"|O"` (strings as `bytes | None`), or the
fields of a packed record as (name, type, shape)."""

Selection: TypeAlias = tuple[slice, ...]
"""One slice a dimension: start and stop given, step 1."""

Index: TypeAlias = tuple[int, ...]
"""The position of a chunk in its grid."""

Order: TypeAlias = Literal["C", "F"]
"""How the elements of a chunk follow one another: the last index changes fastest, or the first."""


def numpy_dtype(descr: Descr) -> np.dtype[Any]:
    """The numpy dtype of a description; records are packed."""
    import numpy as np

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
    import numpy as np

    return little(np.frombuffer(fill, numpy_dtype(dtype))).tobytes()


def unwritten_of(source: ArraySource) -> bytes:
    """Return what `read` gives for a cell that was never written: one little-endian element, or the bytes of a text."""
    fill = fill_of(source)
    return bytes(itemsize(source.layout.dtype)) if fill is None else fill


class Columns(NamedTuple):
    """Encoded chunks as byte ranges, one row a chunk: equally long int64 columns (mask: int32).

    `chunk` is the linear index in the chunk grid, `source` an index into `sources` (paths or URLs).
    """

    sources: tuple[str, ...]
    chunk: NDArray[np.int64]
    source: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    mask: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Affine:
    """Encoded chunks at regular places of one file: chunk i begins at `base + i * stride` and has `length` bytes."""

    source: str
    base: int
    stride: int
    length: int
    count: int


Manifest: TypeAlias = Columns | Affine


class Stored(NamedTuple):
    """How the encoded chunks of a source lie: each is a whole chunk of `dtype` (byte order included) in C order, padded
    at the edges, behind the steps of `codecs` in the order of encoding.
    """

    dtype: Descr
    chunks: tuple[int, ...]
    codecs: tuple[Codec, ...]


class Place(NamedTuple):
    """The encoded bytes of one chunk, as a range of a file. Bit i of `mask`: step i of the chain was left out."""

    path: str
    offset: int
    length: int
    mask: int = 0


class ArraySource(Protocol):
    """One array, readable in pieces."""

    @property
    def layout(self) -> Layout:
        """The array as it lies in the source."""

    @property
    def undefined(self) -> bool:
        """Whether a cell that was never written holds nothing that a reader may rely on.

        `read` gives the layout's fill there all the same, and writers write that. False: the fill is the defined value.
        """

    def cleared(self) -> ArraySource:
        """Return the same array with zeros where no chunk is stored in a store, for a variable without fill mode."""

    @property
    def extent(self) -> tuple[int, ...]:
        """Lengths of the box from the origin that may have been written to. The layout's fill lies beyond it."""

    @property
    def unstored(self) -> bytes | None:
        """Value that `read` gives inside the extent where no chunk is stored, in the bytes of `layout.dtype`.

        It is not always the layout's fill: netCDF fills the cells beyond the extent of an HDF5 dataset with a value of
        its own. Such a source counts every cell of the extent as occupied.
        """

    @property
    def viewed(self) -> bool:
        """Whether reading a region costs no more than the region holds, because nothing is decoded."""

    @property
    def repeats(self) -> bool:
        """Whether the values are a fill value of several elements over and over."""

    @property
    def keys(self) -> Listing | None:
        """The keys of the array in its store, one a chunk or shard; None: its values lie in no keys."""

    @property
    def distant(self) -> bool:
        """Whether every read travels over a network, so that many should be under way at once."""

    @property
    def together(self) -> tuple[int, ...] | None:
        """Lengths of regions, about, of which `fetched` brings several chunks by one request; None: of none."""

    @property
    def manifest(self) -> Manifest | None:
        """Where encoded chunks lie as byte ranges; None: nowhere (values of a text, computed values)."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Decoded values of a region, in the dtype of `layout`; what was never written reads as fill.

        Perhaps a view, which is not to be written to, and of either byte order: `little` makes them all alike.
        """

    @property
    def stored(self) -> Stored | None:
        """How the chunks of `encoded` and `place` are encoded; None: there are none, or no chain of ours says how."""

    def encoded(self, chunk: Index) -> bytes | None:
        """The encoded bytes of a chunk of the source's own grid; None: not stored."""

    def place(self, chunk: Index) -> Place | None:
        """Where the encoded bytes of a chunk of the source's own grid lie in a file.

        None: not stored, not in a file, or in bytes that alone do not say what the array holds there (a chunk that an
        array has grown beyond, say). Raises OSError if the file is out of reach.
        """

    def found(self, chunk: Index) -> Place | None:
        """As `place`, whatever the bytes of the chunk hold beyond the extent. Raises OSError."""

    def recut(self, chunks: tuple[int, ...]) -> ArraySource | None:
        """The same array with its encoded chunks cut otherwise; None where that cannot be: of most arrays, and where
        one of the chunks would not be a range of a file, or not full.
        """

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks of a grid of this chunk shape that may hold anything but fill, in C order, each once.

        Takes time in proportion to what is stored, never to the declared shape.
        """

    def fetched(self, regions: Sequence[Selection]) -> Self:
        """The same array with what these regions are made of at hand, brought here by few requests; the array itself
        where that gains nothing. Holds their encoded bytes in memory. Raises OSError.
        """


class _Laid(Protocol):
    @property
    def layout(self) -> Layout: ...
    def place(self, chunk: Index) -> Place | None: ...


class Whole:
    """Base of sources outside of stores whose fill is defined and whose extent is their shape."""

    __slots__ = ()

    @property
    def undefined(self) -> bool:
        """False."""
        return False

    def cleared(self) -> Self:
        """The array itself."""
        return self

    @property
    def extent(self: _Laid) -> tuple[int, ...]:
        """The shape."""
        return self.layout.shape

    @property
    def unstored(self: _Laid) -> bytes | None:
        """The layout's fill."""
        return self.layout.fill

    @property
    def viewed(self) -> bool:
        """False: chunks are decoded."""
        return False

    @property
    def repeats(self) -> bool:
        """False."""
        return False

    @property
    def keys(self) -> Listing | None:
        """None: there are no keys."""
        return None

    def found(self: _Laid, chunk: Index) -> Place | None:
        """Where a chunk lies in a file."""
        return self.place(chunk)


class Near(Whole):
    """What sources share that are in memory or in files of this machine."""

    __slots__ = ()

    @property
    def distant(self) -> bool:
        """False."""
        return False

    @property
    def together(self) -> tuple[int, ...] | None:
        """None: nothing is brought from anywhere."""
        return None

    def fetched(self, regions: Sequence[Selection]) -> Self:
        """The array itself."""
        return self

    def recut(self, chunks: tuple[int, ...]) -> ArraySource | None:
        """None: chunks lie as they are."""
        return None


class Computed(Near):
    """What sources share whose values are nowhere as encoded chunks: in memory, made up, or behind a library."""

    __slots__ = ()

    @property
    def viewed(self) -> bool:
        """True: there are no chunks to decode."""
        return True

    @property
    def manifest(self) -> Manifest | None:
        """None: nothing is encoded."""
        return None

    @property
    def stored(self) -> Stored | None:
        """None: nothing is encoded."""
        return None

    def encoded(self, chunk: Index) -> bytes | None:
        """None: nothing is encoded."""
        return None

    def place(self, chunk: Index) -> Place | None:
        """None: nothing is encoded."""
        return None


Parts: TypeAlias = dict[str, ArraySource]
"""The arrays of one variable by path: `""` for most; `counts` and `content` of a vlen, and so on."""
