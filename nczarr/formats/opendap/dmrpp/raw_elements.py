"""Conversion of arrays of raw elements to the model's: padded records and fixed-length texts; fill values of records.

The raw source fetches and decodes chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from nczarr.arrays.chunks.grid import converted
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import DerivedSource, Descr, Layout, itemsize, numpy_dtype
from nczarr.arrays.values.elements import in_order
from nczarr.arrays.values.parts import NUMPY, Types, descr
from nczarr.formats.opendap.common.declarations import FaultError, whole
from nczarr.formats.opendap.common.document_text import number_of
from nczarr.formats.opendap.common.xml_reader import XmlElement

Pad = Literal["null_term", "null_pad", "space_pad"]
"""HDF5's padding of texts shorter than their type."""

_NAMES = {dtype[1:]: name for name, dtype in NUMPY.items() if name not in ("char", "string")}


class PaddedMember(NamedTuple):
    """Member of a padded record."""

    name: str
    """Name of the member."""
    offset: int
    """Byte offset in the record."""


def _unpadded(text: bytes, pad: Pad) -> bytes:
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
            texts[:] = [_unpadded(data[at : at + size], pad) for at in range(0, len(data), size)]
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


def layout_of(element: XmlElement, type_name: str, types: Types) -> tuple[int, tuple[PaddedMember, ...]] | None:
    """Return size and member offsets of a padded record; None if packed. Raises FaultError.

    `structOffset` lists the offsets of all members but the first, and the
    record size.
    """
    chunks = element.first("dmrpp:chunks")
    written = chunks.attributes.get("structOffset") if chunks is not None else None
    packed = descr(type_name, types)
    if written is None or isinstance(packed, str):
        return None
    numbers = [0, *(whole(word, "offset of a member") for word in written.split())]
    if len(numbers) != len(packed) + 1:
        raise FaultError(f"`structOffset` has {len(numbers) - 1} numbers for {len(packed)} members")
    for (name, inner, shape), start, stop in zip(packed, numbers[:-1], numbers[1:], strict=True):
        size = itemsize(inner) * math.prod(shape)
        if start + size > stop or (size != stop - start and not isinstance(inner, str)):
            raise FaultError(f"`structOffset` leaves {stop - start} bytes for its member `{name}`, which needs {size}")
    if numbers[-1] == itemsize(packed):
        return None
    members = tuple(PaddedMember(name, start) for (name, _, _), start in zip(packed, numbers[:-1], strict=True))
    return numbers[-1], members


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
