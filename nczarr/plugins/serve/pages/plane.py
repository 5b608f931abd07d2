"""Lines and planes of a variable: which one a query asks for, and its values.

Long axes are decimated: every nth value is read, so that no request reads more
than a limit. The cost of whole chunks counts. If the dataset has levels with larger
cells of the variable (convention `multiscales`), the one that fits is read instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import hint
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, attributes_of, is_numeric, physical, text_of
from nczarr.plugins.common.derived_groups import list_levels
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.pages.picture import DIVERGING, PALETTES
from nczarr.plugins.serve.request import read_number
from nczarr.plugins.serve.resources import Limits
from nczarr.plugins.serve.value_streams import FEW, chunk_size, cost, list_stored_blocks, longest_chunk
from nczarr.semantics.checked import Checked

MOST_POINTS = 2000
"""Maximum values along a line."""

MOST_CELLS = 480
"""Maximum rows, and columns, of a plane."""

MOST_TEXTS = 200
"""Maximum shown values that are not numbers."""

FEWEST = 48
"""Values along an axis below which it is not decimated further."""

BUDGET = 64 << 20
"""Bytes above which axes are decimated further."""

SPARSE = 16
"""Cells of a view for each stored chunk from which on stored chunks alone are read."""

TIMES = 3
"""Copies of the values in memory while a page is made."""


class Scale(NamedTuple):
    """Choice of the colours of a plane."""

    palette: str = next(iter(PALETTES))
    """Name of the palette."""
    low: float | None = None
    """Value of the first colour; None: the smallest value."""
    high: float | None = None
    """Value of the last colour; None: the largest value."""

    def range_of(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """Return the values of the first and last colour. Zero is in the middle of a diverging palette, if possible."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        if self.palette in DIVERGING and self.low is None and self.high is None and low < 0 < high:
            low, high = min(low, -high), max(high, -low)
        low, high = low if self.low is None else self.low, high if self.high is None else self.high
        return (low, high) if low <= high else (low, low) if self.high is None else (high, high)


class PlaneView(NamedTuple):
    """A line or plane of a variable, before it is read."""

    path: str
    """Fully qualified name of the variable."""
    x: int | None
    """Horizontal axis; None for a scalar."""
    y: int | None
    """Vertical axis; None for a line."""
    ranges: tuple[range, ...]
    """Indices along each axis; one index along axes that are not shown."""
    windows: tuple[range, ...]
    """Indices before decimation."""
    cost: int
    """Bytes that are read or decoded."""
    scale: Scale = Scale()
    """Colours of a plane."""
    level: tuple[str, tuple[range, ...]] | None = None
    """Variable that is read instead, with larger cells, and its indices; None: this one."""

    @property
    def drawn(self) -> PlaneView:
        """View of the variable that is read."""
        return self if self.level is None else self._replace(path=self.level[0], ranges=self.level[1], level=None)

    @property
    def shown(self) -> tuple[int, ...]:
        """Axes that are shown, in the order of the variable."""
        return tuple(sorted(each for each in (self.x, self.y) if each is not None))

    @property
    def decimated(self) -> bool:
        """True if not all values are read."""
        return self.ranges != self.windows

    def need(self, checked: Checked) -> int:
        """Return the approximate memory in bytes to read and show it."""
        cells = math.prod(map(len, self.ranges))
        return TIMES * 8 * cells + 2 * longest_chunk(checked, [self.path]) + min(self.cost, BUDGET)


class ShownAxis(NamedTuple):
    """One shown axis."""

    title: str
    """Name with units."""
    values: NDArray[np.float64]
    """Coordinates, or indices, in the order of the read values."""
    physical: Physical
    """Conversion of coordinates, which also writes them."""
    down: bool = False
    """True if values increase downward."""

    @property
    def monotonic(self) -> bool:
        """True if the coordinates increase or decrease from each value to the next."""
        steps = np.diff(self.values)
        return bool(len(steps) and ((steps > 0).all() or (steps < 0).all()))

    def text(self, place: int) -> str:
        """Return the coordinate at a place in words."""
        return self.physical.text(float(self.values[place]))


PARAMETERS = frozenset({"var", "x", "y", "of", "palette", "low", "high", "format"})
"""Names in a query that have a meaning of their own, whatever dimensions are called."""


def view_of(checked: Checked, query: Mapping[str, str], limits: Limits) -> PlaneView:
    """Return the view that a query requests. Raises RefusedRequestError.

    `var`: variable; `x`, `y`: numbers of axes, `y=none` for a line; `iN`: index
    along axis N; `aN`, `bN`: first and last index along a shown axis; `of`:
    variable that all these belong to: for another one they are ignored;
    `palette`, `low`, `high`: colours of a plane.
    """
    scale = _scale(query)
    path = variable_of(checked, query)
    if query.get("of", path) != path:
        query = {}
    _refuse_names(checked, path, query)
    shape = checked.shapes[path]
    x, y = _choose_axes(shape, query, is_plane=is_numeric(checked, path))
    windows = tuple(_window(axis, length, query, axis in (x, y)) for axis, length in enumerate(shape))
    most = MOST_TEXTS if not is_numeric(checked, path) else MOST_POINTS if y is None else MOST_CELLS
    if not is_numeric(checked, path):
        windows = tuple(each[:most] for each in windows)
    least, chosen = 0, None
    for ranges in _decimations(windows, most):
        level = None if y is None else find_level(checked, path, ranges, (x, y))
        least = cost(checked, *(level or (path, ranges)))
        if chosen is None and least <= limits.response:
            chosen = PlaneView(path, x, y, ranges, windows, least, scale, level)
        if least <= BUDGET:
            return PlaneView(path, x, y, ranges, windows, least, scale, level)
    if chosen is not None:
        return chosen
    text = f"even few values of `{names.readable(path)}` need {least} bytes: its chunks are large; the limit"
    raise RefusedRequestError(413, f"{text} of an answer is {limits.response}")


def find_level(
    checked: Checked, path: str, ranges: tuple[range, ...], shown: tuple[int | None, ...]
) -> tuple[str, tuple[range, ...]] | None:
    """Return the level with the largest cells that are not larger than steps of indices, and indices; None without."""
    shape, found = checked.shapes[path], None
    for level in list_levels(checked, path):
        lengths = checked.shapes[level]
        if len(lengths) != len(shape) or not all(lengths):
            continue
        factors = [round(length / cells) for length, cells in zip(shape, lengths, strict=True)]
        steps = [each.step if axis in shown else 1 for axis, each in enumerate(ranges)]
        if all(1 <= factor <= step for factor, step in zip(factors, steps, strict=True)):
            found = (
                level,
                tuple(
                    range(each.start // factor, min(-(-each.stop // factor), length), max(1, each.step // factor))
                    for each, factor, length in zip(ranges, factors, lengths, strict=True)
                ),
            )
    return found


def _scale(query: Mapping[str, str]) -> Scale:
    """Return the colours that a query requests. Raises RefusedRequestError."""
    palette = query.get("palette", "") or Scale().palette
    if palette not in PALETTES:
        raise RefusedRequestError(400, f"`palette` must be one of {', '.join(PALETTES)}")
    low, high = (read_number(query, name) for name in ("low", "high"))
    if low is not None and high is not None and low >= high:
        raise RefusedRequestError(400, "`low` must be less than `high`")
    return Scale(palette, low, high)


def variable_of(checked: Checked, query: Mapping[str, str]) -> str:
    """Return the variable that a query names, by default the largest. Raises RefusedRequestError."""
    if "var" in query:
        wanted = query["var"]
        try:
            path = names.fqn(map(names.normal, names.split(wanted if wanted.startswith("/") else f"/{wanted}")))
        except ValueError:
            path = wanted
        if path not in checked.variables:
            end = hint(path, map(names.readable, checked.variables))
            raise RefusedRequestError(400, f"there is no variable `{names.readable(path)}`{end}")
        return path
    if not checked.variables:
        raise RefusedRequestError(404, "the dataset has no variables")
    return max(checked.variables, key=lambda path: (is_numeric(checked, path), math.prod(checked.shapes[path])))


def _refuse_names(checked: Checked, path: str, query: Mapping[str, str]) -> None:
    """Raise RefusedRequestError for a place that is chosen by the name of a dimension, which would be ignored."""
    for axis, reference in enumerate(checked.variables[path].dimensions):
        name = names.last(reference) if isinstance(reference, str) else ""
        if name in query and name not in PARAMETERS:
            text = (
                f"the place along `{names.readable(name)}` is chosen by its index: `i{axis}=0`, `a{axis}=0&b{axis}=9`"
            )
            raise RefusedRequestError(400, text)


def _choose_axes(shape: tuple[int, ...], query: Mapping[str, str], *, is_plane: bool) -> tuple[int | None, int | None]:
    """Return the horizontal and the vertical axis. Raises RefusedRequestError."""
    long = [axis for axis, length in enumerate(shape) if length > 1] or list(range(len(shape)))
    if not shape:
        return None, None
    x = _integer(query, "x", len(shape) - 1) if query.get("x") else long[-1]
    if query.get("y") == "none" or not is_plane:
        return x, None
    if query.get("y"):
        y = _integer(query, "y", len(shape) - 1)
        if x == y:
            raise RefusedRequestError(400, "`x` and `y` must be different axes")
        return x, y
    others = [axis for axis in long if axis != x]
    return x, others[-1] if others else None


def _window(axis: int, length: int, query: Mapping[str, str], is_shown: bool) -> range:
    """Return the requested indices along an axis. Raises RefusedRequestError."""
    if not is_shown:
        index = _integer(query, f"i{axis}", length - 1) if length and query.get(f"i{axis}") else 0
        return range(index, index + 1) if length else range(0)
    first = _integer(query, f"a{axis}", length - 1) if query.get(f"a{axis}") else 0
    last = _integer(query, f"b{axis}", length - 1) if query.get(f"b{axis}") else length - 1
    if first > last >= 0:
        raise RefusedRequestError(400, f"the first index along axis {axis} must not be behind the last")
    return range(first, last + 1)


def _integer(query: Mapping[str, str], name: str, most: int) -> int:
    text = query[name].strip()
    found = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not 0 <= found <= most:
        raise RefusedRequestError(400, f"`{name}` must be a number, 0 to {max(0, most)}")
    return found


def _decimations(windows: tuple[range, ...], most: int) -> Iterator[tuple[range, ...]]:
    """Yield ranges of at most `most` indices along each axis, with ever larger steps."""
    steps = [max(1, -(-len(each) // most)) for each in windows]
    while True:
        yield tuple(each[::step] for each, step in zip(windows, steps, strict=True))
        counts = [-(-len(each) // step) for each, step in zip(windows, steps, strict=True)]
        longest = max(range(len(counts)), key=counts.__getitem__, default=0)
        if not counts or counts[longest] <= FEWEST:
            return
        steps[longest] *= 2


def read(checked: Checked, view: PlaneView) -> NDArray[Any]:
    """Return the stored values of a view: of shape (y, x) for a plane, (x) for a line, () for a scalar.

    It is empty if any axis of the variable has no indices. Raises CompileError, OSError.
    """
    keys = [
        slice(each.start, each.stop, each.step) if axis in view.shown else each.start
        for axis, each in enumerate(view.ranges)
    ]
    if not all(view.ranges):
        return np.empty([0] * len(view.shown))
    values = _sparse(checked, view)
    if values is None:
        values = read_outer(checked, view.path, keys)
    return values.T if view.y is not None and view.x is not None and view.x < view.y else values


def _sparse(checked: Checked, view: PlaneView) -> NDArray[Any] | None:
    """Return the values of a view that is mostly beyond stored chunks, of which these alone are read; else None.

    All other cells equal the first that is in no stored chunk. Raises CompileError, OSError.
    """
    parts = checked.parts.get(view.path, {})
    part = parts.get("")
    if len(parts) != 1 or part is None or not is_numeric(checked, view.path):
        return None
    cells = math.prod(map(len, view.ranges))
    if cells <= FEW or not chunk_size(part):
        return None
    blocks = list_stored_blocks(part, view.ranges, cells // SPARSE)
    if len(blocks) > cells // SPARSE:
        return None
    inside = [tuple(_within(each, span) for each, span in zip(view.ranges, block, strict=True)) for block in blocks]
    boxes = [box for box in inside if all(box)]
    covered = np.zeros(tuple(map(len, view.ranges)), bool)
    for box in boxes:
        covered[_slices(box)] = True
    if covered.all():
        return None
    place = np.unravel_index(int(covered.argmin()), covered.shape)
    unwritten = [each[int(number)] for each, number in zip(view.ranges, place, strict=True)]
    values = np.full(covered.shape, read_outer(checked, view.path, unwritten))
    for box in boxes:
        found = [each[numbers.start : numbers.stop] for each, numbers in zip(view.ranges, box, strict=True)]
        values[_slices(box)] = read_outer(
            checked, view.path, [slice(each.start, each.stop, each.step) for each in found]
        )
    return values[tuple(slice(None) if axis in view.shown else 0 for axis in range(covered.ndim))]


def _within(taken: range, span: range) -> range:
    """Return the places in `taken`, which ascends, of its indices within a span."""
    begin = max(0, -(-(span.start - taken.start) // taken.step))
    return range(begin, max(begin, min(len(taken), -(-(span.stop - taken.start) // taken.step))))


def _slices(box: tuple[range, ...]) -> tuple[slice, ...]:
    return tuple(slice(each.start, each.stop) for each in box)


def axis_of(checked: Checked, view: PlaneView, axis: int) -> ShownAxis:
    """Return one axis of a view with its coordinates. Raises CompileError, OSError."""
    reference, taken = checked.variables[view.path].dimensions[axis], view.ranges[axis]
    return axis_at(checked, reference, taken, axis)


def axis_at(checked: Checked, reference: str | int, taken: range, axis: int) -> ShownAxis:
    """Return the coordinates of a dimension at some indices; indices if it has none. Raises CompileError, OSError."""
    own = f"axis {axis}" if isinstance(reference, int) else names.last(reference)
    plain = ShownAxis(f"{own}, index", np.array(taken, "f8"), Physical(label=own))
    if isinstance(reference, int) or reference not in checked.variables or not is_numeric(checked, reference):
        return plain
    if checked.variables[reference].dimensions != (reference,) or cost(checked, reference, (taken,)) > BUDGET:
        return plain
    decoding = physical(checked, reference)
    stored = read_outer(checked, reference, [slice(taken.start, taken.stop, taken.step)]) if taken else np.empty(0)
    values = decoding.floats(stored)
    if not np.isfinite(values).all():
        return plain
    down = text_of(attributes_of(checked, reference), "positive").lower() == "down"
    title = own if decoding.times is not None else f"{own} ({decoding.units})" if decoding.units else own
    return ShownAxis(title, values, decoding, down)
