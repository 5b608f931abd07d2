"""Decompression with an output limit that does not trust the compressed bytes.

Sizes in headers are checked before allocation; streams without one are cut off
at the limit.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

TOO_MUCH = "the decompressed chunk is larger than its shape allows"
EARLY = "the compressed data end too early"
ZSTD_BLOCK = 1 << 17
"""Maximum output of one zstd block."""

UNTOLD = 64 << 20
"""Minimum limit for zstd frames without declared size, by their number of blocks."""

LARGEST_HEADER = (1 << 31) - 1
"""Maximum size in blosc and lz4 headers: they read the field as a signed number."""

LZMA_MEMORY = 256 << 20
"""Maximum memory of an lzma decoder; the highest preset needs 65 MiB."""


def zstd(data: bytes, limit: int) -> bytes:
    """Decompress zstd frames. Raises ValueError, RuntimeError."""
    declared, most = _zstd_sizes(data)
    if declared is not None and declared > limit:
        raise ValueError(TOO_MUCH)
    if declared is None and most > max(limit, UNTOLD):
        raise ValueError(TOO_MUCH)
    if most == 0:
        return b""  # numcodecs refuses a frame of nothing
    import numcodecs

    return _checked(numcodecs.Zstd().decode(data), limit)


def _zstd_sizes(data: bytes) -> tuple[int | None, int]:
    """Return the size declared by the first frame, and the maximum output of all blocks.

    Raises ValueError for invalid frames (RFC 8878, sections 3.1.1 and 3.1.1.2).
    """
    first: int | None = None
    most, at, number = 0, 0, 0
    try:
        while at < len(data):
            (magic,) = struct.unpack_from("<I", data, at)
            if magic & 0xFFFFFFF0 == 0x184D2A50:  # to be skipped
                at += 8 + struct.unpack_from("<I", data, at + 4)[0]
                continue
            if magic != 0xFD2FB528:
                raise ValueError("the compressed data are not zstd")
            flags = data[at + 4]
            single = flags >> 5 & 1
            place = at + 5 + (not single) + (0, 1, 2, 4)[flags & 3]
            width = (single, 2, 4, 8)[flags >> 6]
            if number == 0 and width:
                first = int.from_bytes(data[place : place + width], "little") + (256 if width == 2 else 0)
            at, number, last = place + width, number + 1, False
            while not last:
                header = int.from_bytes(data[at : at + 3], "little")
                last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
                if at + 3 > len(data):
                    raise ValueError(EARLY)
                at += 3 + (1 if kind == 1 else size)
                most += size if kind < 2 else ZSTD_BLOCK
            at += 4 * (flags >> 2 & 1)
    except (struct.error, IndexError):
        raise ValueError(EARLY) from None
    return first, most


def blosc(data: bytes, limit: int) -> bytes:
    """Decompress a blosc buffer. Raises ValueError, RuntimeError."""
    if len(data) < 16:
        raise ValueError(EARLY)
    size, _, packed = struct.unpack_from("<III", data, 4)
    if size > min(limit, LARGEST_HEADER):
        raise ValueError(TOO_MUCH)
    if packed > len(data):
        raise ValueError(EARLY)
    import numcodecs

    return _checked(numcodecs.Blosc().decode(data), limit)


def lz4(data: bytes, limit: int) -> bytes:
    """Decompress lz4 with numcodecs' size prefix. Raises ValueError, RuntimeError."""
    if len(data) < 4:
        raise ValueError(EARLY)
    (size,) = struct.unpack_from("<I", data)
    if size > min(limit, LARGEST_HEADER):
        raise ValueError(TOO_MUCH)
    import numcodecs

    return _checked(numcodecs.LZ4().decode(data), limit)


def lzma(config: Mapping[str, Any], data: bytes, limit: int) -> bytes:
    """Decompress lzma in the configured format. Raises ValueError, lzma.LZMAError, MemoryError."""
    import lzma as library

    kind, filters = config.get("format", library.FORMAT_XZ), config.get("filters")
    raw = kind == library.FORMAT_RAW
    if raw and any(step.get("dict_size", 0) > LZMA_MEMORY for step in filters or ()):
        raise ValueError(TOO_MUCH)
    unpacker = library.LZMADecompressor(kind, None if raw else LZMA_MEMORY, filters if raw else None)
    return bounded(unpacker, data, limit)


def bounded(unpacker: Any, data: bytes, limit: int) -> bytes:
    """Decompress with a standard library object that limits its output. Raises ValueError."""
    out: bytes = unpacker.decompress(data, limit + 1)
    if len(out) > limit:
        raise ValueError(TOO_MUCH)
    if not unpacker.eof:
        raise ValueError(EARLY)
    return out


def _checked(out: Any, limit: int) -> bytes:
    data = bytes(out)
    if len(data) > limit:
        raise ValueError(TOO_MUCH)
    return data


LITERAL = 32
"""First control byte of a back reference."""


def lzf(data: bytes, limit: int) -> bytes:
    """Decompress LZF of liblzf and HDF5's filter 32000: literal runs and back references. Raises ValueError.

    A control byte below 32 precedes a run of that many bytes plus one. In
    others the upper three bits are the length less 2, where 7 means that a byte
    to add follows. The lower five bits and the next byte are the distance less
    1.
    """
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            control = data[at]
            at += 1
            if control < LITERAL:
                out += data[at : at + control + 1]
                at += control + 1
            else:
                length = (control >> 5) + 2
                if length == 9:
                    length += data[at]
                    at += 1
                back = ((control & 31) << 8 | data[at]) + 1
                at += 1
                start = len(out) - back
                if start < 0:
                    raise ValueError("the compressed data refer to bytes before their start")
                if back >= length:
                    out += out[start : start + length]
                else:
                    out += (out[start:] * (length // back + 1))[:length]
            if len(out) > limit:
                raise ValueError(TOO_MUCH)
    except IndexError:
        at = end + 1
    if at > end:
        raise ValueError(EARLY)
    return bytes(out)
