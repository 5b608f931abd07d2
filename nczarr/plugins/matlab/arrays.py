"""Arrays of MATLAB by those of HDF5, which have the dimensions in reverse order. Values are read on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nczarr.arrays.sources.source import DerivedSource
from nczarr.sdk import ArraySource, Descr, Layout, NDArray, Selection, frozen, np, numpy_dtype

ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
"""Encoding of texts by the bytes of a code unit."""


@frozen
class ReversedArray(DerivedSource):
    """Array of HDF5 with reversed dimensions."""

    dtype: Descr | None = None
    """Type of the elements, whose bytes are those of the source; None: the type of the source."""

    @property
    def layout(self) -> Layout:
        """Layout of the source with reversed dimensions, without codecs."""
        layout = self.source.layout
        dtype = layout.dtype if self.dtype is None else self.dtype
        return Layout(dtype, layout.shape[::-1], layout.chunks[::-1], (), layout.fill)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        values = self.source.read(tuple(selection)[::-1])
        if self.dtype is not None:
            values = np.ascontiguousarray(values).view(numpy_dtype(self.dtype))
        return values.transpose()

    @property
    def together(self) -> tuple[int, ...] | None:
        """Reversed lengths of the source."""
        lengths = self.source.together
        return None if lengths is None else lengths[::-1]

    def prefetch(self, regions: Sequence[Selection]) -> ReversedArray:
        """Return the array with the regions' data in memory."""
        return ReversedArray(self.source.prefetch([tuple(region)[::-1] for region in regions]), self.dtype)


@frozen
class TextRows(DerivedSource):
    """Texts in the rows of a matrix of characters, which has the shape (…, columns, rows) in HDF5."""

    scalar: bool
    """True for one row: one text without dimensions."""

    @property
    def layout(self) -> Layout:
        """Layout of the texts: a dimension of rows, and those behind the columns."""
        shape = self.source.layout.shape
        texts = () if self.scalar else (shape[-1], *shape[-3::-1])
        return Layout("|O", texts, texts)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the texts of a region, in its shape, as UTF-8. Half a surrogate pair keeps its bytes."""
        shape = self.source.layout.shape
        rows = (slice(0, 1), *[slice(0, 1)] * (len(shape) - 2)) if self.scalar else tuple(selection)
        units = self.source.read((*rows[:0:-1], slice(0, shape[-2]), rows[0]))
        matrix = np.ascontiguousarray(np.moveaxis(units.transpose(), 1, -1))
        matrix = matrix.astype(matrix.dtype.newbyteorder("<"), copy=False)
        out = np.empty(matrix.shape[:-1], dtype=object)
        encoding = ENCODINGS[matrix.dtype.itemsize]
        for index in np.ndindex(*out.shape):
            out[index] = matrix[index].tobytes().decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
        return out.reshape(()) if self.scalar else out

    @property
    def together(self) -> None:
        """None: rows are read as they are asked for."""

    def prefetch(self, regions: Sequence[Selection]) -> TextRows:
        """Return the array itself."""
        return self


@frozen
class GatheredCells(ArraySource):
    """Array of the single values of other arrays, one for each cell."""

    layout: Layout
    cells: tuple[ArraySource | None, ...]
    """Array of each cell in MATLAB's order, the first index fastest; None for an empty text."""

    @property
    def distant(self) -> bool:
        """True if a cell is distant."""
        return any(cell is not None and cell.distant for cell in self.cells[:1])

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        numbers = np.arange(len(self.cells)).reshape(self.layout.shape, order="F")[selection]
        out = np.empty(numbers.shape, numpy_dtype(self.layout.dtype))
        for index in np.ndindex(*numbers.shape):
            cell = self.cells[numbers[index]]
            out[index] = b"" if cell is None else cell.read(_whole(cell)).reshape(-1)[0]
        return out


def _whole(source: ArraySource) -> Selection:
    """Return the selection of all values."""
    return tuple(slice(0, length) for length in source.layout.shape)
