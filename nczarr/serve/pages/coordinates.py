"""First and last values of coordinate variables, and their steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError
from nczarr.select.indexing import read_outer
from nczarr.select.physical import Physical, attributes_of, is_numeric, physical, text_of
from nczarr.serve.value_streams import cost

BUDGET = 8 << 20
"""Maximum bytes that are read for the coordinates of one page."""

MOST = 200
"""Maximum coordinates of one page."""

STEADY = 1e-4
"""Deviation of steps, relative to their mean, that is rounding."""


class Coordinate(NamedTuple):
    """One coordinate variable in words."""

    path: str
    """Fully qualified name."""
    length: int
    """Number of values."""
    first: str = ""
    """First value."""
    last: str = ""
    """Last value."""
    step: str = ""
    """Step of the values."""
    units: str = ""
    """Units as the file has them."""
    label: str = ""
    """Name for people."""
    unlimited: bool = False
    """True if the dimension can grow."""

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self._asdict(), "name": names.readable(self.path)}


def paths(checked: Checked) -> list[str]:
    """Return the coordinate variables: those of one dimension, whose name they have."""
    return [path for path, each in checked.variables.items() if each.dimensions == (path,)]


def coordinates(checked: Checked) -> Iterator[Coordinate]:
    """Yield coordinates in words; those that cost too much have no values. Raises nothing for unreadable ones."""
    left = BUDGET
    for path in paths(checked)[:MOST]:
        length = checked.shapes[path][0]
        attributes = attributes_of(checked, path)
        told = Coordinate(
            path,
            length,
            units=text_of(attributes, "units"),
            label=text_of(attributes, "long_name", "standard_name"),
            unlimited=checked.dimensions[path].unlimited,
        )
        wanted = next((each for each in _choices(length) if cost(checked, path, (each,)) <= left), None)
        if not length or wanted is None:
            yield told._replace(
                first="" if length else "no values", step="not read: its chunks are large" * bool(length)
            )
            continue
        left -= cost(checked, path, (wanted,))
        try:
            values = read_outer(checked, path, [slice(wanted.start, wanted.stop, wanted.step)])
        except (CompileError, OSError):  # the page says so, and shows the rest
            yield told._replace(step="unreadable")
            continue
        yield _described(told, checked, values, whole=wanted.step == 1)


def _choices(length: int) -> Iterator[range]:
    """Yield what may be read: all values, or the first and the last one."""
    yield range(length)
    if length > 2:
        yield range(0, length, length - 1)


def _described(told: Coordinate, checked: Checked, values: NDArray[Any], *, whole: bool) -> Coordinate:
    if not is_numeric(checked, told.path):
        first, last = (_plain(values[place]) for place in (0, -1))
        return told._replace(first=first, last=last)
    decoding = physical(checked, told.path)
    numbers = decoding.floats(values)
    first, last = (decoding.text(float(numbers[place])) for place in (0, -1))
    return told._replace(first=first, last=last, step=_step(numbers, decoding) if whole else "")


def _plain(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


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
