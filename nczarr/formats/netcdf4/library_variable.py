"""Values of a netCDF-4 variable that HDF5 reads, in the library of this process.

HDF5 reads a dataset without the rest of the file's model. One lock guards the
library, which is not thread-safe.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_void_p
from dataclasses import dataclass
from typing import Any, NoReturn

from nczarr import names
from nczarr.arrays.chunks.grid import unreadable
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast import Codec, UserType
from nczarr.formats.netcdf4.c_values import c_dtype, unpack
from nczarr.formats.netcdf4.elements import unpack_elements
from nczarr.formats.netcdf4.filter_plugins import lend_readers, missing_filters
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, find, hdf5, open_for_values
from nczarr.formats.netcdf4.header.datatypes import Datatype
from nczarr.formats.netcdf4.library import CallError, Library, library, sizes


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
    kind: Datatype
    """Type of the elements as they are stored."""
    filters: tuple[Codec, ...]
    """Filters of its chunks."""

    def read(self, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region within the extent by path, in their shapes and dtypes.

        Raises OSError, CompileError with `unreadable-chunk`.
        """
        lib = library()
        with LOCK:
            self.file.check()
            lend_readers(lib)
            try:
                return self._by_hdf5(lib, region)
            except (CallError, OSError) as error:
                self._unreadable(lib, error)

    def _by_hdf5(self, lib: Library, region: Selection) -> dict[str, NDArray[Any]]:
        """Return the parts of a region, read by HDF5: as stored, or with lists in the C layout for the stored type."""
        h5, kind = hdf5(lib), self.kind
        if kind.has_lists:
            memory = np.zeros((*lengths_of(region), *kind.shape), c_dtype(self.type, self.types))
        else:
            memory = np.zeros(lengths_of(region), f"V{kind.size}")
        with (
            open_for_values(h5, str(self.file.path)) as file,
            closing(h5, "H5Dclose", find(h5, file, self.group, self.name)) as dataset,
            closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as stored,
            closing(h5, "H5Tclose", h5.do("H5Tget_native_type", stored, 0)) as native,
            select_region(h5, dataset, region) as (space, within),
        ):
            element = native if kind.has_lists else stored
            size = memory.dtype.itemsize * (math.prod(kind.shape) if kind.has_lists else 1)
            if h5.H5Tget_size(element) != size or (kind.has_lists and kind.is_converted):
                raise OSError(errno.EIO, "HDF5 has another layout for values of this type")
            h5.do("H5Dread", dataset, element, within, space, 0, c_void_p(memory.ctypes.data))
            if not kind.has_lists:
                return dict(unpack_elements(memory, kind, self.type, self.types, None))
            values = dict(unpack(memory, self.type, self.types))
            h5.do("H5Treclaim", element, within, 0, c_void_p(memory.ctypes.data))
        return values

    def _unreadable(self, lib: Library, error: Exception) -> NoReturn:
        """Raise `unreadable-chunk` with the filters that HDF5 lacks, else with its message."""
        path = names.fqn((*self.group, self.name))
        missing = missing_filters(lib, [codec.id for codec in self.filters])
        if missing:
            text = f"the values of `{path}` cannot be read: HDF5 lacks filter {', '.join(missing)}"
            helps = ("install the plug-in of the filter and set HDF5_PLUGIN_PATH, or leave the variable out",)
        else:
            reason = error.strerror if isinstance(error, OSError) else error
            text = f"the values of `{path}` cannot be read: {reason}"
            helps = ("the file may be damaged, or lack a file that it refers to; leave the variable out",)
        unreadable(self.file.name, text, helps=helps)


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
