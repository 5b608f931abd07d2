"""A store in N5 as the Zarr v3 store that it stands for.

    attributes.json ── zarr.json    dimensions, and keys of blocks: the other way round

In N5 the first dimension changes fastest, in Zarr the last one. A folder without
attributes is a group.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.plugins.n5.block import DECODERS
from nczarr.stores.base import Store
from nczarr.stores.overlay import DerivedStore

ATTRIBUTES = "attributes.json"

TYPES = frozenset(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)) | {"float32", "float64"}
"""Types of N5, which have the same names in Zarr v3."""

OF_ARRAYS = frozenset(("dimensions", "blockSize", "dataType", "compression", "compressionType"))
"""Attributes that describe an array."""

DOCUMENT = "zarr.json"


def holds(store: Store) -> bool:
    """Return whether the root is one of N5: it states the version, or describes an array. Raises OSError."""
    if store.lacks(ATTRIBUTES):
        return False
    attributes = read_attributes(store, "") or {}
    return "n5" in attributes or attributes.keys() >= {"dimensions", "blockSize", "dataType"}


def opens(source: Source | Store, report: Report, options: Options) -> Store | None:
    """Return the store of Zarr that a store of N5 stands for. Raises OSError."""
    assert not isinstance(source, Source)
    return N5Store(source)


def read_attributes(store: Store, prefix: str) -> dict[str, Any] | None:
    """Return the attributes of a folder, `""` or with a final slash; None for a damaged document. Raises OSError."""
    data = store.get(prefix + ATTRIBUTES)
    try:
        document = {} if data is None else json.loads(data)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def is_array(attributes: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Return whether attributes describe an array that can be read."""
    lengths, block = (attributes.get(name) if attributes else None for name in ("dimensions", "blockSize"))
    return (
        isinstance(lengths, list)
        and isinstance(block, list)
        and len(lengths) == len(block) > 0
        and all(isinstance(length, int) for length in (*lengths, *block))
    )


class N5Store(DerivedStore):
    """The documents and chunks of Zarr v3 that stand for those of N5."""

    def __init__(self, base: Store) -> None:
        super().__init__(base)
        self._attributes: dict[str, dict[str, Any] | None] = {}

    def _read(self, prefix: str) -> dict[str, Any] | None:
        """Return the attributes of a folder, which are kept; None for a damaged document."""
        if prefix not in self._attributes:
            self._attributes[prefix] = read_attributes(self.base, prefix)
        return self._attributes[prefix]

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError."""
        folder, slash, name = key.rpartition("/")
        if name != DOCUMENT:
            return self.base.get(place) if (place := self._find_block(key)) is not None else None
        prefix = folder + slash
        attributes = self._read(prefix)
        if attributes is None:
            return self.base.get(prefix + ATTRIBUTES)  # its reader reports what is wrong
        if is_array(attributes):
            return json.dumps(make_array(attributes)).encode()
        if prefix and not self.base.children(prefix):
            return None
        others = {name: value for name, value in attributes.items() if name != "n5"}
        return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": others}).encode()

    def find_document(self, key: str) -> str:
        """Return the key of the document behind one of Zarr."""
        folder, slash, name = key.rpartition("/")
        return f"{folder}{slash}{ATTRIBUTES}" if name == DOCUMENT else key

    def _find_block(self, key: str) -> str | None:
        """Return the key of a block by that of a chunk; None for other keys."""
        parts = key.split("/")
        for count in range(1, len(parts) + 1):
            if not parts[-count].isdecimal():
                return None
            prefix = "".join(f"{part}/" for part in parts[:-count])
            attributes = self._read(prefix)
            if is_array(attributes) and len(attributes["dimensions"]) == count:
                return prefix + "/".join(reversed(parts[-count:]))
        return None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        start = prefix[: prefix.rfind("/") + 1]
        while start and self._is_in_array(start):  # blocks of one chunk row are in many folders
            start = start[: start.rstrip("/").rfind("/") + 1]
        found = (each for key in self.base.keys(start) for each in self._list_keys(key))
        return iter(sorted(key for key in found if key.startswith(prefix)))

    def _is_in_array(self, prefix: str) -> bool:
        """Return whether a folder is below one of an array."""
        parts = prefix.rstrip("/").split("/")
        return any(is_array(self._read("".join(f"{part}/" for part in parts[:end]))) for end in range(len(parts)))

    def _list_keys(self, key: str) -> Iterator[str]:
        """Yield the keys of Zarr that a key of N5 stands for."""
        folder, slash, name = key.rpartition("/")
        if name == ATTRIBUTES:
            yield folder + slash + DOCUMENT
        elif name.isdecimal() and (block := self._find_block(key)) is not None:  # turning round twice is nothing
            yield block

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the names of members, and those of links."""
        if is_array(self._read(prefix)):
            return [], []
        names, links = self.base.entries(prefix)
        return [name for name in names if name != ATTRIBUTES], links

    def expect(self, keys: Iterable[str]) -> None:
        """Prepare to read these documents."""
        self.base.expect({key.removesuffix(DOCUMENT) + ATTRIBUTES for key in keys if key.endswith(DOCUMENT)})

    def check_chunk(self, key: str, decoded: int | None) -> None:
        """Check the declared length of a chunk."""
        if (place := self._find_block(key)) is not None:
            self.base.check_chunk(place, None)

    def find_size(self, key: str) -> int | None:
        """Return the size of a block from a listing."""
        place = self._find_block(key)
        return None if place is None else self.base.find_size(place)


def make_array(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the document of Zarr v3 of an array; `axes` of N5's users name its dimensions."""
    compression = attributes.get("compression", attributes.get("compressionType", "raw"))
    if isinstance(compression, str):  # before N5 1.1
        compression = {"type": compression}
    kind = str(compression.get("type") if isinstance(compression, dict) else compression)
    dtype = str(attributes.get("dataType"))
    block, axes = attributes["blockSize"][::-1], attributes.get("axes", ())
    order = {"endian": "big"} if dtype not in ("int8", "uint8") else {}
    name = "n5_block" if kind in DECODERS else f"n5 {kind}"
    codec = {"name": name, "configuration": {"block": block, "compression": compression}}
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": attributes["dimensions"][::-1],
        "data_type": dtype if dtype in TYPES else f"n5 {dtype}",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": block}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
        "fill_value": 0,  # of blocks that are missing
        "codecs": [{"name": "bytes", "configuration": order}, codec],
        "attributes": {name: value for name, value in attributes.items() if name not in OF_ARRAYS and name != "n5"},
    }
    is_named = isinstance(axes, list) and all(isinstance(axis, str) and axis for axis in axes)
    if is_named and len(set(axes)) == len(axes) == len(block):
        document["dimension_names"] = axes[::-1]
    return document
