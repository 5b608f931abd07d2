"""The documents of Zarr v2: `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`.

Source: the Zarr v2 specification; order of members as the netCDF library writes it (nczarr-storage §3).
Documents are bytes: one line of JSON, raw UTF-8, no final newline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from nczarr.arrays.codecs import Config, to_configs
from nczarr.arrays.source import Layout
from nczarr.formats.zarr.v2 import dtypes

GROUP = b'{"zarr_format": 2}'
"""The whole of `.zgroup`."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


def encode(document: Any) -> bytes:
    """A JSON document in bytes. A byte of a name that was no UTF-8 in its source comes out as it was."""
    return _ENCODER.encode(document).encode("utf-8", "surrogateescape")


class ArrayDocument(NamedTuple):
    """The document `.zarray`.

    ::

        {"zarr_format": 2, "shape": [4, 3], "dtype": "<f4", "chunks": [4, 3], "fill_value": "NaN", "order": "C",
         "compressor": {"id": "zlib", "level": 5}, "filters": [{"id": "shuffle", "elementsize": 4}]}

    `filters` is null where there is none: the netCDF library crashes on an empty list.
    """

    shape: tuple[int, ...]
    dtype: str | list[list[str]]
    chunks: tuple[int, ...]
    fill_value: Any
    compressor: Config | None
    filters: list[Config] | None

    def to_json(self) -> bytes:
        """The document."""
        return encode(
            {
                "zarr_format": 2,
                "shape": self.shape,
                "dtype": self.dtype,
                "chunks": self.chunks,
                "fill_value": self.fill_value,
                "order": "C",
                "compressor": self.compressor,
                "filters": self.filters,
            }
        )


def array_document(layout: Layout, *, utf8: bool = True, scalar_shape: tuple[int, ...] = ()) -> ArrayDocument:
    """The document of an array laid out so. A scalar gets `scalar_shape`, for readers that drop `[]`.

    The last codec is the compressor, all before are filters. Texts that are not all UTF-8 go through `vlen-bytes`,
    which encodes as `vlen-utf8` does and lets zarr-python read the bytes.
    """
    configs = to_configs(layout.codecs, dtypes.itemsize(layout.dtype))
    compressor = configs.pop() if configs else None
    if layout.dtype == "|O":
        configs.insert(0, {"id": "vlen-utf8" if utf8 else "vlen-bytes"})
    return ArrayDocument(
        layout.shape or scalar_shape,
        dtypes.dtype(layout.dtype),
        layout.chunks or scalar_shape,
        dtypes.fill_value(layout.dtype, layout.fill),
        compressor,
        configs or None,
    )


def consolidated(documents: Iterable[tuple[str, bytes]]) -> bytes:
    """`.zmetadata` of all the other documents, in their order: their bytes go in as they are."""
    members = b", ".join(encode(key) + b": " + document for key, document in documents)
    return b'{"metadata": {' + members + b'}, "zarr_consolidated_format": 1}'
