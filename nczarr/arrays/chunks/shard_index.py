"""Index of one shard: places of the chunks that it stores, so that a sparse shard has a short one."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.codecs.sharding_indexed import ABSENT
from nczarr.arrays.lazy_numpy import NDArray, np


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
