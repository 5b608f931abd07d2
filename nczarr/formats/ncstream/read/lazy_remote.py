"""Ragged variables on servers: array sources that ask for blocks of cells (ncstream §9).

The cells of a variable in C order make blocks of at most `MOST` cells, each a section: one index along the first
dimensions, a stretch of the next, all of the rest. What a block holds of every part comes by one answer. Invariant:
which cells a block has follows from its number, so a description of a variable does not grow with it; how long contents
are is known when every block was here once, and that is asked for only by whoever needs it.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.memory import fill_array
from nczarr.arrays.parts import parts
from nczarr.arrays.source import ArraySource, Descr, Layout, Parts, Selection
from nczarr.formats.ncstream.read.lazy_local import gathered, in_one_piece, laid
from nczarr.formats.ncstream.read.remote_request import Region, Variable, each_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 2048
"""Cells of a block, at most."""

KEPT = 8
"""Blocks whose decoded values are kept."""


class Grid(NamedTuple):
    """The blocks of a shape: one index along dimensions before `axis`, `step` of them along it."""

    shape: tuple[int, ...]
    axis: int
    step: int

    @classmethod
    def of(cls, shape: tuple[int, ...], most: int) -> Grid:
        """Blocks of at most so many cells."""
        axis, inner = len(shape) - 1, 1
        while axis > 0 and inner * shape[axis] <= most:
            inner *= shape[axis]
            axis -= 1
        return cls(shape, max(0, axis), max(1, most // inner))

    @property
    def along(self) -> int:
        """How many blocks there are along `axis`."""
        return -(-self.shape[self.axis] // self.step) if self.shape else 1

    def __len__(self) -> int:
        return math.prod(self.shape[: self.axis]) * self.along

    def region(self, number: int) -> Region:
        """The cells of a block."""
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
        """The blocks with cells of a region, in their order."""
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


class Blocks:
    """The blocks of a variable: decoded for all of its parts, the last of them kept. Pickles as a description."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.grid = Grid.of(variable.shape, MOST)
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, dict[str, NDArray[Any]]] = OrderedDict()
        self._growing = threading.Lock()
        self._ends: dict[str, list[int]] = {
            each.path: [] for each in parts(variable.type, (), variable.types) if None in each.shape
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Blocks, (self.variable,)

    def block(self, number: int) -> dict[str, NDArray[Any]]:
        """The values of a block by part. Raises OSError."""
        with self._lock:
            known = self._kept.get(number)
            if known is not None:
                self._kept.move_to_end(number)
                return known
        found = self.variable.values(self.grid.region(number), keep=True)
        with self._lock:
            self._kept[number] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Where the content of each block ends, of the first blocks that reach to `stop`; None: of all.

        Asks for those that nobody has asked for yet. Raises OSError.
        """
        found = self._ends[part]
        with self._growing:
            while len(found) < len(self.grid) and (stop is None or not found or found[-1] < stop):
                self._grow(range(len(found), min(len(found) + KEPT, len(self.grid))))
        return found

    def _grow(self, numbers: range) -> None:
        """Look at the next blocks, several at once; where little is wanted, at one."""
        numbers = numbers if numbers.start else numbers[:1]
        lengths: dict[int, dict[str, int]] = {}

        def look(number: int) -> None:
            found = self.block(number)
            lengths[number] = {part: found[part].shape[0] for part in self._ends}

        each_at_once(look, list(numbers))
        for number in numbers:
            for part, ends in self._ends.items():
                ends.append((ends[-1] if ends else 0) + lengths[number][part])


@dataclass(frozen=True, slots=True, eq=False)
class BlockCells(ArraySource):
    """A part with the dimensions of its variable, and perhaps those of a member."""

    blocks: Blocks
    part: str
    layout: Layout

    @property
    def distant(self) -> bool:
        """True."""
        return True

    def read(self, selection: Selection) -> NDArray[Any]:
        """A region, put together from blocks. Raises OSError."""
        whole = tuple(
            range(*part.indices(length)[:2]) for part, length in zip(selection, self.layout.shape, strict=True)
        )
        out = fill_array(self.layout, tuple(map(len, whole)))
        if not all(whole):
            return out
        rank = len(self.blocks.grid.shape)
        rest = tuple(slice(each.start, each.stop) for each in whole[rank:])

        def fill(number: int) -> None:
            inside, outside = [], []
            for block, part in zip(self.blocks.grid.region(number), whole[:rank], strict=True):
                first, last = max(block.start, part.start), min(block.stop, part.stop)
                inside.append(slice(first - block.start, last - block.start))
                outside.append(slice(first - part.start, last - part.start))
            out[tuple(outside)] = self.blocks.block(number)[self.part][(*inside, *rest)]

        numbers = self.blocks.grid.met(whole[:rank])
        while some := list(itertools.islice(numbers, KEPT)):
            each_at_once(fill, some)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class BlockContent(ArraySource):
    """A part in a ragged dimension, whose length the blocks tell together."""

    blocks: Blocks
    part: str
    dtype: Descr

    @property
    def distant(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Layout:
        """In one piece. Asks for all blocks once. Raises OSError."""
        shape = (self.blocks.ends(self.part)[-1], *self.blocks.block(0)[self.part].shape[1:])
        return in_one_piece(self.dtype, shape)

    def read(self, selection: Selection) -> NDArray[Any]:
        """A region, out of the blocks that hold it. Raises OSError."""
        ends = self.blocks.ends(self.part, selection[0].stop)
        return gathered(selection, ends, lambda number: self.blocks.block(number)[self.part], self.dtype)


def sources(variable: Variable, fills: Mapping[str, bytes | None]) -> Parts:
    """The array sources of a ragged variable by part. `fills`: what fills those arrays that have a fill value."""
    blocks = Blocks(variable)
    return {
        part: BlockContent(blocks, part, dtype) if layout is None else BlockCells(blocks, part, layout)
        for part, dtype, layout in laid(variable.type, variable.shape, variable.types, fills)
    }
