"""Valid lengths of encoded chunks, limits of decompression whatever the compressed bytes say, and texts in a chunk.

A chunk decodes to exactly its shape's bytes. If no step changes the length,
except by a fixed checksum, a wrong length is visible before decoding.
Variable-length texts follow a count and their own lengths, and must fill the
chunk. This holds for HDF5 too: for a short chunk libhdf5 returns uninitialized
memory. Sizes in headers are checked before allocation; streams without one are
cut off at the limit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, of_config_id, of_number
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.dataset import Codec
from nczarr.ast.rectilinear import varies

EARLY = "the compressed data end too early"

SLACK = 1 << 20
"""Bytes allowed beyond twice the chunk size, for checksums and the like."""

LARGEST = 4 << 30
"""Maximum decoded bytes of a chunk of texts."""

LARGEST_HEADER = (1 << 31) - 1
"""Maximum size in blosc and lz4 headers: they read the field as a signed number."""


def decompress_bounded(unpacker: Any, data: bytes, limit: int) -> bytes:
    """Decompress with a standard library object that limits its output. Raises ValueError."""
    out: bytes = unpacker.decompress(data, limit + 1)
    if len(out) > limit:
        raise ValueError(TOO_MUCH)
    if not unpacker.eof:
        raise ValueError(EARLY)
    return out


def check_size(out: Any, limit: int) -> bytes:
    """Return decompressed bytes. Raises ValueError if they are too many."""
    data = bytes(out)
    if len(data) > limit:
        raise ValueError(TOO_MUCH)
    return data


def inflate(data: bytes, bits: int, limit: int) -> bytes:
    """Inflate at most `limit` bytes; 31 bits: any number of members of gzip's format. Raises ValueError."""
    from zlib_ng import zlib_ng  # inflates in a third of the time of zlib

    out: list[bytes] = []
    size = 0
    while data:
        unpacker = zlib_ng.decompressobj(bits)
        try:
            piece = unpacker.decompress(data, limit - size + 1)
        except zlib_ng.error as error:  # type: ignore[misc]
            raise ValueError(str(error)) from None
        size += len(piece)
        if size > limit:
            raise ValueError(TOO_MUCH)
        if not unpacker.eof:
            raise ValueError(EARLY)
        out.append(piece)
        data = unpacker.unused_data if bits == 31 else b""
    return b"".join(out)


def inflate_whole(data: bytes, size: int) -> bytes | None:
    """Inflate zlib's format by libdeflate, which knows the size beforehand; None without it, or if it cannot."""
    decoder = _find_libdeflate()
    if decoder is None or not size:
        return None
    try:
        out: bytes = decoder(data, out=size)
    except RuntimeError:  # damaged, or of another length
        return None
    return out if len(out) == size else None


@cache
def _find_libdeflate() -> Callable[..., Any] | None:
    try:
        from imagecodecs import deflate_decode
    except ImportError:
        return None
    decoder: Callable[..., Any] = deflate_decode
    return decoder


def texts_end(data: bytes | memoryview, count: int) -> None:
    """Check that `count` length-prefixed texts fill a chunk. Raises ValueError."""
    size = len(data)
    if size < 4:
        raise ValueError(f"there are {size} bytes, and a chunk of strings has at least 4")
    unpack = struct.Struct("<I").unpack_from
    (stated,) = unpack(data)
    if stated != count:
        raise ValueError(f"there are {stated} strings, and a chunk has {count}")
    at = 4
    for number in range(count):
        if at + 4 > size:
            raise ValueError(f"there are {size} bytes, and the first {number + 1} of {count} strings take {at + 4}")
        at += 4 + unpack(data, at)[0]
    if at != size:
        raise ValueError(f"there are {size} bytes, and the {count} strings of a chunk take {at}")


def vlen_texts(texts: Sequence[bytes]) -> bytes:
    """Return numcodecs' `vlen-utf8` or `vlen-bytes`: the count, then each text after its length (uint32)."""
    pieces = [struct.pack("<I", len(texts))]
    for text in texts:
        pieces += (struct.pack("<I", len(text)), text)
    return b"".join(pieces)


def texts_of(data: bytes, count: int) -> list[bytes]:
    """Split length-prefixed texts, as in `vlen-utf8` and `vlen-bytes`. Raises ValueError."""
    texts_end(data, count)
    unpack = struct.Struct("<I").unpack_from
    texts: list[bytes] = []
    at = 4
    for _ in range(count):
        end = at + 4 + unpack(data, at)[0]
        texts.append(data[at + 4 : end])
        at = end
    return texts


def is_plain(steps: Sequence[Config]) -> bool:
    """Return whether the decoded length determines the encoded one."""
    return _count_added_bytes([of_config_id(step.get("id")) for step in steps]) is not None


def _count_added_bytes(kinds: Sequence[CodecKind | None]) -> int | None:
    """Return the bytes that a chain adds to every chunk; None if they depend on values."""
    added = [None if kind is None else kind.length_added for kind in kinds]
    return None if None in added else sum(length for length in added if length is not None)


def measure_encoded(dtype: Descr, chunks: tuple[int, ...], steps: Sequence[Config]) -> int | None:
    """Return the bytes of every encoded chunk; None if they depend on values."""
    return _length(dtype, chunks, [of_config_id(step.get("id")) for step in steps])


def measure_linked(dtype: Descr, chunks: tuple[int, ...], codecs: Sequence[Codec]) -> int | None:
    """Return `measure_encoded` for a chain of filters."""
    return _length(dtype, chunks, [of_number(codec.id) for codec in codecs])


def _length(dtype: Descr, chunks: tuple[int, ...], kinds: Sequence[CodecKind | None]) -> int | None:
    added = None if dtype == "|O" else _count_added_bytes(kinds)
    return None if added is None else math.prod(chunks) * itemsize(dtype) + added


def measure_linked_chunks(
    dtype: Descr, table: NDArray[np.int64], chunks: tuple[int, ...], codecs: Sequence[Codec]
) -> NDArray[np.int64] | int | None:
    """Return `measure_linked` of many chunks: a common one, or int64, shape (chunks,) if they differ in shape.

    `table`: int64, shape (chunks, dimensions).
    """
    if not varies(chunks):
        return measure_linked(dtype, chunks, codecs)
    beyond = measure_linked(dtype, (), codecs)  # of one element
    if beyond is None:
        return None
    cells = np.ones(len(table), np.int64)
    for axis, length in enumerate(chunks):
        cells *= (table[:, axis] + 1) * length - table[:, axis] * length
    return (cells - 1) * itemsize(dtype) + beyond


def measure_decoded(dtype: Descr, chunks: tuple[int, ...]) -> int:
    """Return the bytes of every decoded chunk; for variable-length texts the minimum."""
    return 4 if dtype == "|O" else math.prod(chunks) * itemsize(dtype)


def measure_fixed(dtype: Descr, chunks: tuple[int, ...]) -> int | None:
    """Return the bytes of every decoded chunk; None for variable-length texts."""
    return None if dtype == "|O" else measure_decoded(dtype, chunks)


def misfit(length: int, expected: int) -> str:
    """Return the message for a chunk of wrong length."""
    return f"there are {length} bytes, and a chunk has {expected}"
