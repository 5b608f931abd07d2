"""Description of one array of Zarr v2 as members of a `zarr.json` for the same chunks.

::

    {"zarr_format": 2, "shape": [4, 3], "chunks": [2, 3], "dtype": ">f8", "order": "F", "fill_value": null,
     "filters": [{"id": "delta", "dtype": ">f8", "astype": ">f4"}], "compressor": {"id": "zlib", "level": 5}}

    {"zarr_format": 3, "node_type": "array", "shape": [4, 3], "data_type": "float64",
     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
     "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}, "fill_value": 0.0,
     "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                {"name": "numcodecs.delta", "configuration": {"dtype": ">f8", "astype": ">f4"}},
                {"name": "bytes", "configuration": {"endian": "big"}},
                {"name": "numcodecs.zlib", "configuration": {"level": 5}}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import DECODING_ERRORS, dtypes_of
from nczarr.arrays.codecs.table import CodecKind, Step
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import in_order
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.reader import BadDocumentError
from nczarr.formats.zarr.v3 import codecs, dtypes

CODE = "unmigratable-store"
"""Code of what a format cannot state of existing chunks."""


def array_members(metadata: ArrayMetadata, document: Json, *, scalar: bool, registered: bool) -> Json:
    """Return the members of `zarr.json` for an array, without attributes and names of dimensions.

    `document`: its `.zarray`. `scalar`: a shape of one element stands for none.
    `registered`: records are `struct`. Raises BadDocumentError for what Zarr v3
    cannot state.
    """
    dtype = metadata.encoding.dtype
    utf8 = all(step.get("id") != "vlen-bytes" for step in document.get("filters") or ())  # bytes need not be texts
    little = _find_little(dtype)
    fill = None if metadata.fill is None else in_order(metadata.fill, dtype, little)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": () if scalar else metadata.shape,
        "data_type": dtypes.data_type(little, utf8=utf8, registered=registered),
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": () if scalar else metadata.chunks},
        },
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": metadata.chunk_keys.separator}},
        "fill_value": dtypes.fill_value(little, fill, utf8=utf8, registered=registered),
        "codecs": list(_chain(metadata, scalar=scalar, utf8=utf8)),
    }


def _find_little(dtype: Descr) -> Descr:
    """Return a dtype with little-endian elements, as `data_type` names it. Raises BadDocumentError for records."""
    if isinstance(dtype, str):
        return dtype.replace(">", "|" if dtype[1] == "S" else "<")
    _check_fields(dtype)
    return dtype


def _check_fields(dtype: Descr) -> None:
    """Raise BadDocumentError for a record with a field that Zarr v3 has no type for, or that is big-endian.

    zarr-python 3.1 reads all fields as little-endian, whatever the codec `bytes` says.
    """
    for name, field, shape in () if isinstance(dtype, str) else dtype:
        if shape:
            raise BadDocumentError(f"Zarr v3 has no type for field `{name}`, which is an array", "dtype", CODE)
        if field[0] == ">" and field != ">S1":
            text = f"field `{name}` is big-endian, and readers of Zarr v3 take records for little-endian"
            raise BadDocumentError(text, "dtype", CODE)
        _check_fields(field)


def _chain(metadata: ArrayMetadata, *, scalar: bool, utf8: bool) -> Iterator[Json]:
    """Yield the codecs, in encoding order. Raises BadDocumentError."""
    encoding = metadata.encoding
    if encoding.permutation is not None and not scalar:
        yield {"name": "transpose", "configuration": {"order": list(encoding.permutation)}}
    stored: Descr = encoding.dtype
    steps = list(encoding.steps)
    while steps and (kind := _kind(steps[0])).stage == "array":
        step = steps.pop(0)
        if not isinstance(stored, str):
            raise BadDocumentError(f"filter `{step['id']}` of records has no name in Zarr v3", "filters", CODE)
        stored = _find_stored(kind, step, stored)
        yield {"name": codecs.NUMCODECS + kind.config_id, "configuration": kind.zarr3_configuration(step, 0)}
    yield codecs.to_bytes(stored, utf8=utf8)
    for step in steps:
        kind = _kind(step)
        if kind.stage != "bytes":
            text = f"filter `{step['id']}` changes numbers behind a filter of bytes, which Zarr v3 cannot state"
            raise BadDocumentError(text, "filters", CODE)
        yield codecs.step_of(step, itemsize(stored) or 1)


def _kind(step: Step) -> CodecKind:
    """Return the codec of a step. Raises BadDocumentError for one that has no name in Zarr v3."""
    kind = table.of_config_id(step.get("id"))
    if kind is None or kind.stage is None:
        raise BadDocumentError(f"codec `{step.get('id')}` has no name in Zarr v3", "filters", CODE)
    return kind


def _find_stored(kind: CodecKind, step: Step, decoded: str) -> str:
    """Return the dtype of the elements that a filter makes. Raises BadDocumentError."""
    try:
        named: Any = dtypes_of(step)
    except DECODING_ERRORS as fault:
        raise BadDocumentError(f"the dtypes of filter `{kind.config_id}`: {fault}", "filters", CODE) from fault
    if kind.config_id == "packbits":
        return "|u1"
    if named is None:
        return decoded
    stored, read = named
    if read.replace("|", "<") != decoded.replace("|", "<"):
        text = f"filter `{kind.config_id}` makes elements `{read}` of an array of `{decoded}`"
        raise BadDocumentError(text, "filters", CODE)
    return str(stored)
