"""Coastlines over planes whose axes are longitudes and latitudes.

`static/coastlines.txt` has the lines of Natural Earth at 1:110 million: a line of
text each, a point as `x,y` in tenths of a degree, all but the first as
differences from the point before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.serve.pages.markup import STATIC_FILES
from nczarr.serve.pages.plane import ShownAxis

TURN = 360.0
"""Degrees of longitude after which lines repeat."""

_DEGREES = re.compile(r"(?:degrees?|deg|°)(?:[ _.]?(?P<side>east|e|north|n|true))?", re.IGNORECASE)
_SIDES = {"east": "x", "e": "x", "north": "y", "n": "y"}


def is_degrees(axis: ShownAxis) -> bool:
    """Return whether the values of an axis are angles in degrees."""
    return axis.monotonic and _DEGREES.fullmatch(axis.physical.units.strip()) is not None


def are_geographic(x: ShownAxis, y: ShownAxis) -> bool:
    """Return whether axes are longitudes to the right and latitudes upward, by their units."""
    return all(_side(axis) == wanted for axis, wanted in ((x, "x"), (y, "y")))


def _side(axis: ShownAxis) -> str | None:
    found = _DEGREES.fullmatch(axis.physical.units.strip()) if axis.monotonic else None
    return None if found is None else _SIDES.get((found["side"] or "").lower())


def paths(x: ShownAxis, y: ShownAxis) -> Iterator[NDArray[np.float64]]:
    """Yield the lines in a plane as places of shape (points, 2): shares of the axes, in the order of their values."""
    low, high = float(x.values.min()), float(x.values.max())
    for line in _lines():
        for turn in range(-2, 3):
            longitudes = line[:, 0] + TURN * turn
            if longitudes.max() >= low - TURN / 36 and longitudes.min() <= high + TURN / 36:
                yield from _runs(np.stack([shares(x, longitudes), shares(y, line[:, 1])], axis=1))


def shares(axis: ShownAxis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the places of values on an axis whose cells have equal widths: 0 to 1, NaN outside."""
    count = len(axis.values)
    known, places = axis.values, np.arange(count) + 0.5
    edges = known[0] - (known[1] - known[0]) / 2, known[-1] + (known[-1] - known[-2]) / 2
    known, places = np.array([edges[0], *known, edges[1]]), np.array([0, *places, count]) / count
    order = slice(None) if known[0] < known[-1] else slice(None, None, -1)
    found: NDArray[np.float64] = np.interp(values, known[order], places[order], left=np.nan, right=np.nan)
    return found


def _runs(points: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield each stretch of points that are inside."""
    inside = ~np.isnan(points).any(axis=1)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype("i1")))
    for start, stop in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        if stop - start > 1:
            yield points[start:stop]


@cache
def _lines() -> tuple[NDArray[np.float64], ...]:
    """Return the lines in degrees, of shape (points, 2)."""
    text = (STATIC_FILES / "coastlines.txt").read_text(encoding="ascii")
    return tuple(
        np.cumsum([[int(number) for number in point.split(",")] for point in line.split()], axis=0) / 10
        for line in text.splitlines()
    )
