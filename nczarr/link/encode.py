"""Encoding of one chunk from values: padding, the target's dtype, the codec chain.

Chunks are always full: beyond the array's edge they hold the fill value.
"""

from __future__ import annotations

import struct
from typing import Any, Literal

from nczarr.arrays.blocks import Index
from nczarr.arrays.codecs import encode
from nczarr.arrays.elements import as_stored, stored_bytes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.memory import is_all, padded
from nczarr.arrays.source import numpy_dtype
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.link.tasks import Array


def chunk_bytes(array: Array, index: Index) -> bytes | None:
    """Return the encoded bytes of a chunk; None if it has only fill and may be missing."""
    if array.source is None:
        return fill_chunk(array)
    values = array.source.read(array.region(index))
    if values.dtype.hasobject:
        return _texts(array, values)
    order, pad = _order_and_pad(array)
    try:
        values = as_stored(values, array.target.layout.dtype)
    except OverflowError as error:
        text = f"variable `{array.path}` has a value that cannot be stored there: {error}"
        raise CompileError([Diagnostic("value-range", Severity.ERROR, text)]) from None
    values = values.astype(values.dtype.newbyteorder(order), copy=False)
    full = padded(values, array.target.layout.chunks, pad)
    if array.target.sparse and is_all(full, pad):
        return None
    return encode(array.target.layout.codecs, full.tobytes(array.target.layout.order), full.itemsize)


def _order_and_pad(array: Array) -> tuple[Literal["<", ">"], bytes]:
    """Return the target's byte order and its stored pad; records and texts are little-endian."""
    dtype, pad = array.target.layout.dtype, array.target.pad
    return ">" if isinstance(dtype, str) and dtype[0] == ">" else "<", stored_bytes(pad, dtype)


def fill_chunk(array: Array) -> bytes:
    """Return an encoded chunk of pads, for arrays without a declared fill value."""
    layout = array.target.layout
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts([array.target.pad] * array.chunk_size), 0)
    pad = _order_and_pad(array)[1]
    if isinstance(layout.dtype, str) and layout.dtype[1] == "S":
        pad = pad.ljust(int(layout.dtype[2:]), b"\0")
    return encode(layout.codecs, pad * array.chunk_size, len(pad))


def _texts(array: Array, values: NDArray[Any]) -> bytes | None:
    """Return strings as a fixed-length array, or length-prefixed; NIL becomes an empty text."""
    layout, pad = array.target.layout, array.target.pad
    texts = [text or b"" for text in padded(values, layout.chunks, pad).reshape(-1).tolist()]
    if array.target.sparse and all(text == pad for text in texts):
        return None
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts(texts), 0)
    dtype = numpy_dtype(layout.dtype)
    return encode(layout.codecs, np.array(texts, dtype).tobytes(), dtype.itemsize)


def vlen_texts(texts: list[bytes]) -> bytes:
    """Return numcodecs' `vlen-utf8` or `vlen-bytes`: the count, then each text after its length (uint32)."""
    pieces = [struct.pack("<I", len(texts))]
    for text in texts:
        pieces += (struct.pack("<I", len(text)), text)
    return b"".join(pieces)
