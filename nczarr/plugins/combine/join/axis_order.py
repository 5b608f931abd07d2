"""Order of the cells of all sources along a joined dimension, by the values of its coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.combine.arrays.cell_positions import GAP, CellRun, runs_of_cells

Duplicates = Literal["error", "first", "last"]
"""Rule for a coordinate value that several sources have, or one several times."""


class Overlap(NamedTuple):
    """Two cells of sources with the same coordinate value."""

    position: int
    """Position in the result."""
    one: int
    """Number of the first source."""
    one_cell: int
    """Cell of the first source."""
    other: int
    """Number of the second source."""
    other_cell: int
    """Cell of the second source."""


class AxisOrder(NamedTuple):
    """Where the cells of all sources lie along a joined dimension."""

    length: int
    """Length of the dimension in the result."""
    values: NDArray[Any] | None
    """Values of its coordinate in the result; None without one."""
    lengths: NDArray[np.int64]
    """Length of each source: int64, shape (sources,)."""
    positions: NDArray[np.int64]
    """Position of each cell of all sources in sequence: int64."""

    def list_sources(self) -> list[int] | None:
        """Return the numbers of the sources with cells in their order; None if one is not whole in the result."""
        numbers, begins = np.flatnonzero(self.lengths), np.cumsum(self.lengths) - self.lengths
        starts, lengths = self.positions[begins[numbers]], self.lengths[numbers]
        inside = np.arange(len(self.positions)) - np.repeat(begins[numbers], lengths)
        if len(self.positions) != self.length or (self.positions != np.repeat(starts, lengths) + inside).any():
            return None
        order: list[int] = numbers[np.argsort(starts)].tolist()
        return order

    def arrange(self, numbers: NDArray[np.int64], rule: Duplicates) -> tuple[list[CellRun], list[Overlap]]:
        """Return the runs of cells of some sources, and the cells that several of them have.

        `numbers`: the sources, ascending, int64.
        """
        chosen = np.zeros(len(self.lengths), bool)
        chosen[numbers] = True
        every_source = np.repeat(np.arange(len(self.lengths)), self.lengths)
        begins = np.cumsum(self.lengths) - self.lengths
        every_cell = np.arange(len(every_source)) - np.repeat(begins, self.lengths)
        rows = chosen[every_source]
        sources, cells, positions = every_source[rows], every_cell[rows], self.positions[rows]
        owners, places = np.full(self.length, GAP, np.int64), np.zeros(self.length, np.int64)
        turn = slice(None) if rule == "last" else slice(None, None, -1)  # the last of equal positions is kept
        owners[positions[turn]] = sources[turn]
        places[positions[turn]] = cells[turn]
        order = np.argsort(positions, kind="stable")
        twice = np.flatnonzero(np.diff(positions[order]) == 0)
        one, other = order[twice], order[twice + 1]
        columns = (positions[one], sources[one], cells[one], sources[other], cells[other])
        overlaps = [Overlap(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        return list(runs_of_cells(owners, places)), overlaps


def in_sequence(lengths: Sequence[int]) -> AxisOrder:
    """Return the order of sources that follow each other."""
    total = sum(lengths)
    return AxisOrder(total, None, np.array(lengths, np.int64), np.arange(total))


def by_values(values: Sequence[NDArray[Any]], *, sort: bool, negative: bool = False) -> AxisOrder:
    """Return the order of sources by their coordinate values, each of which has one position.

    `values`: of each source, shape (cells,), without missing ones. `sort`: values
    ascend, or descend if they do so in all sources; otherwise each has the place
    of its first occurrence. `negative`: they ascend if their numbers descend.
    """
    lengths = np.array([len(array) for array in values], np.int64)
    every = np.concatenate(values) if len(values) else np.zeros(0)
    distinct, first, places = np.unique(every, return_index=True, return_inverse=True)
    places = places.reshape(-1)
    rank = np.arange(len(distinct))
    if not sort:
        rank[np.argsort(first, kind="stable")] = np.arange(len(distinct))
    elif _all_descend(values) or (negative and not _all_descend([array[::-1] for array in values])):
        rank = rank[::-1]
    ordered = np.empty_like(distinct)
    ordered[rank] = distinct
    return AxisOrder(len(distinct), ordered, lengths, rank[places])


def _all_descend(values: Sequence[NDArray[Any]]) -> bool:
    """Return whether values descend in all sources that have several."""
    several = [array for array in values if len(array) > 1]
    return bool(several) and all((array[1:] < array[:-1]).all() for array in several)


def union_of(values: Sequence[NDArray[Any]], *, negative: bool = False) -> NDArray[Any]:
    """Return the union of coordinate values, ascending unless they are all equal, as xarray does.

    `negative`: they ascend if their numbers descend.
    """
    first, *others = values
    if all(len(first) == len(other) and (first == other).all() for other in others):
        return first
    filled = [array for array in values if len(array)]
    if len(filled) < 2:
        return filled[0] if filled else first
    union = np.unique(np.concatenate(filled))
    return union[::-1] if negative else union


def positions_in(union: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each value in a union that has it: int64, the shape of `values`."""
    order = np.argsort(union, kind="stable")
    return np.asarray(order[np.searchsorted(union, values, sorter=order)], np.int64)
