"""Reduction of a block of cells to the cells of its overviews: the arithmetic of each method.

A level has one cell for `factor` cells of the level below, along each reduced dimension. Cells beyond the end of an
array count as missing. A mean has the sum and number of the present values carried through all levels, so that it is
the mean of the cells of level 0; sums are double, in one order, whatever block they are in. The other methods choose
among the cells of the level below.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from nczarr.arrays.lazy_numpy import NDArray, np

Method: TypeAlias = Literal["mean", "nearest", "mode", "min", "max"]
"""Ways to reduce cells to one."""

METHODS: tuple[Method, ...] = get_args(Method)


class Reduction(NamedTuple):
    """Reduction of the cells of one array."""

    method: Method | Literal["bounds"]
    """The method; `bounds`: the first lower and the last upper bound of the cells."""
    factors: tuple[int, ...]
    """Cells along each dimension that become one in the next level; 1: the dimension stays."""
    dtype: str
    """Type of the results, in NumPy's notation."""
    missing: tuple[Any, ...] = ()
    """Stored values that stand for missing ones; NaN does in any case."""
    mark: Any = None
    """Result for cells without values; None: NaN, of integers zero."""
    unwritten: Any = None
    """Result for cells of which nothing was written, if it is another one: this value, which all their cells have."""
    sign: str = ""
    """NumPy's kind of the integers that stored ones of the other sign stand for: `u` or `i`; empty: as stored."""
    valid: tuple[Any, Any] = (None, None)
    """Smallest and largest valid stored value; values beyond them count as missing."""
    rounding: str | None = None
    """Type of fewer bits, in NumPy's notation, to which means are rounded; None: that of the results."""
    scale: tuple[float, float] | None = None
    """Factor and summand of the results, which are unpacked; None: they are packed as the values, or not at all."""


Masked: TypeAlias = "tuple[NDArray[Any], NDArray[np.bool_] | None]"
"""Values, and where they are missing; None: nowhere."""


def reduce_levels(values: NDArray[Any], reduction: Reduction, levels: int) -> list[NDArray[Any]]:
    """Return the cells of levels 1 to `levels` of a block of level 0, whose first cell is the first of a cell of each.

    Each result has `-(-length // factor**level)` cells along a reduced dimension, in the type of the reduction.
    """
    if reduction.method == "nearest":
        return [_pick(values, reduction.factors, level) for level in range(1, levels + 1)]
    dtype = values.dtype.newbyteorder("=")
    values = values.astype(dtype, copy=False)
    if reduction.method == "bounds":
        return [_join_bounds(values, reduction, level) for level in range(1, levels + 1)]
    if reduction.sign and dtype.kind in "iu":
        values = values.view(f"{reduction.sign}{dtype.itemsize}")
    masked = values, _find_missing(values, reduction)
    if reduction.method == "mean":
        results = [_finish_mean(*mean, reduction) for mean in _means(masked, reduction.factors, levels)]
    else:
        results = []
        for _ in range(levels):
            masked = _choose(masked, reduction)
            results.append(_finish(*masked, reduction))
    if reduction.unwritten is not None:
        _keep_unwritten(values == reduction.unwritten, results, reduction)
    return results


def _keep_unwritten(blank: NDArray[np.bool_], results: list[NDArray[Any]], reduction: Reduction) -> None:
    """Put the value of unwritten cells where all cells of level 0 are so."""
    for result in results if blank.any() else ():
        for axis, factor in enumerate(reduction.factors):
            blank = _pad(blank, axis, factor, filler=True)
        blank = reduce(np.logical_and, _split(blank, reduction.factors))
        result[blank] = reduction.unwritten


def _find_missing(values: NDArray[Any], reduction: Reduction) -> NDArray[np.bool_] | None:
    """Return where values are missing; None: nowhere."""
    missing: NDArray[np.bool_] | None = np.isnan(values) if values.dtype.kind == "f" else None
    for mark in reduction.missing:
        equal = values == _as_stored(mark, values)
        missing = equal if missing is None else missing | equal
    for limit, beyond in zip(reduction.valid, (np.less, np.greater), strict=True):
        if limit is not None:
            with np.errstate(invalid="ignore"):
                outside = beyond(values, _as_stored(limit, values))
            missing = outside if missing is None else missing | outside
    return missing if missing is not None and missing.any() else None


def _as_stored(value: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return a value of an attribute for comparison with stored ones: of the same bytes, where it is as long."""
    stored = np.asarray(value)
    return stored.view(values.dtype) if stored.dtype.itemsize == values.dtype.itemsize else stored


def _pick(values: NDArray[Any], factors: Sequence[int], level: int) -> NDArray[Any]:
    """Return the first cell of each cell of a level."""
    place = tuple(slice(None, None, factor**level) for factor in factors)
    picked: NDArray[Any] = values[place]
    return picked


def _join_bounds(bounds: NDArray[Any], reduction: Reduction, level: int) -> NDArray[Any]:
    """Return the bounds of a level: shape (…, 2), the first lower and the last upper one of the cells of each."""
    lower = _pick(bounds, reduction.factors, level)[..., 0]
    upper = bounds[..., 1]
    for axis, factor in enumerate(reduction.factors[:-1]):
        step, length = factor**level, bounds.shape[axis]
        last = np.minimum(np.arange(step - 1, length + step - 1, step), length - 1)
        upper = np.take(upper, last, axis)
    return np.stack([lower, upper], axis=-1).astype(reduction.dtype)


# ---- means ----------------------------------------------------------------------------------------------------------
def _means(
    masked: Masked, factors: tuple[int, ...], levels: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_] | None]]:
    """Yield the means of each level, as double, and where no value is present."""
    values, missing = masked
    total: NDArray[Any] = values
    count: NDArray[Any] | None = None
    if missing is not None or any(
        length % factor**levels for length, factor in zip(values.shape, factors, strict=True)
    ):
        present = np.ones(values.shape, np.uint8) if missing is None else (~missing).view(np.uint8)
        total = values if missing is None else np.where(missing, values.dtype.type(0), values)
        count = present
    cells = 1
    for _ in range(levels):
        total = _add(total, factors, np.float64)
        cells *= int(np.prod(factors))
        if count is None:
            yield total / cells, None
            continue
        count = _add(count, factors, np.uint32)
        empty = count == 0
        yield total / np.maximum(count, 1), empty if empty.any() else None


def _add(values: NDArray[Any], factors: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return the sums of the cells of each cell of the next level, in a type; cells beyond the end are zeros."""
    for axis, factor in enumerate(factors):
        if factor == 1:
            continue
        values = _pad(values, axis, factor, 0)
        parts = [values[(slice(None),) * axis + (slice(first, None, factor),)] for first in range(factor)]
        with np.errstate(invalid="ignore"):  # infinities of both signs
            total = np.add(parts[0], parts[1], dtype=dtype)
            for part in parts[2:]:
                total += part
        values = total
    return values.astype(dtype, copy=False)


def _pad(values: NDArray[Any], axis: int, factor: int, filler: Any) -> NDArray[Any]:
    """Return values with further cells at the end of an axis, up to a multiple of a factor."""
    lacking = -values.shape[axis] % factor
    if not lacking:
        return values
    shape = (*values.shape[:axis], lacking, *values.shape[axis + 1 :])
    return np.concatenate([values, np.full(shape, filler, values.dtype)], axis)


def _finish_mean(means: NDArray[np.float64], empty: NDArray[np.bool_] | None, reduction: Reduction) -> NDArray[Any]:
    """Return means in the type of the results: integers are rounded, halves to even."""
    if reduction.scale is not None:
        means = means * reduction.scale[0] + reduction.scale[1]
    dtype = np.dtype(reduction.dtype)
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            rounded = means if reduction.rounding is None else means.astype(reduction.rounding)
            return _finish(rounded.astype(dtype), empty, reduction)
    kind = np.dtype(f"{reduction.sign or dtype.kind}{dtype.itemsize}")
    lowest, highest = np.iinfo(kind).min, np.iinfo(kind).max
    whole = np.clip(np.rint(means), lowest, float(highest) if kind.itemsize < 8 else np.nextafter(float(highest), 0))
    return _finish(whole.astype(kind).view(dtype), empty, reduction)


# ---- choices --------------------------------------------------------------------------------------------------------
def _choose(masked: Masked, reduction: Reduction) -> Masked:
    """Return the cells of the next level: one of the values of each, and where none is present."""
    values, missing = masked
    if any(length % factor for length, factor in zip(values.shape, reduction.factors, strict=True)):
        missing = np.zeros(values.shape, np.bool_) if missing is None else missing
    for axis, factor in enumerate(reduction.factors):
        values = _pad(values, axis, factor, values.dtype.type(0))
        missing = None if missing is None else _pad(missing, axis, factor, filler=True)
    parts = list(_split(values, reduction.factors))
    gone = None if missing is None else list(_split(missing, reduction.factors))
    if reduction.method == "mode":
        return _find_mode(parts, gone)
    smallest, largest = _limits(values.dtype)
    function, other = (np.minimum, largest) if reduction.method == "min" else (np.maximum, smallest)
    if gone is None:
        return reduce(function, parts), None
    chosen = reduce(function, [np.where(mask, other, part) for part, mask in zip(parts, gone, strict=True)])
    return _note_missing(chosen, gone)


def _note_missing(chosen: NDArray[Any], gone: list[NDArray[np.bool_]]) -> Masked:
    """Return values of the next level, and where all cells are missing."""
    empty = reduce(np.logical_and, gone)
    return chosen, empty if empty.any() else None


def _split(values: NDArray[Any], factors: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    """Yield a view for each cell of the blocks that become one cell."""
    for firsts in itertools.product(*map(range, factors)):
        yield values[tuple(slice(first, None, factor) for first, factor in zip(firsts, factors, strict=True))]


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest value of a type."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    return dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max)


def _find_mode(parts: list[NDArray[Any]], gone: list[NDArray[np.bool_]] | None) -> Masked:
    """Return the most frequent values, of several the smallest.

    Missing values are sorted behind all others, so that their number tells where they begin.
    """
    stack = np.stack(parts)
    present: Any = len(parts)
    if gone is not None:
        mask = np.stack(gone)
        stack[mask] = _limits(stack.dtype)[1]
        present = len(parts) - mask.sum(0)
    stack.sort(axis=0)
    best, most, run = stack[0].copy(), np.ones(stack.shape[1:], np.int32), np.ones(stack.shape[1:], np.int32)
    for number in range(1, len(parts)):
        run = np.where(stack[number] == stack[number - 1], run + 1, 1)
        better = (run > most) & (number < present)
        best[better] = stack[number][better]
        most = np.where(better, run, most)
    return (best, None) if gone is None else _note_missing(best, gone)


def _finish(values: NDArray[Any], empty: NDArray[np.bool_] | None, reduction: Reduction) -> NDArray[Any]:
    """Return values in the type of the results, with the mark of missing ones."""
    dtype = np.dtype(reduction.dtype)
    same = values.dtype.kind in "iu" and values.dtype.itemsize == dtype.itemsize
    results = values.view(dtype) if same else values.astype(dtype, copy=False)
    mark = reduction.mark if reduction.mark is not None else np.nan if dtype.kind == "f" else 0
    if dtype.kind == "f" and mark == mark:  # infinities of both signs have no mean
        undefined = np.isnan(results)
        empty = undefined if empty is None else empty | undefined
    if empty is not None:
        results = results.copy()
        results[empty] = mark
    return results
