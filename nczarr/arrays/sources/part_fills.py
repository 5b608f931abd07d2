"""Fill values by part: the meaning of one constant for every array of a variable's type.

An unwritten cell holds the fill value. For most types that is one element of
one array. For a vlen it is a length in `counts` and as many elements in
`content`. For a compound of variable size it is one element or, for an array
field, a row of possibly unequal ones. `fill_parts` returns sources for parts
that need more than one element, `all_fill` for all parts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.chunks.manifest import Affine
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, bounds_of, grid_of
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, fill_of, numpy_dtype
from nczarr.arrays.values.parts import PartLeaf, Types, descr, part_tree, parts, size, spread
from nczarr.ast.types import Field
from nczarr.ast.values import Constant


def patterns(fill: Constant | None, type_name: str, types: Types) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the repeating elements of an all-fill array for each part, in the order of `parts`.

    Elements are bytes of the part's type, for strings the text. No fill value
    means zeros.
    """

    def items(fill: Constant | None) -> list[Constant]:
        return [item for item in fill.data if isinstance(item, Constant)] if fill is not None else []

    def array(leaf: PartLeaf, fill: Constant | None) -> list[bytes]:
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


@dataclass(frozen=True, slots=True, eq=False)
class Repeated(ArraySource):
    """Array whose value at linear index i (C order) is `pattern[i % len(pattern)]`."""

    layout: Layout
    """Layout of the array."""
    pattern: tuple[bytes, ...]
    """Elements, in the bytes of the layout's dtype."""

    @property
    def repeats(self) -> bool:
        """True."""
        return True

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        dtype = numpy_dtype(self.layout.dtype)
        if dtype.hasobject:
            values = np.empty(len(self.pattern), dtype=object)
            values[:] = self.pattern
        else:
            values = np.frombuffer(b"".join(self.pattern), dtype)
        bounds = bounds_of(selection, self.layout.shape)
        index = np.zeros((), np.int64)
        for (start, stop), length in zip(bounds, self.layout.shape, strict=True):
            index = index[..., None] * length + np.arange(start, stop, dtype=np.int64)
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
            _ragged_length(part.path, lengths) if length is None else length for length in part.shape
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
    stored, manifest = source.stored, source.manifest()
    if stored is not None and stored.chunks == chunks and manifest is not None:
        rows = manifest.count if isinstance(manifest, Affine) else len(manifest.chunk)
        if rows == count:
            return True
    return sum(1 for _ in source.occupied(chunks)) == count


def own_fills(sources: Parts, usual: Parts) -> dict[str, bytes]:
    """Return the little-endian fills by part that differ from those of `all_fill` (`usual`)."""
    fills = {part: fill_of(source) for part, source in sources.items()}
    return {
        part: fill
        for part, fill in fills.items()
        if fill is not None and part in usual and fill != usual[part].layout.fill
    }


def _ragged_length(path: str, lengths: dict[str, int]) -> int:
    """Return the length of the innermost ragged dimension of a part."""
    while path not in lengths:
        path = path.rpartition("/")[0]
    return lengths[path]
