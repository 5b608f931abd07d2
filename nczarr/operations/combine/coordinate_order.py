"""Order of coordinate values from source to source."""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import ArraySource

PIECE = 1 << 20
"""Values read at once."""


class CoordinateOrder(NamedTuple):
    """First and last value of a coordinate of one source, and where it falls."""

    first: Any
    """First value, a NumPy scalar."""
    last: Any
    """Last value."""
    fall: tuple[Any, Any] | None = None
    """The first value that is not greater than its predecessor, behind this predecessor."""


def order_of(source: ArraySource, *, last: bool = False) -> tuple[CoordinateOrder | None, NDArray[Any] | None]:
    """Return the order of a scalar or one-dimensional array, and its values if they were read at once.

    An empty array has no order. `last`: only the last value is read, and counts.
    Raises OSError, CompileError.
    """
    shape = source.layout.shape
    length = shape[0] if shape else 1
    if last and shape and length:
        (end,) = source.read((slice(length - 1, length),))
        return CoordinateOrder(end, end), None
    first = final = fall = piece = None
    for begin in range(0, length, PIECE):
        region = (slice(begin, min(begin + PIECE, length)),) if shape else ()
        piece = source.read(region)
        values = piece.reshape(-1)
        if fall is None and final is not None and not values[0] > final:
            fall = (final, values[0])
        falls = np.flatnonzero(~(values[1:] > values[:-1]))
        if len(falls) and fall is None:
            fall = (values[falls[0]], values[falls[0] + 1])
        first, final = values[0] if first is None else first, values[-1]
    return None if first is None else CoordinateOrder(first, final, fall), piece if length <= PIECE else None


class Ascending:
    """Orders of a numeric coordinate by source; `fault`: the first value that is not greater than its predecessor."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fault: str | None = None
        self._last: Any = None
        self._source = ""

    def add(self, name: str, order: CoordinateOrder) -> None:
        """Check the next source."""
        if self.fault is not None:
            return
        if self._last is not None and not order.first > self._last:
            self.fault = self._describe(order.first, f" in `{name}`", self._last, self._source)
        elif order.fall is not None:
            self.fault = self._describe(order.fall[1], "", order.fall[0], name)
        self._last, self._source = order.last, name

    def _describe(self, value: Any, place: str, before: Any, source: str) -> str:
        """Return the message for a value at a place that is not greater than the one before it."""
        from nczarr.operations.compare.difference import show

        return f"the values of `{self.path}` do not increase: {show(value)}{place} after {show(before)} in `{source}`"
