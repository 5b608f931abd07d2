"""Array of the numbers that packed ones stand for, computed as xarray does: the same type, and the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, find_unwritten, little, numpy_dtype
from nczarr.ast.rectilinear import largest
from nczarr.names.records import frozen
from nczarr.pipeline.select.physical import Physical


class Unpacking(NamedTuple):
    """Arithmetic of a packed variable."""

    stored: Physical
    """Sign and missing values of the stored numbers, without scale and offset."""
    dtype: str
    """Type of the results: `<f4` or `<f8`."""
    scale: Any = None
    """Attribute `scale_factor`, in its own type: results of another one are rounded differently."""
    offset: Any = None
    """Attribute `add_offset`, in its own type."""

    def decode(self, stored: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that stored ones stand for, NaN for missing ones, in the same shape."""
        numbers, missing = self.stored.mask(little(stored))
        with np.errstate(all="ignore"):
            out = np.array(numbers, self.dtype)
            if self.scale is not None:
                out *= self.scale
            if self.offset is not None:
                out += self.offset
        out[missing] = np.nan
        return out

    def is_missing(self, element: bytes, dtype: str) -> bool:
        """Return whether a stored number, the little-endian bytes of an element, stands for a missing one."""
        return bool(self.stored.mask(np.frombuffer(element, dtype))[1][0])


def choose_dtype(stored: np.dtype[Any], scale: Any, offset: Any, *, kept: bool) -> str:
    """Return the type of unpacked numbers, by the rule of xarray.

    `kept`: missing ones are NaN in the stored numbers, so that xarray leaves floats in
    their type. A scale that is an integer has type double, because integers have no NaN.
    """
    if kept and stored.kind == "f":
        return stored.newbyteorder("<").str
    kinds = {np.dtype(type(one)) for one in (scale, offset) if one is not None}
    is_float = len(kinds) == 1 and kinds <= {np.dtype("f4"), np.dtype("f8")}
    if not is_float or (scale is None and offset is not None):
        return "<f8"
    if scale is not None and offset is not None and stored.kind in "iu" and stored.itemsize == 4:
        return "<f8"
    return kinds.pop().newbyteorder("<").str


@frozen
class UnpackedArray(DerivedSource):
    """Numbers of another array, unpacked when they are read."""

    unpacking: Unpacking
    fill: bytes | None
    """Value of unwritten cells, as in a layout."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        chunks = tuple(max(1, length) for length in largest(whole.chunks))
        return Layout(self.unpacking.dtype, whole.shape, chunks, (), self.fill)

    @property
    def undefined(self) -> bool:
        """False: each cell has a value."""
        return False

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the unpacked numbers of a region, in its shape."""
        return self.unpacking.decode(self.source.read(selection))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the other array, if its unwritten cells are missing values; else all."""
        element = numpy_dtype(self.source.layout.dtype).newbyteorder("<").str
        if self.unpacking.is_missing(find_unwritten(self.source), element):
            return self.source.list_occupied(chunks, region)
        return ArraySource.list_occupied(self, chunks, region)
