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
from typing import Any, Literal, NamedTuple

from nczarr.formats.zarr.core.array_metadata import lengths, sensible
from nczarr.formats.zarr.core.fill_values import FAULTS, Json
from nczarr.formats.zarr.core.reader import BadDocumentError
from nczarr.formats.zarr.v3.frontend import read_rectilinear
from nczarr.plugins.zarr_drafts import dtypes
from nczarr.plugins.zarr_drafts.keys import Kind
from nczarr.plugins.zarr_drafts.protocol_extension import URI
from nczarr.stores.memory import pretty
from nczarr.syntax.json.positions import pointer

FORMAT = "http://purl.org/zarr/spec/protocol/core/3.0"
GROUP = ("zarr_format", "extensions", "attributes")
ARRAY = ("zarr_format", "shape", "data_type", "chunk_grid", "chunk_memory_layout", "chunk_codecs", "fill_value",
         "extensions", "attributes")  # fmt: skip
MEMBERS: dict[Kind, tuple[str, ...]] = {"array": ARRAY, "group": GROUP}
TEXT_LAYOUTS = ("vlen-utf8", "vlen-bytes")
"""Memory layouts of the extension: texts after their lengths, without C or F order."""

# the draft: the version is the last segment, major and minor
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


def faults(document: Any, kind: Kind) -> list[DocumentFault]:
    """Return all faults of a group or array document."""
    return _Document(document, kind).faults


def find_used_type(data_type: Any) -> Any:
    """Return the data type for reading: the fallback of an unknown extension."""
    return data_type["fallback"] if isinstance(data_type, dict) and data_type.get("extension") != URI else data_type


def read_chunks(grid: Json, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunk lengths of a grid: regular, or `rectilinear` of our extension. Raises BadDocumentError."""
    if "extension" in grid:
        return read_rectilinear({"kind": "inline", "chunk_shapes": grid.get("chunk_shapes")}, shape)
    return tuple(grid["chunk_shape"])


class _Document:
    """Validation of one document. Checks return whether what they look at is right."""

    def __init__(self, document: Any, kind: Kind) -> None:
        self.faults: list[DocumentFault] = []
        if not isinstance(document, dict):
            self._bad("", "the document is not a JSON object")
        elif "zarr_format" not in document or self._is_version(document, kind):
            for name in MEMBERS[kind]:
                if name not in document:
                    self._bad("", f"member `{name}` is missing")
            if not isinstance(document.get("attributes", {}), dict):
                self._bad("/attributes", "`attributes` is not an object")
            self._check_extensions(document.get("extensions", []))
            if kind == "array" and all(name in document for name in ARRAY):
                self._check_array(document)

    def _add(self, code: str, weight: Weight, where: str, message: str) -> bool:
        self.faults.append(DocumentFault(weight, code, where, message))
        return False

    def _bad(self, where: str, message: str) -> bool:
        return self._add("bad-metadata", "lost", where, message)

    def _unknown(self, where: str, message: str) -> bool:
        return self._add("unreadable-array", "lost", where, message)

    def _is_version(self, document: Json, kind: Kind) -> bool:
        """Return whether the document is of version 3; warn of members that version 3.0 does not have."""
        written = document["zarr_format"]
        version = _VERSION.fullmatch(written) if isinstance(written, str) else None
        if version is None:
            return self._bad("/zarr_format", f"`zarr_format` is not the URI `{FORMAT}` of the protocol")
        if version[1] != "3":
            return self._bad("/zarr_format", f"the protocol has major version {version[1]}, not 3")
        # the draft: readers ignore unknown members of later minor versions
        for name in sorted(document.keys() - set(MEMBERS[kind])) if version[2] == "0" else ():
            text = f"member `{name}` is not part of the protocol and is not read"
            self._add("foreign-member", "warning", pointer(name), text)
        return True

    def _check_extensions(self, extensions: Any) -> None:
        if not isinstance(extensions, list):
            self._bad("/extensions", "`extensions` is not a list")
            return
        ours = 0
        for number, extension in enumerate(extensions):
            where = pointer("extensions", number)
            if not isinstance(extension, dict):
                self._bad(where, "an extension is not an object")
                continue
            is_ours = extension.get("extension") == URI
            ours += is_ours
            if ours > 1 and is_ours:
                self._add("stale-extension", "warning", where, f"`{URI}` occurs twice: the first one is used")
            self._is_uri(extension, "extension", where)
            must = extension.get("must_understand")
            if not isinstance(must, bool):  # the draft: a literal true or false
                problem = "is neither true nor false" if "must_understand" in extension else "is missing"
                place = _inside(extension, where, "must_understand")
                self._bad(place, f"`must_understand` of an extension {problem}")
            elif must and not is_ours:  # the draft: stop where an unknown one must be understood
                text = f"the extension `{extension.get('extension')}` must be understood but is unknown"
                self._add("foreign-extension", "refused", where, text)

    def _is_uri(self, members: Json, name: str, where: str) -> bool:
        value = members.get(name)
        if name not in members:
            return self._bad(where, f"`{name}`, a URI, is missing")
        if not isinstance(value, str) or _URI.fullmatch(value) is None:
            return self._bad(where + pointer(name), f"`{name}` is not a URI")
        return True

    def _is_point(self, point: Any, where: str, what: str) -> bool:
        """Check an extension point: it needs `extension` and `type`."""
        if not isinstance(point, dict):
            return self._bad(where, f"{what} is neither one of the protocol nor an object of an extension")
        is_named = self._is_uri(point, "extension", where)
        return is_named if "type" in point else self._bad(where, f"`type` of {what} is missing")

    # ---- members of arrays -----------------------------------------------------------------------------------------
    def _check_array(self, document: Json) -> None:
        shape = lengths(document["shape"])
        if shape is None:
            self._bad("/shape", "`shape` is not a list of integers of at least 0")
        elif not sensible(shape):
            self._unknown("/shape", "the array has too many elements")
            shape = None
        self._check_grid(document["chunk_grid"], shape)
        self._check_codecs(document["chunk_codecs"])
        if self._is_type(document["data_type"]):
            used = find_used_type(document["data_type"])
            self._check_layout(document["chunk_memory_layout"], used)
            self._check_fill(document["fill_value"], used)

    def _is_type(self, data_type: Any) -> bool:
        where = "/data_type"
        if isinstance(data_type, str):
            is_core = data_type in dtypes.CORE
            return is_core or self._bad(where, f"`{data_type}` is not a data type of the protocol")
        if not self._is_point(data_type, where, "the data type"):
            return False
        fallback, uri = data_type.get("fallback"), data_type["extension"]
        if "fallback" in data_type and not (isinstance(fallback, str) and fallback in dtypes.CORE):
            return self._bad("/data_type/fallback", "`fallback` is not a data type of the protocol")
        if uri != URI and fallback is None:  # the draft allows to take the fallback
            return self._unknown(where, f"the data type is one of the extension `{uri}`, which is unknown")
        if uri != URI:
            text = f"the extension `{uri}` is unknown: elements are read as `{fallback}`"
            self._add("fallback-type", "warning", where, text)
            return True
        try:
            dtypes.descr(data_type)
        except FAULTS as fault:
            return self._unknown(where, f"the data type cannot be read: {fault}")
        return True

    def _check_grid(self, grid: Any, shape: tuple[int, ...] | None) -> None:
        where, rank = "/chunk_grid", None if shape is None else len(shape)
        # the draft: regular, or an object of an extension
        if not isinstance(grid, dict) or ("extension" not in grid and grid.get("type") != "regular"):
            self._bad(_inside(grid, where, "type") if isinstance(grid, dict) else where, "the grid is not regular")
            return
        if "extension" in grid and not self._is_point(grid, where, "the grid"):
            return
        if "extension" in grid and (grid["extension"] != URI or grid["type"] != "rectilinear"):
            self._unknown(where, f"the grid is one of the extension `{grid['extension']}`, which is unknown")
            return
        if grid.get("separator", ".") not in (".", "/"):  # `.` is the draft's default
            self._bad(where + pointer("separator"), "`separator` is neither `.` nor `/`")
        if "extension" in grid:
            try:
                read_chunks(grid, shape or ())
            except BadDocumentError as fault:
                self._add(fault.code, "lost", where, str(fault))
            return
        for name in sorted(grid.keys() - {"type", "chunk_shape", "separator"}):
            text = f"member `{name}` of the grid is not read"
            self._add("foreign-member", "warning", where + pointer(name), text)
        chunks = lengths(grid.get("chunk_shape"), least=1)
        place = _inside(grid, where, "chunk_shape")
        if chunks is None:
            self._bad(place, "`chunk_shape` is not a list of positive integers")
        elif rank is not None and len(chunks) != rank:
            self._bad(place, f"`chunk_shape` has {len(chunks)} lengths, but the array has {rank} dimensions")

    def _check_layout(self, layout: Any, used: Any) -> None:
        where, fixed = "/chunk_memory_layout", dtypes.descr(used) != "|O"
        if layout in ("C", "F"):
            if not fixed:
                self._bad(where, "C and F order are only for data types of fixed size")
        elif self._is_point(layout, where, "the memory layout"):
            if layout["extension"] != URI or layout["type"] not in TEXT_LAYOUTS:
                text = f"the memory layout is one of the extension `{layout['extension']}`, which is unknown"
                self._unknown(where, text)
            elif fixed:
                self._bad(where, "the memory layout is only for strings")

    def _check_codecs(self, codecs: Any) -> None:
        if not isinstance(codecs, list):
            self._bad("/chunk_codecs", "`chunk_codecs` is not a list")
            return
        for number, codec in enumerate(codecs):
            where = pointer("chunk_codecs", number)
            if isinstance(codec, dict):
                self._is_uri(codec, "codec", where)
            else:
                self._bad(where, "a codec is not an object")

    def _check_fill(self, fill: Any, used: Any) -> None:
        where = "/fill_value"
        if fill is None:
            text = "the fill value is undefined: missing chunks are read as zeros"
            self._add("undefined-fill", "note", where, text)
            return
        try:
            dtypes.fill_bytes(used, fill)
        except FAULTS as fault:
            dtype = dtypes.descr(used)
            expected = _VALUES.get(dtype[1], "of its type") if isinstance(dtype, str) else "of its type"
            self._bad(where, f"the fill value is not a value of the data type: {expected} ({fault})")


def _inside(members: Json, where: str, name: str) -> str:
    """Return the pointer of a member, or of its object if the member is missing."""
    return where + pointer(name) if name in members else where


_VALUES = {
    "b": "true or false",
    "i": "an integer within its range, without fraction and exponent",
    "u": "an integer within its range, without fraction and exponent",
    "f": "a number within its range, `NaN`, `Infinity` or `-Infinity`",
    "c": "a list of two numbers, `NaN`, `Infinity` or `-Infinity`",
    "S": "the number of a byte",
}
"""Descriptions of valid fill values, by NumPy kind."""
