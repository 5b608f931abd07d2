"""Boxes that cover chosen cells of an array, and few others.

`outer_boxes` covers indices that are chosen along each dimension, `point_boxes`
covers single points. No two boxes touch the same chunk, so each chunk that has
a chosen cell is read once, and no other chunk is read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection

Places: TypeAlias = "slice | NDArray[np.int64]"
"""Places along one dimension: a slice, or int64 of one dimension."""

Indices: TypeAlias = "range | NDArray[np.int64]"
"""Chosen indices along one dimension."""


class IndexRun(NamedTuple):
    """Chosen indices of one dimension that are read together."""

    low: int
    """First index."""
    high: int
    """Index behind the last."""
    inside: Places
    """Places of the chosen indices from `low`."""
    outside: Places
    """Their places in the result."""


class PointBox(NamedTuple):
    """A box, and the chosen points in it."""

    selection: Selection
    """The box."""
    inside: tuple[NDArray[np.int64], ...]
    """Coordinates of the points in the box, by indexed dimension."""
    outside: NDArray[np.int64]
    """Numbers of the points."""


def outer_boxes(axes: Sequence[Indices], cells: tuple[int, ...] | None, largest: int) -> Iterator[tuple[IndexRun, ...]]:
    """Yield the boxes that cover an outer index, one run a dimension.

    `axes`: ascending or descending ranges and sorted arrays without equal
    indices, none of them empty. `cells`: chunk lengths; None if a read of a part
    costs no more than the part. Boxes have at most about `largest` elements,
    unless a chunk has more.
    """
    axes = [_as_range(axis) for axis in axes]
    spans = [_span(axis) for axis in axes]
    lengths = cells or (1,) * len(axes)
    runs = [
        list(_runs(axis, cell, span + cell, cells is not None))
        for axis, cell, span in zip(axes, lengths, spans, strict=True)
    ]
    if any(len(axis) < span for axis, span in zip(axes, spans, strict=True)):
        widest = [max(run.high - run.low for run in axis_runs) for axis_runs in runs]
        order = list(range(len(axes)))  # contiguous values are read in their order, chunks with the fewest others
        if cells is not None:
            order.sort(key=lambda axis: len(axes[axis]) / spans[axis])
        for axis in order:
            size = math.prod(widest)
            if size <= largest:
                break
            room = max(1, largest // max(1, size // widest[axis]))
            runs[axis] = list(_runs(axes[axis], lengths[axis], room, cells is not None))
            widest[axis] = max(run.high - run.low for run in runs[axis])
    return itertools.product(*runs)


def _span(axis: Indices) -> int:
    """Return the length of the interval that indices cover."""
    return abs(int(axis[-1]) - int(axis[0])) + 1


def _as_range(axis: Indices) -> Indices:
    """Return evenly spaced indices as a range."""
    if isinstance(axis, range):
        return axis
    step = int(axis[1]) - int(axis[0]) if len(axis) > 1 else 1
    if len(axis) > 1 and (np.diff(axis) != step).any():
        return axis
    return range(int(axis[0]), int(axis[-1]) + 1, step)


def _runs(axis: Indices, cell: int, most: int, is_chunked: bool) -> Iterator[IndexRun]:
    """Yield the runs of one dimension, each of at most `most` indices or one chunk, and of neighbouring chunks."""
    if isinstance(axis, range):
        yield from _range_runs(axis, cell, most, is_chunked)
        return
    chunks = axis // cell
    first = 0
    edges = np.flatnonzero(np.diff(chunks) > 1) + 1 if is_chunked else np.empty(0, np.int64)
    for last in [*edges.tolist(), len(axis)]:
        while first < last:
            # The room ends at the edge of a chunk, unless it is smaller than a chunk.
            low = int(axis[first])
            end = max((low + most) // cell, low // cell + 1) * cell
            stop = min(last, int(np.searchsorted(axis, end)))
            yield IndexRun(low, int(axis[stop - 1]) + 1, axis[first:stop] - low, slice(first, stop))
            first = stop


def _range_runs(axis: range, cell: int, most: int, is_chunked: bool) -> Iterator[IndexRun]:
    """Yield the runs of a range."""
    up, step, count = axis[::-1] if axis.step < 0 else axis, abs(axis.step), len(axis)
    first = 0
    while first < count:
        low = up[first]
        end = max((low + most) // cell, low // cell + 1) * cell
        stop = min(count, first + max(1, -(-(end - low) // step)))
        if is_chunked and step > cell:
            stop = first + 1
        outside = slice(first, stop) if axis.step > 0 else slice(count - stop, count - first)
        inside = slice(None, None, step if axis.step > 0 else -step)
        yield IndexRun(low, up[stop - 1] + 1, inside, outside)
        first = stop


def point_boxes(
    points: Mapping[int, NDArray[np.int64]], lengths: Mapping[int, int], whole: Selection
) -> Iterator[PointBox]:
    """Yield the boxes that cover points.

    `points`: coordinates by indexed dimension, int64 of one dimension and one
    length, not 0. `lengths`: lengths of blocks along these dimensions. `whole`:
    the selection, whose indexed dimensions are replaced.
    """
    blocks = [points[axis] // lengths[axis] for axis in points]
    order = np.lexsort(blocks[::-1]) if len(blocks) else np.empty(0, np.int64)
    changed = np.zeros(len(order), bool)
    for numbers in blocks:
        changed[1:] |= np.diff(numbers[order]) != 0
    edges = np.flatnonzero(changed).tolist()
    for first, last in itertools.pairwise([0, *edges, len(order)]):
        some = order[first:last]
        selection, inside = list(whole), []
        for axis, coordinates in points.items():
            here = coordinates[some]
            low = int(here.min())
            selection[axis] = slice(low, int(here.max()) + 1)
            inside.append(here - low)
        yield PointBox(tuple(selection), tuple(inside), some)
