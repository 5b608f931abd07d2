"""Documents and stores of the draft of 2019, for its tests."""

from __future__ import annotations

import json
import re
from typing import Any

from nczarr import zarr3_2019
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import CompileError, Diagnostic
from nczarr.plugins.zarr_drafts.api import MemoryKeys

FORMAT = "http://purl.org/zarr/spec/protocol/core/3.0"
GZIP = {"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}
URI = "urn:nczarr:extension:netcdf:1"

GROUP_EXAMPLE = """{
    "zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0",
\t"extensions": [],
\t"attributes": {
\t    "spam": "ham",
\t    "eggs": 42,
\t}
}"""
"""The draft's own group, as it stands, trailing comma and tabs included."""

ARRAY_EXAMPLE = """{
    "zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0",
    "shape": [10000, 1000],
    "data_type": "<f8",
    "chunk_grid": {
        "type": "regular",
        "chunk_shape": [1000, 100]
    },
    "chunk_memory_layout": "C",
    "chunk_codecs": [
        {
            "codec": "http://purl.org/zarr/spec/codec/gzip",
            "level": 1
        }
    ],
    "fill_value": "NaN",
    "extensions": [],
    "attributes": {
        "foo": 42,
        "bar": "apples",
        "baz": [1, 2, 3, 4]
    }
}"""
"""The draft's own array."""


def group(**members: Any) -> dict[str, Any]:
    """A group's document; `...` leaves a member out."""
    return _given({"zarr_format": FORMAT, "extensions": [], "attributes": {}, **members})


def array(**members: Any) -> dict[str, Any]:
    """The document of an array of 2 × 3 integers in chunks of 2 × 2; `...` leaves a member out."""
    return _given(
        {
            "zarr_format": FORMAT,
            "shape": [2, 3],
            "data_type": "<i4",
            "chunk_grid": {"type": "regular", "chunk_shape": [2, 2]},
            "chunk_memory_layout": "C",
            "chunk_codecs": [],
            "fill_value": 0,
            "extensions": [],
            "attributes": {},
            **members,
        }
    )


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not ...}


def content(**nodes: Any) -> dict[str, bytes]:
    """Documents by key, from documents by path: `foo__bar` is `/foo/bar`, `_` the root; texts and bytes stay."""
    found = {}
    for name, document in nodes.items():
        path = "/" if name == "_" else "/" + name.replace("__", "/")
        kind = "array" if isinstance(document, dict) and "shape" in document else "group"
        key = zarr3_2019.array_key(path) if kind == "array" else zarr3_2019.group_key(path)
        found[key] = json.dumps(document).encode() if isinstance(document, dict) else document
    return found


def opened(stored: dict[str, bytes]) -> DatasetHandle:
    """The dataset of a store; what cannot be read is left out."""
    return zarr3_2019.read(MemoryKeys(dict(stored)))


def found_in(stored: dict[str, bytes]) -> list[Diagnostic]:
    """What is said of a store where nothing may be left out."""
    try:
        return list(zarr3_2019.read(MemoryKeys(dict(stored)), allow_loss=()).diagnostics)
    except CompileError as error:
        return error.diagnostics


def said(stored: dict[str, bytes]) -> list[tuple[str, str, str | None, str | None]]:
    """Severity, code, key and pointer of what is said of a store."""
    return [(str(each.severity), each.code, each.primary.key, each.primary.pointer) for each in found_in(stored)]


def places(stored: dict[str, bytes]) -> list[tuple[int, int]]:
    """Line and column of what is said of a store."""
    found = []
    for each in found_in(stored):
        span = each.primary.span
        assert span.source is not None
        found.append(span.source.position(span.start))
    return found


def repaired(text: str) -> bytes:
    """A document without a comma before a closing bracket."""
    return re.sub(r",(\s*[}\]])", r"\1", text).encode()


class Required:
    """A store that offers what is required, and no list."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content = content

    def get(self, key: str) -> bytes | None:
        return self.content.get(key)

    def set(self, key: str, value: bytes) -> None:
        self.content[key] = value

    def delete(self, key: str) -> None:
        self.content.pop(key, None)


class WithList(Required):
    """A store that offers `list` beside it."""

    def list(self) -> list[str]:
        return list(self.content)


class WithAll(WithList):
    """A store that offers everything."""

    def listpre(self, prefix: str) -> set[str]:
        return {key for key in self.content if key.startswith(prefix)}

    def listdir(self, prefix: str) -> tuple[set[str], set[str]]:
        inside = self.listpre(prefix)
        deep = {key for key in inside if "/" in key[len(prefix) :]}
        return inside - deep, {prefix + key[len(prefix) :].split("/")[0] + "/" for key in deep}
