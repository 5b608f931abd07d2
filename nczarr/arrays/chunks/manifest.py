"""Byte ranges of encoded chunks: one range, a table of them, or ranges at a regular distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.stores import ranges
from nczarr.stores.ranges import Range

SHORT = 1 << 16
"""Bytes of a range below which several are read together rather than moved one by one."""


class ChunkPlace(NamedTuple):
    """Byte range of an encoded chunk in a file."""

    path: str
    """Path or URL of the file."""
    offset: int
    """Start in bytes."""
    length: int
    """Length in bytes."""
    mask: int = 0
    """Bit i is set if encoding step i was skipped."""


class PlaceColumns(NamedTuple):
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


def columns_from(places: Iterable[tuple[int, ChunkPlace | None]]) -> PlaceColumns:
    """Return numbered places as columns, in the same order; None has no row."""
    sources: dict[str, int] = {}
    rows = [
        (number, sources.setdefault(place.path, len(sources)), place.offset, place.length, place.mask)
        for number, place in places
        if place is not None
    ]
    table = np.array(rows, np.int64).reshape(-1, 5).T.copy()
    return PlaceColumns(tuple(sources), table[0], table[1], table[2], table[3], table[4].astype(np.int32))


def runs(columns: PlaceColumns) -> Iterator[bytes | Range]:
    """Yield the bytes of all rows in sequence: adjacent ones as one range; short ones of a file are read together.

    Raises OSError.
    """
    sources, _, source, offset, length, _ = columns
    adjacent = (source[1:] == source[:-1]) & (offset[1:] == offset[:-1] + length[:-1])
    first = np.flatnonzero(np.concatenate(([True], ~adjacent))) if len(source) else np.zeros(0, np.int64)
    files, begins = source[first].tolist(), offset[first].tolist()
    sizes = np.add.reduceat(length, first).tolist() if len(first) else []
    waiting: list[tuple[int, int]] = []
    for number, (file, begin, size) in enumerate(zip(files, begins, sizes, strict=True)):
        if size >= SHORT:
            yield Range(sources[file], begin, size)
            continue
        waiting.append((begin, size))
        following = number + 1
        if following == len(files) or files[following] != file or sizes[following] >= SHORT:
            yield Range(sources[file], *waiting[0]) if len(waiting) == 1 else ranges.together(sources[file], waiting)
            waiting = []


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


Manifest: TypeAlias = PlaceColumns | Affine
