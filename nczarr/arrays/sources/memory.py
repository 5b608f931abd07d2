"""In-memory array sources: dense arrays, runs of values in fill, fill alone; and helpers for whole chunks.

All are picklable; their memory depends on the given values, not on the declared
shape.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.chunks.occupancy import blocks_of_runs
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, bounds_of, number_of, region_or_all
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype


def fill_array(layout: Layout, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new array of this shape, in the layout's dtype and fill value (default: zeros or empty strings)."""
    dtype = numpy_dtype(layout.dtype)
    if dtype.hasobject:
        out = np.empty(shape, dtype=object)
        out.fill(layout.fill or b"")
        return out
    if not layout.fill or not layout.fill.strip(b"\0"):
        return np.zeros(shape, dtype)
    out = np.empty(shape, dtype)
    out[...] = np.frombuffer(layout.fill, dtype)[0]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class ArrayInMemory(ArraySource):
    """Dense array in memory."""

    layout: Layout
    """Layout of the array."""
    values: NDArray[Any]
    """All values, in the shape and dtype of the layout."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return a read-only view of the region, in its shape and the layout's dtype."""
        place: Any = (*selection, ...)
        region: NDArray[Any] = self.values[place]
        region.flags.writeable = False
        return region


@dataclass(frozen=True, slots=True, eq=False)
class Runs(ArraySource):
    """Runs of given values in an array of fill. Run i begins at linear index `starts[i]` in C order."""

    layout: Layout
    """Layout of the array."""
    starts: list[int]
    """Linear indices of the runs, ascending and without overlap."""
    offsets: list[int]
    """Run i has `values[offsets[i]:offsets[i + 1]]`."""
    values: NDArray[Any]
    """Values of all runs."""
    undefined: bool = False
    """True if cells outside of runs have undefined values."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        shape = self.layout.shape
        bounds = bounds_of(selection, shape)
        out = fill_array(self.layout, tuple(max(0, stop - start) for start, stop in bounds))
        if not out.size or not self.starts:
            return out
        if not shape:
            out[()] = self.values[0]
            return out
        # Whole trailing dimensions make rows contiguous: copy the longest rows that there are.
        row_axes = len(shape) - 1
        while row_axes > 0 and bounds[row_axes] == (0, shape[row_axes]):
            row_axes -= 1
        outer, row_size = shape[:row_axes], math.prod(shape[row_axes + 1 :])
        flat = out.reshape(-1)
        length = (bounds[row_axes][1] - bounds[row_axes][0]) * row_size
        for number, leading in enumerate(itertools.product(*(range(a, b) for a, b in bounds[:row_axes]))):
            start = (number_of(leading, outer) * shape[row_axes] + bounds[row_axes][0]) * row_size
            self._copy(start, flat[number * length : (number + 1) * length])
        return out

    def _copy(self, start: int, out: NDArray[Any]) -> None:
        """Overlay the runs that meet the linear range of `out` from `start`. `out`: 1-D, the layout's dtype."""
        stop = start + len(out)
        run = max(0, bisect_right(self.starts, start) - 1)
        while run < len(self.starts) and self.starts[run] < stop:
            first, low, high = self.starts[run], self.offsets[run], self.offsets[run + 1]
            a, b = max(start, first), min(stop, first + high - low)
            if a < b:
                out[a - start : b - start] = self.values[low + a - first : low + b - first]
            run += 1

    def occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet a run, in C order."""
        shape = self.layout.shape
        lengths = (end - begin for begin, end in itertools.pairwise(self.offsets))
        runs = list(zip(self.starts, lengths, strict=True))
        return blocks_of_runs(runs, shape, chunks, region_or_all(region, shape))


def put_nil(out: NDArray[Any], runs: Sequence[tuple[int, int]], starts: list[int], shape: tuple[int, ...]) -> None:
    """Replace empty texts that are NIL by None, in place.

    `out`: a region, dtype object; `runs`: NIL strings as (start, length), linear
    indices in C order; `starts`: first index of the region in each dimension of
    `shape`.
    """
    firsts = np.array([first for first, _ in runs], np.int64)
    ends = np.array([first + count for first, count in runs], np.int64)
    linear = np.zeros((), np.int64)
    for start, length, extent in zip(starts, out.shape, shape, strict=True):
        linear = linear[..., None] * extent + np.arange(start, start + length, dtype=np.int64)
    run = np.searchsorted(firsts, linear, side="right") - 1
    nil = (run >= 0) & (linear < ends[run])
    out[nil & (out == b"")] = None


def fill_source(layout: Layout, *, undefined: bool = False) -> Runs:
    """Return an array of fill; `undefined`: without a reliable value."""
    return Runs(layout, [], [0], fill_array(layout, (0,)), undefined)


def padded(values: NDArray[Any], chunks: tuple[int, ...], fill: bytes) -> NDArray[Any]:
    """Return the values as a whole chunk in C order: shape `chunks`, the same dtype.

    `fill`: one element as bytes, or one text.
    """
    if values.shape == chunks:
        return np.ascontiguousarray(values)
    full = np.empty(chunks, values.dtype)
    if values.dtype.hasobject:
        full.fill(fill)
    elif fill.strip(b"\0"):
        full[...] = np.frombuffer(fill, values.dtype)[0]
    else:
        full.reshape(-1).view(np.uint8)[...] = 0
    full[tuple(map(slice, values.shape))] = values
    return full


def is_all(values: NDArray[Any], fill: bytes) -> bool:
    """Return whether a C-order chunk repeats the element `fill` bit by bit; its ends decide mostly.

    `values`: any shape, a fixed-size dtype.
    """
    flat = values.reshape(-1)
    if not flat.size or flat[0].tobytes() != fill or flat[-1].tobytes() != fill:
        return not flat.size
    width = len(fill)
    if width in (1, 2, 4, 8):
        pattern = np.frombuffer(fill, f"u{width}")[0]
        return bool((flat.view(f"u{width}") == pattern).all())
    return flat.tobytes() == fill * flat.size
