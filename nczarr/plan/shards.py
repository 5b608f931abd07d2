"""Shards of a target: whole chunks that lie in one key, with an index behind them (Zarr v3, `sharding_indexed`).

A request is `none`, `auto`, or lengths: one for each dimension of a variable, or for single dimensions; the others are
one chunk long, and a length that reaches the array's covers all of it. A shard is whole chunks. `auto` takes as many
chunks in C order as `SHARD_BYTES` hold before they are compressed. Records and opaque values get no shards:
zarr-python reads them, but not in shards.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, TypeGuard

from nczarr.arrays.source import Descr
from nczarr.plan.chunk_lengths import LARGEST_CHUNK

SHARD_BYTES = 64 << 20
"""Size that a shard of our own choice does not exceed, index included, unless one chunk does."""

INDEX_BYTES = 16
"""What the index takes for each chunk."""

LARGEST_INDEX = 1 << 28
"""Size that the index of a shard may have: readers hold it whole."""

ShardRequest: TypeAlias = Literal["none", "auto"] | tuple[int | None, ...]
"""What is asked for one variable: lengths have a None for each dimension that nobody named."""


def can_shard(dtype: Descr) -> TypeGuard[str]:
    """Whether arrays of this element type are written in shards."""
    return isinstance(dtype, str) and dtype[1] != "V"


def shard_shape(
    request: ShardRequest, chunks: tuple[int, ...], shape: tuple[int, ...], itemsize: int
) -> tuple[int, ...] | None:
    """The shards of an array of these chunks; None: it has none. Expects `problem` to find none."""
    if not shape or request == "none":
        return None
    counts = [max(1, -(-extent // chunk)) for extent, chunk in zip(shape, chunks, strict=True)]
    if not isinstance(request, str):
        whole = [
            1 if length is None else count if length >= extent else max(1, length // chunk)
            for length, chunk, count, extent in zip(request, chunks, counts, shape, strict=True)
        ]
    elif math.prod(counts) == 1:
        return None
    else:
        whole = _automatic(counts, math.prod(chunks) * itemsize)
    return tuple(number * chunk for number, chunk in zip(whole, chunks, strict=True))


def _automatic(counts: list[int], chunk_bytes: int) -> list[int]:
    """How many chunks a shard has along each dimension: all of the inner ones, an even share of the first cut one."""
    room = max(1, SHARD_BYTES // (chunk_bytes + INDEX_BYTES))
    whole = [1] * len(counts)
    for axis in range(len(counts) - 1, -1, -1):
        if counts[axis] > room:
            shares = -(-counts[axis] // room)
            whole[axis] = -(-counts[axis] // shares)
            break
        whole[axis] = counts[axis]
        room //= counts[axis]
    return whole


def problem(request: ShardRequest, chunks: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> str | None:
    """Why an array of these chunks cannot have the shards that it should have; None if it can."""
    if isinstance(request, str):
        return None
    for length, chunk, extent in zip(request, chunks, shape, strict=True):
        if length is not None and length < extent and length % chunk:
            return f"shards of length {length} are no whole chunks of length {chunk}"
    shards = shard_shape(request, chunks, shape, itemsize)
    if shards is None:
        return None
    count = math.prod(shard // chunk for shard, chunk in zip(shards, chunks, strict=True))
    if count * INDEX_BYTES > LARGEST_INDEX:
        return f"the index of a shard of {count} chunks is larger than {LARGEST_INDEX >> 20} MiB"
    return None


def inner_chunks(request: ShardRequest, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Chunks of our own choice made to fit shards that were asked for: along each dimension a divisor of the shard."""
    if isinstance(request, str):
        return chunks
    return tuple(
        chunk if length is None or length >= extent or length > LARGEST_CHUNK else _divisor(length, chunk)
        for length, chunk, extent in zip(request, chunks, shape, strict=True)
    )


def _divisor(length: int, near: int) -> int:
    """The largest divisor of a length up to `near`, or, where that is far below, the smallest beyond it."""
    small = [part for part in range(1, math.isqrt(length) + 1) if length % part == 0]
    divisors = sorted({*small, *(length // part for part in small)})
    below = max(part for part in divisors if part <= near)
    if below * 8 > min(length, near):
        return below
    return next(part for part in divisors if part >= min(length, near))
