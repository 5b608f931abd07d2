"""Decompression with an output limit that does not trust the compressed bytes.

Sizes in headers are checked before allocation; streams without one are cut off
at the limit.
"""

from __future__ import annotations

from typing import Any

TOO_MUCH = "the decompressed chunk is larger than its shape allows"
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
