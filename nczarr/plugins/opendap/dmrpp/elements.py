"""Values of the document, and elements of the target unlike the model's: padded records, texts of fixed length."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Iterator
from typing import Any, Literal

from nczarr.arrays.chunks.grid import convert
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import DerivedSource, Descr, Layout, Parts, itemsize, numpy_dtype
from nczarr.arrays.values.elements import in_order
from nczarr.arrays.values.parts import NUMPY, Types, descr
from nczarr.names.records import frozen
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.opendap.common.columns import decode_arrays
from nczarr.plugins.opendap.common.declarations import FaultError, whole
from nczarr.plugins.opendap.common.packed import PackedWire
from nczarr.plugins.opendap.common.words import number_bytes

Pad = Literal["null_term", "null_pad", "space_pad"]
"""HDF5's padding of texts shorter than their type."""

_NAMES = {dtype[1:]: name for name, dtype in NUMPY.items() if name not in ("char", "string")}


PaddedMember = tuple[str, int]
"""Name and byte offset of a member of a padded record."""


def _unpad(text: bytes, pad: Pad) -> bytes:
    """Return a fixed-length text without padding."""
    match pad:
        case "null_term":
            return text.partition(b"\0")[0]
        case "null_pad":
            return text.rstrip(b"\0")
        case "space_pad":
            return text.rstrip(b" ")


@frozen
class RawElements(DerivedSource):
    """Array made from the raw bytes of its elements."""

    layout: Layout
    form: Pad | tuple[Descr, tuple[PaddedMember, ...]]
    """Padding of texts, or stored dtype and member offsets of records."""

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        return self.source.list_occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return a selection: strings without padding, or records without gaps between their members."""
        values = np.ascontiguousarray(self.source.read(selection))
        shape = tuple(len(range(*part.indices(size))) for part, size in zip(selection, self.layout.shape, strict=True))
        values = values.reshape(shape)  # numpy makes one dimension of none
        if isinstance(self.form, str):
            data, size, pad = values.tobytes(), values.itemsize, self.form
            texts = np.empty(math.prod(shape), object)
            texts[:] = [_unpad(data[at : at + size], pad) for at in range(0, len(data), size)]
            return texts.reshape(shape)
        packed, members = self.form
        dtype, (member_names, offsets) = numpy_dtype(packed), zip(*members, strict=True)
        formats = [dtype[name] for name in member_names]
        padded = np.dtype({"names": member_names, "formats": formats, "offsets": offsets, "itemsize": values.itemsize})
        return convert(values.view(padded).astype(dtype), self.layout.dtype)


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
    members = tuple((name, start) for (name, _, _), start in zip(packed, numbers[:-1], strict=True))
    return numbers[-1], members


def record_fill(text: str, dtype: Descr) -> bytes | None:
    """Return the fill value of records from the texts of all numbers; a single 0 means zeros."""
    leaves = list(_leaves(dtype))
    words = text.split()
    if words == ["0"]:
        return bytes(itemsize(dtype))
    if len(words) != len(leaves) or not all(leaf in _NAMES for leaf in leaves):
        return None
    numbers = [number_bytes(word, _NAMES[leaf]) for word, leaf in zip(words, leaves, strict=True)]
    return None if None in numbers else b"".join(number or b"" for number in numbers)


def _leaves(dtype: Descr) -> list[str]:
    """Return the types of all numbers of an element, in order."""
    if isinstance(dtype, str):
        return [dtype[1:]]
    return [leaf for _, field, shape in dtype for _ in range(math.prod(shape)) for leaf in _leaves(field)]


def pad_fill(fill: bytes, dtype: Descr, stored: Descr, layout: tuple[int, tuple[PaddedMember, ...]]) -> bytes:
    """Return a fill value as stored in a padded record."""
    packed = in_order(fill, dtype, stored)
    record, at = bytearray(layout[0]), 0
    for (_, field, shape), (_, offset) in zip(() if isinstance(dtype, str) else dtype, layout[1], strict=True):
        length = itemsize(field) * math.prod(shape)
        record[offset : offset + length] = packed[at : at + length]
        at += length
    return bytes(record)


MOST_TEXTS = 1 << 24
"""Maximum number of texts in a list with repeat counts."""


def unbase64(text: str, what: str) -> bytes:
    """Decode base64 with blanks and line ends. Raises FaultError."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise FaultError(f"its `{what}` is not base64") from None


def texts_of(element: XmlElement, shape: tuple[int, ...]) -> Parts:
    """Return the texts of a `vlsa`. Raises FaultError.

    `c`: repeat count; `s`: length of a deflated text.
    """
    texts: list[bytes | None] = []
    for child in element.all("v"):
        unknown = child.attributes.keys() - {"c", "s", "nczarr:nil"}
        if unknown:
            raise FaultError(f"a string has the attribute `{min(unknown)}`, which is unknown")
        text = None if child.attributes.get("nczarr:nil") == "true" else child.text.encode()
        if "s" in child.attributes:
            length = whole(child.attributes["s"], "length of a string")
            text = inflate(unbase64(child.text, "vlsa"), length)
        count = whole(child.attributes.get("c", "1"), "count of a string")
        if len(texts) + count > min(MOST_TEXTS, math.prod(shape)):
            raise FaultError(f"it has more strings than the {math.prod(shape)} of its shape")
        texts += [text] * count
    return {"": in_memory(texts, "|O", shape)}


def inflate(data: bytes, length: int) -> bytes:
    """Inflate bytes to a known length. Raises FaultError."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, length + 1)
    except zlib.error as error:
        raise FaultError(f"values in the document cannot be inflated: {error}") from None
    if len(content) != length or not unpacker.eof:
        raise FaultError(f"values in the document do not inflate to {length} bytes")
    return content


def in_memory(values: list[Any], dtype: str, shape: tuple[int, ...]) -> ArrayInMemory:
    """Return an array of values in C order. Raises FaultError for a wrong count."""
    if len(values) != math.prod(shape):
        raise FaultError(f"it has {len(values)} values, but its shape has {math.prod(shape)}")
    objects = np.empty(len(values), object)
    objects[:] = values
    return ArrayInMemory(Layout(dtype, shape, shape), objects.reshape(shape))


def records_of(text: str, type_name: str, types: Types, shape: tuple[int, ...]) -> Parts:
    """Return the records of a `specialstructuredata`. Raises FaultError."""
    data, count = unbase64(text, "specialstructuredata"), math.prod(shape)
    if count > len(data):
        raise FaultError(f"it has {len(data)} bytes for {count} records")
    wire = _RecordWire(data, 0, types)
    records = decode_arrays(wire, type_name, shape, array=False)
    if wire.at != wire.end:
        raise FaultError(f"its records have {wire.at} bytes, but the document contains {wire.end}")
    return records


class _RecordWire(PackedWire):
    """Place in records: packed members, and texts as base64 before a `;`. Raises FaultError."""

    def check_left(self, count: int, what: str) -> None:
        if count > self.end - self.at:
            raise FaultError("its records end too early")

    def text(self) -> bytes:
        end = self.data.find(b";", self.at)
        if end < 0:
            raise FaultError("a string of its records has no end")
        text, self.at = bytes(self.data[self.at : end]), end + 1
        return unbase64(text.decode("latin-1"), "specialstructuredata")
