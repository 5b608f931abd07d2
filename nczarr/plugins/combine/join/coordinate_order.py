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
    falls: bool = False
    """True if each value is less than its predecessor."""


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
    falls_always = length > 1
    for begin in range(0, length, PIECE):
        region = (slice(begin, min(begin + PIECE, length)),) if shape else ()
        piece = source.read(region)
        values = piece.reshape(-1)
        if final is not None:
            falls_always &= bool(values[0] < final)
            if fall is None and not values[0] > final:
                fall = (final, values[0])
        falls_always &= bool((values[1:] < values[:-1]).all())
        falls = np.flatnonzero(~(values[1:] > values[:-1]))
        if len(falls) and fall is None:
            fall = (values[falls[0]], values[falls[0] + 1])
        first, final = values[0] if first is None else first, values[-1]
    order = None if first is None else CoordinateOrder(first, final, fall, falls_always)
    return order, piece if length <= PIECE else None


class Ascending:
    """Orders of a numeric coordinate by source; values may descend if they do so in all sources and between them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fault: str | None = None
        self._may_fall = True
        self._falls = False
        self._last: Any = None
        self._source = ""

    @property
    def fault(self) -> str | None:
        """Message on the first value that is not greater than its predecessor; None if all ascend, or all descend.

        Sources of one value each do not descend: they are in the wrong order.
        """
        return None if self._may_fall and self._falls else self._fault

    def add(self, name: str, order: CoordinateOrder) -> None:
        """Check the next source."""
        single = bool(order.first == order.last) and order.fall is None
        self._may_fall &= (order.falls or single) and (self._last is None or bool(order.first < self._last))
        self._falls |= order.falls
        if self._fault is None and self._last is not None and not order.first > self._last:
            self._fault = self._describe(order.first, f" in `{name}`", self._last, self._source)
        elif self._fault is None and order.fall is not None:
            self._fault = self._describe(order.fall[1], "", order.fall[0], name)
        self._last, self._source = order.last, name

    def _describe(self, value: Any, place: str, before: Any, source: str) -> str:
        """Return the message for a value at a place that is not greater than the one before it."""
        from nczarr.pipeline.compare.difference import show

        return f"the values of `{self.path}` do not increase: {show(value)}{place} after {show(before)} in `{source}`"
