"""What the documents of an array say, in words of no version."""

from __future__ import annotations

import functools
import math
import struct
from typing import Any, Literal, NamedTuple

from nczarr.arrays.chunked_store import StoredArray
from nczarr.arrays.codecs import from_configs
from nczarr.arrays.elements import element_of, model_bytes
from nczarr.arrays.grid import Encoding
from nczarr.arrays.source import Descr, Layout, itemsize
from nczarr.ast import Attribute, Codec, Quantize, Storage
from nczarr.ast.storage import FILTER_LIMIT, Element
from nczarr.capabilities import ChunkKeys
from nczarr.formats.zarr.core.stored_types import plain_type
from nczarr.json.documents import Documents, Json
from nczarr.plan.plans import Runs

Endian = Literal["little", "big"] | None

LARGEST_LENGTH = 2**63 - 1
"""The largest length of a dimension."""


@functools.lru_cache(maxsize=4096)
def made_storage(
    layout: Literal["contiguous", "compact", "chunked"] | None,
    chunks: tuple[int, ...] | None,
    codecs: tuple[Codec, ...],
    endian: Endian,
    no_fill: bool,
    quantize: Quantize | None,
    element: Element | None = None,
) -> Storage:
    """A storage; arrays of one store share few. Raises ValidationError."""
    return Storage(
        layout=layout, chunks=chunks, codecs=codecs, endian=endian, no_fill=no_fill, quantize=quantize, element=element
    )


class Described(NamedTuple):
    """One array, of its documents alone.

    `key`: its document; `prefix`: the node. `dtype`: as stored. `fill`: one element in the bytes of the
    dtype, for texts the text; None where the document has none. `codecs`: the neutral chain, None if a step has no
    number. `axes`: simple names of its dimensions, None where there are none;
    None among them: one without a name.
    """

    key: str
    prefix: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    encoding: Encoding
    fill: bytes | None
    codecs: tuple[Codec, ...] | None
    shards: tuple[int, ...] | None
    attributes: Json
    axes: tuple[str | None, ...] | None
    chunk_keys: ChunkKeys

    @property
    def plain_type(self) -> str | None:
        """The atomic type that the dtype says: char for one byte of text; None for raw bytes and records."""
        return plain_type(self.encoding.dtype)

    @property
    def storage(self) -> Storage:
        """The storage that the documents say."""
        dtype = self.encoding.dtype
        number = isinstance(dtype, str) and dtype[1] in "iufbc"
        endian: Endian = "big" if number and str(dtype)[0] == ">" else None
        no_fill = number and self.fill is None
        return made_storage(None, self.chunks or None, self.codecs or (), endian, no_fill, None, element_of(dtype))

    def scalar(self) -> Described:
        """The array as a scalar: that of one element is how the netCDF library writes it."""
        encoding = self.encoding._replace(permutation=None)
        return self._replace(shape=(), chunks=(), shards=None, axes=(), encoding=encoding)

    def source(
        self, documents: Documents, model: Descr, shape: tuple[int, ...], nil: Runs = (), own: bytes | None = None
    ) -> StoredArray:
        """The values as elements of the model: `model` is the dtype that the variable's type has. `own`: what fills
        where the documents have no fill value, or say of it only that it is no number.
        """
        dtype = self.encoding.dtype
        exact = own is not None and (self.fill is None or _is_nan(self.fill, dtype))
        fill = own if exact else self.fill
        if model != "|O":
            size = itemsize(dtype)
            fill = bytes(size) if fill is None else fill.ljust(size, b"\0")
            if not exact:  # as constants are: little-endian
                fill = model_bytes(fill, dtype)
        else:
            fill = (fill or b"").rstrip(b"\0") if dtype != "|O" else fill or b""
        end = math.prod(shape)
        nil = tuple((first, min(count, end - first)) for first, count in nil if first < end and count > 0)
        order = self.encoding.permutation
        reverse = order is not None and order == tuple(reversed(range(len(shape))))
        layout = Layout(model, shape, self.chunks, self.codecs or (), fill, self.shards, "F" if reverse else "C")
        undefined = self.fill is None and own is None and isinstance(dtype, str) and dtype[1] in "iufbc"
        return StoredArray(layout, documents.store, self.chunk_keys, self.encoding, nil, undefined)


def _is_nan(fill: bytes, dtype: Descr) -> bool:
    """Whether a fill value is no number, which documents of Zarr v2 say by a word, whatever its bits are."""
    if dtype not in ("<f4", "<f8", ">f4", ">f8"):
        return False
    return math.isnan(struct.unpack(str(dtype)[0] + "fd"[str(dtype)[2] == "8"], fill)[0])


def own_fill(type_name: str, attributes: tuple[Attribute, ...]) -> bytes | None:
    """The `_FillValue` where it says more than the documents of Zarr v2: that of chars, which have no fill value there,
    and a NaN with its bits. None for all others.
    """
    own = [each.value for each in attributes if each.name == "_FillValue" and each.value.type == type_name]
    if not own or own[0].count != 1 or not isinstance(own[0].data, bytes):
        return None
    nan = type_name in ("float", "double") and math.isnan(own[0].as_numbers()[0])
    return own[0].data if type_name == "char" or nan else None


def chain(configs: list[Json]) -> tuple[Codec, ...] | None:
    """The neutral codecs of configurations; None if one has no number, or parameters that none has."""
    try:
        found = from_configs(configs) or ()
    except (ValueError, TypeError):
        return None
    sane = len(found) == len(configs) and all(number < FILTER_LIMIT for codec in found for number in codec.parameters)
    return found if sane else None


def lengths(given: Any, *, least: int = 0) -> tuple[int, ...] | None:
    """A list of lengths; None if it is none."""
    if not isinstance(given, list) or len(given) > 1024:
        return None
    if not all(type(each) is int and least <= each <= LARGEST_LENGTH for each in given):
        return None
    return tuple(given)


def sensible(shape: tuple[int, ...]) -> bool:
    """Whether the elements of an array can be counted."""
    return math.prod(each or 1 for each in shape) <= LARGEST_LENGTH
