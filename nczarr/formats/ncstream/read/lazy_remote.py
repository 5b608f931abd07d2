"""Array sources of ragged variables on servers, requested in blocks of cells.

A block is a section of at most `MOST` cells in C order: one index along the
leading dimensions, a stretch of the next, all of the rest. One answer delivers
all parts of a block. Invariant: a block's cells follow from its number, so the
pickled description has constant size. Content lengths require a request for
every block, so they are requested only if needed.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from nczarr.arrays.blocks import every_index, grid_of, index_of, linear_block, number_of, region_of
from nczarr.arrays.decoded_parts import Sections
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.parts import parts
from nczarr.formats.ncstream.read.remote_request import Region, Variable, each_at_once

MOST = 2048
"""Maximum cells in a block."""

KEPT = 8
"""Number of decoded blocks in the cache."""


class Blocks(Sections):
    """Decoder of a variable's blocks for all its parts, with a cache. Pickles as a description."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.type, self.shape, self.types = variable.type, variable.shape, variable.types
        self.block = linear_block(variable.shape, MOST)
        self.counts = grid_of(variable.shape, self.block)
        self._recent = lru_cache(KEPT)(self._requested)
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
        blocks = [
            range(part.start // length, -(-part.stop // length))
            for part, length in zip(region, self.block, strict=True)
        ]
        for index in every_index(blocks):
            number = number_of(index, self.counts)
            yield number, self.region(number)

    def region(self, number: int) -> Region:
        """Return the cells of a block."""
        found = region_of(index_of(number, self.counts), self.block, self.shape)
        return tuple(range(part.start, part.stop) for part in found)

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each block, `KEPT` blocks concurrently."""
        left = iter(sections)
        while some := list(itertools.islice(left, KEPT)):
            each_at_once(call, some)

    def decoded(self, section: int) -> dict[str, NDArray[Any]]:
        """Return the values of a block by part, in the parts' shapes and dtypes. Raises OSError."""
        return self._recent(section)

    def _requested(self, section: int) -> dict[str, NDArray[Any]]:
        return self.variable.values(self.region(section), keep=True)

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        """Return the values of a block by part, in the parts' shapes and dtypes. Raises OSError."""
        return self.decoded(stretch)

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the cumulative content length after each block, up to `stop` (None: all). Raises OSError.

        Requests missing blocks.
        """
        found, total = self._ends[part], math.prod(self.counts)
        with self._growing:
            while len(found) < total and (stop is None or not found or found[-1] < stop):
                self._grow(range(len(found), min(len(found) + KEPT, total)))
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
