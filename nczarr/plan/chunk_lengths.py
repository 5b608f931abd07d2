"""Chunk lengths of a target: those asked for, those the dataset has, else a sensible default.

The default keeps an array in one piece up to `CHUNK_BYTES` and splits larger ones evenly along their outer
dimensions, so that a chunk is contiguous in the array. (The netCDF library's own default makes chunks of one record
along an unlimited dimension, and of 16 MB for a tiny array whose dimensions are all unlimited.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.plan.plans import Plan

CHUNK_BYTES = 4 << 20
"""Size that a chunk of our own choice does not exceed, unless one element does."""

LARGEST_CHUNK = 1 << 30
"""Chunks asked for beyond this are not made: encoders hold them whole, and Blosc ends at 2 GiB."""


def default_chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunk lengths for an array nobody said anything about; a dimension without length counts as one."""
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
    """Whether a chunk of these lengths can be made at all."""
    return math.prod(chunks) * itemsize <= LARGEST_CHUNK


def grid_size(shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    """How many chunks the grid has."""
    return math.prod(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))


def check_chunk(plan: Plan, path: str, part: str, size: int, report: Report) -> None:
    """Report a chunk of `size` bytes that is too large for the run's memory to be decoded: oversized-chunk.

    Encoded chunks that move as they are may be of any size.
    """
    limit = plan.options.memory
    if size <= limit:
        return
    what = f"variable `{path}`" + (f", part `{part}`" if part else "")
    text = f"{what}: a chunk of {size} bytes would have to be decoded, and the limit is {limit}"
    helps = ["`--memory` sets another limit", "with the chunks and codecs of the source it is moved as it is"]
    report.error("oversized-chunk", text, plan.checked.variables[path].span, helps=helps)
