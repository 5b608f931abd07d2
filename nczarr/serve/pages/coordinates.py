"""First and last values of coordinate variables, and their steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError
from nczarr.select.indexing import read_outer
from nczarr.select.physical import Physical, attributes_of, is_numeric, physical, text_of
from nczarr.serve.pages.markup import plain_text
from nczarr.serve.value_streams import cost

BUDGET = 8 << 20
"""Maximum bytes that are read for the coordinates of one page."""

MOST = 200
"""Maximum coordinates of one page."""

STEADY = 1e-4
"""Deviation of steps, relative to their mean, that is rounding."""


Coordinate = dict[str, Any]
"""One coordinate variable in words, as JSON has it; `label`: its name for people."""


def paths(checked: Checked) -> list[str]:
    """Return the coordinate variables: those of one dimension, whose name they have."""
    return [path for path, each in checked.variables.items() if each.dimensions == (path,)]


def coordinates(checked: Checked) -> Iterator[Coordinate]:
    """Yield coordinates in words; those that cost too much have no values. Raises nothing for unreadable ones."""
    left = BUDGET
    for path in paths(checked)[:MOST]:
        length = checked.shapes[path][0]
        attributes = attributes_of(checked, path)
        told: Coordinate = {
            "path": path,
            "length": length,
            "first": "",
            "last": "",
            "step": "",
            "units": text_of(attributes, "units"),
            "label": text_of(attributes, "long_name", "standard_name"),
            "unlimited": checked.dimensions[path].unlimited,
            "name": names.readable(path),
        }
        wanted = next((each for each in _choices(length) if cost(checked, path, (each,)) <= left), None)
        if not length:
            yield {**told, "first": "no values"}
        elif wanted is None:
            yield {**told, "step": "not read: its chunks are large"}
        else:
            left -= cost(checked, path, (wanted,))
            try:
                values = read_outer(checked, path, [slice(wanted.start, wanted.stop, wanted.step)])
            except (CompileError, OSError):  # the page says so, and shows the rest
                yield {**told, "step": "unreadable"}
                continue
            yield told | _described(checked, path, values, whole=wanted.step == 1)


def _choices(length: int) -> Iterator[range]:
    """Yield what may be read: all values, or the first and the last one."""
    yield range(length)
    if length > 2:
        yield range(0, length, length - 1)


def _described(checked: Checked, path: str, values: NDArray[Any], *, whole: bool) -> Coordinate:
    """Return the first and last value in words, of all values also their step."""
    if not is_numeric(checked, path):
        first, last = (value if isinstance(value, bytes) else str(value) for value in (values[0], values[-1]))
        return {"first": plain_text(first, absent=""), "last": plain_text(last, absent="")}
    decoding = physical(checked, path)
    numbers = decoding.floats(values)
    first, last = (decoding.text(float(numbers[place])) for place in (0, -1))
    return {"first": first, "last": last, "step": _step(numbers, decoding) if whole else ""}


def _step(numbers: NDArray[np.float64], decoding: Physical) -> str:
    """Return the step of values in words, with the units of times."""
    if len(numbers) < 2:
        return ""
    steps = np.diff(numbers)
    if np.isnan(steps).any():
        return "has missing values"
    mean = float(numbers[-1] - numbers[0]) / len(steps)
    unit = "\N{NO-BREAK SPACE}" + decoding.units.split(" since ")[0] if decoding.times is not None else ""
    if np.abs(steps - mean).max() <= STEADY * abs(mean):
        return f"{mean:.6g}{unit.removesuffix('s') if mean == 1 else unit}"
    low, high = float(steps.min()), float(steps.max())
    if low <= 0 <= high:
        return "not monotonic"
    return f"{low:.6g} to {high:.6g}{unit}"
