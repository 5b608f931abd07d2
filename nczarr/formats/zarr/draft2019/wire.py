"""Documents of the draft: members in writing order, and validation.

::

    {"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "shape": [10000, 1000], "data_type": "<f8",
     "chunk_grid": {"type": "regular", "chunk_shape": [1000, 100]}, "chunk_memory_layout": "C",
     "chunk_codecs": [{"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}], "fill_value": "NaN",
     "extensions": [], "attributes": {"foo": 42}}

Source: the draft, "Metadata". Only `faults` validates; readers rely on it.
Documents are indented JSON in raw UTF-8, without a final newline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from nczarr.arrays.values.elements import halves
from nczarr.formats.zarr.core.array_metadata import lengths, sensible
from nczarr.formats.zarr.core.fill_values import FAULTS, Json
from nczarr.formats.zarr.draft2019 import dtypes
from nczarr.formats.zarr.draft2019.keys import Kind
from nczarr.formats.zarr.draft2019.protocol_extension import URI
from nczarr.stores.memory import pretty
from nczarr.syntax.json.positions import pointer

FORMAT = "http://purl.org/zarr/spec/protocol/core/3.0"
GROUP = ("zarr_format", "extensions", "attributes")
ARRAY = ("zarr_format", "shape", "data_type", "chunk_grid", "chunk_memory_layout", "chunk_codecs", "fill_value",
         "extensions", "attributes")  # fmt: skip
MEMBERS: dict[Kind, tuple[str, ...]] = {"array": ARRAY, "group": GROUP}
TEXT_LAYOUTS = ("vlen-utf8", "vlen-bytes")
"""Memory layouts of the extension: texts after their lengths, without C or F order."""

_VERSION = re.compile(r"http://purl\.org/zarr/spec/protocol/core/(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'*()+,;=%]+")

Weight = Literal["refused", "lost", "warning", "note"]
"""Effect of a fault: nothing is read; the node is lost; a warning; a note."""


class DocumentFault(NamedTuple):
    """One fault of a document."""

    weight: Weight
    """Consequence of the fault."""
    code: str
    """Diagnostic code."""
    where: str
    """JSON pointer."""
    message: str
    """Message of the diagnostic."""


def encode(document: Json) -> bytes:
    """Encode a document. Bytes of texts that were invalid UTF-8 are written unchanged."""
    return pretty(document).encode("utf-8", "surrogateescape")


def group_document(attributes: Json, extensions: list[Json]) -> Json:
    """Return the document of a group."""
    return {"zarr_format": FORMAT, "extensions": extensions, "attributes": attributes}


def faults(document: Any, kind: Kind) -> Iterator[DocumentFault]:
    """Yield all faults of a group or array document."""
    if not isinstance(document, dict):
        yield _bad("", "the document is not a JSON object")
        return
    if "zarr_format" in document:
        version = _VERSION.fullmatch(str(document["zarr_format"]))
        if version is None or not isinstance(document["zarr_format"], str):
            yield _bad("/zarr_format", f"`zarr_format` is not the URI `{FORMAT}` of the protocol")
            return
        if version[1] != "3":
            yield _bad("/zarr_format", f"the protocol has major version {version[1]}, not 3")
            return
        if version[2] == "0":
            for name in sorted(document.keys() - set(MEMBERS[kind])):
                text = f"member `{name}` is not part of the protocol and is not read"
                yield DocumentFault("warning", "foreign-member", pointer(name), text)
    for name in MEMBERS[kind]:
        if name not in document:
            yield _bad("", f"member `{name}` is missing")
    if not isinstance(document.get("attributes", {}), dict):
        yield _bad("/attributes", "`attributes` is not an object")
    yield from _extensions(document.get("extensions", []))
    if kind == "array" and all(name in document for name in ARRAY):
        yield from _array(document)


def _bad(where: str, message: str) -> DocumentFault:
    return DocumentFault("lost", "bad-metadata", where, message)


def _unknown(where: str, message: str) -> DocumentFault:
    return DocumentFault("lost", "unreadable-array", where, message)


def _extensions(extensions: Any) -> Iterator[DocumentFault]:
    if not isinstance(extensions, list):
        yield _bad("/extensions", "`extensions` is not a list")
        return
    ours = 0
    for number, extension in enumerate(extensions):
        where = pointer("extensions", number)
        if not isinstance(extension, dict):
            yield _bad(where, "an extension is not an object")
            continue
        ours += extension.get("extension") == URI
        if ours > 1 and extension.get("extension") == URI:
            yield DocumentFault("warning", "stale-extension", where, f"`{URI}` occurs twice: the first one is used")
        yield from _uri(extension, "extension", where)
        must = extension.get("must_understand")
        if not isinstance(must, bool):
            problem = "is neither true nor false" if "must_understand" in extension else "is missing"
            yield _bad(_inside(extension, where, "must_understand"), f"`must_understand` of an extension {problem}")
        elif must and extension.get("extension") != URI:
            text = f"the extension `{extension.get('extension')}` must be understood but is unknown"
            yield DocumentFault("refused", "foreign-extension", where, text)


def _inside(members: Json, where: str, name: str) -> str:
    """Return the pointer of a member, or of its object if the member is missing."""
    return where + pointer(name) if name in members else where


def _uri(members: Json, name: str, where: str) -> Iterator[DocumentFault]:
    value = members.get(name)
    if name not in members:
        yield _bad(where, f"`{name}`, a URI, is missing")
    elif not isinstance(value, str) or _URI.fullmatch(value) is None:
        yield _bad(where + pointer(name), f"`{name}` is not a URI")


def _array(document: Json) -> Iterator[DocumentFault]:
    """Yield the faults of members specific to arrays."""
    shape = lengths(document["shape"])
    if shape is None:
        yield _bad("/shape", "`shape` is not a list of integers of at least 0")
    elif not sensible(shape):
        yield _unknown("/shape", "the array has too many elements")
        shape = None
    yield from _grid(document["chunk_grid"], None if shape is None else len(shape))
    yield from _codecs(document["chunk_codecs"])
    latest = None
    for fault in _data_type(document["data_type"]):
        yield fault
        latest = fault
    if latest is None or latest.weight == "warning":
        used = used_type(document["data_type"])
        yield from _layout(document["chunk_memory_layout"], used)
        yield from _fill(document["fill_value"], used)


def used_type(data_type: Any) -> Any:
    """Return the data type for reading: the fallback of an unknown extension."""
    return data_type["fallback"] if isinstance(data_type, dict) and data_type.get("extension") != URI else data_type


def _data_type(data_type: Any) -> Iterator[DocumentFault]:
    where = "/data_type"
    if isinstance(data_type, str):
        if data_type not in dtypes.CORE:
            yield _bad(where, f"`{data_type}` is not a data type of the protocol")
        return
    faults = list(_point(data_type, where, "the data type"))
    yield from faults
    if faults:
        return
    fallback = data_type.get("fallback")
    if "fallback" in data_type and not (isinstance(fallback, str) and fallback in dtypes.CORE):
        yield _bad("/data_type/fallback", "`fallback` is not a data type of the protocol")
    elif data_type["extension"] != URI and fallback is None:
        yield _unknown(where, f"the data type is one of the extension `{data_type['extension']}`, which is unknown")
    elif data_type["extension"] != URI:
        text = f"the extension `{data_type['extension']}` is unknown: elements are read as `{fallback}`"
        yield DocumentFault("warning", "fallback-type", where, text)
    else:
        try:
            dtypes.descr(data_type)
        except FAULTS as fault:
            yield _unknown(where, f"the data type cannot be read: {fault}")


def _point(point: Any, where: str, what: str) -> Iterator[DocumentFault]:
    """Yield the faults of an extension point: it needs `extension` and `type`."""
    if not isinstance(point, dict):
        yield _bad(where, f"{what} is neither one of the protocol nor an object of an extension")
        return
    yield from _uri(point, "extension", where)
    if "type" not in point:
        yield _bad(where, f"`type` of {what} is missing")


def _grid(grid: Any, rank: int | None) -> Iterator[DocumentFault]:
    where = "/chunk_grid"
    if not isinstance(grid, dict) or ("extension" not in grid and grid.get("type") != "regular"):
        yield _bad(_inside(grid, where, "type") if isinstance(grid, dict) else where, "the grid is not regular")
        return
    if "extension" in grid:
        faults = list(_point(grid, where, "the grid"))
        yield from faults
        if not faults:
            yield _unknown(where, f"the grid is one of the extension `{grid['extension']}`, which is unknown")
        return
    for name in sorted(grid.keys() - {"type", "chunk_shape", "separator"}):
        yield DocumentFault(
            "warning", "foreign-member", where + pointer(name), f"member `{name}` of the grid is not read"
        )
    chunks = lengths(grid.get("chunk_shape"), least=1)
    place = _inside(grid, where, "chunk_shape")
    if chunks is None:
        yield _bad(place, "`chunk_shape` is not a list of positive integers")
    elif rank is not None and len(chunks) != rank:
        yield _bad(place, f"`chunk_shape` has {len(chunks)} lengths, but the array has {rank} dimensions")
    if grid.get("separator", ".") not in (".", "/"):
        yield _bad(where + pointer("separator"), "`separator` is neither `.` nor `/`")


def _layout(layout: Any, used: Any) -> Iterator[DocumentFault]:
    where, fixed = "/chunk_memory_layout", dtypes.descr(used) != "|O"
    if layout in ("C", "F"):
        if not fixed:
            yield _bad(where, "C and F order are only for data types of fixed size")
        return
    faults = list(_point(layout, where, "the memory layout"))
    yield from faults
    if not faults and (layout["extension"] != URI or layout["type"] not in TEXT_LAYOUTS):
        yield _unknown(where, f"the memory layout is one of the extension `{layout['extension']}`, which is unknown")
    elif not faults and fixed:
        yield _bad(where, "the memory layout is only for strings")


def _codecs(codecs: Any) -> Iterator[DocumentFault]:
    if not isinstance(codecs, list):
        yield _bad("/chunk_codecs", "`chunk_codecs` is not a list")
        return
    for number, codec in enumerate(codecs):
        where = pointer("chunk_codecs", number)
        if isinstance(codec, dict):
            yield from _uri(codec, "codec", where)
        else:
            yield _bad(where, "a codec is not an object")


def _fill(fill: Any, used: Any) -> Iterator[DocumentFault]:
    where = "/fill_value"
    if fill is None:
        yield DocumentFault(
            "note", "undefined-fill", where, "the fill value is undefined: missing chunks are read as zeros"
        )
        return
    try:
        dtypes.fill_bytes(used, fill)
    except FAULTS as fault:
        dtype = dtypes.descr(used)
        requirement = _WANTED.get(dtype[1], "of its type") if isinstance(dtype, str) else "of its type"
        if isinstance(dtype, str) and dtype[1] == "c":
            requirement = requirement.format(halves(dtype)[0])
        yield _bad(where, f"the fill value is not a value of the data type: {requirement} ({fault})")


_WANTED = {
    "b": "true or false",
    "i": "an integer within its range, without fraction and exponent",
    "u": "an integer within its range, without fraction and exponent",
    "f": "a number within its range, `NaN`, `Infinity` or `-Infinity`",
    "c": "a list of two numbers `{}`, `NaN`, `Infinity` or `-Infinity`",
    "S": "the number of a byte",
}
"""Descriptions of valid fill values, by NumPy kind."""
