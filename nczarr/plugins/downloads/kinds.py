"""Kinds of containers by the first bytes of a file: streams of one compressed file, and archives."""

from __future__ import annotations

from typing import Literal

Kind = Literal["gzip", "bzip2", "xz", "zstd", "zip", "tar"]

HEAD = 512
"""Bytes that tell the kind: the magic number of tar is at byte 257."""

MAGIC: tuple[tuple[Kind, int, bytes], ...] = (
    ("gzip", 0, b"\x1f\x8b\x08"),
    ("bzip2", 0, b"BZh"),
    ("xz", 0, b"\xfd7zXZ\0"),
    ("zstd", 0, b"\x28\xb5\x2f\xfd"),
    ("zip", 0, b"PK\x03\x04"),
    ("zip", 0, b"PK\x05\x06"),  # an empty one
    ("tar", 257, b"ustar"),
)
"""Kinds with the place of their magic number."""

ARCHIVES = ("zip", "tar")

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of streams, which the name of their content has not."""


def find_kind(head: bytes) -> Kind | None:
    """Return the kind of a file by its first bytes, `HEAD` of them; None for other files."""
    return next((kind for kind, offset, magic in MAGIC if head.startswith(magic, offset)), None)
