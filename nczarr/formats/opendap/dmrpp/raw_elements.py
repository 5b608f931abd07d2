"""Conversion of arrays of raw elements to the model's: padded records and fixed-length texts; fill values of records.

The raw source fetches and decodes chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from nczarr.arrays.chunks.grid import converted
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import DerivedSource, Descr, Layout, itemsize, numpy_dtype
from nczarr.arrays.values.elements import in_order
from nczarr.formats.opendap.common.document_text import number_of
from nczarr.formats.opendap.dmrpp.padding import PaddedMember

Pad = Literal["null_term", "null_pad", "space_pad"]
"""HDF5's padding of texts shorter than their type."""

_NAMES = {"i1": "byte", "u1": "ubyte", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "i8": "int64",
          "u8": "uint64", "f4": "float", "f8": "double"}  # fmt: skip


def unpadded(text: bytes, pad: Pad) -> bytes:
    """Return a fixed-length text without padding."""
    match pad:
        case "null_term":
            return text.partition(b"\0")[0]
        case "null_pad":
            return text.rstrip(b"\0")
        case "space_pad":
            return text.rstrip(b" ")


@dataclass(frozen=True, slots=True, eq=False)
class RawElements(DerivedSource):
    """Array made from the raw bytes of its elements."""

    layout: Layout
    """Layout of the array."""
    form: Pad | tuple[Descr, tuple[PaddedMember, ...]]
    """Padding of texts, or stored dtype and member offsets of records."""

    def cleared(self) -> RawElements:
        """Return the same array with zeros for missing chunks."""
        return replace(self, source=self.source.cleared(), layout=self.layout._replace(fill=None))

    def occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Yield the chunks of the raw source."""
        return self.source.occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError, CompileError."""
        values = np.ascontiguousarray(self.source.read(selection))
        shape = tuple(len(range(*part.indices(size))) for part, size in zip(selection, self.layout.shape, strict=True))
        values = values.reshape(shape)  # numpy makes one dimension of none
        if isinstance(self.form, str):
            data, size, pad = values.tobytes(), values.itemsize, self.form
            texts = np.empty(math.prod(shape), object)
            texts[:] = [unpadded(data[at : at + size], pad) for at in range(0, len(data), size)]
            return texts.reshape(shape)
        packed, members = self.form
        dtype = numpy_dtype(packed)
        fields = [dtype[member.name] for member in members]
        padded = np.dtype(
            {
                "names": [member.name for member in members],
                "formats": fields,
                "offsets": [member.offset for member in members],
                "itemsize": values.itemsize,
            }
        )
        return converted(values.view(padded).astype(dtype), self.layout.dtype)


def record_fill(text: str, dtype: Descr) -> bytes | None:
    """Return the fill value of records from the texts of all numbers; a single 0 means zeros."""
    leaves = list(_leaves(dtype))
    words = text.split()
    if words == ["0"]:
        return bytes(itemsize(dtype))
    if len(words) != len(leaves) or not all(leaf in _NAMES for leaf in leaves):
        return None
    numbers = [number_of(word, _NAMES[leaf]) for word, leaf in zip(words, leaves, strict=True)]
    return None if None in numbers else b"".join(number or b"" for number in numbers)


def _leaves(dtype: Descr) -> list[str]:
    """Return the types of all numbers of an element, in order."""
    if isinstance(dtype, str):
        return [dtype[1:]]
    return [leaf for _, field, shape in dtype for _ in range(math.prod(shape)) for leaf in _leaves(field)]


def padded_fill(fill: bytes, dtype: Descr, stored: Descr, layout: tuple[int, tuple[PaddedMember, ...]]) -> bytes:
    """Return a fill value as stored in a padded record."""
    packed = in_order(fill, dtype, stored)
    record, at = bytearray(layout[0]), 0
    for (_, field, shape), member in zip(() if isinstance(dtype, str) else dtype, layout[1], strict=True):
        length = itemsize(field) * math.prod(shape)
        record[member.offset : member.offset + length] = packed[at : at + length]
        at += length
    return bytes(record)
