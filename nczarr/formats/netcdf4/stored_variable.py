"""Values of a netCDF-4 file as array sources, which open the file for each read.

HDF5 reads a dataset without the rest of the file's model. One lock guards the
library, which is not thread-safe. Ragged content is located by an index of the
variable, built in one pass on first use.
"""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import byref, c_size_t, c_uint, c_void_p
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

from nczarr import names
from nczarr.arrays.chunks.grid import unreadable
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.execution.processes import NoAnswerError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Region,
    Selection,
    all_of,
    lengths_of,
    linear_pieces,
)
from nczarr.arrays.sources.decoded_parts import VariableSections
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import descr, is_fixed, parts
from nczarr.ast import UserType
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.formats.netcdf4.c_values import c_dtype, unpack
from nczarr.formats.netcdf4.filter_plugins import lend_readers, missing_filters
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, hdf5, open_for_values
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, HeaderFile, header_file
from nczarr.formats.netcdf4.header.heaps import ELEMENT, GlobalHeap
from nczarr.formats.netcdf4.isolation import call
from nczarr.formats.netcdf4.library import CallError, Library, is_installed, library, sizes
from nczarr.formats.netcdf4.objects import FixedText, find, text_of

SLAB = 8 << 20
"""Bytes of C structs per read in a sequential pass."""


@dataclass(frozen=True)
class StoredVariable(VariableSections):
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
    fill: bytes | None = None
    """Fill value in bytes."""
    extent: tuple[int, ...] | None = None
    """Shape of its data if smaller; fill values follow."""
    fixed: FixedText | None = None
    """Type of strings that are stored as fixed-length texts."""
    elements: ArraySource | None = None
    """Elements of texts, which have the places of the texts in the file; None if the library reads them."""
    origin: tuple[int, ...] = ()
    """First indices of the part in the file's variable; empty for the whole variable."""

    @property
    def path(self) -> str:
        """Path of the file."""
        return str(self.file.path)

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

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        if self.elements is not None:
            with suppress(*DAMAGE), header_file(self.path) as file:  # HDF5 says what is wrong
                return {"": self._texts(file, self.elements.read(region))}
        if not is_installed():
            path = names.fqn((*self.group, self.name))
            text = f"the values of `{path}` need the HDF5 library of netCDF4-python, which is not installed"
            helps = ("run `pip install 'nczarr[netcdf]'`",)
            raise CompileError([Diagnostic("missing-library", Severity.ERROR, text, helps=helps)])
        try:
            values: dict[str, NDArray[Any]] = call(self.path, StoredVariable.read_here, self, region)
        except NoAnswerError as error:
            path = names.fqn((*self.group, self.name))
            unreadable(self.file.name, f"the values of `{path}` cannot be read: {error.strerror or error}")
        return values

    def _texts(self, file: HeaderFile, elements: NDArray[Any]) -> NDArray[Any]:
        """Return the texts of elements: `bytes`, None for NIL, in their shape. Raises UnreadableHeaderError."""
        self.file.check()
        file.root()
        data = elements.tobytes()
        heap, texts = GlobalHeap(file), np.empty(elements.shape, object)
        parts = [data[at : at + ELEMENT] for at in range(0, len(data), ELEMENT)]
        heap.load(parts)
        texts.reshape(-1)[:] = [heap.text(part) for part in parts]
        return texts

    def read_here(self, region: Selection) -> dict[str, NDArray[Any]]:
        """Read the parts of a region within the extent by the library of this process.

        Returns them by path, in their shapes and dtypes.

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        lib = library()
        with LOCK:
            self.file.check()
            lend_readers(lib)
            try:
                if self.fixed is not None:
                    return {"": read_texts(hdf5(lib), self.path, self.group, self.name, self.fixed, region)}
                return self._by_hdf5(lib, region)
            except (CallError, OSError) as error:
                self._unreadable(lib, error)

    def _by_hdf5(self, lib: Library, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region, read by HDF5 in the C layout that it has for the stored type."""
        h5 = hdf5(lib)
        memory = np.zeros(lengths_of(region), c_dtype(self.type, self.types))
        with (
            open_for_values(h5, self.path) as file,
            closing(h5, "H5Dclose", find(h5, file, self.group, self.name)) as dataset,
            closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as stored,
            closing(h5, "H5Tclose", h5.do("H5Tget_native_type", stored, 0)) as element,
            select_region(h5, dataset, region) as (space, within),
        ):
            if h5.H5Tget_size(element) != memory.dtype.itemsize:
                raise OSError(errno.EIO, "HDF5 has another layout for values of this type")
            h5.do("H5Dread", dataset, element, within, space, 0, c_void_p(memory.ctypes.data))
            values = dict(unpack(memory, self.type, self.types))
            if not is_fixed(self.type, self.types):
                h5.do("H5Treclaim", element, within, 0, c_void_p(memory.ctypes.data))
        return values

    def _unreadable(self, lib: Library, error: Exception) -> NoReturn:
        """Raise `unreadable-chunk` with the filters that HDF5 lacks, else with its message."""
        path = names.fqn((*self.group, self.name))
        missing = missing_filters(lib, self._filters(lib))
        if missing:
            text = f"the values of `{path}` cannot be read: HDF5 lacks filter {', '.join(missing)}"
            helps = ("install the plug-in of the filter and set HDF5_PLUGIN_PATH, or leave the variable out",)
        else:
            text = f"the values of `{path}` cannot be read: {error}"
            helps = ("the file may be damaged, or lack a file that it refers to; leave the variable out",)
        unreadable(self.file.name, text, helps=helps)

    def _filters(self, lib: Library) -> list[int]:
        """Return the numbers of the filters of the dataset; empty if HDF5 does not find it."""
        h5 = hdf5(lib)
        try:
            with (
                open_for_values(h5, self.path) as file,
                closing(h5, "H5Dclose", find(h5, file, self.group, self.name)) as dataset,
                closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as created,
            ):
                count = h5.H5Pget_nfilters(created)
                return [
                    h5.do("H5Pget_filter2", created, place, byref(c_uint()), byref(c_size_t()), None, 0, None, None)
                    for place in range(count)
                ]
        except OSError:  # the message of the failed read says more
            return []

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
        return tuple(linear_pieces(all_of(self.shape), SLAB // c_dtype(self.type, self.types).itemsize))

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        ragged = [part.path for part in parts(self.type, self.shape, self.types) if None in part.shape]
        lengths = [{path: len(values[path]) for path in ragged} for values in map(self.decode, self._stretches)]
        return {path: list(itertools.accumulate(counts[path] for counts in lengths)) for path in ragged}


_SELECT_SET = 0
"""H5S_SELECT_SELECT_SET."""


def read_texts(
    h5: Hdf5, path: str, group: tuple[str, ...], name: str, kind: FixedText, region: Selection
) -> NDArray[Any]:
    """Return the texts of a region as objects (`bytes`), in its shape. Expects the lock. Raises OSError.

    HDF5 reads fixed-length texts, which the netCDF library cuts at the first
    NUL. A text ends before trailing NULs, or at the first NUL in NUL-terminated
    types.
    """
    shape = lengths_of(region)
    padded = np.zeros(shape, f"S{kind.size}")
    with (
        open_for_values(h5, path) as file,
        closing(h5, "H5Dclose", find(h5, file, group, name)) as dataset,
        closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as element,
        select_region(h5, dataset, region) as (space, within),
    ):
        h5.do("H5Dread", dataset, element, within, space, 0, c_void_p(padded.ctypes.data))
    out = np.empty(shape, object)
    data = padded.tobytes()
    texts = [text_of(data[at : at + kind.size], terminated=kind.terminated) for at in range(0, len(data), kind.size)]
    out.reshape(-1)[:] = texts
    return out


@contextmanager
def select_region(h5: Hdf5, dataset: int, region: Selection) -> Iterator[tuple[int, int]]:
    """Yield the dataspace of a dataset with a region selected, and that of the region's array. Raises OSError."""
    with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
        if not region:
            yield space, space
            return
        start, count = sizes([part.start for part in region]), sizes(lengths_of(region))
        h5.do("H5Sselect_hyperslab", space, _SELECT_SET, start, None, count, None)
        with closing(h5, "H5Sclose", h5.do("H5Screate_simple", len(region), count, None)) as within:
            yield space, within
