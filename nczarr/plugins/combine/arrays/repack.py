"""Arrays of numbers in another packing, with the same values after decoding, and in other units, by exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, all_of, cut_along, repeat_chunks
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, numpy_dtype
from nczarr.ast.rectilinear import largest
from nczarr.names.records import frozen
from nczarr.plugins.cf.udunits import LinearConversion

PIECE = 1 << 20
"""Values converted at once."""


class NumberPacking(NamedTuple):
    """Form of stored numbers, as the CF conventions define it."""

    element: str
    """Type of the array, little-endian."""
    dtype: str
    """Type of the numbers: that of the array, or its counterpart of the other sign."""
    scale: float = 1.0
    """Attribute `scale_factor`."""
    offset: float = 0.0
    """Attribute `add_offset`."""
    fill: int | float | None = None
    """Stored number of missing values; None: none is missing."""
    marks: tuple[int | float, ...] = ()
    """All stored numbers that mean missing values."""
    low: int | float | None = None
    """The least valid stored number; None without a limit."""
    high: int | float | None = None
    """The greatest valid stored number."""
    packed: bool = True
    """True if a scale or an offset says that integers stand for rounded values; plain integers are exact."""

    def decode(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return decoded values, NaN for missing ones, in the same shape."""
        values = values.astype(self.dtype, copy=False)
        missing = self.find_missing(values)
        decoded = values.astype("f8") * self.scale + self.offset
        decoded[missing] = np.nan
        return decoded

    def find_missing(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where stored values are missing."""
        values = values.astype(self.dtype, copy=False)
        missing = np.isin(values, np.array(self.marks, values.dtype)) if self.marks else np.zeros(values.shape, bool)
        return missing | np.isnan(values) if values.dtype.kind == "f" else missing

    def find_valid(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where stored values are within the limits, in the same shape."""
        values = values.astype(self.dtype, copy=False)
        valid = np.ones(values.shape, bool)
        if self.low is not None:
            valid &= values >= self.low
        return valid if self.high is None else valid & (values <= self.high)

    def encode(self, decoded: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return stored values, and where they do not stand for the decoded ones, both in the same shape."""
        dtype, missing = np.dtype(self.dtype), np.isnan(decoded)
        with np.errstate(all="ignore"):
            numbers = (decoded - self.offset) / self.scale
            if dtype.kind in "iu":
                limits, rounded = np.iinfo(dtype), np.rint(numbers)
                wrong = ~missing & ~((rounded >= float(limits.min)) & (rounded <= float(limits.max)))
                stored = np.where(missing | wrong, 0, rounded).astype(dtype)
            else:
                stored, wrong = numbers.astype(dtype), np.zeros(decoded.shape, bool)
            if self.fill is not None:
                stored[missing] = self.fill
            again = self.decode(stored)
            integer_step = abs(self.scale) if self.packed else 0.0
            step = integer_step if dtype.kind in "iu" else np.abs(np.spacing(stored).astype("f8") * self.scale)
            wrong |= ~missing & ~(np.abs(again - decoded) <= step) & (again != decoded)
        if self.fill is None and dtype.kind in "iu":
            wrong |= missing
        return stored.astype(self.element, copy=False), wrong


@frozen
class Repacked(DerivedSource):
    """Numbers of another array, packed in another way when they are read."""

    old: NumberPacking
    """Packing of the other array."""
    packing: NumberPacking
    fill: bytes | None
    """Value of unwritten cells, as in a layout."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        chunks = tuple(max(1, length) for length in largest(whole.chunks))
        return Layout(self.packing.element, whole.shape, chunks, (), self.fill)

    @property
    def undefined(self) -> bool:
        """False: each cell has a value."""
        return False

    def read(self, selection: Any) -> NDArray[Any]:
        """Return the packed values of a region, in its shape."""
        return self.packing.encode(self.old.decode(self.source.read(selection)))[0]

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the other array, if its unwritten cells are missing values; else all."""
        fill = self.source.layout.fill
        unwritten = np.frombuffer(fill, numpy_dtype(self.source.layout.dtype)) if fill is not None else None
        if unwritten is not None and self.old.find_missing(unwritten).all() and self.packing.fill is not None:
            return self.source.list_occupied(chunks, region)
        return ArraySource.list_occupied(self, chunks, region)


class RepackResult(NamedTuple):
    """An array in another packing."""

    source: ArraySource
    rounding: float
    """Largest difference of a decoded value from that of the other array."""
    wrong: int
    """Number of values that the packing cannot hold."""
    example: float
    """The first of them, decoded."""


EXACT = 2**53
"""Integers up to this one are exact as floats."""


def repack(source: ArraySource, old: NumberPacking, packing: NumberPacking, fill: bytes | None) -> RepackResult:
    """Return an array in another packing. `fill`: value of unwritten cells, as in a layout.

    All values are read, in pieces, and none stays in memory. Raises OSError, CompileError.
    """
    made = Repacked(source, old, packing, fill)
    shape, count, example, rounding = source.layout.shape, 0, math.nan, 0.0
    for region in cut_along(all_of(shape), repeat_chunks(made.layout.chunks, shape, PIECE)):
        values = source.read(region)
        decoded = old.decode(values)
        stored, wrong = packing.encode(decoded)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            wrong |= (values > EXACT) | (values < -EXACT)
        wrong |= ~np.isnan(decoded) & (old.find_valid(values) != packing.find_valid(stored))
        differences = np.abs(packing.decode(stored) - decoded)[~wrong & ~np.isnan(decoded)]
        rounding = max(rounding, float(differences.max(initial=0)))
        if wrong.any():
            example = example if count else float(decoded[wrong][0])
            count += int(wrong.sum())
    return RepackResult(made, rounding, count, example)


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
