"""LZ4 of numcodecs, one block behind its length, and in filter 32004 of HDF5.

The filter has blocks of a chunk, each behind its length, a big-endian number of four bytes.
"""

import struct
from collections.abc import Iterator

from nczarr.arrays.codecs.lengths import EARLY, LARGEST_HEADER, check_size
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config


class Lz4(CodecKind):
    """LZ4 with numcodecs' size prefix, which is read only."""

    config_id = "lz4"
    stage = "bytes"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_lz4(data, limit)


def unpack_lz4(data: bytes, limit: int) -> bytes:
    """Decompress lz4 with numcodecs' size prefix. Raises ValueError, RuntimeError."""
    if len(data) < 4:
        raise ValueError(EARLY)
    (size,) = struct.unpack_from("<I", data)  # numcodecs puts the length before the block
    if size > min(limit, LARGEST_HEADER):
        raise ValueError(TOO_MUCH)
    import numcodecs

    return check_size(numcodecs.LZ4().decode(data), limit)


class Hdf5Lz4(CodecKind):
    """Filter 32004, which numcodecs lacks. It is read only."""

    config_id = "hdf5_lz4"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_blocks(data, limit)


def unpack_blocks(data: bytes, limit: int) -> bytes:
    """Decompress filter 32004: lengths of the chunk and of a block, then the blocks. Raises ValueError, RuntimeError.

    A block that would not get smaller is stored as it is.
    """
    size, block = block_header(data, limit)
    out: list[bytes] = []
    for piece, length in list_stored_blocks(data, size, block):
        out.append(piece if len(piece) == length else unpack_block(piece, length))
    return b"".join(out)


def block_header(data: bytes, limit: int) -> tuple[int, int]:
    """Return the bytes of the decoded chunk and of a block."""
    if len(data) < 12:
        raise ValueError(EARLY)
    size, block = struct.unpack_from(">QI", data)
    if size > limit:
        raise ValueError(TOO_MUCH)
    if not block and size:
        raise ValueError("a block has no length")
    return size, block


def list_stored_blocks(data: bytes, size: int, block: int) -> Iterator[tuple[bytes, int]]:
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


def unpack_block(data: bytes, length: int) -> bytes:
    """Decompress one LZ4 block of this decoded length."""
    out = unpack_lz4(struct.pack("<I", length) + data, length)  # numcodecs' LZ4 expects a length first
    if len(out) != length:
        raise ValueError(EARLY)
    return out


CODECS = (Lz4(), Hdf5Lz4())
