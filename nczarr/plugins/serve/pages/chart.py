"""Charts: lines, planes with a colour bar and coastlines, histograms. `templates/chart.html` draws them.

`static/coastlines.txt` has the lines of Natural Earth at 1:110 million: a line of text each, a point as `x,y` in tenths
of a degree, all but the first as differences from the point before.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.serve.pages.markup import STATIC_FILES, number_text
from nczarr.plugins.serve.pages.picture import colour_bar, indices, png
from nczarr.plugins.serve.pages.plane import Scale, ShownAxis

TICKS = 5
"""Approximate number of ticks of an axis."""

TURN_TICKS = 7
"""Approximate number of ticks of an axis of degrees: 60 apart on the whole Earth."""

DEGREES = (1, 2, 5, 10, 15, 30, 60, 90)
"""Degrees from one tick to the next."""

MARKED = 60
"""Maximum values of a line that are marked by points."""

BINS = 40
"""Bars of a histogram."""


WIDE, NARROW = 90, 32
"""Characters of labels that fit below a frame, on wide and on narrow pages."""

ENDINGS = ("-01-01", "-01", "12:00")
"""Ends of round times, the roundest first. Midnights have shorter texts than other times."""

REACH = 40
"""Maximum places by which the label of a time moves to a rounder time."""

OVERHANG = 2
"""Characters by which a label may reach over an end of its frame."""

LINE = 66
"""Height of a label at the side on narrow pages, in thousandths of the width of a plane."""

SHORT, DATE = 7, 10
"""Characters of labels at the left for which a chart has room, and for which it has more room."""

UNEVEN = 4
"""Ratio of a step to the usual one from which on an axis is uneven."""


AxisLabel = dict[str, Any]
"""A tick as it is drawn: its place in percent, from the left or the top, its text, and how that stands."""


class Tick(NamedTuple):
    """A mark on an axis."""

    share: float
    """Place from the beginning of the axis, 0 to 1."""
    label: str
    """Text beside it."""


def list_round_numbers(low: float, high: float, count: int = TICKS, steps: Sequence[float] = ()) -> list[float]:
    """Return round numbers from `low` to `high`, about `count` of them; `steps`: ascending choices where they do."""
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return [low] if math.isfinite(low) else []
    exact = width / count
    power = 10.0 ** math.floor(math.log10(exact))
    choices = [*(each for each in steps if exact > steps[0]), *(power * factor for factor in (1, 2, 2.5, 5, 10))]
    step = next(each for each in choices if each >= exact * (1 - 1e-9))
    if not step or low + step == low:
        return [low, high]
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def value_ticks(low: float, high: float, count: int = TICKS, steps: Sequence[float] = ()) -> list[Tick]:
    """Return ticks of a scale of values."""
    if not high > low:
        return [Tick(0.5, number_text(low))]
    rounded = list_round_numbers(low, high, count, steps)
    return [Tick((value - low) / (high - low), _tick_text(value, low, high)) for value in rounded]


def _tick_choice(axis: ShownAxis) -> tuple[int, Sequence[float]]:
    """Return the number of ticks of an axis, and the steps to choose from."""
    return (TURN_TICKS, DEGREES) if is_degrees(axis) else (TICKS, ())


def _tick_text(value: float, low: float, high: float) -> str:
    return number_text(0.0 if abs(value) < 1e-9 * (high - low) else value)


def cell_ticks(axis: ShownAxis, most: int = TURN_TICKS) -> list[Tick]:
    """Return ticks of an axis whose values have cells of equal width, in their order, about `most` or less.

    They are round numbers where the values are even; else, and for times, values.
    """
    count = len(axis.values)
    if axis.monotonic and axis.physical.times is None and _is_even(axis.values):
        low, high = sorted(_edges(axis)) if is_degrees(axis) else (float(axis.values.min()), float(axis.values.max()))
        wanted, steps = _tick_choice(axis)
        rounded = list_round_numbers(low, high, min(most, wanted), steps)
        shares = cell_shares(axis, np.clip(rounded, low, high))
        return [Tick(float(share), _tick_text(value, low, high)) for share, value in zip(shares, rounded, strict=True)]
    step = max(1, -(-count // min(most, TICKS)))
    chosen = _rounder(axis, range(0, count, step), (step - 1) // 2)
    return [Tick((index + 0.5) / count, axis.text(index)) for index in chosen]


def _rounder(axis: ShownAxis, places: Iterable[int], reach: int) -> Iterable[int]:
    """Return the places of times, each moved by at most `reach` to the roundest time."""
    if axis.physical.times is None:
        return places

    def rank(place: int, wanted: int) -> tuple[int, int, int]:
        text = axis.text(place)
        endings = (number for number, ending in enumerate(ENDINGS) if text.endswith(ending))
        return len(text), next(endings, len(ENDINGS)), abs(place - wanted)

    reach, last = min(reach, REACH), len(axis.values) - 1
    return [
        min(range(max(0, each - reach), min(last, each + reach) + 1), key=lambda place: rank(place, each))
        for each in places
    ]


def _is_even(values: NDArray[np.float64]) -> bool:
    """Return whether the steps of monotonic values are alike, so that round numbers have places of their own."""
    steps = np.abs(np.diff(values))
    return bool(steps.max() <= UNEVEN * np.median(steps) and steps.min() * UNEVEN >= np.median(steps))


def point_ticks(axis: ShownAxis, shares: NDArray[np.float64]) -> list[Tick]:
    """Return ticks of an axis whose values are points at these shares."""
    if axis.physical.times is None and axis.monotonic:
        return value_ticks(float(axis.values.min()), float(axis.values.max()), *_tick_choice(axis))
    count = len(shares)
    if count < 2:
        return [Tick(float(shares[each]), axis.text(each)) for each in range(count)]
    wanted = np.linspace(0, 1, TICKS) if axis.monotonic else np.linspace(0, 1, min(count, TICKS))
    nearest = dict.fromkeys(int(np.abs(shares - each).argmin()) for each in wanted)
    chosen = _rounder(axis, nearest, count // TICKS // 3 * axis.monotonic)
    return [Tick(float(shares[each]), axis.text(each)) for each in chosen]


def _percent(share: float) -> str:
    return f"{100 * share:.3f}%"


def space_ticks(ticks: Sequence[Tick], width: float) -> list[Tick]:
    """Return the ticks whose labels do not overlap below a frame of `width` characters, from the first on."""
    found: list[Tick] = []
    end = -math.inf
    for each in sorted(ticks, key=lambda tick: tick.share):
        length = len(each.label)
        start = each.share * width - {"start": 0, "middle": length / 2, "end": length}[_anchor(each, width)]
        if start >= end + max(1, length / 4):
            found.append(each)
            end = start + length
    return found


def _label_bottom_axis(ticks: Sequence[Tick]) -> list[AxisLabel]:
    """Return the labels of the lower axis; `narrow`: the anchor on narrow screens, or `wide` for wide ones alone."""
    shown = space_ticks(ticks, WIDE)
    narrow = {each: _anchor(each, NARROW) for each in space_ticks(shown, NARROW)}
    return [
        {"place": _percent(share), "text": text, "anchor": anchor, "narrow": narrow.get(each, "wide")}
        for each in shown
        for share, text, anchor in [(*each, _anchor(each, WIDE))]
    ]


def _anchor(tick: Tick, width: float) -> str:
    """Return the side of a label that stands at its tick, so that it hardly reaches over the ends of the frame."""
    half = (len(tick.label) / 2 - OVERHANG) / width
    return "start" if tick.share < half else "end" if tick.share > 1 - half else "middle"


def _side(ticks: Sequence[Tick]) -> list[AxisLabel]:
    return [{"place": _percent(1 - each.share), "text": each.label} for each in ticks]


def _data(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")


def line(axis: ShownAxis, values: NDArray[np.float64], title: str, label: str) -> dict[str, Any]:
    """Return what the template draws of a line.

    `values`: float64 in one dimension, NaN where missing; `label`: description.
    """
    shares = _shares(axis)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = (high - low) * 0.04 or abs(low) * 0.04 or 1.0
    low, high = low - margin, high + margin
    heights = 1 - (values - low) / (high - low)
    is_marked = np.isfinite(heights).sum() <= MARKED
    marks = [
        (_percent(x), _percent(y))
        for x, y in zip(shares.tolist(), heights.tolist(), strict=True)
        if is_marked and math.isfinite(y)
    ]
    ticks = value_ticks(low, high)
    return {
        "kind": "line",
        "title": title,
        "label": label,
        "width": _wide(ticks),
        "axis": axis.title,
        "right": _label_bottom_axis(point_ticks(axis, shares)),
        "up": _side(ticks),
        "runs": list(_runs(shares, heights)),
        "marks": marks,
    }


def _shares(axis: ShownAxis) -> NDArray[np.float64]:
    """Return the places of values along the horizontal axis, 0 to 1."""
    values = axis.values if axis.monotonic else np.arange(len(axis.values), dtype="f8")
    if len(values) < 2:
        return np.full(len(values), 0.5)
    low, high = float(values.min()), float(values.max())
    found: NDArray[np.float64] = (values - low) / (high - low)
    return found


def _runs(shares: NDArray[np.float64], heights: NDArray[np.float64]) -> Iterator[str]:
    """Yield the points of each stretch without missing values."""
    for run in _stretches(1000 * np.stack([shares, heights], axis=1), 1):
        yield " ".join(f"{x:.1f},{y:.1f}" for x, y in run.tolist())


def plane(
    x: ShownAxis, y: ShownAxis, values: NDArray[np.float64], scale: Scale, title: str, label: str
) -> dict[str, Any]:
    """Return what the template draws of a plane with its axes and colour bar.

    `values`: float64 of shape (y, x), NaN where missing; `label`: description.
    """
    low, high = scale.range_of(values)
    columns, rows = directions(x, y)
    cells = indices(values[rows, columns], low, high)
    height = _height(x, y, cells.shape)
    right = [each._replace(share=1 - each.share) if columns.step == -1 else each for each in cell_ticks(x)]
    labelled = cell_ticks(y, height // LINE)
    up = [each._replace(share=1 - each.share) if rows.step != -1 else each for each in labelled]
    return {
        "kind": "plane",
        "title": title,
        "label": label,
        "width": _wide(up),
        "axis": x.title,
        "right": _label_bottom_axis(right),
        "up_axis": y.title,
        "up": _side(up),
        "scale": _side(value_ticks(low, high)),
        "missing": bool(np.isnan(values).any()),
        "height": height,
        "picture": _data(png(cells, scale.palette)),
        "bar": _data(colour_bar(scale.palette)),
        "coast": _coast(x, y, columns, rows, height)
        if all(_direction(axis) == wanted for axis, wanted in ((x, "x"), (y, "y")))
        else "",
    }


def _height(x: ShownAxis, y: ShownAxis, shape: tuple[int, ...]) -> int:
    """Return the height of a plane of width 1000: degrees, and other common units, have one length along both axes.

    Axes of such units and of very different lengths, as those of a section through the sea, are no map.
    """
    if x.monotonic and y.monotonic:
        wide, high = (abs(edges[1] - edges[0]) for edges in map(_edges, (x, y)))
        ratio = min(1.5, max(0.2, high / wide))
        if (is_degrees(x) and is_degrees(y)) or (x.physical.units == y.physical.units != "" and ratio == high / wide):
            return round(1000 * ratio)
    return round(1000 * min(1.0, max(0.35, shape[0] / max(1, shape[1]))))


def _coast(x: ShownAxis, y: ShownAxis, columns: slice, rows: slice, height: int) -> str:
    """Return the path of the coastlines of a plane."""
    lines = []
    for run in coast_paths(x, y):
        across = 1 - run[:, 0] if columns.step == -1 else run[:, 0]
        down = 1 - run[:, 1] if rows.step == -1 else run[:, 1]
        points = dict.fromkeys(zip((1000 * across).round().tolist(), (height * down).round().tolist(), strict=True))
        lines.append("M" + " ".join(f"{right:.0f},{below:.0f}" for right, below in points))
    return "".join(lines)


def _wide(ticks: Sequence[Tick]) -> str:
    """Return the class of a chart whose labels at the left are long."""
    longest = max((len(each.label) for each in ticks), default=0)
    return "" if longest <= SHORT else " long" if longest <= DATE else " longer"


def directions(x: ShownAxis, y: ShownAxis) -> tuple[slice, slice]:
    """Return the orders of columns and rows, from the left and from the top: x grows rightward, y upward."""
    backward = slice(None, None, -1)
    columns = backward if x.monotonic and x.values[0] > x.values[-1] else slice(None)
    grows = not (y.monotonic and y.values[0] > y.values[-1])
    return columns, backward if grows != y.down else slice(None)


def histogram(values: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return the histogram of finite values; None for values that are all equal, and for no values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    with np.errstate(all="ignore"):
        if not (np.isfinite(high - low) and high > low):
            return None
        counts = np.histogram(finite, bins=min(BINS, max(5, len(finite) // 2)), range=(low, high))[0]
    heights = (100 * counts / int(counts.max())).tolist()
    return {"heights": heights, "low": number_text(low), "high": number_text(high)}


TURN = 360.0
"""Degrees of longitude after which lines repeat."""

_DEGREES = re.compile(r"(?:degrees?|deg|°)(?:[ _.]?(?P<side>east|e|north|n|true))?", re.IGNORECASE)
_SIDES = {"east": "x", "e": "x", "north": "y", "n": "y"}


def is_degrees(axis: ShownAxis) -> bool:
    """Return whether the values of an axis are angles in degrees."""
    return axis.monotonic and _DEGREES.fullmatch(axis.physical.units.strip()) is not None


def _direction(axis: ShownAxis) -> str | None:
    found = _DEGREES.fullmatch(axis.physical.units.strip()) if axis.monotonic else None
    return None if found is None else _SIDES.get((found["side"] or "").lower())


def coast_paths(x: ShownAxis, y: ShownAxis) -> Iterator[NDArray[np.float64]]:
    """Yield the lines in a plane as places of shape (points, 2): shares of the axes, in the order of their values."""
    low, high = float(x.values.min()), float(x.values.max())
    for line in _coastlines():
        for turn in range(-2, 3):
            longitudes = line[:, 0] + TURN * turn
            if longitudes.max() >= low - TURN / 36 and longitudes.min() <= high + TURN / 36:
                yield from _stretches(np.stack([cell_shares(x, longitudes), cell_shares(y, line[:, 1])], axis=1), 2)


def cell_shares(axis: ShownAxis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the places of values on an axis whose cells have equal widths: 0 to 1, NaN outside."""
    count, edges = len(axis.values), _edges(axis)
    known, places = np.array([edges[0], *axis.values, edges[1]]), np.array([0, *np.arange(count) + 0.5, count]) / count
    order = slice(None) if known[0] < known[-1] else slice(None, None, -1)
    found: NDArray[np.float64] = np.interp(values, known[order], places[order], left=np.nan, right=np.nan)
    return found


def _edges(axis: ShownAxis) -> tuple[float, float]:
    """Return the outer edges of the first and last cell of a monotonic axis."""
    known = axis.values
    return float(known[0] - (known[1] - known[0]) / 2), float(known[-1] + (known[-1] - known[-2]) / 2)


def _stretches(points: NDArray[np.float64], least: int) -> Iterator[NDArray[np.float64]]:
    """Yield each stretch of at least so many finite points, of shape (points, 2)."""
    inside = np.isfinite(points).all(axis=1)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype("i1")))
    for start, stop in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        if stop - start >= least:
            yield points[start:stop]


@cache
def _coastlines() -> tuple[NDArray[np.float64], ...]:
    """Return the lines in degrees, of shape (points, 2)."""
    text = (STATIC_FILES / "coastlines.txt").read_text(encoding="ascii")
    return tuple(
        np.cumsum([[int(number) for number in point.split(",")] for point in line.split()], axis=0) / 10
        for line in text.splitlines()
    )
