"""Conversion of values to stream bytes in cache-sized pieces.

Invariant: arrays in stream layout are never copied, others once, by pieces. An
emitted piece never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream.wire.limits import LONGEST_BLOCK

PIECE = 1 << 18
"""Bytes converted at once."""

Piece = bytes | bytearray | memoryview


class UnwritableError(ValueError):
    """Values that the format cannot represent."""


class Raw(NamedTuple):
    """Numbers that are converted to bytes when written."""

    values: NDArray[Any]
    """The numbers."""
    dtype: np.dtype[Any]
    """Type of the bytes."""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return int(self.values.size) * int(self.dtype.itemsize)


def size_of(pieces: Iterable[Piece | Raw]) -> int:
    """Return the total bytes of the pieces."""
    return sum(piece.size if isinstance(piece, Raw) else len(piece) for piece in pieces)


def written(pieces: Iterable[Piece | Raw]) -> Iterator[Piece]:
    """Yield the bytes of the pieces."""
    for piece in pieces:
        if isinstance(piece, Raw):
            yield from raw(piece.values, piece.dtype)
        else:
            yield piece


def raw(values: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array (any shape) in C order, converted to a dtype of the same width.

    Raises UnwritableError for another width, or elements without fixed size.
    """
    if not values.size:
        return
    if values.dtype.itemsize != dtype.itemsize or values.dtype.kind not in "iufbSV":
        raise UnwritableError(f"values of dtype {values.dtype} are not {dtype}")
    flat = values.reshape(-1)
    if not flat.flags.c_contiguous:
        flat = np.ascontiguousarray(flat)
    if flat.dtype.names is None and (dtype.itemsize == 1 or flat.dtype.str[0] == dtype.str[0]):
        yield flat.view(np.uint8).data
        return
    if flat.dtype == dtype:
        yield flat.view(np.uint8).data
        return
    step = max(1, PIECE // dtype.itemsize)
    for start in range(0, len(flat), step):
        yield flat[start : start + step].astype(dtype).view(np.uint8).data


def deflated(pieces: Iterable[Piece], level: int) -> list[bytes]:
    """Return a zlib stream. Its bytes are the same on every machine."""
    import zlib

    packer = zlib.compressobj(level)
    blocks = [packer.compress(piece) for piece in pieces]
    blocks.append(packer.flush())
    return [block for block in blocks if block]


def check_block(size: int, what: str) -> None:
    """Raise UnwritableError if a block is too large for other programs."""
    if size > LONGEST_BLOCK:
        raise UnwritableError(f"{what} needs {size} bytes, more than a block can have ({LONGEST_BLOCK})")
