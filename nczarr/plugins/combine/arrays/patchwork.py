"""Concatenation whose chunks are copied one by one, where a single source has exactly the bytes of a chunk.

A concatenation has encoded chunks only if those of all sources make one grid
(`concatenate.py`). A store that is extended has a grid already, and each chunk
of it that lies in one source may be a chunk of that source, whatever the others
are. All other chunks are made from values.
"""

import math
from collections.abc import Iterable, Iterator

from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, columns_from, columns_of, some
from nczarr.arrays.regions import Index, Region, every_index, grid_of, number_of
from nczarr.arrays.sources.source import ArraySource, Layout, Stored
from nczarr.arrays.sources.windows import matches
from nczarr.names.records import frozen
from nczarr.plugins.combine.arrays.cell_positions import Placed
from nczarr.plugins.combine.arrays.concatenate import Joined, merge_tables


@frozen
class Patchwork(Joined):
    """Concatenation in the grid of a given layout, which single sources share in part."""

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the chunks that single sources have whole. Raises OSError."""
        length, total = self.layout.chunks[self.axis], self.starts[-1]
        tables = []
        for number, source in enumerate(self.sources):
            begin, end = self.starts[number : number + 2]
            table = source.manifest() if begin % length == 0 and self._has_chunks(source) else None
            if table is None:
                continue
            columns, grid = columns_of(table), grid_of(source.layout.shape, self.layout.chunks)
            along = columns.chunk // math.prod(grid[self.axis + 1 :]) % grid[self.axis]
            rows = ((along + 1) * length <= end - begin) | (end == total)
            tables.append(self.move_chunks(number, some(columns, rows)))
        return merge_tables(tables) if tables else columns_from(())

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the only source's bytes of a chunk; None if the chunk is made from values."""
        origin = self.find_only_source(chunk)
        return None if origin is None else origin[0].read_encoded(origin[1])

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the only source's location of a chunk; None if the chunk is made from values."""
        origin = self.find_only_source(chunk)
        return None if origin is None else origin[0].place(origin[1])

    def _has_chunks(self, source: ArraySource) -> bool:
        """Return whether a source has chunks of the grid, in its byte order, which may not be that of the values."""
        grid = self.grid
        return grid is not None and matches(source.stored, self.layout._replace(dtype=grid.dtype))

    def find_only_source(self, chunk: Index) -> tuple[ArraySource, Index] | None:
        """Return the source that has a whole chunk in the same encoding, and the index there; None without one."""
        chunk_length, length = self.layout.chunks[self.axis], self.layout.shape[self.axis]
        begin = chunk[self.axis] * chunk_length
        end = min(begin + chunk_length, length)
        for number, source in enumerate(self.sources):
            start, stop = self.starts[number], self.starts[number + 1]
            if start <= begin and end <= stop:
                whole = end - begin == chunk_length or end == stop == length
                aligned = (begin - start) % chunk_length == 0
                if whole and aligned and self._has_chunks(source):
                    moved = list(chunk)
                    moved[self.axis] = (begin - start) // chunk_length
                    return source, tuple(moved)
                return None
        return None


def as_patchwork(source: ArraySource, layout: Layout, first_piece: int) -> ArraySource:
    """Return a concatenation in the grid of a layout, if a source from number `first_piece` on has such chunks.

    `layout`: of the array that gets the chunks, in the shape of `source`. Any
    other array is returned unchanged.
    """
    if not isinstance(source, Joined) or not any(matches(part.stored, layout) for part in source.sources[first_piece:]):
        return source
    stored = Stored(layout.dtype, layout.chunks, layout.codecs)
    regular = Layout(source.layout.dtype, source.layout.shape, layout.chunks, layout.codecs, fill=source.layout.fill)
    return Patchwork(source.sources, source.axis, source.starts, regular, stored)


def count_copied(source: ArraySource, keys: Iterable[Index], layout: Layout) -> int:
    """Return the number of chunks of some keys that are copied if they are stored. `layout`: of the target."""
    if not isinstance(source, Patchwork):
        return sum(1 for _ in _chunks(keys, layout))
    return sum(1 for chunk in _chunks(keys, layout) if source.find_only_source(chunk) is not None)


def count_remade(source: ArraySource) -> tuple[int, int]:
    """Return how many chunks of a concatenation no source has whole, and how many are not only fill. Raises OSError."""
    if not isinstance(source, Joined | Placed):
        return 0, 0
    stored, table = source.stored, source.manifest()
    occupied = list(source.list_occupied(source.layout.chunks))
    if stored is None or table is None:
        return len(occupied), len(occupied)
    counts, placed = grid_of(source.layout.shape, stored.chunks), set(columns_of(table).chunk.tolist())
    others = (index for index in occupied if number_of(index, counts) not in placed)
    return sum(1 for index in others if source.read_encoded(index) is None), len(occupied)


def _chunks(keys: Iterable[Index], layout: Layout) -> Iterator[Index]:
    """Yield the chunks in some keys: each itself, or those of a shard inside the array."""
    if layout.shards is None:
        yield from keys
        return
    counts = grid_of(layout.shape, layout.chunks)
    per_shard = grid_of(layout.shards, layout.chunks)
    for key in keys:
        ranges = [
            range(number * chunk_count, min((number + 1) * chunk_count, count))
            for number, chunk_count, count in zip(key, per_shard, counts, strict=True)
        ]
        yield from every_index(ranges)
