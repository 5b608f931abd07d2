"""Chunk lengths where a dataset asks for chunks without saying which: those that netCDF-C 4.9 chooses.

They are given to the library explicitly, so that the same input makes the same file with every release of it: the
default is a setting of the library's build. The rule, as arithmetic: an unlimited dimension has length 1; the
others share out the chunk's size in proportion to their lengths, which is then trimmed so that the last chunk is not
mostly empty. A lone unlimited dimension has 4 KiB a chunk, and where all dimensions are unlimited they share evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

CHUNK_BYTES = 16 << 20
"""The size that a chunk comes near to."""

LARGEST = (1 << 32) - 1
"""The largest chunk of HDF5: lengths that make a larger one are halved."""

LONE_BYTES = 4096
"""The size of a chunk along a lone unlimited dimension."""


def default_chunks(lengths: Sequence[int | None], itemsize: int, room: int = CHUNK_BYTES) -> tuple[int, ...]:
    """Chunk lengths of an array; None stands for an unlimited dimension. `itemsize`: bytes of an element in memory;
    `room`: bytes that a chunk may take, if that is less than is usual.
    """
    room = min(room, CHUNK_BYTES)
    fixed = [length for length in lengths if length is not None]
    if not fixed and len(lengths) == 1:
        return (max(1, max(1, min(LONE_BYTES, room // itemsize)) // itemsize),)
    if not fixed:
        each = int(math.pow(room / itemsize, 1 / len(lengths))) if lengths else 1
        chunks = [max(1, each)] * len(lengths)
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
    """The chunk length without a share of what the last chunk has too much."""
    if not length:
        return chunk
    count = -(-length // chunk)
    return chunk - (count * chunk - length) // count
