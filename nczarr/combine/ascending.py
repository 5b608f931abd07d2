"""Check that a coordinate ascends across sources."""

from __future__ import annotations

from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.source import Parts
from nczarr.compare.difference import shown

PIECE = 1 << 20
"""Values read at once."""


class Ascending:
    """Values of a numeric coordinate by source; `fault`: the first that is not greater than its predecessor."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fault: str | None = None
        self._last: Any = None
        self._source = ""

    def add(self, name: str, parts: Parts) -> None:
        """Check the next source's values, a scalar or one-dimensional array. Raises OSError."""
        source = parts[""]
        if self.fault is not None:
            return
        length = source.layout.shape[0] if source.layout.shape else 1
        for begin in range(0, length, PIECE):
            region = (slice(begin, min(begin + PIECE, length)),) if source.layout.shape else ()
            self._look(name, source.read(region).reshape(-1))

    def _look(self, name: str, values: Any) -> None:
        if self._last is not None and not values[0] > self._last and self.fault is None:
            where = f"in `{name}` after {shown(self._last)} in `{self._source}`"
            self.fault = f"the values of `{self.path}` do not ascend: {shown(values[0])} {where}"
        falls = np.flatnonzero(~(values[1:] > values[:-1]))
        if len(falls) and self.fault is None:
            at = int(falls[0])
            where = f"after {shown(values[at])} in `{name}`"
            self.fault = f"the values of `{self.path}` do not ascend: {shown(values[at + 1])} {where}"
        self._last, self._source = values[-1], name
