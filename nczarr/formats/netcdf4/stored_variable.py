"""Values of a netCDF-4 file as array sources, which open the file for each read, and their choice.

Contiguous data are a view of the file; chunks are decoded here; elements without a
`Descr` are taken apart here, with their texts and lists from the global heap. HDF5
reads other storage: filters of plug-ins, and values in other files.
Ragged content is located by an index of the variable, built in one pass on first
use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from nczarr import names
from nczarr.arrays.chunks.grid import unreadable
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Region, Selection, all_of, lengths_of, linear_pieces
from nczarr.arrays.sources import decoded_parts
from nczarr.arrays.sources.memory import fill_array, fill_source
from nczarr.arrays.sources.source import (
    ArraySource,
    IndexPlace,
    Layout,
    Parts,
    Stored,
    itemsize,
    little_descr,
    numpy_dtype,
)
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.elements import model_bytes, model_dtype
from nczarr.arrays.values.parts import descr, is_fixed, parts
from nczarr.ast import Codec, UserType
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.formats.netcdf4.header.dataset_info import CHUNKED, COMPACT, CONTIGUOUS, DatasetInfo
from nczarr.formats.netcdf4.header.datatypes import Datatype
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file, reason_of
from nczarr.formats.netcdf4.index_chunk_array import DatasetSections, IndexChunkArray

SLAB = 8 << 20
"""Bytes of C structs per read in a sequential pass."""


@dataclass(frozen=True)
class StoredVariable(DatasetSections):
    """A variable of a file. Reading fails if the file was replaced."""

    file: FileBytes
    group: tuple[str, ...]
    """Path of its group, in the spelling of the file."""
    name: str
    """Name of the variable, in the spelling of the file."""
    type: str
    """Type of the values."""
    types: dict[str, UserType]
    """All types of the file by FQN."""
    shape: tuple[int, ...]
    fill: bytes | None
    """Fill value in bytes."""
    extent: tuple[int, ...] | None
    """Shape of its data if smaller; fill values follow."""
    kind: Datatype
    """Type of the elements as they are stored."""
    filters: tuple[Codec, ...] = ()
    """Filters of its chunks."""
    elements: ArraySource | None = None
    """Elements as they are stored; None if the library reads them."""
    origin: tuple[int, ...] = ()
    """First indices of the part in the file's variable; empty for the whole variable."""

    @property
    def path(self) -> str:
        """Path of the file."""
        return str(self.file.path)

    def place_index(self) -> IndexPlace | None:
        """Return the places of the elements' index and chunks. Raises OSError, CompileError."""
        return None if self.elements is None else self.elements.place_index()

    def decode(self, section: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a nonempty region by path, in their shapes and dtypes.

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        if self.origin:
            places = zip(section, self.origin, strict=True)
            section = tuple(slice(part.start + first, part.stop + first) for part, first in places)
        if self.extent is None or all(part.stop <= end for part, end in zip(section, self.extent, strict=True)):
            return self._read_within(section)
        within_extent = tuple(
            slice(part.start, min(part.stop, end)) for part, end in zip(section, self.extent, strict=True)
        )
        inside = all(part.start < part.stop for part in within_extent)
        stored = self._read_within(within_extent) if inside else {}
        lengths = lengths_of(section)
        whole: dict[str, NDArray[Any]] = {}
        for part in parts(self.type, lengths, self.types):
            shape = tuple(length or 0 for length in part.shape)
            if None in part.shape:
                dtype = numpy_dtype(descr(part.type, self.types))
                whole[part.path] = stored[part.path] if inside else np.empty(shape, dtype)
                continue
            fill = self.fill if part.path == "" else None
            whole[part.path] = fill_array(Layout(descr(part.type, self.types), shape, shape, fill=fill), shape)
            if inside:
                whole[part.path][tuple(map(slice, lengths_of(within_extent)))] = stored[part.path]
        return whole

    def _read_within(self, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region within the extent by path, in their shapes and dtypes.

        Elements that are arrays are read whole. Raises OSError, CompileError with `unreadable-chunk`.
        """
        rank = len(region) - len(self.kind.shape)
        values = self._read_elements(region[:rank])
        if rank == len(region):
            return values
        place = (*[slice(None)] * rank, *region[rank:])
        return {path: array[place] for path, array in values.items()}

    def _read_elements(self, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region of the stored elements, as `_read_within`."""
        path = names.fqn((*self.group, self.name))
        if self.elements is not None:
            try:
                return self._unpack(self.elements.read(region))
            except DAMAGE as error:
                unreadable(self.file.name, f"the values of `{path}` cannot be read: {reason_of(error)}")
        from nczarr.formats.netcdf4.library import is_installed

        if not is_installed():
            text = f"the values of `{path}` need the HDF5 library of netCDF4-python, which is not installed"
            helps = ("run `pip install 'nczarr[netcdf]'`",)
            raise CompileError([Diagnostic("missing-library", Severity.ERROR, text, helps=helps)])
        from nczarr.arrays.execution.processes import NoAnswerError
        from nczarr.formats.netcdf4.isolation import call
        from nczarr.formats.netcdf4.library_variable import LibraryVariable

        variable = LibraryVariable(self.file, self.group, self.name, self.type, self.types, self.kind, self.filters)
        try:
            values: dict[str, NDArray[Any]] = call(self.path, LibraryVariable.read, variable, region)
        except NoAnswerError as error:
            unreadable(self.file.name, f"the values of `{path}` cannot be read: {error.strerror or error}")
        return values

    def _unpack(self, elements: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the parts of elements as they are stored. Raises UnreadableHeaderError, OSError."""
        from nczarr.formats.netcdf4.elements import unpack_elements

        if not self.kind.has_lists:
            return dict(unpack_elements(elements, self.kind, self.type, self.types, None))
        from nczarr.formats.netcdf4.header.heaps import GlobalHeap

        self.file.check()
        with header_file(self.path) as file:
            file.root()
            return dict(unpack_elements(elements, self.kind, self.type, self.types, GlobalHeap(file)))

    def meeting(self, region: Region) -> Iterator[tuple[Selection, Region]]:
        """Yield the region itself."""
        yield tuple(slice(indices.start, indices.stop) for indices in region), region

    def section(self, region: Selection) -> Selection:
        """Return the region."""
        return region

    def part(self, region: Selection) -> StoredVariable:
        """Return a region as a variable of its own."""
        origin = self.origin or (0,) * len(self.shape)
        first = tuple(part.start + begin for part, begin in zip(region, origin, strict=True))
        return replace(self, shape=lengths_of(region), origin=first)

    def content(self, stretch: int) -> dict[str, NDArray[Any]]:
        """Return the values of a stretch by part path, in the parts' shapes and dtypes.

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        return self.decode(self._stretches[stretch])

    def ends(self, part: str, stop: int | None = None) -> list[int]:
        """Return the end of each stretch's ragged content; reads the whole variable once."""
        return self._ends[part]

    @cached_property
    def _stretches(self) -> tuple[Selection, ...]:
        from nczarr.formats.netcdf4.c_values import c_dtype

        return tuple(linear_pieces(all_of(self.shape), SLAB // c_dtype(self.type, self.types).itemsize))

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        ragged = [part.path for part in parts(self.type, self.shape, self.types) if None in part.shape]
        lengths = [{path: len(values[path]) for path in ragged} for values in map(self.decode, self._stretches)]
        return {path: list(itertools.accumulate(counts[path] for counts in lengths)) for path in ragged}


def sources(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts:
    """Return the source of every part. `dataset`: HDF5 metadata, None if unknown."""
    read_here = _read_here(variable, dataset)
    if read_here is not None:
        return read_here
    variable = replace(variable, elements=_elements(variable, dataset))
    return decoded_parts.sources(variable, {"": variable.fill})


def _read_here(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts | None:
    """Return a source that reads the file itself; None for types and storage that need the library."""
    if dataset is None or dataset.dtype is None or not is_fixed(variable.type, variable.types):
        return None
    dtype = descr(variable.type, variable.types)
    is_converted = dataset.dtype != dtype
    if is_converted and model_dtype(little_descr(dataset.dtype)) != dtype:
        return None
    if dataset.extent is None or len(dataset.extent) != len(variable.shape):
        return None
    fill = model_bytes(dataset.fill, dataset.dtype) if dataset.fill and is_converted else dataset.fill
    layout = Layout(dtype, variable.shape, variable.shape, fill=fill)
    source = _contiguous(variable, dataset, layout) or _choose_chunked(variable, dataset, layout)
    return None if source is None else {"": source}


def _elements(variable: StoredVariable, dataset: DatasetInfo | None) -> ArraySource | None:
    """Return the elements of any type as they are stored; None if the library reads the variable."""
    if dataset is None or dataset.extent is None or dataset.by_library:
        return None
    inside, dtype = replace(variable, shape=dataset.extent, extent=None), f"|V{variable.kind.size}"
    elements = dataset._replace(dtype=dtype, fill=dataset.unwritten)
    layout = Layout(dtype, dataset.extent, dataset.extent, fill=dataset.unwritten)
    chunked = _choose_chunked(inside, elements, layout)
    if chunked is not None:
        return chunked if chunked.steps is not None else None
    return _contiguous(inside, elements, layout)


def _contiguous(variable: StoredVariable, dataset: DatasetInfo, layout: Layout) -> ArraySource | None:
    """Return a source of data in one piece, in the header or unallocated; None for other datasets."""
    if dataset.layout not in (COMPACT, CONTIGUOUS) or dataset.elsewhere or dataset.extent != variable.shape:
        return None
    assert dataset.dtype is not None
    if little_descr(dataset.dtype) != layout.dtype:  # an array in one piece has the bytes of its file
        return None
    if dataset.address is None and dataset.compact is None:
        return fill_source(layout, undefined=dataset.undefined)
    if dataset.dtype != layout.dtype:
        layout = layout._replace(dtype=dataset.dtype, fill=dataset.fill)
    row = math.prod(variable.shape[1:]) * itemsize(dataset.dtype)
    if dataset.compact is not None:
        return AffineArray(layout, FileBytes(None, len(dataset.compact), dataset.compact), 0, row)
    assert dataset.address is not None
    return AffineArray(layout, variable.file, dataset.address, row)


def _choose_chunked(variable: StoredVariable, dataset: DatasetInfo, layout: Layout) -> IndexChunkArray | None:
    """Return a source of chunked data; None for other datasets."""
    if (
        dataset.layout != CHUNKED
        or dataset.elsewhere
        or dataset.extent is None
        or dataset.chunk_index is None
        or len(dataset.chunks) != len(variable.shape)
    ):
        return None
    assert dataset.dtype is not None
    unwritten, undefined = layout.fill, dataset.undefined
    if dataset.extent != variable.shape:
        beyond = bytes(itemsize(layout.dtype)) if variable.fill is None else variable.fill
        layout = layout._replace(fill=beyond)
        if undefined:  # then the same value may stand everywhere
            unwritten, undefined = beyond, False
    layout = Layout(layout.dtype, layout.shape, dataset.chunks, dataset.filters, layout.fill)
    stored = Stored(dataset.dtype, dataset.chunks, dataset.filters)
    steps = _steps(dataset.filters, dataset.shuffled, itemsize(dataset.dtype))
    edges = dataset.unfiltered_edges
    return IndexChunkArray(
        layout, variable.file, dataset.extent, stored, steps, edges, variable, unwritten, dataset.chunk_index, undefined
    )


@lru_cache(1024)  # most variables of a file have the same filters
def _steps(filters: tuple[Codec, ...], shuffled: int | None, size: int) -> tuple[dict[str, Any], ...] | None:
    """Return the decoding steps of chunks; None if they cannot be decoded here. `size`: of an element."""
    if not codecs.expressible(filters, table.list_decoded_filters()) or shuffled not in (None, size):
        return None
    return tuple(codecs.to_configs(filters, size))
