"""Arrays of 16-bit integers, which take four bytes in XDR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast.node import TypeName
from nczarr.formats.opendap.dap2.wire.xdr import narrowed


@dataclass(frozen=True, slots=True, eq=False)
class Narrow(DerivedSource):
    """Array of 16-bit integers made of an array of units (`>u4`)."""

    source: ArraySource
    """The units."""
    type: TypeName
    """Type of the values: short or ushort."""

    @property
    def layout(self) -> Layout:
        """Layout of the units with the type of the values."""
        return self.source.layout._replace(dtype=NUMPY[self.type], codecs=())

    @property
    def viewed(self) -> bool:
        """False: values are converted."""
        return False

    def occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Yield the chunks of the units."""
        return self.source.occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError."""
        try:
            return narrowed(self.type)(self.source.read(selection))
        except ValueError as fault:
            raise OSError(None, str(fault)) from None
