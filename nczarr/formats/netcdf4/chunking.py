"""Default chunk lengths of netCDF-C 4.9, for datasets that request chunks without lengths.

They are passed explicitly, because the library's default is a build setting. An
unlimited dimension has length 1; the others share the chunk size in proportion
to their lengths, trimmed to avoid a mostly empty last chunk. A single unlimited
dimension has 4 KiB chunks; several without fixed ones share evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

CHUNK_BYTES = 16 << 20
"""Target size of a chunk, in bytes."""

LARGEST = (1 << 32) - 1
"""Largest chunk of HDF5, in bytes; lengths of a larger one are halved."""

LONE_BYTES = 4096
"""Chunk size along a single unlimited dimension, in bytes."""


def default_chunks(lengths: Sequence[int | None], itemsize: int, room: int = CHUNK_BYTES) -> tuple[int, ...]:
    """Return the chunk lengths of an array; None stands for an unlimited dimension.

    `itemsize`: bytes of an element in memory; `room`: limit of a chunk in
    bytes, if below `CHUNK_BYTES`.
    """
    room = min(room, CHUNK_BYTES)
    fixed = [length for length in lengths if length is not None]
    if not fixed and len(lengths) == 1:
        return (max(1, max(1, min(LONE_BYTES, room // itemsize)) // itemsize),)
    if not fixed:
        edge = int(math.pow(room / itemsize, 1 / len(lengths))) if lengths else 1
        chunks = [max(1, edge)] * len(lengths)
    else:
        total = math.prod(float(length) for length in fixed) * itemsize
        factor = math.pow(room / total, 1 / len(fixed)) if total else math.inf
        chunks = [1 if length is None else _share(length, factor) for length in lengths]
    while math.prod(chunks) * itemsize > LARGEST and max(chunks) > 1:
        chunks = [max(1, chunk // 2) for chunk in chunks]
    return tuple(_trimmed(chunk, length) for chunk, length in zip(chunks, lengths, strict=True))


def _share(length: int, factor: float) -> int:
    if factor == math.inf:
        return max(1, length)
    return max(1, min(length, int(max(0.0, factor * length - 0.5))))


def _trimmed(chunk: int, length: int | None) -> int:
    """Shorten a chunk to spread the excess of the last chunk."""
    if not length:
        return chunk
    count = -(-length // chunk)
    return chunk - (count * chunk - length) // count
