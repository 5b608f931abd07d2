"""Array sources of ragged variables on servers, requested in blocks of cells.

A block is a section of at most `MOST` cells in C order: one index along the leading dimensions, a stretch of
the next, all of the rest. One answer delivers all parts of a block. Invariant: a block's cells follow from
its number, so the pickled description has constant size. Content lengths require a request for every block,
so they are requested only if needed.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from nczarr.arrays.decoded_parts import Sections
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.parts import parts
from nczarr.formats.ncstream.read.remote_request import Region, Variable, each_at_once

MOST = 2048
"""Maximum cells in a block."""

KEPT = 8
"""Number of decoded blocks in the cache."""


class Grid(NamedTuple):
    """Blocks of a shape: one index along the dimensions before `axis`, `step` indices along it."""

    shape: tuple[int, ...]
    axis: int
    step: int

    @classmethod
    def of(cls, shape: tuple[int, ...], most: int) -> Grid:
        """Return a grid with at most `most` cells per block."""
        axis, inner = len(shape) - 1, 1
        while axis > 0 and inner * shape[axis] <= most:
            inner *= shape[axis]
            axis -= 1
        return cls(shape, max(0, axis), max(1, most // inner))

    @property
    def along(self) -> int:
        """Number of blocks along `axis`."""
        return -(-self.shape[self.axis] // self.step) if self.shape else 1

    def __len__(self) -> int:
        return math.prod(self.shape[: self.axis]) * self.along

    def region(self, number: int) -> Region:
        """Return the cells of a block."""
        if not self.shape:
            return ()
        number, last = divmod(number, self.along)
        leading: list[range] = []
        for length in reversed(self.shape[: self.axis]):
            number, index = divmod(number, length)
            leading.append(range(index, index + 1))
        stretch = range(last * self.step, min((last + 1) * self.step, self.shape[self.axis]))
        return (*reversed(leading), stretch, *map(range, self.shape[self.axis + 1 :]))

    def met(self, region: Region) -> Iterator[int]:
        """Yield the blocks that intersect a region, in order."""
        if not self.shape:
            yield 0
            return
        part = region[self.axis]
        last = range(part.start // self.step, -(-part.stop // self.step))
        for index in itertools.product(*region[: self.axis], last):
            number = 0
            for each, length in zip(index, (*self.shape[: self.axis], self.along), strict=True):
                number = number * length + each
            yield number


class Blocks(Sections):
    """Decoder of a variable's blocks for all its parts, with a cache. Pickles as a description."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.type, self.shape, self.types = variable.type, variable.shape, variable.types
        self.grid = Grid.of(variable.shape, MOST)
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, dict[str, NDArray[Any]]] = OrderedDict()
        self._growing = threading.Lock()
        self._ends: dict[str, list[int]] = {
            each.path: [] for each in parts(variable.type, (), variable.types) if None in each.shape
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Blocks, (self.variable,)

    @property
    def distant(self) -> bool:
        """Always true."""
        return True

    def meeting(self, region: Region) -> Iterator[tuple[int, Region]]:
        """Yield the blocks that intersect a region, by number."""
        return ((number, self.grid.region(number)) for number in self.grid.met(region))

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each block, `KEPT` blocks concurrently."""
        left = iter(sections)
        while some := list(itertools.islice(left, KEPT)):
            each_at_once(call, some)

    def decoded(self, section: int) -> dict[str, NDArray[Any]]:
        """Return the values of a block by part. Raises OSError."""
        with self._lock:
            known = self._kept.get(section)
            if known is not None:
                self._kept.move_to_end(section)
                return known
        found = self.variable.values(self.grid.region(section), keep=True)
        with self._lock:
            self._kept[section] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        """Return the values of a block by part. Raises OSError."""
        return self.decoded(stretch)

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the cumulative content length after each block, up to `stop` (None: all). Raises OSError.

        Requests missing blocks.
        """
        found = self._ends[part]
        with self._growing:
            while len(found) < len(self.grid) and (stop is None or not found or found[-1] < stop):
                self._grow(range(len(found), min(len(found) + KEPT, len(self.grid))))
        return found

    def _grow(self, numbers: range) -> None:
        """Request the lengths of the next blocks concurrently, at first of only one."""
        numbers = numbers if numbers.start else numbers[:1]
        lengths: dict[int, dict[str, int]] = {}

        def look(number: int) -> None:
            found = self.decoded(number)
            lengths[number] = {part: found[part].shape[0] for part in self._ends}

        each_at_once(look, list(numbers))
        for number in numbers:
            for part, ends in self._ends.items():
                ends.append((ends[-1] if ends else 0) + lengths[number][part])
