"""Byte ranges of encoded chunks: one range, a table of them, or ranges at a regular distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np


class Place(NamedTuple):
    """Byte range of an encoded chunk in a file."""

    path: str
    """Path or URL of the file."""
    offset: int
    """Start in bytes."""
    length: int
    """Length in bytes."""
    mask: int = 0
    """Bit i is set if encoding step i was skipped."""


class Columns(NamedTuple):
    """Encoded chunks as byte ranges, one row per chunk, in equally long columns."""

    sources: tuple[str, ...]
    """Paths or URLs of the files."""
    chunk: NDArray[np.int64]
    """Linear index of the chunk in the grid."""
    source: NDArray[np.int64]
    """Index into `sources`."""
    offset: NDArray[np.int64]
    """Start in bytes."""
    length: NDArray[np.int64]
    """Length in bytes."""
    mask: NDArray[np.int32]
    """Bit i is set if encoding step i was skipped."""


@dataclass(frozen=True, slots=True)
class Affine:
    """Regular chunks of one file: chunk i begins at `base + i * stride`."""

    source: str
    """Path or URL of the file."""
    base: int
    """Start of the first chunk in bytes."""
    stride: int
    """Distance of two chunks in bytes."""
    length: int
    """Length of each chunk in bytes."""
    count: int
    """Number of chunks."""


Manifest: TypeAlias = Columns | Affine
