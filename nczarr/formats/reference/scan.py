"""Detection of overlong texts in an unparsed document, in bounded memory."""

from __future__ import annotations

import mmap

from nczarr.source import Buffer

PIECE = 8 << 20
"""Bytes scanned at once."""

LARGE = PIECE
"""Document size in bytes above which scanning pays off."""

_DROP: int | None = getattr(mmap, "MADV_DONTNEED", None)


def give_back(data: Buffer) -> None:
    """Release pages of a mapped file; later access reads them again."""
    if _DROP is not None and isinstance(data, mmap.mmap):
        data.madvise(_DROP)


def long_text(data: Buffer, longest: int) -> int | None:
    """Return the start of more than `longest` bytes without a quote, or None.

    In JSON, only texts and blanks are so long.
    """
    last = -1
    for start in range(0, len(data), PIECE):
        piece = bytes(data[start : start + PIECE])
        give_back(data)
        first = piece.find(b'"')
        if first < 0:
            if start + len(piece) - last > longest:
                return last + 1
            continue
        if start + first - last > longest:
            return last + 1
        last = start + piece.rfind(b'"')
    return None
