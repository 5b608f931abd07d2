"""Values of a netCDF-4 variable that HDF5 reads, in the library of this process.

HDF5 reads a dataset without the rest of the file's model. One lock guards the
library, which is not thread-safe.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_size_t, c_uint, c_void_p
from dataclasses import dataclass
from typing import Any, NoReturn

from nczarr import names
from nczarr.arrays.chunks.grid import unreadable
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast import UserType
from nczarr.formats.netcdf4.c_values import c_dtype, unpack
from nczarr.formats.netcdf4.filter_plugins import lend_readers, missing_filters
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, find, hdf5, open_for_values
from nczarr.formats.netcdf4.library import CallError, Library, library, sizes
from nczarr.formats.netcdf4.objects import FixedText, text_of


@dataclass(frozen=True)
class LibraryVariable:
    """A variable of a file, as the library reads it. Reading fails if the file was replaced."""

    file: FileBytes
    group: tuple[str, ...]
    """Path of its group, in the spelling of the file."""
    name: str
    """Name of the variable, in the spelling of the file."""
    type: str
    """Type of the values."""
    types: dict[str, UserType]
    """All types of the file by FQN."""
    fixed: FixedText | None
    """Type of strings that are stored as fixed-length texts."""

    def read(self, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region within the extent by path, in their shapes and dtypes.

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        lib = library()
        with LOCK:
            self.file.check()
            lend_readers(lib)
            try:
                if self.fixed is not None:
                    return {"": self._read_texts(hdf5(lib), self.fixed, region)}
                return self._by_hdf5(lib, region)
            except (CallError, OSError) as error:
                self._unreadable(lib, error)

    def _by_hdf5(self, lib: Library, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region, read by HDF5 in the C layout that it has for the stored type."""
        h5 = hdf5(lib)
        memory = np.zeros(lengths_of(region), c_dtype(self.type, self.types))
        with (
            open_for_values(h5, str(self.file.path)) as file,
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
                open_for_values(h5, str(self.file.path)) as file,
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

    def _read_texts(self, h5: Hdf5, kind: FixedText, region: Selection) -> NDArray[Any]:
        """Return the fixed-length texts of a region as objects (`bytes`), in its shape. Raises OSError.

        The netCDF library would cut them at the first NUL. A text ends before trailing
        NULs, or at the first NUL in NUL-terminated types.
        """
        shape = lengths_of(region)
        padded = np.zeros(shape, f"S{kind.size}")
        with (
            open_for_values(h5, str(self.file.path)) as file,
            closing(h5, "H5Dclose", find(h5, file, self.group, self.name)) as dataset,
            closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as element,
            select_region(h5, dataset, region) as (space, within),
        ):
            h5.do("H5Dread", dataset, element, within, space, 0, c_void_p(padded.ctypes.data))
        out = np.empty(shape, object)
        data = padded.tobytes()
        texts = [
            text_of(data[at : at + kind.size], terminated=kind.terminated) for at in range(0, len(data), kind.size)
        ]
        out.reshape(-1)[:] = texts
        return out


_SELECT_SET = 0
"""H5S_SELECT_SELECT_SET."""


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
