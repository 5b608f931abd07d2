"""Chunk lengths that differ along a dimension, as in Zarr's `rectilinear` grid.

The chunk length of a dimension is an integer in a regular grid, and `Lengths`
otherwise. Both have the same arithmetic between chunks and positions, so code
that finds the region of a chunk, or the chunks of a region, need not tell them
apart.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, NoReturn, Self, TypeAlias

Run: TypeAlias = tuple[int, int]
"""Length of consecutive chunks, and their number."""

Written: TypeAlias = "int | list[int | list[int]]"
"""Chunk length of a dimension in JSON: one length, or a list of lengths and of pairs `[length, number]`."""

LONGEST = 2**63 - 1
"""Maximum sum of chunk lengths along a dimension."""

MOST_EXPANDED = 1 << 24
"""Maximum number of chunks of a dimension whose lengths are listed one by one."""

PARTS = 16
"""Maximum number of parts that are kept of the lengths of a dimension."""


class Lengths(int):
    """Lengths of the chunks along a dimension; as a number, the largest of them.

    With `n` and `p` integers or integer arrays: `n * lengths` is the start of
    chunk `n`, `p // lengths` is the chunk of position `p`, `-(-p // lengths)` the
    number of chunks that begin before `p`, and `p % lengths` the place of `p` in
    its chunk. Any other arithmetic raises TypeError. After the last chunk its
    length repeats.

    Memory depends on the number of runs of equal lengths, not on that of chunks.
    """

    __array_ufunc__ = None  # operators of NumPy's arrays leave the result to this class

    runs: tuple[Run, ...]
    """Runs of equal lengths; neighbours differ."""
    _firsts: list[int]
    """First chunk of each run, and the number of chunks."""
    _begins: list[int]
    """Start of each run, and the sum of all lengths."""
    _columns: Any
    """`_firsts`, `_begins` and the lengths of the runs: int64, shape (3, runs), once used."""
    _parts: dict[tuple[int, int], int]
    """Results of `between`."""

    def __new__(cls, runs: Iterable[Run]) -> Self:
        """Return the lengths of runs of chunks, neighbours of which differ."""
        every_run = tuple(runs)
        lengths = super().__new__(cls, max(length for length, _ in every_run))
        lengths.runs = every_run
        lengths._firsts = [0, *accumulate(count for _, count in every_run)]
        lengths._begins = [0, *accumulate(length * count for length, count in every_run)]
        lengths._columns, lengths._parts = None, {}
        return lengths

    def __reduce__(self) -> tuple[Any, ...]:
        return Lengths, (self.runs,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lengths) and self.runs == other.runs

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.runs)

    def __repr__(self) -> str:
        return f"Lengths({list(self.runs)})"

    def __str__(self) -> str:
        return f"{min(length for length, _ in self.runs)}..{int(self)}"

    def __format__(self, spec: str) -> str:
        return str(self)

    @property
    def count(self) -> int:
        """Number of chunks."""
        return self._firsts[-1]

    @property
    def total(self) -> int:
        """Sum of all lengths."""
        return self._begins[-1]

    def of(self, number: int) -> int:
        """Return the length of a chunk."""
        return self.runs[self._run(self._firsts, number)][0]

    def _run(self, starts: list[int], at: int) -> int:
        return max(0, bisect_right(starts, at, hi=len(self.runs)) - 1)

    def _at(self, row: int, at: Any) -> tuple[Any, Any, Any]:
        """Return first chunk, start and length of the runs of chunks (row 0) or positions (row 1): int64, as `at`."""
        import numpy as np

        if self._columns is None:
            lengths = [length for length, _ in self.runs]
            self._columns = np.array([self._firsts[:-1], self._begins[:-1], lengths], np.int64)
        first, begin, length = self._columns
        run = np.maximum(np.searchsorted(self._columns[row], at, side="right") - 1, 0)
        return first[run], begin[run], length[run]

    def __rmul__(self, number: Any) -> Any:
        if isinstance(number, int):
            run = self._run(self._firsts, number)
            return self._begins[run] + (int(number) - self._firsts[run]) * self.runs[run][0]
        first, begin, length = self._at(0, number)
        return begin + (number - first) * length

    def __rfloordiv__(self, position: Any) -> Any:
        """Return the number of the chunk that has a position: an integer, or an array of them."""
        if isinstance(position, int):
            if position < 0:
                return -1 - (-1 - position) // self
            run = self._run(self._begins, position)
            return self._firsts[run] + (int(position) - self._begins[run]) // self.runs[run][0]
        first, begin, length = self._at(1, position)
        return first + (position - begin) // length

    def __rmod__(self, position: Any) -> Any:
        return position - position // self * self

    def _refuse(self, *other: Any) -> NoReturn:
        raise TypeError("chunks of different lengths have no common length")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __floordiv__ = __mod__ = _refuse
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __neg__ = __lshift__ = __rshift__ = _refuse

    def expand(self) -> tuple[int, ...]:
        """Return the lengths of all chunks one by one. Raises ValueError for more than `MOST_EXPANDED`."""
        if self.count > MOST_EXPANDED:
            raise ValueError(f"a dimension has {self.count} chunks, more than {MOST_EXPANDED}")
        return tuple(chain.from_iterable(repeat(length, count) for length, count in self.runs))

    def between(self, first: int, end: int) -> int:
        """Return the chunk lengths of chunks `first` to `end - 1`, of which there is at least one."""
        part = self._parts.get((first, end))
        if part is None:
            if len(self._parts) >= PARTS:
                self._parts.clear()
            part = self._parts[first, end] = chunk_length(self._cut(first, end))
        return part

    def _cut(self, first: int, end: int) -> list[Run]:
        """Return the runs of chunks `first` to `end - 1`."""
        cut = []
        for run in range(self._run(self._firsts, first), self._run(self._firsts, end) + 1):
            length, count = self.runs[run]
            begin = self._firsts[run]
            low, high = max(first, begin), min(end, begin + count)
            if low < high:
                cut.append((length, high - low))
        return cut

    def fit(self, extent: int) -> int:
        """Return the chunk lengths of another extent of the dimension.

        Chunks beyond it are left out, and the last length repeats up to it. Only a
        chunk that was beyond it before may remain so.
        """
        end = max(1, -(-extent // self))
        if end == self.count and extent <= self.total:
            return self
        runs = self._cut(0, end)
        if end > self.count:
            runs.append((self.runs[-1][0], end - self.count))
        if (over := end * self - extent) > 0 and extent > 0:
            length, count = runs.pop()
            runs += [(length, count - 1), (length - over, 1)]
        return chunk_length(runs)

    @property
    def written(self) -> Written:
        """The form in JSON: equal lengths in a row are a pair."""
        return write_runs(self.runs)


def chunk_length(runs: Iterable[Run]) -> int:
    """Return the chunk length of a dimension: an integer if all lengths are equal. Expects one chunk at least."""
    merged = _merge(runs)
    return merged[0][0] if len(merged) == 1 else Lengths(merged)


def _merge(runs: Iterable[Run]) -> list[Run]:
    """Return runs whose neighbours differ, without empty ones."""
    merged: list[Run] = []
    for length, count in filter(all, runs):
        if merged and merged[-1][0] == length:
            count += merged.pop()[1]
        merged.append((length, count))
    return merged


def within(length: int, extent: int) -> int:
    """Return a chunk length that is not longer than its dimension."""
    return length.fit(extent) if isinstance(length, Lengths) else min(length, max(1, extent))


def runs_of(length: int, extent: int) -> list[Run]:
    """Return the runs of the chunks of a dimension, which end at its extent."""
    count = extent // length
    runs = length._cut(0, count) if isinstance(length, Lengths) else [(length, count)]
    rest = extent - count * length
    return _merge((*runs, (rest, 1)))


def varies(chunks: Sequence[int]) -> bool:
    """Return whether chunks of a grid differ in shape."""
    return any(isinstance(length, Lengths) for length in chunks)


def largest(chunks: Iterable[int]) -> tuple[int, ...]:
    """Return the largest chunk length of each dimension: those of a regular grid themselves."""
    return tuple(map(int, chunks))


def volume(chunks: Iterable[int]) -> int:
    """Return the elements of the largest chunk."""
    return math.prod(map(int, chunks))


def shape_of(number: Sequence[int], chunks: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of one chunk."""
    return tuple(
        length.of(index) if isinstance(length, Lengths) else length
        for index, length in zip(number, chunks, strict=True)
    )


def write_runs(runs: Iterable[Run]) -> list[int | list[int]]:
    """Return runs in their form in JSON: equal lengths in a row are a pair."""
    return [length if count == 1 else [length, count] for length, count in runs]


def total_of(written: Sequence[Any]) -> int:
    """Return the sum of a list of chunk lengths in their JSON form, which `read_lengths` has read."""
    return sum(entry if isinstance(entry, int) else entry[0] * entry[1] for entry in written)


def read_lengths(written: Any) -> int:
    """Return the chunk length of a dimension from its JSON form. Raises ValueError."""
    if type(written) is int and written > 0:
        return written
    if not isinstance(written, list | tuple) or not written:
        raise ValueError("a chunk length must be an integer above 0, or a list of such")
    runs: list[Run] = []
    for entry in written:
        pair = entry if isinstance(entry, list | tuple) else (entry, 1)
        if len(pair) != 2 or not all(type(number) is int and number > 0 for number in pair):
            raise ValueError("a list of chunk lengths must have integers above 0, or pairs of a length and a number")
        runs.append((pair[0], pair[1]))
    if sum(length * count for length, count in runs) > LONGEST:
        raise ValueError(f"chunk lengths must have a sum of at most {LONGEST}")
    return chunk_length(runs)
