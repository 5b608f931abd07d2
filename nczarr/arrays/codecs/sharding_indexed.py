"""Shards of Zarr v3 within any chain, and their indices.

A usual chain has one level of shards, which is a member of `Encoding`: its inner
chunks are read one by one. In all other chains shards are a step of the whole chunk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nczarr.arrays.codecs.chain import decode, with_fill
from nczarr.arrays.codecs.lengths import misfit, texts_of, vlen_texts
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, Step
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import every_block, grid_of, region_of
from nczarr.names.records import NamedTuple

ABSENT = 2**64 - 1
"""Offset and length of a missing chunk in the index of a shard."""


class ShardingIndexed(CodecKind):
    """Shards as a step of the whole chunk."""

    config_id = "sharding_indexed"
    changes_arrays = True

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        """Return all elements of a shard; missing chunks have the fill value."""
        shape, chunks, itemsize = step["shape"], step["chunks"], step["itemsize"]
        count = math.prod(grid_of(shape, chunks))
        size = index_size(step["index_steps"], count)
        if len(data) < size:
            raise ValueError("the shard is shorter than its index")
        if math.prod(shape) * max(1, itemsize) > limit:
            raise ValueError(TOO_MUCH)
        index = data[:size] if step["index_first"] else data[len(data) - size :]
        table = index_table(index, step["index_steps"], count).tolist()
        out = np.empty(shape, dtype=f"V{itemsize}" if itemsize else object)
        out[...] = np.frombuffer(step["fill"], f"V{itemsize}")[0] if itemsize else step["fill"]
        for place, number in enumerate(every_block(shape, chunks)):
            offset, length = table[2 * place : 2 * place + 2]
            if offset == length == ABSENT:  # the specification's mark of a missing chunk
                continue
            if offset + length > len(data):
                raise ValueError("the index points beyond the end of the shard")
            out[region_of(number, chunks, shape)] = _inner_chunk(step, data[offset : offset + length])
        if itemsize:
            whole: bytes = out.tobytes()
            return whole
        texts: list[bytes] = out.ravel().tolist()
        return vlen_texts(texts)

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        if "shape" in step:
            step = {**step, "fill": fill, "steps": with_fill(step["steps"], fill)}
        return step, fill


def shard_step(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    inner: Sequence[Config],
    permutation: tuple[int, ...] | None,
    itemsize: int,
    index_steps: Sequence[Config],
    *,
    index_first: bool,
) -> Step:
    """Return the step for shards of this shape. `itemsize`: 0 for variable-length texts. `with_fill` adds the fill."""
    return {
        "id": "sharding_indexed",
        "shape": shape,
        "chunks": chunks,
        "steps": tuple(inner),
        "permutation": permutation,
        "itemsize": itemsize,
        "index_steps": tuple(index_steps),
        "index_first": index_first,
        "fill": bytes(itemsize),
    }


def index_table(data: bytes, steps: Sequence[Config], count: int) -> NDArray[np.uint64]:
    """Decode the index of a shard: offset and length of each chunk, one after the other, shape `(2 * count,)`.

    Raises one of `DECODING_ERRORS`, also if chunks share bytes.
    """
    plain = decode(data, steps[1:], 8, 16 * count)  # two uint64 for each chunk
    table = np.frombuffer(plain, ">u8" if steps[0].get("endian") == "big" else "<u8", 2 * count)
    if _overlap(table[0::2], table[1::2]):
        raise ValueError("the index of the shard points at the same bytes more than once")
    return table


def index_size(steps: Sequence[Config], count: int) -> int:
    """Return the bytes of the index of a shard with so many chunks."""
    return 16 * count + (4 if len(steps) > 1 else 0)  # 16: offset and nbytes; 4: crc32c


def _overlap(offset: NDArray[np.uint64], length: NDArray[np.uint64]) -> bool:
    """Return whether chunks share bytes; else a few bytes could expand to any number of chunks.

    No writer does that. `offset`, `length`: uint64, shape (chunks,).
    """
    there = (offset != ABSENT) & (length > 0)
    begin, size = offset[there].astype(np.uint64), length[there].astype(np.uint64)
    order = np.argsort(begin, kind="stable")
    begin, size = begin[order], size[order]
    return bool((begin[1:] - begin[:-1] < size[:-1]).any())


def _inner_chunk(step: Config, data: bytes) -> NDArray[Any]:
    """Return a chunk of a shard as an array of `V` elements or texts."""
    chunks, permutation, itemsize = step["chunks"], step["permutation"], step["itemsize"]
    count = math.prod(chunks)
    plain = decode(data, step["steps"], itemsize or 1, count * itemsize or None)
    if itemsize:
        if len(plain) != count * itemsize:
            raise ValueError(misfit(len(plain), count * itemsize))
        flat: NDArray[Any] = np.frombuffer(plain, f"V{itemsize}", count)
    else:
        flat = np.empty(count, object)
        flat[:] = texts_of(plain, count)
    if permutation is None:
        return flat.reshape(chunks)
    return flat.reshape([chunks[axis] for axis in permutation]).transpose(np.argsort(permutation))


class ShardIndex(NamedTuple):
    """Places of stored chunks in one shard, a row for each."""

    number: NDArray[np.int64]
    """Number of the chunk in the shard, in C order; ascending."""
    offset: NDArray[np.uint64]
    """Start in the shard, in bytes."""
    length: NDArray[np.uint64]
    """Length in bytes."""

    @property
    def size(self) -> int:
        """Bytes of the index in memory."""
        return self.number.nbytes + self.offset.nbytes + self.length.nbytes

    def rows(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which chunks are stored: bool, shape (chunks,), and the rows of those: int64, shape (stored,)."""
        rows = np.searchsorted(self.number, numbers)
        stored = rows < len(self.number)
        stored[stored] = self.number[rows[stored]] == numbers[stored]
        return stored, rows[stored]


def shard_index(table: NDArray[np.uint64]) -> ShardIndex:
    """Return the index of a decoded table: uint64, shape (2 × chunks,), offset and length alternate."""
    offset, length = table[0::2], table[1::2]
    number = np.flatnonzero((offset != ABSENT) | (length != ABSENT))
    return ShardIndex(number, offset[number].astype(np.uint64), length[number].astype(np.uint64))


CODECS = (ShardingIndexed(),)
