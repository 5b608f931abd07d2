"""Chunk, shard and string lengths of a target: the requested ones, else those of the dataset, else a default.

By default an array up to `CHUNK_BYTES` is one chunk. Larger arrays are split
evenly along outer dimensions, so that chunks are contiguous. (The netCDF
library's default makes chunks of one record along an unlimited dimension, and
of 16 MB for a tiny array with unlimited dimensions only.)

A shard consists of whole chunks in one key, followed by an index (Zarr v3,
`sharding_indexed`). A request is `none`, `auto`, or lengths: one for each
dimension of a variable, or for single dimensions. Other dimensions are one
chunk long, and a length that reaches the array's covers all of it. `auto` takes
as many chunks in C order as fit into `SHARD_BYTES` before compression, `append`
those of one chunk along the first dimension. Records
and opaque values get no shards: zarr-python reads them, but not in shards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar

from nczarr import names
from nczarr.arrays.regions import linear_block, number_of_first, region_of
from nczarr.arrays.sources.source import ArraySource, Descr
from nczarr.ast.plain_json import is_utf8
from nczarr.ast.rectilinear import varies, volume
from nczarr.diagnostics.report import Report
from nczarr.names.records import NamedTuple
from nczarr.options import WHOLE
from nczarr.plan.plans import Plan, Runs
from nczarr.semantics.checked import Checked

SLAB = 1 << 18
"""Strings inspected at once."""


class Strings(NamedTuple):
    """Survey of an array of strings."""

    size: int = 0
    """Bytes of all strings with 4-byte lengths."""
    longest: int = 0
    """Bytes of the longest string."""
    nul: bool = False
    """True if a string contains NUL."""
    utf8: bool = True
    """True if all strings are UTF-8."""
    nil: Runs = ()
    characters: int = 0
    """Code points of the longest string; 0 unless asked for."""
    trailing: bool = False
    """True if a string ends with NUL."""
    written: bool = False
    """True if a string differs from the fill."""


def has_values(source: ArraySource | None) -> bool:
    """Return whether an array has any cell that was written."""
    if source is None or 0 in source.layout.shape:
        return False
    return any(True for _ in source.list_occupied(source.layout.shape))


def survey(source: ArraySource | None, fill: bytes, *, characters: bool = False) -> Strings:
    """Inspect the fill, and every string that may differ from it. `characters`: count code points."""
    longest = len(fill)
    most_characters = _count_characters(fill) if characters else 0
    has_nul, ends_in_nul, all_utf8 = b"\0" in fill, fill.endswith(b"\0"), is_utf8(fill)
    if source is None:
        return Strings(0, longest, has_nul, all_utf8, (), most_characters, ends_in_nul)
    nil: list[int] = []
    size, written = 0, False
    shape = source.layout.shape
    slab = linear_block(shape, SLAB)
    for index in source.list_occupied(slab):
        region = region_of(index, slab, shape)
        first = number_of_first(region, shape)
        for number, text in enumerate(source.pack(region) or source.read(region).reshape(-1)):
            size += 4 + len(text or b"")
            written = written or text != fill
            if text is None:
                nil.append(first + number)
                continue
            longest = max(longest, len(text))
            has_nul = has_nul or b"\0" in text
            ends_in_nul = ends_in_nul or text.endswith(b"\0")
            all_utf8 = all_utf8 and (text.isascii() or is_utf8(text))
            if characters:
                most_characters = max(most_characters, _count_characters(text))
    runs = tuple(_find_runs(sorted(nil)))
    return Strings(size, longest, has_nul, all_utf8, runs, most_characters, ends_in_nul, written)


def _count_characters(text: bytes) -> int:
    """Return the code points of a text; bytes that are not UTF-8 count one each."""
    return len(text.decode("utf-8", "replace"))


def _find_runs(indices: list[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive indices as (first, number)."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and sum(runs[-1]) == index:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((index, 1))
    return runs


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
    return volume(chunks) * itemsize <= LARGEST_CHUNK


def check_chunk(plan: Plan, path: str, part: str, size: int, report: Report) -> None:
    """Report oversized-chunk if a chunk of `size` decoded bytes exceeds the run's memory.

    Chunks that are copied without decoding may have any size.
    """
    limit = plan.options.run.memory
    if size <= limit:
        return
    what = f"variable `{path}`" + (f", part `{part}`" if part else "")
    text = f"{what}: a chunk of {size} bytes must be decoded, and the limit is {limit}"
    helps = [
        "raise the limit with `--memory`",
        "with the chunks and codecs of the source, chunks are copied without decoding",
    ]
    report.error("oversized-chunk", text, plan.checked.variables[path].span, helps=helps)


SHARD_BYTES = 64 << 20
"""Maximum size of an `auto` shard, index included, unless one chunk is larger."""

CLOUD_SHARD_BYTES = 128 << 20
"""The same of a shard of the layout `cloud`."""

INDEX_BYTES = 16
"""Bytes of a chunk's index entry."""

LARGEST_INDEX = 1 << 28
"""Maximum size of a shard index: readers hold it whole."""

ShardRequest: TypeAlias = Literal["none", "auto", "cloud", "append"] | tuple[int | None, ...]
"""Request for one variable; lengths have None for each dimension that is not named."""


def can_shard(dtype: Descr) -> TypeGuard[str]:
    """Return whether arrays of this dtype are written in shards."""
    return isinstance(dtype, str) and dtype[1] != "V"


def shard_shape(
    request: ShardRequest, chunks: tuple[int, ...], shape: tuple[int, ...], itemsize: int
) -> tuple[int, ...] | None:
    """Return the shard shape, or None for no shards. Expects no `problem`."""
    if not shape or request == "none" or varies(chunks):
        return None
    counts = [max(1, -(-extent // chunk)) for extent, chunk in zip(shape, chunks, strict=True)]
    if not isinstance(request, str):
        whole = [
            1 if length is None else count if length >= extent else max(1, length // chunk)
            for length, chunk, count, extent in zip(request, chunks, counts, shape, strict=True)
        ]
    elif request == "append":  # a step of the first dimension is added without the others
        whole = [1, *_automatic(counts[1:], math.prod(chunks) * itemsize, SHARD_BYTES)]
    elif math.prod(counts) == 1:
        return None
    else:
        whole = _automatic(
            counts, math.prod(chunks) * itemsize, CLOUD_SHARD_BYTES if request == "cloud" else SHARD_BYTES
        )
    if request == "append" and math.prod(whole) == 1:
        return None
    return tuple(number * chunk for number, chunk in zip(whole, chunks, strict=True))


def _automatic(counts: list[int], chunk_bytes: int, shard_bytes: int) -> list[int]:
    """Return the chunks of a shard along each axis: all of the inner ones, an even share of the first split one."""
    room = max(1, shard_bytes // (chunk_bytes + INDEX_BYTES))
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
    """Return why an array of these chunks cannot have the requested shards, or None."""
    if isinstance(request, str):
        return None
    if varies(chunks):
        return "chunks of different lengths are not written in shards"
    for length, chunk, extent in zip(request, chunks, shape, strict=True):
        if length is not None and length < extent and length % chunk:
            return f"shards of length {length} are not a multiple of chunk length {chunk}"
    shards = shard_shape(request, chunks, shape, itemsize)
    if shards is None:
        return None
    count = math.prod(shard // chunk for shard, chunk in zip(shards, chunks, strict=True))
    if count * INDEX_BYTES > LARGEST_INDEX:
        return f"the index of a shard of {count} chunks is larger than {LARGEST_INDEX >> 20} MiB"
    return None


def inner_chunks(request: ShardRequest, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return default chunks adapted to the requested shards: divisors of the shard lengths."""
    if isinstance(request, str):
        return chunks
    return tuple(
        chunk if length is None or length >= extent or length > LARGEST_CHUNK else _divisor(length, chunk)
        for length, chunk, extent in zip(request, chunks, shape, strict=True)
    )


def _divisor(length: int, near: int) -> int:
    """Return the largest divisor of a length up to `near`; if that is far below, the smallest one above."""
    small = [part for part in range(1, math.isqrt(length) + 1) if length % part == 0]
    divisors = sorted({*small, *(length // part for part in small)})
    below = max(part for part in divisors if part <= near)
    if below * 8 > min(length, near):
        return below
    return next(part for part in divisors if part >= min(length, near))


T = TypeVar("T")


def fill_whole(requested: Mapping[str, T], checked: Checked) -> dict[str, T]:
    """Return requested lengths with `WHOLE` replaced by the dimension's length, the longest one of its name."""
    filled: dict[str, Any] = dict(requested)
    for name, lengths in filled.items():
        if isinstance(lengths, tuple) and WHOLE in lengths:
            sizes = [node.size for fqn, node in checked.dimensions.items() if name in (fqn, names.last(fqn))]
            extents = checked.shapes.get(name) or (max([1, *sizes]),)
            pairs = zip_longest(lengths, extents[: len(lengths)], fillvalue=1)  # a wrong number is reported later
            filled[name] = tuple(max(1, extent) if length == WHOLE else length for length, extent in pairs)
    return filled
