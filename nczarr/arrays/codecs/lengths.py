"""Valid lengths of encoded chunks, known from the chunk shape without decoding.

A chunk decodes to exactly its shape's bytes. If no step changes the length,
except by a fixed checksum, a wrong length is visible before decoding.
Variable-length texts follow a count and their own lengths, and must fill the
chunk. This holds for HDF5 too: for a short chunk libhdf5 returns uninitialized
memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from nczarr.arrays.codecs.chain import CRC32C, FLETCHER32, SHUFFLE
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.rectilinear import varies
from nczarr.ast.storage import Codec

Config = Mapping[str, Any]

CHECKSUMS = frozenset({"fletcher32", "crc32c", "crc32", "adler32"})
"""Steps that append four bytes and change no others."""


def is_plain(steps: Sequence[Config]) -> bool:
    """Return whether the decoded length determines the encoded one."""
    return all(step.get("id") in CHECKSUMS or step.get("id") == "shuffle" for step in steps)


def encoded_length(dtype: Descr, chunks: tuple[int, ...], steps: Sequence[Config]) -> int | None:
    """Return the bytes of every encoded chunk; None if they depend on values."""
    if dtype == "|O" or not is_plain(steps):
        return None
    return math.prod(chunks) * itemsize(dtype) + 4 * sum(step.get("id") in CHECKSUMS for step in steps)


def linked_length(dtype: Descr, chunks: tuple[int, ...], codecs: Sequence[Codec]) -> int | None:
    """Return `encoded_length` for a chain of filters."""
    names = {SHUFFLE: "shuffle", FLETCHER32: "fletcher32", CRC32C: "crc32c"}
    return encoded_length(dtype, chunks, [{"id": names.get(codec.id)} for codec in codecs])


def linked_lengths(
    dtype: Descr, table: NDArray[np.int64], chunks: tuple[int, ...], codecs: Sequence[Codec]
) -> NDArray[np.int64] | int | None:
    """Return `linked_length` of many chunks: a common one, or int64, shape (chunks,) if they differ in shape.

    `table`: int64, shape (chunks, dimensions).
    """
    if not varies(chunks):
        return linked_length(dtype, chunks, codecs)
    beyond = linked_length(dtype, (), codecs)  # of one element
    if beyond is None:
        return None
    cells = np.ones(len(table), np.int64)
    for axis, length in enumerate(chunks):
        cells *= (table[:, axis] + 1) * length - table[:, axis] * length
    return (cells - 1) * itemsize(dtype) + beyond


def decoded_length(dtype: Descr, chunks: tuple[int, ...]) -> int:
    """Return the bytes of every decoded chunk; for variable-length texts the minimum."""
    return 4 if dtype == "|O" else math.prod(chunks) * itemsize(dtype)


def misfit(length: int, expected: int) -> str:
    """Return the message for a chunk of wrong length."""
    return f"there are {length} bytes, and a chunk has {expected}"


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
