"""Coordinates in words: first and last value, step, gaps."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, is_numeric, physical
from nczarr.semantics.checked import Checked

STEADY = 1e-4
"""Deviation of steps, relative to their mean, that is rounding."""

GAP = 1.75
"""Step in median steps above which something is missing: months and years have up to 1.11."""


class CoordinateSummary(NamedTuple):
    """Values of a coordinate in words; empty where there is nothing to say."""

    first: str = ""
    """First value."""
    last: str = ""
    """Last value."""
    step: str = ""
    """Step with units, range of steps, or what prevents one."""
    gaps: tuple[str, ...] = ()
    """First and last value beside each gap."""


def summarize_coordinate(checked: Checked, path: str, indices: range) -> CoordinateSummary:
    """Read the values of a coordinate at these indices. Steps need all of them. Raises OSError, CompileError."""
    values = read_outer(checked, path, [slice(indices.start, indices.stop, indices.step)])
    if not is_numeric(checked, path):
        first, last = (_write_text(value) for value in (values[0], values[-1]))
        return CoordinateSummary(first, last)
    decoding = physical(checked, path)
    numbers = decoding.floats(values)
    first, last = (decoding.text(float(numbers[place])) for place in (0, -1))
    if len(indices) < checked.shapes[path][0] or len(numbers) < 2:
        return CoordinateSummary(first, last)
    return CoordinateSummary(first, last, _describe_step(numbers, decoding), _find_gaps(numbers, decoding))


def _write_text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _describe_step(numbers: NDArray[np.float64], decoding: Physical) -> str:
    """Return the step of at least two values in words, with the units of times."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(numbers)
    if not np.isfinite(steps).all():
        return "has missing or infinite values"
    mean = float(numbers[-1] - numbers[0]) / len(steps)
    unit = "\N{NO-BREAK SPACE}" + decoding.units.split(" since ")[0] if decoding.times is not None else ""
    if np.abs(steps - mean).max() <= STEADY * abs(mean):
        return f"{mean:.6g}{unit.removesuffix('s') if mean == 1 else unit}"
    low, high = float(steps.min()), float(steps.max())
    return "not monotonic" if low <= 0 <= high else f"{low:.6g} to {high:.6g}{unit}"


def _find_gaps(numbers: NDArray[np.float64], decoding: Physical) -> tuple[str, ...]:
    """Return the gaps between monotonic times: steps much longer than the median."""
    with np.errstate(invalid="ignore"):
        steps = np.abs(np.diff(numbers))
    if decoding.times is None or not np.isfinite(steps).all() or not steps.all():
        return ()
    ordered = np.sort(steps)
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2  # np.median imports numpy.ma
    places = np.flatnonzero(steps > GAP * median)
    return tuple(
        f"{decoding.text(float(numbers[place]))} to {decoding.text(float(numbers[place + 1]))}" for place in places
    )
