"""From values to the bytes of one chunk: padding, the target's dtype, the codec chain.

A chunk is always full: what lies beyond the array's edge holds the fill value.
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
    """The encoded bytes of one chunk; None if it holds nothing but fill and need not exist."""
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
    """The byte order of the target, and its pad as it lies there; records and texts are little-endian."""
    dtype, pad = array.target.layout.dtype, array.target.pad
    return ">" if isinstance(dtype, str) and dtype[0] == ">" else "<", stored_bytes(pad, dtype)


def fill_chunk(array: Array) -> bytes:
    """A chunk of nothing but the pad, for arrays that declare no fill value."""
    layout = array.target.layout
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts([array.target.pad] * array.chunk_size), 0)
    pad = _order_and_pad(array)[1]
    if isinstance(layout.dtype, str) and layout.dtype[1] == "S":
        pad = pad.ljust(int(layout.dtype[2:]), b"\0")
    return encode(layout.codecs, pad * array.chunk_size, len(pad))


def _texts(array: Array, values: NDArray[Any]) -> bytes | None:
    """Strings as a fixed-length array, or each behind its length. NIL is written as an empty text."""
    layout, pad = array.target.layout, array.target.pad
    texts = [text or b"" for text in padded(values, layout.chunks, pad).reshape(-1).tolist()]
    if array.target.sparse and all(text == pad for text in texts):
        return None
    if layout.dtype == "|O":
        return encode(layout.codecs, vlen_texts(texts), 0)
    dtype = numpy_dtype(layout.dtype)
    return encode(layout.codecs, np.array(texts, dtype).tobytes(), dtype.itemsize)


def vlen_texts(texts: list[bytes]) -> bytes:
    """The encoding of numcodecs' `vlen-utf8` and `vlen-bytes`: the count, then each text behind its length (uint32)."""
    pieces = [struct.pack("<I", len(texts))]
    for text in texts:
        pieces += (struct.pack("<I", len(text)), text)
    return b"".join(pieces)
