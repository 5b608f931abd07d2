"""HDF5 metadata of a dataset: type, extent, layout, chunks, filters, fill value, address."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.parts import Types, size
from nczarr.ast import Codec, EnumType
from nczarr.check.check_types import default_fill
from nczarr.formats.netcdf4.header.chunk_addresses import ChunkIndex

NON_COORDINATE = "_nc4_non_coord_"
"""Name prefix of a variable that has a dimension's name without being its coordinate variable."""

ATOMIC_IDS = {
    "byte": 1, "char": 2, "short": 3, "int": 4, "float": 5, "double": 6, "ubyte": 7, "ushort": 8, "uint": 9,
    "int64": 10, "uint64": 11, "string": 12,
}  # fmt: skip
"""Library ids of the atomic types."""

COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2
"""Layouts (H5D_layout_t), without virtual and unknown ones."""

INTEGER, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VLEN = 0, 1, 3, 5, 6, 8, 9
"""Classes of types (H5T_class_t)."""

SZIP_CHOICES = 4 | 32
"""User-defined bits of szip's first parameter: entropy coding or nearest neighbour."""


def text_of(data: bytes, *, terminated: bool) -> bytes:
    """Return the text in the bytes of one element."""
    return data.split(b"\0", 1)[0] if terminated else data.rstrip(b"\0")


class DatasetInfo(NamedTuple):
    """Metadata of a dataset."""

    dtype: Descr | None
    """Type of the elements; None if no `Descr` fits."""
    extent: tuple[int, ...] | None
    """Shape of the dataset; None for a null dataspace."""
    layout: int
    """Layout (`H5D_layout_t`)."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    filters: tuple[Codec, ...]
    """Filters in encoding order."""
    fill: bytes | None
    """Fill value in the bytes of `dtype`, by default zeros; None without `dtype`."""
    address: int | None
    """File offset of contiguous data; None if unallocated or external."""
    elsewhere: bool
    """True if the data are in other files."""
    unfiltered_edges: bool
    """True if chunks that exceed the extent are unfiltered."""
    shuffled: int | None = None
    """Element size of the shuffle filter; None without one."""
    undefined: bool = False
    """True if HDF5 does not initialize unwritten cells."""
    has_own_fill: bool = False
    """True if the fill value is user-defined."""
    text: bytes | None = None
    """Fill value of strings; None if missing or empty."""
    unwritten: bytes = b""
    """Element of an unwritten cell as it is stored; one of variable length has the place of the fill value."""
    compact: bytes | None = None
    """All elements, if they are in the header."""
    chunk_index: ChunkIndex | None = None
    """Index of the chunks, if the header was read here."""


def library_default(type_name: str, types: Types) -> bytes | None:
    """Return the library's default fill value of a type: one packed element."""
    declared = types.get(type_name)
    if declared is not None and not isinstance(declared, EnumType):
        return bytes(size(type_name, types))
    constant = default_fill(declared.base if isinstance(declared, EnumType) else type_name, types)
    if constant is None:
        return None
    return constant.data if isinstance(constant.data, bytes) else b""
