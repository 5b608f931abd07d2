"""Lengths of encoded chunks: which ones the shape of a chunk allows, without decoding it.

A chunk decodes to exactly the bytes of its shape. Where no step of its chain changes the number of bytes, other than by
a checksum of fixed length, a wrong length shows before anything is decoded. Texts of any length lie behind a count and
their own lengths, which must fill the chunk. HDF5 is no exception: for a chunk that is too short, libhdf5 shows memory
that was never written.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from nczarr.arrays.codecs import CRC32C, FLETCHER32, SHUFFLE
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast.storage import Codec

Config = Mapping[str, Any]

CHECKSUMS = frozenset({"fletcher32", "crc32c", "crc32", "adler32"})
"""Steps that add four bytes, and change none."""


def is_plain(steps: Sequence[Config]) -> bool:
    """Return whether the length of an encoded chunk follows from that of the decoded one."""
    return all(step.get("id") in CHECKSUMS or step.get("id") == "shuffle" for step in steps)


def encoded_length(dtype: Descr, chunks: tuple[int, ...], steps: Sequence[Config]) -> int | None:
    """Return the bytes that every encoded chunk has; None where that depends on the values."""
    if dtype == "|O" or not is_plain(steps):
        return None
    return math.prod(chunks) * itemsize(dtype) + 4 * sum(step.get("id") in CHECKSUMS for step in steps)


def linked_length(dtype: Descr, chunks: tuple[int, ...], codecs: Sequence[Codec]) -> int | None:
    """Return the same behind a chain of filters."""
    names = {SHUFFLE: "shuffle", FLETCHER32: "fletcher32", CRC32C: "crc32c"}
    return encoded_length(dtype, chunks, [{"id": names.get(codec.id)} for codec in codecs])


def decoded_length(dtype: Descr, chunks: tuple[int, ...]) -> int:
    """Return the bytes that every decoded chunk has; of texts of any length, the fewest."""
    return 4 if dtype == "|O" else math.prod(chunks) * itemsize(dtype)


def misfit(found: int, wanted: int) -> str:
    """Return what is wrong with a chunk of another length."""
    return f"there are {found} bytes where a chunk has {wanted}"


def texts_end(data: bytes | memoryview, count: int) -> None:
    """Check that `count` texts behind their lengths fill a chunk. Raises ValueError."""
    size = len(data)
    if size < 4:
        raise ValueError(f"there are {size} bytes where a chunk of texts has at least 4")
    unpack = struct.Struct("<I").unpack_from
    (given,) = unpack(data)
    if given != count:
        raise ValueError(f"there are {given} texts where a chunk has {count}")
    at = 4
    for number in range(count):
        if at + 4 > size:
            raise ValueError(f"there are {size} bytes where the first {number + 1} of {count} texts take {at + 4}")
        at += 4 + unpack(data, at)[0]
    if at != size:
        raise ValueError(f"there are {size} bytes where the {count} texts of a chunk take {at}")
