"""Decoders of HDF5 filters whose chunks numcodecs does not read: 32004 (LZ4) and 32008 (bitshuffle).

Both divide a chunk into blocks. Before each compressed block is its length, a
big-endian number of four bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.codecs import bounded_decompression
from nczarr.arrays.codecs.bounded_decompression import EARLY, TOO_MUCH
from nczarr.arrays.lazy_numpy import NDArray, np

EIGHT = 8
"""Elements whose bits make whole bytes; a block has a multiple of them."""

BLOCK_BYTES = 8192
"""Approximate bytes of a block whose length is not stated."""

FEWEST = 128
"""Minimum elements of a block whose length is not stated."""

LZ4, ZSTD = 2, 3
"""Compressors of bitshuffle by number; 0: no compressor."""


def lz4(data: bytes, limit: int) -> bytes:
    """Decompress filter 32004: lengths of the chunk and of a block, then the blocks. Raises ValueError, RuntimeError.

    A block that would not get smaller is stored as it is.
    """
    size, block = _header(data, limit)
    out: list[bytes] = []
    for piece, length in _pieces(data, size, block):
        out.append(piece if len(piece) == length else _block(piece, length))
    return b"".join(out)


def bitshuffle(data: bytes, width: int, block: int, compressor: int, limit: int) -> bytes:
    """Undo filter 32008, with the compressor behind it. Raises ValueError, RuntimeError.

    `width`: bytes of an element. `block`: elements of a block, 0 for the default.
    Elements beyond the last multiple of eight are stored as they are.
    """
    if width < 1:
        raise ValueError("bitshuffle has no width of elements")
    if not compressor:
        if len(data) > limit:
            raise ValueError(TOO_MUCH)
        block = block or max(BLOCK_BYTES // width // EIGHT * EIGHT, FEWEST)
        whole = len(data) // width // EIGHT * EIGHT * width
        step = block * width
        blocks = [data[start : min(start + step, whole)] for start in range(0, whole, step)]
        return b"".join([*(_transposed(piece, width) for piece in blocks), data[whole:]])
    size, step = _header(data, limit)
    whole = size // width // EIGHT * EIGHT * width
    if step % (width * EIGHT):
        raise ValueError("a block of bitshuffle is not a multiple of eight elements")
    out: list[bytes] = []
    at = 12
    for piece, length in _pieces(data, whole, step):
        at += 4 + len(piece)
        if compressor == ZSTD:
            block_bytes = bounded_decompression.zstd(piece, length)
        else:
            block_bytes = _block(piece, length)
        if len(block_bytes) != length:
            raise ValueError(EARLY)
        out.append(_transposed(block_bytes, width))
    rest = data[at : at + size - whole]
    if len(rest) != size - whole:
        raise ValueError(EARLY)
    return b"".join([*out, rest])


def _header(data: bytes, limit: int) -> tuple[int, int]:
    """Return the bytes of the decoded chunk and of a block."""
    if len(data) < 12:
        raise ValueError(EARLY)
    size, block = struct.unpack_from(">QI", data)
    if size > limit:
        raise ValueError(TOO_MUCH)
    if not block and size:
        raise ValueError("a block has no length")
    return size, block


def _pieces(data: bytes, size: int, block: int) -> Iterator[tuple[bytes, int]]:
    """Yield the stored bytes and the decoded length of each block. Raises ValueError."""
    at = 12
    for start in range(0, size, max(1, block)):
        if at + 4 > len(data):
            raise ValueError(EARLY)
        (length,) = struct.unpack_from(">I", data, at)
        piece = data[at + 4 : at + 4 + length]
        if len(piece) != length:
            raise ValueError(EARLY)
        at += 4 + length
        yield piece, min(block, size - start)


def _block(data: bytes, length: int) -> bytes:
    """Decompress one LZ4 block of this decoded length."""
    out = bounded_decompression.lz4(struct.pack("<I", length) + data, length)
    if len(out) != length:
        raise ValueError(EARLY)
    return out


def _transposed(data: bytes, width: int) -> bytes:
    """Return elements from the planes of their bits: of each byte the lowest bit first."""
    if not data:
        return data
    planes = np.frombuffer(data, np.uint8).reshape(width * EIGHT, -1)
    bits: NDArray[Any] = np.unpackbits(planes, axis=1, bitorder="little")
    return np.packbits(bits.T, axis=1, bitorder="little").tobytes()
