"""Objects of a MATLAB file: arrays, whose dimensions are in reverse order, attributes, and references.

A reference of HDF5, which cells are, has the address of an object, relative to the user block. MATLAB puts the objects
into `/#refs#`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.sources.source import DerivedSource
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast.plain_json import plain
from nczarr.formats.netcdf4.header.datatypes import REFERENCE
from nczarr.formats.netcdf4.header.file_objects import FileObject, LinkedFiles
from nczarr.formats.netcdf4.header_model import DEEPEST, ask_library
from nczarr.formats.netcdf4.stored_variable import StoredVariable, sources
from nczarr.sdk import (
    ArraySource,
    Attribute,
    CompileError,
    Constant,
    Descr,
    Diagnostic,
    Layout,
    NDArray,
    OpaqueType,
    Selection,
    Severity,
    frozen,
    np,
    numpy_dtype,
)

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


_REFERENCE = "/reference"
"""Type of references in place of their own, which the tree does not have."""

MOST = 1 << 22
"""Maximum references of a dataset."""


class ReferenceArray(NamedTuple):
    """Array of references."""

    shape: tuple[int, ...]
    """Shape in MATLAB."""
    paths: list[str | None]
    """Object of each element, the first index fastest; None for no object of the file."""


class FileObjects:
    """Objects of a file by path. It raises UnreadableHeaderError and OSError when it is made."""

    def __init__(self, path: str, name: str) -> None:
        self._bytes = FileBytes.at(path, name)
        self._table = LinkedFiles(path, ask_library).table
        self.members: dict[str, list[str]] = {}
        """Names of the members of each group, by its path."""
        self._references: dict[str, tuple[tuple[str, ...], FileObject]] = {}
        self._paths: dict[int, str] = {}
        self._read: dict[str, ReferenceArray] = {}
        """Arrays that were read: several cells may lead to one."""
        self._walk(self._table.root, (), ())

    def _walk(self, address: int, place: tuple[str, ...], above: tuple[int, ...]) -> None:
        """Record an object and all below it. Each object has the first of its paths."""
        if address in self._paths or len(above) > DEEPEST or address not in self._table.objects:
            return
        path, one = names.fqn(place), self._table.objects[address]
        self._paths[address] = path
        if one.dataset is not None and one.dataset.type.family == REFERENCE and one.dataset.type.size == 8:
            self._references[path] = place, one
        if one.links is not None:
            hard = {
                link.name.decode("utf-8", "surrogateescape"): link.address
                for link in one.links.values()
                if link.is_hard
            }
            self.members[path] = list(hard)
            for name, target in hard.items():
                self._walk(target, (*place, name), (*above, address))

    @property
    def reference_arrays(self) -> frozenset[str]:
        """Paths of the datasets with references."""
        return frozenset(self._references)

    def class_of(self, path: str) -> str | None:
        """Return the class of a dataset with references; None for a field of an array of structs."""
        values = (one.data for one in self._references[path][1].attributes if one.name == "MATLAB_class")
        value = next(values, None)
        return None if value is None else value.partition(b"\0")[0].decode("utf-8", "replace")

    def read_references(self, path: str) -> ReferenceArray:
        """Return the references of a dataset. Raises OSError, CompileError."""
        if path not in self._read:
            self._read[path] = self._read_array(path, *self._references[path])
        return self._read[path]

    def _read_array(self, path: str, place: tuple[str, ...], one: FileObject) -> ReferenceArray:
        assert one.dataset is not None
        info = one.dataset.info._replace(dtype="|V8")
        extent = info.extent or ()
        if math.prod(extent) > MOST:
            text = f"`{path}` has {math.prod(extent):,} references; at most {MOST:,} are read"
            raise CompileError([Diagnostic("unreadable-file", Severity.ERROR, text)])
        types: dict[str, Any] = {_REFERENCE: OpaqueType(name="reference", size=8)}
        stored = StoredVariable(
            self._bytes, place[:-1], place[-1], _REFERENCE, types, extent, None, None, one.dataset.type, info.filters
        )
        values = sources(stored, info)[""].read(tuple(slice(0, length) for length in extent))
        addresses: NDArray[Any] = np.ascontiguousarray(values).view("<u8")
        return ReferenceArray(extent[::-1], [self._paths.get(address) for address in addresses.reshape(-1).tolist()])


def find_text(attributes: Iterable[Attribute], name: str) -> str | None:
    """Return the text of an attribute; None without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), None)
    return value if isinstance(value, str) else None


def find_number(attributes: Iterable[Attribute], name: str) -> int:
    """Return the number of an attribute; 0 without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), 0)
    return value if isinstance(value, int) else 0


def list_fields(attributes: Iterable[Attribute]) -> list[str]:
    """Return the names of the fields of a struct, in MATLAB's order; empty if the file does not have them."""
    constant = next((one.value for one in attributes if one.name == "MATLAB_fields"), None)
    items = constant.data if constant is not None and isinstance(constant.data, tuple) else ()
    return [
        item.data.decode("utf-8", "replace")
        for item in items
        if isinstance(item, Constant) and isinstance(item.data, bytes)
    ]


def fields_attribute(fields: list[str]) -> list[Attribute]:
    """Return the attribute with the names of fields, in their order."""
    return (
        [Attribute(name="MATLAB_fields", value=Constant.strings(field.encode() for field in fields))] if fields else []
    )


def size_attribute(shape: Iterable[int]) -> Attribute:
    """Return the attribute with the size of an array of cells or structs."""
    return Attribute(name="MATLAB_size", value=Constant.numbers("int64", shape))
