"""In-memory array sources: dense arrays, runs of values in fill, fill alone; fill values of parts.

All are picklable; their memory depends on the given values, not on the declared
shape.
"""

from __future__ import annotations

import itertools
import math
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from nczarr.arrays.chunks.manifest import Affine
from nczarr.arrays.chunks.occupancy import blocks_of_runs
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Region,
    Selection,
    all_of,
    bounds_of,
    cell_numbers,
    count_blocks,
    grid_of,
    inside,
    number_of,
    region_or_all,
)
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Parts, itemsize, numpy_dtype
from nczarr.arrays.values.parts import PartLeaf, Types, descr, part_tree, parts, size, spread
from nczarr.ast.types import Field
from nczarr.ast.values import Constant
from nczarr.names.records import frozen


def fill_array(layout: Layout, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new array of this shape, in the layout's dtype and fill value (default: zeros or empty strings)."""
    dtype = numpy_dtype(layout.dtype)
    if dtype.hasobject:
        out = np.empty(shape, dtype=object)
        out.fill(layout.fill or b"")
        return out
    if not layout.fill or not layout.fill.strip(b"\0"):
        return np.zeros(shape, dtype)
    out = np.empty(shape, dtype)
    out[...] = np.frombuffer(layout.fill, dtype)[0]
    return out


@frozen
class ArrayInMemory(ArraySource):
    """Dense array in memory."""

    layout: Layout
    values: NDArray[Any]
    """All values, in the shape and dtype of the layout."""

    given = True  # the values are in memory

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return a read-only view of the region, in its shape and the layout's dtype."""
        place: Any = (*selection, ...)
        region: NDArray[Any] = self.values[place]
        region.flags.writeable = False
        return region


class GivenValues:
    """Values in C order, packed as in constants until they are read: NumPy takes longer to load than a schema.

    `data`: little-endian bytes of the elements, or texts, or an array of shape (elements,).
    """

    __slots__ = ("_dtype", "data")

    def __init__(self, dtype: Descr, data: bytes | tuple[Any, ...] | NDArray[Any]) -> None:
        self._dtype = dtype
        self.data = data

    def unpack(self) -> NDArray[Any]:
        """Return the values: one dimension, the dtype."""
        if isinstance(self.data, bytes):
            self.data = np.frombuffer(self.data, numpy_dtype(self._dtype))
        elif isinstance(self.data, tuple):
            self.data = np.fromiter(self.data, object, len(self.data))
        return self.data


PACKED = 1 << 16
"""Bytes of a chunk above which NumPy is worth its import."""


@frozen
class Runs(ArraySource):
    """Runs of given values in an array of fill. Run i begins at linear index `starts[i]` in C order."""

    layout: Layout
    starts: list[int]
    """Linear indices of the runs, ascending and without overlap."""
    offsets: list[int]
    """Run i has `values[offsets[i]:offsets[i + 1]]`."""
    values: GivenValues
    undefined: bool = False
    """True if cells outside of runs have undefined values."""

    given = True  # the values are in memory

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        shape, values = self.layout.shape, self.values.unpack()
        if self.starts == [0] and len(values) == math.prod(shape):
            return ArrayInMemory(self.layout, values.reshape(shape)).read(selection)
        bounds = bounds_of(selection, shape)
        out = fill_array(self.layout, tuple(max(0, stop - start) for start, stop in bounds))
        if not out.size or not self.starts:
            return out
        if not shape:
            out[()] = values[0]
            return out
        # Whole trailing dimensions make rows contiguous: copy the longest rows that there are.
        row_axes = len(shape) - 1
        while row_axes > 0 and bounds[row_axes] == (0, shape[row_axes]):
            row_axes -= 1
        outer, row_size = shape[:row_axes], math.prod(shape[row_axes + 1 :])
        flat = out.reshape(-1)
        length = (bounds[row_axes][1] - bounds[row_axes][0]) * row_size
        for number, leading in enumerate(itertools.product(*(range(a, b) for a, b in bounds[:row_axes]))):
            start = (number_of(leading, outer) * shape[row_axes] + bounds[row_axes][0]) * row_size
            self._copy(start, flat[number * length : (number + 1) * length])
        return out

    def pack(self, region: Selection) -> bytes | list[bytes | None] | None:
        """Return the bytes or texts of all cells, if there are few and the region has all of them."""
        data, count, fill = self.values.data, math.prod(self.layout.shape), self.layout.fill
        width = itemsize(self.layout.dtype) or 1
        if not isinstance(data, bytes | tuple) or count * width > PACKED or region != all_of(self.layout.shape):
            return None
        packed: Any = bytearray((fill or bytes(width)) * count) if isinstance(data, bytes) else [fill or b""] * count
        for start, (begin, end) in zip(self.starts, itertools.pairwise(self.offsets), strict=True):
            packed[start * width : (start + end - begin) * width] = data[begin * width : end * width]
        return packed if isinstance(packed, list) else bytes(packed)

    def _copy(self, start: int, out: NDArray[Any]) -> None:
        """Overlay the runs that meet the linear range of `out` from `start`. `out`: 1-D, the layout's dtype."""
        values = self.values.unpack()
        stop = start + len(out)
        run = max(0, bisect_right(self.starts, start) - 1)
        while run < len(self.starts) and self.starts[run] < stop:
            offset, next_offset = self.offsets[run], self.offsets[run + 1]
            run_start = self.starts[run]
            low = max(start, run_start)
            high = min(stop, run_start + next_offset - offset)
            if low < high:
                out[low - start : high - start] = values[offset + low - run_start : offset + high - run_start]
            run += 1

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet a run, in C order."""
        shape = self.layout.shape
        lengths = (end - begin for begin, end in itertools.pairwise(self.offsets))
        runs = list(zip(self.starts, lengths, strict=True))
        return blocks_of_runs(runs, shape, chunks, region_or_all(region, shape))


def put_nil(out: NDArray[Any], runs: Sequence[tuple[int, int]], starts: list[int], shape: tuple[int, ...]) -> None:
    """Replace empty texts that are NIL by None, in place.

    `out`: a region, dtype object; `runs`: NIL strings as (start, length), linear
    indices in C order; `starts`: first index of the region in each dimension of
    `shape`.
    """
    firsts = np.array([first for first, _ in runs], np.int64)
    ends = np.array([first + count for first, count in runs], np.int64)
    ranges = [range(start, start + length) for start, length in zip(starts, out.shape, strict=True)]
    linear = cell_numbers(ranges, shape)
    run = np.searchsorted(firsts, linear, side="right") - 1
    nil = (run >= 0) & (linear < ends[run])
    out[nil & (out == b"")] = None


def fill_source(layout: Layout, *, undefined: bool = False) -> Runs:
    """Return an array of fill; `undefined`: without a reliable value."""
    return Runs(layout, [], [0], GivenValues(layout.dtype, () if layout.dtype == "|O" else b""), undefined)


def pad_chunk(values: NDArray[Any], chunks: tuple[int, ...], fill: bytes) -> NDArray[Any]:
    """Return the values as a whole chunk in C order: shape `chunks`, the same dtype.

    `fill`: one element as bytes, or one text.
    """
    if values.shape == chunks:
        return np.ascontiguousarray(values)
    full = np.empty(chunks, values.dtype)
    if values.dtype.hasobject:
        full.fill(fill)
    elif fill.strip(b"\0"):
        full[...] = np.frombuffer(fill, values.dtype)[0]
    else:
        full.reshape(-1).view(np.uint8)[...] = 0
    full[tuple(map(slice, values.shape))] = values
    return full


def is_all(values: NDArray[Any], fill: bytes) -> bool:
    """Return whether a C-order chunk repeats the element `fill` bit by bit; its ends decide mostly.

    `values`: any shape, a fixed-size dtype.
    """
    flat = values.reshape(-1)
    if not flat.size or flat[0].tobytes() != fill or flat[-1].tobytes() != fill:
        return not flat.size
    width = len(fill)
    if width in (1, 2, 4, 8):
        return bool((flat.view(f"u{width}") == np.frombuffer(fill, f"u{width}")[0]).all())
    return flat.tobytes() == fill * flat.size


def patterns(fill: Constant | None, type_name: str, types: Types) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the repeating elements of an all-fill array for each part, in the order of `parts`.

    Elements are bytes of the part's type, for strings the text. No fill value
    means zeros.
    """

    def items(fill: Constant | None) -> list[Constant]:
        return [item for item in fill.data if isinstance(item, Constant)] if fill is not None else []

    def array(leaf: PartLeaf, fill: Constant | None) -> list[bytes]:
        """Return the fill value of one part, element by element."""
        data = fill.data if fill is not None else b""
        if leaf.counts:
            return [struct.pack("<q", next((item.count for item in items(fill)), 0))]
        if leaf.type == "string":
            return [item if isinstance(item, bytes) else b"" for item in data] or [b""]
        width = size(leaf.type, types)
        packed = data if isinstance(data, bytes) and data else bytes(width)
        return [packed[start : start + width] for start in range(0, len(packed), width)]

    def member(number: int, field: Field, fill: Constant | None) -> Constant | None:
        return next(iter(items(fill)[number : number + 1]), None)

    return spread(part_tree(type_name, types), fill, array, lambda tree, fill: next(iter(items(fill)), None), member)


@frozen
class Repeated(ArraySource):
    """Array whose value at linear index i (C order) is `pattern[i % len(pattern)]`."""

    layout: Layout
    pattern: tuple[bytes, ...]
    """Elements, in the bytes of the layout's dtype."""

    repeats = given = True

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        dtype, shape = self.layout.dtype, self.layout.shape
        values = GivenValues(dtype, self.pattern if dtype == "|O" else b"".join(self.pattern)).unpack()
        index = cell_numbers(list(itertools.starmap(range, bounds_of(selection, shape))), shape)
        taken: NDArray[Any] = values[index % len(self.pattern)]
        return taken


def fill_parts(fill: Constant | None, type_name: str, shape: tuple[int, ...], types: Types) -> Parts:
    """Return sources for the parts of an all-fill variable that one repeated element does not describe.

    The length of a ragged part is the number of cells times the fill value's
    length.
    """
    sources: Parts = {}
    lengths: dict[str, int] = {}
    elements = dict(patterns(fill, type_name, types))
    for part in parts(type_name, shape, types):
        lengths_of_part: tuple[int, ...] = tuple(
            _find_ragged_length(part.path, lengths) if length is None else length for length in part.shape
        )
        pattern = elements[part.path]
        if part.counts:
            lengths[part.path.removesuffix("counts") + "content"] = (
                math.prod(lengths_of_part) * struct.unpack("<q", pattern[0])[0]
            )
        ragged = None in part.shape
        if len(pattern) > 1 or (ragged and math.prod(lengths_of_part) > 0):
            layout = Layout(descr(part.type, types), lengths_of_part, lengths_of_part)
            sources[part.path] = Repeated(layout, tuple(pattern))
    return sources


def all_fill(
    fill: Constant | None, type_name: str, shape: tuple[int, ...], types: Types, written: Parts | None = None
) -> Parts:
    """Return sources for every part of a variable, those `written` or unwritten ones, at no cost in its shape."""
    if written is None:
        written = fill_parts(fill, type_name, shape, types)
    elements = dict(patterns(fill, type_name, types))
    sources: Parts = {}
    for part in parts(type_name, shape, types):
        part_shape = tuple(length or 0 for length in part.shape)  # ragged content that is not given is empty
        layout = Layout(descr(part.type, types), part_shape, part_shape, fill=elements[part.path][0])
        sources[part.path] = written.get(part.path) or fill_source(layout)
    return sources


def is_complete(source: ArraySource, chunks: tuple[int, ...] | None = None) -> bool:
    """Return whether all chunks of a grid, by default the source's, meet what exists: its fill is not visible."""
    layout = source.layout
    chunks = tuple(max(1, length) for length in (layout.chunks if chunks is None else chunks))
    count = math.prod(grid_of(layout.shape, chunks))
    stored, has_names = source.stored, source.keyed and layout.shards is None  # keys are listed, each place is a call
    manifest = None if has_names or stored is None or stored.chunks != chunks else source.manifest()
    if manifest is not None:
        rows = manifest.number if isinstance(manifest, Affine) else len(manifest.chunk)
        if rows == count:
            return True
    return count_blocks(source.list_occupied(chunks)) == count


def _find_ragged_length(path: str, lengths: dict[str, int]) -> int:
    """Return the length of the innermost ragged dimension of a part."""
    while path not in lengths:
        path = path.rpartition("/")[0]
    return lengths[path]


@frozen
class Window(ArraySource):
    """An array region in memory."""

    layout: Layout
    region: Selection
    values: NDArray[Any]
    """Values of the region."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return a view of a region inside the window, in its shape and the layout's dtype."""
        place: Any = (*inside(selection, self.region), ...)  # the dots make a view of a scalar too
        view: NDArray[Any] = self.values[place]
        return view

    def fill(self, source: ArraySource, selections: list[Selection]) -> None:
        """Read regions inside the window from the array."""
        at_hand = source.prefetch(selections)
        for selection in selections:
            place: Any = (*inside(selection, self.region), ...)
            at_hand.read_into(selection, self.values[place])
