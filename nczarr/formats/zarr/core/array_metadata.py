"""Array metadata of a store, independent of the Zarr version, and the types of the model for its dtypes."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nczarr import names
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.codecs.chain import from_configs
from nczarr.arrays.sources.source import Descr, Layout, is_number, itemsize
from nczarr.arrays.values.elements import (
    ELEMENT_TYPES,
    RAW,
    declare_type,
    element_of,
    field_of,
    model_bytes,
    model_dtype,
    plain_type,
    text_element,
)
from nczarr.arrays.values.parts import Types, descr
from nczarr.ast import Codec, CompoundType, Field, OpaqueType, Quantize, Storage
from nczarr.ast.dataset import FILTER_LIMIT, Element
from nczarr.ast.types import DeclaredTypes
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.extension.model import LARGEST_LENGTH
from nczarr.names import name_problem
from nczarr.names.records import NamedTuple
from nczarr.registry import ChunkKeys
from nczarr.semantics.check_names import make_unique, namesakes
from nczarr.semantics.check_types import LARGEST_VALUE, MOST_MEMBERS
from nczarr.semantics.checked import Namesake

if TYPE_CHECKING:
    from nczarr.plan.plans import Runs

Endian = Literal["little", "big"] | None


@functools.lru_cache(maxsize=4096)
def build_storage(
    layout: Literal["contiguous", "compact", "chunked"] | None,
    chunks: tuple[int, ...] | None,
    codecs: tuple[Codec, ...],
    endian: Endian,
    no_fill: bool,
    quantize: Quantize | None,
    element: Element | None = None,
) -> Storage:
    """Return a cached storage; a store has few different ones. Raises ValidationError."""
    return Storage(
        layout=layout, chunks=chunks, codecs=codecs, endian=endian, no_fill=no_fill, quantize=quantize, element=element
    )


class ArrayMetadata(NamedTuple):
    """Metadata of one array, from its documents alone."""

    key: str
    prefix: str
    """Prefix of the array's keys."""
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    encoding: Encoding
    """Encoding of the chunks."""
    fill: bytes | None
    """One element in the stored dtype, or text; None if missing."""
    codecs: tuple[Codec, ...] | None
    """Codecs in encoding order; None if a codec has no HDF5 filter number."""
    shards: tuple[int, ...] | None
    """Shard length of each dimension; None without shards."""
    attributes: Json
    axes: tuple[str | None, ...] | None
    """Simple dimension names, None where missing."""
    chunk_keys: ChunkKeys
    """Names of the chunks."""
    raw_texts: bool = False
    """True if texts of any length are bytes, whatever their encoding."""

    @property
    def plain_type(self) -> str | None:
        """Atomic type of the dtype; one byte of text is char, raw bytes and records None."""
        return plain_type(self.encoding.dtype)

    def storage(self, *, texts: bool, fill_mode: bool = True) -> Storage:
        """Return the storage that the documents declare.

        `texts`: texts of fixed length, and bytes, are elements. `fill_mode`: a missing fill value
        declares that the variable has none.
        """
        dtype = self.encoding.dtype
        element = element_of(dtype) or ((RAW if self.raw_texts else text_element(dtype)) if texts else None)
        number = is_number(dtype)
        endian: Endian = "big" if number and str(dtype)[0] == ">" else None
        no_fill = number and self.fill is None and fill_mode  # Zarr v2: null leaves unwritten cells undefined
        return build_storage(None, self.chunks or None, self.codecs or (), endian, no_fill, None, element)

    def source(
        self,
        documents: DocumentCache,
        model: Descr,
        shape: tuple[int, ...],
        nil: Runs = (),
        replacement: bytes | None = None,
    ) -> KeyChunkArray:
        """Return the values as elements of `model`. `replacement`: used if the documents have no fill value, or NaN."""
        dtype = self.encoding.dtype
        exact = replacement is not None and (self.fill is None or _is_nan(self.fill, dtype))
        fill = replacement if exact else self.fill
        if model != "|O":
            size = itemsize(dtype)
            fill = bytes(size) if fill is None else fill.ljust(size, b"\0")  # netCDF-C reads zeros for null
            if not exact:  # as constants are: little-endian
                fill = model_bytes(fill, dtype)
        else:
            fill = (fill or b"").rstrip(b"\0") if dtype != "|O" else fill or b""  # netCDF-C pads with NULs
        end = math.prod(shape)
        nil = tuple((first, min(count, end - first)) for first, count in nil if first < end and count > 0)
        order = self.encoding.permutation
        reverse = order is not None and order == tuple(reversed(range(len(shape))))
        layout = Layout(model, shape, self.chunks, self.codecs or (), fill, self.shards, "F" if reverse else "C")
        undefined = self.fill is None and replacement is None and is_number(dtype)
        return KeyChunkArray(layout, documents.store, self.chunk_keys, self.encoding, nil, undefined)


def _is_nan(fill: bytes, dtype: Descr) -> bool:
    """Return whether a fill value is NaN, which Zarr v2 writes without its bits."""
    if dtype not in ("<f4", "<f8", ">f4", ">f8"):
        return False
    return math.isnan(struct.unpack(str(dtype)[0] + "fd"[str(dtype)[2] == "8"], fill)[0])


def chain(configs: list[Json]) -> tuple[Codec, ...] | None:
    """Return the neutral codecs; None without filter number or with invalid parameters."""
    try:
        codecs = from_configs(configs) or ()
    except (ValueError, TypeError):
        return None
    sane = len(codecs) == len(configs) and all(number < FILTER_LIMIT for codec in codecs for number in codec.parameters)
    return codecs if sane else None


def lengths(written: Any, *, least: int = 0) -> tuple[int, ...] | None:
    """Return a JSON list of lengths as a tuple; None if it is invalid."""
    if not isinstance(written, list) or len(written) > 1024:  # NC_MAX_VAR_DIMS
        return None
    if not all(type(length) is int and least <= length <= LARGEST_LENGTH for length in written):
        return None
    return tuple(written)


def chunk_lengths(written: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a JSON list of chunk lengths, 1 along an empty dimension that has chunks of 0; None if it is invalid."""
    chunks = lengths(written)
    if chunks is None or len(chunks) != len(shape):
        return None
    chunks = tuple(1 if length == 0 == chunk else chunk for length, chunk in zip(shape, chunks, strict=True))
    return chunks if all(chunks) else None


def record(fields: Iterable[tuple[Any, Descr, Any]]) -> Descr:
    """Return the dtype of a record from names, dtypes and shapes of its fields. Raises ValueError."""
    members: dict[str, tuple[str, Descr, tuple[int, ...]]] = {}
    for name, dtype, shape in fields:
        if not isinstance(name, str) or not name:
            raise ValueError("a record with a field without a name")
        if name in members:
            raise ValueError(f"a record with two fields `{name}`")
        if dtype == "|O" or lengths(list(shape), least=1) is None:
            raise ValueError(f"a record whose field `{name}` has no fixed size")
        members[name] = (name, dtype, tuple(shape))
    if not members:
        raise ValueError("a record without fields")
    return tuple(members.values())


def name_anonymous(references: Sequence[str | int], written: Sequence[str | None] | None) -> tuple[str | None, ...]:
    """Return the written names of anonymous dimensions, None for others; empty if none has a name."""
    if written is None or len(written) != len(references) or int not in map(type, references):
        return ()
    axes = tuple([name if isinstance(one, int) else None for one, name in zip(references, written, strict=True)])
    return axes if any(name is not None for name in axes) else ()


def sensible(shape: tuple[int, ...]) -> bool:
    """Return whether the number of elements fits `LARGEST_LENGTH`."""
    return math.prod(length or 1 for length in shape) <= LARGEST_LENGTH


# ---- types of the model ----------------------------------------------------------------------------------------------
def holds(stored: Descr, type_name: str, types: Types) -> bool:
    """Return whether a dtype can hold strings or values of a fixed-size type."""
    if type_name == "string":
        return isinstance(stored, str) and stored[1] in "SOU"
    return _suits(descr(type_name, types), stored)


def _suits(declared: Descr, stored: Descr, shape: tuple[int, ...] = (), other: tuple[int, ...] = ()) -> bool:
    """Return whether dtypes are equal but for byte order; `V` bytes hold any field of their size."""
    stored = model_dtype(stored)
    if isinstance(stored, str) and stored[1] == "V" and not other and (shape or declared != stored):
        return itemsize(declared) * math.prod(shape) == int(stored[2:])
    if shape != other:
        return False
    if isinstance(declared, str) or isinstance(stored, str):
        return isinstance(declared, str) and isinstance(stored, str) and declared[1:] == stored[1:]
    if [name for name, _, _ in declared] != [name for name, _, _ in stored]:
        return False
    return all(
        _suits(field, stored_field, inner, own_inner)
        for (_, field, inner), (_, stored_field, own_inner) in zip(declared, stored, strict=True)
    )


def members(stored: Descr) -> int:
    """Return the number of members of an element, nested ones included."""
    return 1 if isinstance(stored, str) else sum(members(field) for _, field, _ in stored)


class Inventor(DeclaredTypes):
    """Invented types of one group, for records and raw bytes."""

    def __init__(self, path: str, taken: Iterable[str]) -> None:
        super().__init__(path, taken)
        self.namesakes: list[Namesake] = []
        """Renamed fields of equal names."""

    def type_of(self, stored: Descr, name: str) -> str:
        """Return the type of a variable or field. Raises ValueError for invalid names and too large elements."""
        if itemsize(stored) > LARGEST_VALUE or members(stored) > MOST_MEMBERS:
            raise ValueError(f"elements of {itemsize(stored)} bytes are too large")
        element = element_of(stored)
        if element in ELEMENT_TYPES:
            return self.share(declare_type(element, element))
        if isinstance(stored, str) and stored[1] == "V":
            return self.share(OpaqueType(name=f"opaque_{stored[2:]}", size=int(stored[2:])))
        if isinstance(stored, str):
            return plain_type(stored) or ""
        fields, record = [], self.free(f"{name}_t")
        items = [("field", field) for field, _, _ in stored]
        shown = make_unique(items)
        self.namesakes += namesakes(items, shown, names.join(self.path, record))
        for (called, _), (field, inner, shape) in zip(shown, stored, strict=True):
            problem = name_problem(field)
            if problem is not None:
                raise ValueError(f"a field of the record: {problem}")
            inner, length = field_of(inner)
            kind = self.type_of(inner, f"{name}_{field}")
            fields.append(Field(name=called, type=kind, shape=(*shape, *length)))
        return self.declare(CompoundType(name=self.free(f"{name}_t"), fields=tuple(fields)))
