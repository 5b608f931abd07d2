"""Affine fits of integer columns over the indices of an array's keys.

Columns are int64, and so small that no difference overflows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np

if TYPE_CHECKING:
    Integers = NDArray[np.int64]


WIDEST = 2**61
"""Limit of sums; factors that would exceed it are 0."""


class IndexGrid(NamedTuple):
    """Sorted values of each index."""

    values: list[Integers]
    """Values of each index."""
    order: Integers
    """Order of keys with the last index varying fastest."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each index."""
        return tuple(map(len, self.values))


class Fit(NamedTuple):
    """A column as `base` + Σ `factors` · indices + `rest`."""

    base: int
    """Constant."""
    factors: tuple[int, ...]
    """Factor of each index."""
    rest: Integers
    """Difference to the column."""


def grid(indices: list[Integers]) -> IndexGrid | None:
    """Return the grid that distinct index tuples fill; None if a cell is missing.

    `indices`: for each dimension an int64 column, shape (tuples,).
    """
    values = [np.unique(column) for column in indices]
    if math.prod(map(len, values)) != len(indices[0]):
        return None
    return IndexGrid(values, np.lexsort(indices[::-1]))


def fit(column: Integers, index_grid: IndexGrid) -> Fit:
    """Return the affine function that most of a column, in grid order, follows; not negative in any cell.

    `column`: int64, shape (cells of the grid,).
    """
    cells = column.reshape(index_grid.shape)
    factors = []
    left, most = cells, int(np.abs(cells).max())
    for axis, values in enumerate(index_grid.values):
        factor = 0
        if len(values) > 1:
            steps = np.diff(values)
            rise = _middle(np.diff(cells, axis=axis))
            step = _middle(steps)
            factor = rise // step if rise % step == 0 else 0
            furthest = most + abs(factor) * max(abs(int(values[0])), abs(int(values[-1])))
            factor, most = (factor, furthest) if furthest < WIDEST else (0, most)
            left = left - (factor * values).reshape([-1 if other == axis else 1 for other in range(cells.ndim)])
        factors.append(factor)
    base = _middle(left)
    affine = Fit(base, tuple(factors), (left - base).ravel())
    flat = Fit(_middle(cells), (0,) * len(factors), (cells - _middle(cells)).ravel())
    if (cells.ravel() < affine.rest).any():
        return flat
    return min(affine, flat, key=lambda candidate: (np.count_nonzero(candidate.rest), int(np.ptp(candidate.rest))))


def _middle(values: Integers) -> int:
    """Return the median of int64 values of any shape, which equals any value with more than half of the occurrences."""
    flat = values.ravel()
    return int(np.partition(flat, len(flat) // 2)[len(flat) // 2])


def as_range(values: Integers) -> dict[str, int] | list[int]:
    """Return a dimension's values for a document: a range if possible.

    `values`: int64, shape (values,), ascending.
    """
    steps = np.diff(values)
    step = int(steps[0]) if len(steps) else 1
    if (steps != step).any():
        listed: list[int] = values.tolist()
        return listed
    bounds = {"start": int(values[0]), "stop": int(values[-1]) + 1, "step": step}
    if step == 1:
        del bounds["step"]
    if bounds["start"] == 0:
        del bounds["start"]
    return bounds
