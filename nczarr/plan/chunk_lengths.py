"""Chunk lengths of a target: the requested ones, else those of the dataset, else a default.

By default an array up to `CHUNK_BYTES` is one chunk. Larger arrays are split evenly along outer dimensions,
so that chunks are contiguous. (The netCDF library's default makes chunks of one record along an unlimited
dimension, and of 16 MB for a tiny array with unlimited dimensions only.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.plan.plans import Plan

CHUNK_BYTES = 4 << 20
"""Maximum size of a default chunk, unless one element is larger."""

LARGEST_CHUNK = 1 << 30
"""Maximum size of a requested chunk: encoders hold it whole, and Blosc is limited to 2 GiB."""


def default_chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return default chunk lengths; a dimension of length 0 counts as one."""
    chunks = [max(1, length) for length in shape]
    room = max(1, CHUNK_BYTES // max(1, itemsize))
    for axis, length in enumerate(chunks):
        inner = math.prod(chunks[axis + 1 :])
        if length * inner <= room:
            break
        count = -(-length // max(1, room // inner))
        chunks[axis] = -(-length // count)
        if chunks[axis] > 1:
            break
    return tuple(chunks)


def fits(chunks: tuple[int, ...], itemsize: int) -> bool:
    """Return whether such a chunk can be made."""
    return math.prod(chunks) * itemsize <= LARGEST_CHUNK


def grid_size(shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    """Return the number of chunks."""
    return math.prod(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))


def check_chunk(plan: Plan, path: str, part: str, size: int, report: Report) -> None:
    """Report oversized-chunk if a chunk of `size` decoded bytes exceeds the run's memory.

    Chunks that are copied without decoding may have any size.
    """
    limit = plan.options.memory
    if size <= limit:
        return
    what = f"variable `{path}`" + (f", part `{part}`" if part else "")
    text = f"{what}: a chunk of {size} bytes would have to be decoded, and the limit is {limit}"
    helps = ["`--memory` sets another limit", "with the chunks and codecs of the source it is moved as it is"]
    report.error("oversized-chunk", text, plan.checked.variables[path].span, helps=helps)
