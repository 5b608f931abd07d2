"""Comparison and differences of two equally long arrays of one type: bitwise, but all NaNs are equal.

With a tolerance, numbers differ if their distance is larger; NaN and infinity
equal only themselves. Enums, chars, opaque values and strings have no distance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, index_of
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.arrays.values.parts import Types
from nczarr.ast.types import CompoundType
from nczarr.check.checked import Checked
from nczarr.operations.compare.difference import Difference, ValueDifferences, shown, shown_strings

if TYPE_CHECKING:
    Bools = NDArray[np.bool_]


class Tolerance(NamedTuple):
    """Maximum distance of equal numbers."""

    size: float
    """Distance, or fraction of the larger magnitude."""
    relative: bool = False
    """True if the size is a fraction."""

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Parse `1e-6` or `rel:1e-6`. Raises ValueError."""
        relative = text.startswith("rel:")
        try:
            size = float(text.removeprefix("rel:"))
        except ValueError:
            size = math.nan
        if not 0 <= size < math.inf:
            raise ValueError(
                f"`{text}` is not a tolerance; write an absolute distance (1e-6) or a relative one (rel:1e-6)"
            )
        return cls(size, relative)


def unequal(one: NDArray[Any], other: NDArray[Any], type_name: str, types: Types, tolerance: Tolerance | None) -> Bools:
    """Return True where elements differ. Both arrays have the type's dtype, in any byte order."""
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        differ = np.zeros(one.shape, np.bool_)
        for field in declared.fields:
            inside = unequal(one[field.name], other[field.name], field.type, types, tolerance)
            differ |= inside.any(axis=tuple(range(one.ndim, inside.ndim))) if inside.ndim > one.ndim else inside
        return differ
    if one.dtype.hasobject:
        return np.asarray(one != other, np.bool_)
    return _numbers(little(one), little(other), None if declared is not None else tolerance)


def _numbers(one: NDArray[Any], other: NDArray[Any], tolerance: Tolerance | None) -> Bools:
    first, second = _bits(one), _bits(other)
    differ: Bools = np.asarray(first != second)
    if differ.ndim > one.ndim:
        differ = np.asarray(differ.any(axis=-1))
    if one.dtype.kind not in "iuf" or not differ.any():
        return differ
    if one.dtype.kind == "f":
        differ &= ~(np.isnan(one) & np.isnan(other))
    if tolerance is None or not differ.any():
        return differ
    places = np.nonzero(differ)
    near = _near(one[places], other[places], tolerance)
    differ[places] = ~near
    return differ


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return elements as unsigned integers of their size, in the same shape.

    Other sizes become rows of bytes: uint8, one more dimension.
    """
    values = np.ascontiguousarray(values).reshape(values.shape)  # the first makes one dimension of none
    size = values.dtype.itemsize
    if size in (1, 2, 4, 8):
        return values.view(f"<u{size}")
    return values.reshape(-1).view(np.uint8).reshape(*values.shape, size)


def distances(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return distances: exact for integers (uint64), in double precision for floats (NaN if one is NaN)."""
    if one.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.abs(one.astype(np.float64) - other.astype(np.float64))
    low, high = np.minimum(one, other), np.maximum(one, other)
    wide = "<i8" if one.dtype.kind == "i" else "<u8"  # the difference modulo 2**64 is the distance
    with np.errstate(over="ignore"):
        gap: NDArray[Any] = high.astype(wide).view("<u8") - low.astype(wide).view("<u8")
    return gap


def _near(one: NDArray[Any], other: NDArray[Any], tolerance: Tolerance) -> Bools:
    limit: Any = tolerance.size
    with np.errstate(all="ignore"):
        if tolerance.relative:
            limit = tolerance.size * np.maximum(np.abs(one.astype(np.float64)), np.abs(other.astype(np.float64)))
        near: Bools = distances(one, other) <= limit
    if one.dtype.kind == "f":
        near &= np.isfinite(one) & np.isfinite(other)
    return near


class DifferenceTally:
    """Differences so far: the number of elements, the first in C order, the largest distance."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.count = 0
        self.first: int | None = None
        self.largest: float | int | None = None

    def add(self, count: int, first: int, largest: float | int | None = None) -> None:
        """Add differing elements: their number, first linear index, and largest distance."""
        self.count += count
        self.first = first if self.first is None else min(self.first, first)
        self.note(largest)

    def note(self, largest: float | int | None) -> None:
        """Add a distance of two numbers."""
        if largest is not None:
            self.largest = largest if self.largest is None else max(self.largest, largest)

    def difference(self, one: Checked, other: Checked, path: str) -> Difference | None:
        """Return everything as one difference, or None."""
        if self.first is None:
            return None
        from nczarr.select.indexing import read

        place = index_of(self.first, self.shape)
        first, second = read(one, path, place), read(other, path, place)
        total = math.prod(self.shape)
        text = f"{self.count} of {total} values differ" if total > 1 else "the value differs"
        if place:
            text += f", first at ({', '.join(map(str, place))})"
        if isinstance(first, str) and isinstance(second, str) and first != second:
            one_shown, other_shown, where = shown_strings(first, second)
            text += f": {one_shown} | {other_shown}{where}"
        else:
            text += f": {shown(first)} | {shown(second)}"
        if self.largest is not None and self.count > 1:
            far = f"{self.largest:.6g}" if isinstance(self.largest, float) else str(self.largest)
            text += f"; at most {far} apart"
        return Difference("values", path, text, ValueDifferences(self.count, total, place, first, second, self.largest))


def largest_distance(one: NDArray[Any], other: NDArray[Any]) -> float | int | None:
    """Return the largest distance of finite numbers at the same index; None if no pair is finite.

    Both arrays have the same shape and dtype; byte orders may differ.
    """
    one, other = little(one), little(other)
    if one.dtype.kind == "f":
        some = np.isfinite(one) & np.isfinite(other)
        one, other = one[some], other[some]
    if not one.size:
        return None
    largest: float | int = distances(one, other).max().item()
    return largest


def met_blocks(sources: Iterable[ArraySource], block: tuple[int, ...]) -> Iterator[Index]:
    """Yield the blocks of cells that any source occupies, in C order; sources may have further dimensions."""
    rank = len(block)
    met = (source.occupied((*block, *source.layout.shape[rank:])) for source in sources)
    indices = merge(*((index[:rank] for index in every) for every in met))
    return (index for index, _ in itertools.groupby(indices))
