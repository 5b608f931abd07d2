"""Pieces of an answer: bytes, and ranges of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nczarr.stores.ranges import Range


def length_of(piece: bytes | Range) -> int:
    """Return the bytes of a piece."""
    return piece.length if isinstance(piece, Range) else len(piece)


def part_of(pieces: Iterable[bytes | Range], start: int, stop: int) -> Iterator[bytes | Range]:
    """Yield the pieces of the bytes from `start` to `stop`."""
    at = 0
    for piece in pieces:
        length = length_of(piece)
        begin, end = max(0, start - at), min(length, stop - at)
        if begin < end:
            yield Range(piece.path, piece.offset + begin, end - begin) if isinstance(piece, Range) else piece[begin:end]
        at += length
