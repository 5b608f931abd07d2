"""Storage of variables in a netCDF-4 file, as far as the netCDF library follows the request.

Unmet requests are returned as texts of annotation losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.arrays.codecs import of_hdf5
from nczarr.ast import Codec, Storage
from nczarr.ast.storage import CODEC_IDS

COMPACT_BYTES = (1 << 16) - 5
"""Maximum size of a compact variable: its data are in an object header message, after four bytes."""

CHUNK_BYTES = (1 << 32) - 1
"""Maximum chunk size of HDF5."""

_FIRST = (CODEC_IDS["fletcher32"], CODEC_IDS["shuffle"])
"""Filters that the library puts first, in this order (measured: libnetcdf 4.9.0, 4.10.1)."""


def hdf5_storage(request: Storage, shape: tuple[int, ...], itemsize: int, *, atomic: bool) -> tuple[Storage, list[str]]:
    """Return a variable's storage and its unmet requests; `itemsize`: bytes of a value in the file."""
    unmet = list(_unmet(request, shape, itemsize))
    if request.endian is not None and not atomic:
        unmet.append("the byte order of a declared type")
    if request.element is not None:
        unmet.append(f"that its values are {request.element}")
    layout, chunks = request.layout, request.chunks
    if layout == "compact" and math.prod(shape) * itemsize > COMPACT_BYTES:
        layout = None
    if chunks is not None and math.prod(chunks) * itemsize > CHUNK_BYTES:
        chunks = None
    made = Storage(
        layout="chunked" if request.chunks is not None and shape else layout,
        chunks=chunks if shape else None,
        codecs=pipeline(of_hdf5(request.codecs)) if shape else (),
        endian=request.endian if atomic else None,
        no_fill=request.no_fill,
        quantize=request.quantize,
    )
    return (request if made == request else made), unmet


def pipeline(codecs: tuple[Codec, ...]) -> tuple[Codec, ...]:
    """Return a chain in the library's order. Of several filters with one id, the last replaces the first."""
    codecs = tuple({codec.id: codec for codec in codecs}.values())
    first = [codec for number in _FIRST for codec in codecs if codec.id == number]
    return (*first, *(codec for codec in codecs if codec.id not in _FIRST))


def _unmet(request: Storage, shape: tuple[int, ...], itemsize: int) -> Iterator[str]:
    codecs = of_hdf5(request.codecs)
    if codecs != request.codecs:
        yield "codecs that HDF5 has not"
    if len({codec.id for codec in codecs}) < len(codecs):
        yield "filters of the same number"
    elif pipeline(codecs) != codecs:
        yield "the order of filters"
    if request.layout == "compact" and math.prod(shape) * itemsize > COMPACT_BYTES:
        yield f"compact storage of more than {COMPACT_BYTES} bytes"
    if request.chunks is not None and math.prod(request.chunks) * itemsize > CHUNK_BYTES:
        yield f"chunks of more than {CHUNK_BYTES} bytes"
    if request.codecs and not shape:
        yield "filters of a scalar"
