"""Fill values by part: what one constant means for every array that a variable's type is made of.

A cell that was never written holds the fill value. For most types that is one element of one array; for a vlen
it is a length in `counts` and that many elements in `content`; for a compound of variable size it is one element
or, for an array field, a row of them that need not be equal. `fill_parts` gives the sources of those parts that
no single element describes, `all_fill` those of all.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.blocks import Selection
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.memory import fill_source
from nczarr.arrays.parts import Leaf, Types, descr, part_tree, parts, size, spread
from nczarr.arrays.source import ArraySource, Layout, Parts, fill_of, numpy_dtype
from nczarr.ast.types import Field
from nczarr.ast.values import Constant


def patterns(fill: Constant | None, type_name: str, types: Types) -> Iterator[tuple[str, list[bytes]]]:
    """For each part, in the order of `parts`, the elements that repeat through an array that is all fill.

    An element is in the bytes of the part's type, for strings the text. No fill value means zeros.
    """

    def items(fill: Constant | None) -> list[Constant]:
        return [item for item in fill.data if isinstance(item, Constant)] if fill is not None else []

    def array(leaf: Leaf, fill: Constant | None) -> list[bytes]:
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
    """An array whose value at linear index i (C order) is `pattern[i % len(pattern)]`."""

    layout: Layout
    pattern: tuple[bytes, ...]

    @property
    def repeats(self) -> bool:
        """True."""
        return True

    def read(self, selection: Selection) -> NDArray[Any]:
        """The values of a region."""
        dtype = numpy_dtype(self.layout.dtype)
        if dtype.hasobject:
            values = np.empty(len(self.pattern), dtype=object)
            values[:] = self.pattern
        else:
            values = np.frombuffer(b"".join(self.pattern), dtype)
        bounds = [part.indices(length)[:2] for part, length in zip(selection, self.layout.shape, strict=True)]
        index = np.zeros((), np.int64)
        for (start, stop), length in zip(bounds, self.layout.shape, strict=True):
            index = index[..., None] * length + np.arange(start, stop, dtype=np.int64)
        taken: NDArray[Any] = values[index % len(self.pattern)]
        return taken


def fill_parts(fill: Constant | None, type_name: str, shape: tuple[int, ...], types: Types) -> Parts:
    """Sources of those parts of an all-fill variable that a single repeated element does not describe.

    Lengths of ragged parts follow from the fill value: the number of cells times its length.
    """
    sources: Parts = {}
    lengths: dict[str, int] = {}
    elements = dict(patterns(fill, type_name, types))
    for part in parts(type_name, shape, types):
        known: tuple[int, ...] = tuple(
            _ragged_length(part.path, lengths) if length is None else length for length in part.shape
        )
        pattern = elements[part.path]
        if part.counts:
            lengths[part.path.removesuffix("counts") + "content"] = (
                math.prod(known) * struct.unpack("<q", pattern[0])[0]
            )
        ragged = None in part.shape
        if len(pattern) > 1 or (ragged and math.prod(known) > 0):
            layout = Layout(descr(part.type, types), known, known)
            sources[part.path] = Repeated(layout, tuple(pattern))
    return sources


def all_fill(fill: Constant | None, type_name: str, shape: tuple[int, ...], types: Types) -> Parts:
    """Sources of every part of a variable that was never written; they cost nothing, whatever the shape."""
    repeated = fill_parts(fill, type_name, shape, types)
    elements = dict(patterns(fill, type_name, types))
    sources: Parts = {}
    for part in parts(type_name, shape, types):
        known = tuple(length or 0 for length in part.shape)  # ragged content that is not repeated is empty
        layout = Layout(descr(part.type, types), known, known, fill=elements[part.path][0])
        sources[part.path] = repeated.get(part.path) or fill_source(layout)
    return sources


def is_complete(source: ArraySource) -> bool:
    """Whether every chunk of a source is there, so that no reader sees its fill."""
    layout = source.layout
    chunks = tuple(max(1, length) for length in layout.chunks)
    wanted = math.prod(-(-length // each) for length, each in zip(layout.shape, chunks, strict=True))
    return sum(1 for _ in source.occupied(chunks)) == wanted


def own_fills(sources: Parts, usual: Parts) -> dict[str, bytes]:
    """What fills the arrays of a variable by part, little-endian, where it is not what `all_fill` has (`usual`)."""
    found = {part: fill_of(source) for part, source in sources.items()}
    return {
        part: fill
        for part, fill in found.items()
        if fill is not None and part in usual and fill != usual[part].layout.fill
    }


def _ragged_length(path: str, lengths: dict[str, int]) -> int:
    """The length of the innermost ragged dimension that a part lies in."""
    while path not in lengths:
        path = path.rpartition("/")[0]
    return lengths[path]
