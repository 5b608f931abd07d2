"""Sizes that a source declares, compared with the bytes at hand before memory is taken for them."""

from __future__ import annotations

import errno

FREE = 1 << 25
"""Bytes for which memory is taken whatever they come from."""

EXPANSION = 200
"""Maximum bytes of a document for each compressed byte: JSON of many like arrays shrinks to a hundredth."""

OVERHEAD = 1 << 16
"""Bytes by which codecs may make a chunk longer, besides its own length again."""


def check_document(size: int, compressed: int, name: str, path: str) -> None:
    """Raise OSError if an entry of an archive declares more bytes than its compressed ones can stand for."""
    if size > FREE + EXPANSION * compressed:
        raise OSError(errno.EFBIG, f"`{name}` would inflate from {compressed} to {size} bytes", path)


def check_chunk(size: int, decoded: int | None, compressed: int, name: str, path: str) -> None:
    """Raise OSError if an entry declares more bytes than a chunk of so many decoded bytes can have.

    `decoded`: None for texts of variable length, which are as long as their compressed bytes make likely.
    """
    if decoded is None:
        check_document(size, compressed, name, path)
    elif size > 2 * decoded + OVERHEAD:
        raise OSError(errno.EFBIG, f"`{name}` would inflate to {size} bytes, and the chunk has {decoded}", path)
