"""Arrays of overviews: their values are computed from level 0 when they are read, tile by tile.

A tile is a box of level 0 that has whole cells of every level. Reading a tile of level 1 computes the cells of all
further levels as well. They wait in a temporary file, without codecs, so that one pass over level 0 makes all levels:
the file has at most a twelfth of the bytes of level 0 for a factor of 2. A tile that is not in the file, in another
process for example, is computed again.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import IO, Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, every_block, grid_of, lengths_of, number_of, region_of
from nczarr.arrays.sources.source import ArraySource, Layout, itemsize, numpy_dtype
from nczarr.arrays.sources.windows import reading_shape
from nczarr.ast.rectilinear import largest
from nczarr.names.records import frozen
from nczarr.plugins.pyramid.reduce import Reduction, reduce_levels

SMALL_TILE = 4 << 20
"""Bytes of level 0 in a tile, where chunks are smaller."""

WORKSPACE = 16
"""Bytes for each cell of a tile, besides its value, while it is reduced."""

LOCKS = 64
"""Locks of tiles: a tile that a thread computes is not computed by another one."""


def measure_smallest_tile(source: ArraySource, factors: tuple[int, ...], levels: int) -> int:
    """Return the bytes that are needed for one cell of the last level."""
    cells = (
        min(int(factor**levels), max(1, length)) for factor, length in zip(factors, source.layout.shape, strict=True)
    )
    return math.prod(cells) * ((itemsize(source.layout.dtype) or WORKSPACE) + WORKSPACE)


def choose_tile(source: ArraySource, factors: tuple[int, ...], levels: int, memory: int) -> tuple[int, ...]:
    """Return the lengths of tiles: multiples of the cells of the last level, and of the chunks of the source if it can.

    Chunks that have no short common multiple with the cells are decoded more than once; longer tiles make that rare,
    as far as `memory` allows, in bytes.
    """
    shape, element = source.layout.shape, itemsize(source.layout.dtype) or WORKSPACE
    cells = [factor**levels for factor in factors]
    chunks = [max(1, length) for length in largest(reading_shape(source))]
    if source.viewed:
        chunks = [*[1] * len(shape[:-1]), *shape[-1:]]
    tile = []
    for chunk, cell, length, factor in zip(chunks, cells, shape, factors, strict=True):
        common = math.lcm(chunk, cell)
        if factor == 1:
            tile.append(min(chunk, max(1, length)))
        elif chunk >= length or common <= 4 * max(chunk, cell):
            tile.append(min(common, -(-max(1, length) // cell) * cell))
        else:
            tile.append(-(-min(4 * chunk, length) // cell) * cell)
    for axis in reversed(range(len(tile))):
        while factors[axis] > 1 and tile[axis] < shape[axis] and math.prod(tile) * element <= SMALL_TILE // 2:
            tile[axis] *= 2
    while math.prod(map(min, tile, shape)) * (element + WORKSPACE) > memory:
        parts = [min(have, length) / cell for have, length, cell in zip(tile, shape, cells, strict=True)]
        axis = parts.index(max(parts))
        if parts[axis] <= 1:
            break
        tile[axis] = -(-min(tile[axis], shape[axis]) // (2 * cells[axis])) * cells[axis]
    return tuple(tile)


def _shift(spans: list[tuple[int, int]], origin: Selection) -> tuple[slice, ...]:
    """Return spans of cells as slices that count from the first cells of a region."""
    return tuple(slice(low - part.start, high - part.start) for (low, high), part in zip(spans, origin, strict=True))


class Overviews:
    """Tiles of one array of level 0, for all its levels. Threads share them; a copy in another process has no file."""

    def __init__(
        self,
        source: ArraySource,
        reduction: Reduction,
        shapes: tuple[tuple[int, ...], ...],
        memory: int,
        folder: str | None = None,
    ) -> None:
        """Make them. `shapes`: those of all levels, the first is level 0; `memory`: bytes for tiles at work.

        `folder`: that of the temporary file; None: the system's.
        """
        self.source = source
        self.reduction = reduction
        self.shapes = shapes
        self.memory = memory
        self.tile = choose_tile(source, reduction.factors, self.levels, memory)
        self.folder = folder
        self._restore(shared=True)

    def _restore(self, *, shared: bool) -> None:
        """Begin without tiles."""
        need = math.prod(map(min, self.tile, self.shapes[0])) * (
            (itemsize(self.source.layout.dtype) or WORKSPACE) + WORKSPACE
        )
        self._room = BoundedSemaphore(max(1, self.memory // max(1, need)))
        self._locks = [Lock() for _ in range(LOCKS)]
        self._turn = Lock()
        self._finished = set[int]()
        self._file: IO[bytes] | None = None
        self._keeps = shared and self.levels > 1 and self.reduction.dtype != "|O"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.source, self.reduction, self.shapes, self.memory, self.tile

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.source, self.reduction, self.shapes, self.memory, self.tile = state
        self.folder = None
        self._restore(shared=False)

    @property
    def levels(self) -> int:
        """Number of levels above level 0."""
        return len(self.shapes) - 1

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of tiles along each dimension."""
        return grid_of(self.shapes[0], self.tile)

    def tile_at(self, level: int) -> tuple[int, ...]:
        """Return the lengths of a tile in the cells of a level."""
        return tuple(
            max(1, length // factor**level) for length, factor in zip(self.tile, self.reduction.factors, strict=True)
        )

    def read(self, level: int, selection: Selection) -> NDArray[Any]:
        """Return the values of a region of a level. Raises OSError, CompileError."""
        lengths, shape = self.tile_at(level), self.shapes[level]
        out = np.empty(lengths_of(selection), numpy_dtype(self.reduction.dtype))
        firsts = [part.start // length for part, length in zip(selection, lengths, strict=True)]
        lasts = [-(-part.stop // length) for part, length in zip(selection, lengths, strict=True)]
        if not out.size:
            return out
        for offset in every_block(tuple(map(int.__sub__, lasts, firsts)), (1,) * len(lengths)):
            index = tuple(map(int.__add__, firsts, offset))
            region = region_of(index, lengths, shape)
            both = [
                (max(part.start, have.start), min(part.stop, have.stop))
                for part, have in zip(selection, region, strict=True)
            ]
            out[_shift(both, selection)] = self._tile(index, level)[_shift(both, region)]
        return out

    def _tile(self, index: Index, level: int) -> NDArray[Any]:
        """Return the values of a tile at a level. Raises OSError, CompileError."""
        number = number_of(index, self.grid)
        if not self._keeps:
            return self._compute(index)[level - 1]
        with self._locks[number % LOCKS]:
            if level > 1 and number in self._finished:
                return self._load(index, number, level)
            levels = self._compute(index)
            self._store(number, levels)
        return levels[level - 1]

    def _compute(self, index: Index) -> list[NDArray[Any]]:
        """Return the values of a tile at all levels. Raises OSError, CompileError."""
        with self._room:
            values = self.source.read(region_of(index, self.tile, self.shapes[0]))
            levels = reduce_levels(values, self.reduction, self.levels)
        return [
            values[tuple(slice(part.stop - part.start) for part in region_of(index, self.tile_at(level), shape))]
            for level, (values, shape) in enumerate(zip(levels, self.shapes[1:], strict=True), 1)
        ]

    # ---- the temporary file -----------------------------------------------------------------------------------------
    def _slot(self, level: int) -> int:
        """Return where a level begins in the bytes of a tile in the file; for the level after the last: the end."""
        sizes = (math.prod(self.tile_at(each)) for each in range(2, level))
        return sum(sizes) * itemsize(self.reduction.dtype)

    def _store(self, number: int, levels: list[NDArray[Any]]) -> None:
        """Put levels 2 and up of a tile into the file. Without room there, they are computed again."""
        if number in self._finished:
            return
        size = self._slot(self.levels + 1)
        try:
            with self._turn:
                if self._file is None:
                    self._file = tempfile.TemporaryFile(dir=self.folder, prefix=".nczarr-")  # noqa: SIM115
                for level, values in enumerate(levels[1:], 2):
                    self._file.seek(number * size + self._slot(level))
                    self._file.write(np.ascontiguousarray(values, numpy_dtype(self.reduction.dtype)).tobytes())
        except OSError:
            self._keeps = False
            return
        self._finished.add(number)

    def _load(self, index: Index, number: int, level: int) -> NDArray[Any]:
        """Return a level of a tile from the file. Raises OSError."""
        assert self._file is not None
        shape = lengths_of(region_of(index, self.tile_at(level), self.shapes[level]))
        dtype = numpy_dtype(self.reduction.dtype)
        place = number * self._slot(self.levels + 1) + self._slot(level)
        with self._turn:
            self._file.seek(place)
            data = self._file.read(math.prod(shape) * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(shape)

    def __del__(self) -> None:
        with suppress(Exception):
            if self._file is not None:
                self._file.close()


@frozen
class LevelArray(ArraySource):
    """One level of an array."""

    overviews: Overviews
    """The tiles that it shares with the other levels."""
    level: int
    """Number of the level, at least 1."""
    fill: bytes | None
    """Value of cells of which nothing was written, in the bytes of the layout's type."""

    @property
    def layout(self) -> Layout:
        """Layout, whose chunks are the tiles."""
        shape = self.overviews.shapes[self.level]
        tile = tuple(map(min, self.overviews.tile_at(self.level), (max(1, length) for length in shape)))
        return Layout(self.overviews.reduction.dtype, shape, tile, fill=self.fill)

    @property
    def undefined(self) -> bool:
        """Value of level 0."""
        return self.overviews.source.undefined

    @property
    def viewed(self) -> bool:
        """False: tiles are computed."""
        return False

    @property
    def distant(self) -> bool:
        """Value of level 0."""
        return self.overviews.source.distant

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region. Raises OSError, CompileError."""
        return self.overviews.read(self.level, selection)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region in which level 0 may contain more than fill."""
        shape, source = self.overviews.shapes[self.level], self.overviews.source
        region = tuple(map(range, shape)) if region is None else region
        cells = [factor**self.level for factor in self.overviews.reduction.factors]
        below = tuple(
            range(along.start * cell, min(along.stop * cell, length))
            for along, cell, length in zip(region, cells, source.layout.shape, strict=True)
        )
        grid = grid_of(tuple(map(len, region)), chunks)
        blocks = source.list_occupied(tuple(map(int.__mul__, chunks, cells)), below)
        return (index for index in blocks if all(number < count for number, count in zip(index, grid, strict=True)))
