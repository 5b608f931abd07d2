"""Conversion of arrays of raw elements to the model's: padded records and fixed-length texts.

The raw source fetches and decodes chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from nczarr.arrays.blocks import Index, Selection
from nczarr.arrays.grid import converted
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.source import DerivedSource, Descr, Layout, numpy_dtype
from nczarr.formats.dmrpp.types import Member

Pad = Literal["null_term", "null_pad", "space_pad"]
"""HDF5's padding of texts shorter than their type."""


def unpadded(text: bytes, pad: Pad) -> bytes:
    """Return a fixed-length text without padding."""
    match pad:
        case "null_term":
            return text.partition(b"\0")[0]
        case "null_pad":
            return text.rstrip(b"\0")
        case "space_pad":
            return text.rstrip(b" ")


@dataclass(frozen=True, slots=True, eq=False)
class RawElements(DerivedSource):
    """Array of `layout` from the raw bytes of its elements in `source`.

    `form`: padding of texts, or stored dtype and member offsets of records.
    """

    layout: Layout
    form: Pad | tuple[Descr, tuple[Member, ...]]

    def cleared(self) -> RawElements:
        """Return the same array with zeros for missing chunks."""
        return replace(self, source=self.source.cleared(), layout=self.layout._replace(fill=None))

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Yield the chunks of the raw source."""
        return self.source.occupied(chunks)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region. Raises OSError, CompileError."""
        values = np.ascontiguousarray(self.source.read(selection))
        shape = tuple(len(range(*part.indices(size))) for part, size in zip(selection, self.layout.shape, strict=True))
        values = values.reshape(shape)  # numpy makes one dimension of none
        if isinstance(self.form, str):
            data, size, pad = values.tobytes(), values.itemsize, self.form
            texts = np.empty(math.prod(shape), object)
            texts[:] = [unpadded(data[at : at + size], pad) for at in range(0, len(data), size)]
            return texts.reshape(shape)
        packed, members = self.form
        dtype = numpy_dtype(packed)
        fields = [dtype[each.name] for each in members]
        padded = np.dtype(
            {
                "names": [each.name for each in members],
                "formats": fields,
                "offsets": [each.offset for each in members],
                "itemsize": values.itemsize,
            }
        )
        return converted(values.view(padded).astype(dtype), self.layout.dtype)
