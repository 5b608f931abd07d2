"""Array of numbers in other units: a factor and an offset that are exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, all_of, cut_along, repeat_chunks
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, numpy_dtype
from nczarr.ast.frozen import frozen
from nczarr.ast.rectilinear import largest
from nczarr.plugins.cf.udunits import LinearConversion
from nczarr.plugins.combine.arrays.repack import PIECE, NumberPacking


@frozen
class UnitsConverted(DerivedSource):
    """Numbers of another array in other units. Missing values stay missing."""

    conversion: LinearConversion
    old: NumberPacking
    """Form of the numbers of the other array, without scale and offset."""
    kind: str
    """Type of this array, little-endian."""
    mark: int | float | None
    """Number of missing values; None: they stay what they are."""
    fill: bytes | None
    """Value of unwritten cells, as in a layout."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        return Layout(self.kind, whole.shape, tuple(max(1, one) for one in largest(whole.chunks)), (), self.fill)

    @property
    def undefined(self) -> bool:
        """False: each cell has a value."""
        return False

    def read(self, selection: Any) -> NDArray[Any]:
        """Return the converted values of a region, in its shape."""
        return self.convert(self.source.read(selection))[0]

    def convert(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return values in the new units, and where no number stands for them, both in the same shape."""
        dtype = numpy_dtype(self.kind).newbyteorder("=")
        values = values.astype(self.old.dtype, copy=False)
        absent = self.old.find_missing(values)
        if dtype.kind == "f":
            made, wrong = self.conversion.in_floats(values, dtype), np.zeros(values.shape, bool)
        else:
            made, wrong = self.conversion.in_integers(np.where(absent, 0, values), np.dtype(self.old.dtype))
        same_type = self.mark is None
        marks = np.array(self.old.marks if same_type else [self.mark], made.dtype)
        wrong = ~absent & (wrong | np.isin(made, marks))
        made = np.where(absent, values.astype(made.dtype) if same_type else made.dtype.type(self.mark or 0), made)
        return made.astype(numpy_dtype(self.old.element if dtype.kind != "f" else self.kind), copy=False), wrong

    def find_wrong(self) -> float | None:
        """Return the first value that no number stands for; None without one. Raises OSError, CompileError.

        All values are read, in pieces, if one may be such.
        """
        if numpy_dtype(self.kind).kind == "f" and all(mark != mark for mark in self.old.marks):
            return None
        shape = self.source.layout.shape
        for region in cut_along(all_of(shape), repeat_chunks(self.layout.chunks, shape, PIECE)):
            values = self.source.read(region)
            wrong = self.convert(values)[1]
            if wrong.any():
                first: float = values.astype(self.old.dtype, copy=False)[wrong].reshape(-1)[0].item()
                return first
        return None

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the other array, if its unwritten cells are missing values; else all."""
        fill = self.source.layout.fill
        unwritten = None if fill is None else np.frombuffer(fill, numpy_dtype(self.source.layout.dtype))
        if unwritten is not None and self.old.find_missing(unwritten).all():
            return self.source.list_occupied(chunks, region)
        return ArraySource.list_occupied(self, chunks, region)
