"""Byte ranges of encoded chunks: one range, a table of them, or ranges at a regular distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np


class Place(NamedTuple):
    """Byte range of an encoded chunk in a file. Bit i of `mask`: step i was skipped."""

    path: str
    offset: int
    length: int
    mask: int = 0


class Columns(NamedTuple):
    """Encoded chunks as byte ranges, one row per chunk: equally long int64 columns (mask: int32).

    `chunk` is the linear index in the grid, `source` an index into `sources`
    (paths or URLs).
    """

    sources: tuple[str, ...]
    chunk: NDArray[np.int64]
    source: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    mask: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Affine:
    """Regular chunks of one file: chunk i begins at `base + i * stride` and has `length` bytes."""

    source: str
    base: int
    stride: int
    length: int
    count: int


Manifest: TypeAlias = Columns | Affine
