"""Accumulated differences of one variable's values: their number, the first, the largest distance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, index_of
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.check.checked import Checked
from nczarr.operations.compare.difference import Difference, ValueDifferences, shown, shown_strings
from nczarr.operations.compare.elements import distances


class DifferenceTally:
    """Differences so far: the number of elements, the first in C order, the largest distance."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.count = 0
        self.first: int | None = None
        self.largest: float | int | None = None

    def add(self, count: int, first: int, largest: float | int | None = None) -> None:
        """Add differing elements: their number, first linear index, and largest distance."""
        self.count += count
        self.first = first if self.first is None else min(self.first, first)
        self.note(largest)

    def note(self, largest: float | int | None) -> None:
        """Add a distance of two numbers."""
        if largest is not None:
            self.largest = largest if self.largest is None else max(self.largest, largest)

    def difference(self, one: Checked, other: Checked, path: str) -> Difference | None:
        """Return everything as one difference, or None."""
        if self.first is None:
            return None
        from nczarr.select.indexing import read

        place = index_of(self.first, self.shape)
        first, second = read(one, path, place), read(other, path, place)
        total = math.prod(self.shape)
        text = f"{self.count} of {total} values differ" if total > 1 else "the value differs"
        if place:
            text += f", first at ({', '.join(map(str, place))})"
        if isinstance(first, str) and isinstance(second, str) and first != second:
            one_shown, other_shown, where = shown_strings(first, second)
            text += f": {one_shown} | {other_shown}{where}"
        else:
            text += f": {shown(first)} | {shown(second)}"
        if self.largest is not None and self.count > 1:
            far = f"{self.largest:.6g}" if isinstance(self.largest, float) else str(self.largest)
            text += f"; at most {far} apart"
        return Difference("values", path, text, ValueDifferences(self.count, total, place, first, second, self.largest))


def largest_distance(one: NDArray[Any], other: NDArray[Any]) -> float | int | None:
    """Return the largest distance of finite numbers at the same index; None if no pair is finite.

    Both arrays have the same shape and dtype; byte orders may differ.
    """
    one, other = little(one), little(other)
    if one.dtype.kind == "f":
        some = np.isfinite(one) & np.isfinite(other)
        one, other = one[some], other[some]
    if not one.size:
        return None
    largest: float | int = distances(one, other).max().item()
    return largest


def met_blocks(sources: Iterable[ArraySource], block: tuple[int, ...]) -> Iterator[Index]:
    """Yield the blocks of cells that any source occupies, in C order; sources may have further dimensions."""
    rank = len(block)
    met = (source.occupied((*block, *source.layout.shape[rank:])) for source in sources)
    indices = merge(*((index[:rank] for index in every) for every in met))
    return (index for index, _ in itertools.groupby(indices))
