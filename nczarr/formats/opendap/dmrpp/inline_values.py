"""Values inside a document: lists of texts, and records with texts."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, Parts, numpy_dtype
from nczarr.arrays.values.parts import Part, Types, descr, escape, is_fixed, parts, size
from nczarr.ast import CompoundType
from nczarr.formats.opendap.common.declarations import FaultError, whole
from nczarr.formats.opendap.common.xml_reader import XmlElement

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
            text = inflated(unbase64(child.text, "vlsa"), length)
        count = whole(child.attributes.get("c", "1"), "count of a string")
        if len(texts) + count > min(MOST_TEXTS, math.prod(shape)):
            raise FaultError(f"it has more strings than the {math.prod(shape)} of its shape")
        texts += [text] * count
    return {"": in_memory(texts, "|O", shape)}


def inflated(data: bytes, length: int) -> bytes:
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
    """Return the records of a `specialstructuredata`: packed members, and texts as base64 before a `;`.

    Raises FaultError.
    """
    data, count = unbase64(text, "specialstructuredata"), math.prod(shape)
    if count > len(data):
        raise FaultError(f"it has {len(data)} bytes for {count} records")
    columns: dict[str, list[Any]] = {}
    at = 0
    for _ in range(count):
        at = _record(data, at, type_name, types, "", columns)
    if at != len(data):
        raise FaultError(f"its records have {at} bytes, but the document contains {len(data)}")
    return {part.path: _array(part, columns.get(part.path, []), types) for part in parts(type_name, shape, types)}


def _record(data: bytes, at: int, type_name: str, types: Types, path: str, columns: dict[str, list[Any]]) -> int:
    """Read one value of a type and return its end."""
    declared = types.get(type_name)
    if type_name == "string":
        end = data.find(b";", at)
        if end < 0:
            raise FaultError("a string of its records has no end")
        columns.setdefault(path, []).append(unbase64(data[at:end].decode("latin-1"), "specialstructuredata"))
        return end + 1
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        for field in declared.fields:
            for _ in range(math.prod(field.shape)):
                inner = f"{path}/{escape(field.name)}" if path else escape(field.name)
                at = _record(data, at, field.type, types, inner, columns)
        return at
    end = at + size(type_name, types)
    if end > len(data):
        raise FaultError("its records end too early")
    columns.setdefault(path, []).append(data[at:end])
    return end


def _array(part: Part, values: list[Any], types: Types) -> ArrayInMemory:
    """Return the array of one part of records."""
    shape = tuple(length or 0 for length in part.shape)
    if part.type == "string":
        return in_memory(values, "|O", shape)
    dtype = descr(part.type, types)
    return ArrayInMemory(
        Layout(dtype, shape, shape), np.frombuffer(b"".join(values), numpy_dtype(dtype)).reshape(shape)
    )
