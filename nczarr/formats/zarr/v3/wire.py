"""The one document of Zarr v3, `zarr.json`, of arrays and of groups; consolidated metadata inside the root's.

Source: the Zarr v3 core specification; consolidated metadata as zarr-python writes them.
Documents are bytes: one line of JSON, raw UTF-8, no final newline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.source import Layout
from nczarr.formats.zarr.v3 import codecs, dtypes

Json = dict[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


def encode(document: Any) -> bytes:
    """A JSON document in bytes. A byte of a name that was no UTF-8 in its source comes out as it was."""
    return _ENCODER.encode(document).encode("utf-8", "surrogateescape")


class ArrayDocument(NamedTuple):
    """`zarr.json` of an array.

    ::

        {"zarr_format": 3, "node_type": "array", "shape": [4, 3], "data_type": "float32",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
         "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "NaN",
         "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
         "attributes": {"units": "K"}, "dimension_names": ["y", "x"]}

    `chunk_shape` is that of a key: of a shard, where there are any. `storage_transformers`, of which there are none
    yet, are left out.
    """

    shape: tuple[int, ...]
    data_type: str | Json
    chunk_shape: tuple[int, ...]
    fill_value: Any
    codecs: list[Json]
    attributes: Json
    dimension_names: Sequence[str]

    def to_json(self) -> bytes:
        """The document."""
        return encode(
            {
                "zarr_format": 3,
                "node_type": "array",
                "shape": self.shape,
                "data_type": self.data_type,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk_shape}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": self.fill_value,
                "codecs": self.codecs,
                "attributes": self.attributes,
                "dimension_names": self.dimension_names,
            }
        )


def array_document(layout: Layout, dimensions: Sequence[str], attributes: Json, *, utf8: bool = True) -> ArrayDocument:
    """The document of an array laid out so. Texts that are not all UTF-8 have type `bytes`."""
    sharded = layout.shards is not None
    return ArrayDocument(
        layout.shape,
        dtypes.data_type(layout.dtype, utf8=utf8),
        layout.shards or layout.chunks,
        dtypes.fill_value(layout.dtype, layout.fill, utf8=utf8),
        codecs.chain(layout.dtype, layout.codecs, layout.chunks if sharded else None, utf8=utf8),
        attributes,
        dimensions,
    )


def group_document(attributes: Json) -> bytes:
    """`zarr.json` of a group."""
    return encode({"zarr_format": 3, "node_type": "group", "attributes": attributes})


def consolidated(root: bytes, documents: Iterable[tuple[str, bytes]]) -> bytes:
    """The root's document with those of all other nodes by their paths: their bytes go in as they are."""
    members = b", ".join(encode(path) + b": " + document for path, document in documents)
    head = root.removesuffix(b"}") + b', "consolidated_metadata": {"kind": "inline", "must_understand": false, '
    return head + b'"metadata": {' + members + b"}}}"
