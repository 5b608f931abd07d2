"""Array sources that select a stepped range of another source's indices along each dimension.

`Sliced` cuts a box with steps out of one array. `slice_parts` does so for all parts of
a variable; ragged content follows its counts (arrays/sources/ragged.py). Reads are lazy
and bounded by `SPAN`, however sparse the indices are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.chunks.chunk_grid_array import SHARED, TIMES
from nczarr.arrays.chunks.manifest import ChunkPlace, Manifest, PlaceColumns, columns_from, columns_of, some
from nczarr.arrays.execution.thread_pool import run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, grid_of
from nczarr.arrays.sources.decoded_parts import region_of_lists
from nczarr.arrays.sources.ragged import BoxCells, ElementMask, GatheredElements, Inner, SelectedElements
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Parts, Stored, numpy_dtype
from nczarr.arrays.sources.windows import chunk_shape_of
from nczarr.arrays.values.parts import ListTree, PartLeaf, Types, part_tree, spread
from nczarr.ast.rectilinear import Lengths, largest, varies, volume
from nczarr.ast.types import Field
from nczarr.names.records import frozen

SPAN = 1 << 22
"""Maximum elements read at once for a selection among them."""


@frozen
class Sliced(DerivedSource):
    """Part of another array: element i of a dimension is its element `ranges[dimension][i]`."""

    ranges: Region
    """Selected indices along each dimension."""

    @property
    def layout(self) -> Layout:
        """Source layout; with its codecs and chunks only if the part consists of whole chunks."""
        whole = self.source.layout
        shape = tuple(map(len, self.ranges))
        if self._aligned:
            return Layout(whole.dtype, shape, self._chunks, whole.codecs, whole.fill, order=whole.order)
        lengths = zip(largest(whole.chunks), self.ranges, strict=True)
        chunks = tuple(max(1, min(chunk // indices.step, len(indices))) for chunk, indices in lengths)
        return Layout(whole.dtype, shape, chunks, (), whole.fill, order=whole.order)

    @property
    def together(self) -> tuple[int, ...] | None:
        """Remaining part of the source's regions."""
        lengths = self.source.together
        if lengths is None:
            return None
        return tuple(max(1, length // indices.step) for indices, length in _pairs(self.ranges, lengths))

    def prefetch(self, regions: Sequence[Selection]) -> Sliced:
        """Return the part with the regions' data in memory."""
        boxes = [box for region in regions for box in self._boxes_of(region)]
        return Sliced(self.source.prefetch(boxes), self.ranges)

    def open_fragments(self, region: Region | None = None) -> ArraySource:
        """Return the part of the source with the selected fragments opened."""
        opened = self.source.open_fragments(self._in_source(region))
        return self if opened is self.source else Sliced(opened, self.ranges)

    def _boxes_of(self, selection: Selection) -> Iterator[Selection]:
        """Yield the source regions that `read` needs."""
        requested = [indices[part] for indices, part in zip(self.ranges, selection, strict=True)]
        for box in _boxes(requested, self._apart):
            yield _box_of([indices[part] for indices, part in zip(requested, box, strict=True)])

    @property
    def _apart(self) -> tuple[bool, ...]:
        """True along dimensions where most chunks between selected indices have none: they are not read."""
        if self.source.viewed:
            return (False,) * len(self.ranges)
        chunks = largest(chunk_shape_of(self.source))
        return tuple(indices.step >= 2 * length for indices, length in _pairs(self.ranges, chunks))

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the source chunks that are chunks of the part, if it consists of whole ones. Raises OSError."""
        manifest = self.source.manifest(self._in_source(region)) if self._aligned else None
        if manifest is None:
            return None
        columns, whole = columns_of(manifest), self.source.layout
        places = np.unravel_index(columns.chunk, grid_of(whole.shape, whole.chunks)) if whole.shape else ()
        rows = np.ones(len(columns.chunk), bool)
        for place, indices, length in zip(places, self.ranges, whole.chunks, strict=True):
            rows &= (place >= indices.start // length) & (place < -(-indices.stop // length))
        inside_columns = some(columns, rows)
        moved = tuple(
            place[rows] - indices.start // length
            for place, indices, length in zip(places, self.ranges, whole.chunks, strict=True)
        )
        shape = tuple(map(len, self.ranges))
        if not shape:
            return inside_columns
        return inside_columns._replace(
            chunk=np.asarray(np.ravel_multi_index(moved, grid_of(shape, self._chunks)), np.int64)
        )

    @property
    def _aligned(self) -> bool:
        """True if every chunk of the part is a whole source chunk, and not longer than the part."""
        whole = self.source.layout
        return whole.shards is None and all(
            len(indices) >= (chunk if type(chunk) is int else 1) > 0
            and indices.step == 1
            and indices.start % chunk == 0
            and (indices.stop % chunk == 0 or indices.stop == length)
            for indices, chunk, length in zip(self.ranges, whole.chunks, whole.shape, strict=True)
        )

    @property
    def stored(self) -> Stored | None:
        """Encoding of the source's chunks, if the part consists of whole ones."""
        stored = self.source.stored if self._aligned else None
        return stored._replace(chunks=self._chunks) if stored is not None and varies(stored.chunks) else stored

    @property
    def _chunks(self) -> tuple[int, ...]:
        """Chunk lengths of a part of whole chunks."""
        whole = self.source.layout.chunks
        if not varies(whole):
            return whole
        return tuple(
            chunk.between(indices.start // chunk, -(-indices.stop // chunk)) if isinstance(chunk, Lengths) else chunk
            for chunk, indices in zip(whole, self.ranges, strict=True)
        )

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the source's bytes of a chunk, if the part consists of whole chunks."""
        return self.source.read_encoded(self._of_source(chunk)) if self._aligned else None

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return the source's location of a chunk, if the part consists of whole chunks."""
        return self.source.place(self._of_source(chunk)) if self._aligned else None

    def places(self, chunks: NDArray[np.int64], *, cut: bool = False) -> PlaceColumns:
        """Return the source's locations of chunks, if the part consists of whole chunks."""
        if not self._aligned:
            return columns_from(())
        return self.source.places(chunks + np.array(self._of_source((0,) * len(self.ranges)), np.int64))

    def _of_source(self, chunk: Index) -> Index:
        """Return a chunk's index in the source's grid."""
        lengths = zip(chunk, self.ranges, self.source.layout.chunks, strict=True)
        return tuple(number + indices.start // length for number, indices, length in lengths)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype.

        Reads one small box of the source, or several boxes.
        """
        requested = [indices[part] for indices, part in zip(self.ranges, selection, strict=True)]
        boxes = list(_boxes(requested, self._apart))
        if len(boxes) == 1:
            return self._box(requested)
        out = np.empty([len(indices) for indices in requested], numpy_dtype(self.source.layout.dtype))

        def put(box: Selection) -> None:
            out[box] = self._box([indices[part] for indices, part in zip(requested, box, strict=True)])

        chunk = TIMES * volume(chunk_shape_of(self.source)) * out.itemsize
        run_each(put, boxes, chunk if chunk > SHARED and not out.dtype.hasobject else None)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`."""
        requested = [indices[part] for indices, part in zip(self.ranges, selection, strict=True)]
        if all(indices.step == 1 for indices in requested):
            self.source.read_into(_box_of(requested), out)
        else:
            out[...] = self.read(selection)

    def _box(self, requested: list[range]) -> NDArray[Any]:
        """Return the values at some indices, from their bounding box, in their shape and the source's dtype."""
        values = self.source.read(_box_of(requested))
        if all(indices.step == 1 for indices in requested):
            return values
        steps: tuple[Any, ...] = tuple(slice(None, None, indices.step) for indices in requested)
        stepped: NDArray[Any] = values[steps]
        return stepped

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet an occupied part of the source, in C order."""
        return self.source.list_occupied(chunks, self._in_source(region))

    def _in_source(self, region: Region | None) -> Region:
        """Return the indices in the source of a region."""
        if region is None:
            return self.ranges
        return tuple(
            indices[part.start : part.stop : part.step] for indices, part in zip(self.ranges, region, strict=True)
        )


def _box_of(requested: list[range]) -> Selection:
    """Return the bounding box of some indices."""
    return tuple(slice(indices[0], indices[-1] + 1) if indices else slice(0, 0) for indices in requested)


def _pairs(ranges: Region, lengths: tuple[int, ...]) -> Iterator[tuple[range, int]]:
    return zip(ranges, lengths, strict=True)


def _boxes(requested: list[range], apart: Sequence[bool]) -> Iterator[Selection]:
    """Yield parts of a region with bounding boxes of at most `SPAN` elements; one part without steps.

    Along dimensions that are `apart`, a part has one index.
    """
    single = [
        [slice(at, at + 1) for at in range(len(indices))] if alone and len(indices) > 1 else [slice(0, len(indices))]
        for indices, alone in zip(requested, apart, strict=True)
    ]
    for whole in itertools.product(*single):
        yield from _small_boxes(requested, whole)


def _small_boxes(requested: list[range], whole: Selection) -> Iterator[Selection]:
    """Yield parts of a part of a region with bounding boxes of at most `SPAN` elements; one part without steps."""
    pending = [whole]
    while pending:
        part = pending.pop()
        axes = [indices[piece] for indices, piece in zip(requested, part, strict=True)]
        spans = [indices[-1] - indices[0] + 1 if indices else 0 for indices in axes]
        waste = [span - len(indices) for span, indices in zip(spans, axes, strict=True)]
        if math.prod(spans) <= SPAN or not any(waste):
            yield part
            continue
        axis = max(range(len(waste)), key=lambda number: (axes[number].step if waste[number] else 0, waste[number]))
        middle = (part[axis].start + part[axis].stop) // 2
        halves = (slice(part[axis].start, middle), slice(middle, part[axis].stop))
        pending += [(*part[:axis], half, *part[axis + 1 :]) for half in reversed(halves)]


def slice_source(source: ArraySource, ranges: Region) -> ArraySource:
    """Return a part of a source, or the source itself if all is selected."""
    whole = tuple(map(range, source.layout.shape))
    return source if ranges == whole else Sliced(source, ranges)


class _Elements(NamedTuple):
    """Selected elements of ragged content."""

    kept: ElementMask
    """The selected elements."""
    inner: int
    """Number of cells of one element."""


def slice_parts(type_name: str, ranges: Region, parts: Parts, types: Types) -> Parts:
    """Return a variable's parts with selected indices per dimension. Raises KeyError for wrong parts."""
    box = _box_of(list(ranges))
    boxed = region_of_lists(parts, box) if all(ranges) else None
    if boxed is not None:
        parts, ranges = boxed, tuple(range(0, part[-1] - part[0] + 1, part.step) for part in ranges)
        if all(part.step == 1 for part in ranges):
            return parts

    def array(leaf: PartLeaf, cells: Region | _Elements) -> ArraySource:
        source = parts[leaf.path]
        return GatheredElements(source, cells.kept) if isinstance(cells, _Elements) else slice_source(source, cells)

    def elements(tree: ListTree, cells: Region | _Elements) -> _Elements:
        counts = parts[tree.counts.path]
        mask = Inner(*cells) if isinstance(cells, _Elements) else BoxCells(counts.layout.shape, cells)
        return _Elements(SelectedElements(counts, mask), 1)

    def member(number: int, field: Field, cells: Region | _Elements) -> Region | _Elements:
        if isinstance(cells, _Elements):
            return cells._replace(inner=cells.inner * math.prod(field.shape))
        return (*cells, *map(range, field.shape))

    whole: Region | _Elements = ranges
    return dict(spread(part_tree(type_name, types), whole, array, elements, member))
