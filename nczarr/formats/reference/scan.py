"""A look at a document before it is parsed: whether it has texts that are too long, in bounded memory."""

from __future__ import annotations

import mmap

from nczarr.source import Buffer

PIECE = 8 << 20
"""Bytes that are looked at at once."""

LARGE = PIECE
"""Bytes of a document above which a look costs less than it saves."""

_DROP: int | None = getattr(mmap, "MADV_DONTNEED", None)


def give_back(data: Buffer) -> None:
    """Let go of pages of a file that were read; they are read again where they are needed."""
    if _DROP is not None and isinstance(data, mmap.mmap):
        data.madvise(_DROP)


def long_text(data: Buffer, longest: int) -> int | None:
    """Where more than `longest` bytes stand without a quote: in a text, because nothing else of JSON is so long but
    blanks. None if that is nowhere.
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
