"""How far variables reach in their HDF5 file: a variable may be shorter than its unlimited dimensions.

The netCDF library shows fill values there, but where an inner dimension is the short one it puts what it has read in
wrong places (libnetcdf 4.10.1: it fills behind the data as if they were one row). So what lies within the
variable's own extent is read, and no more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_int64, c_uint, c_uint64

from nczarr.formats.netcdf4.library import Library

NON_COORDINATE = "_nc4_non_coord_"
"""What stands before the name of a variable that is named as a dimension which it does not have alone."""

CLOSE_DEGREES = (2, 3, 1)
"""How a file may be closed (H5F_CLOSE_SEMI …): HDF5 opens a file twice only with one degree, the library's own."""

_DEFAULT = c_int64(0)


class Extents:
    """The shapes of datasets in one HDF5 file, by their paths."""

    def __init__(self, lib: Library, file: int) -> None:
        self._lib = lib
        self._file = file

    def of(self, group: tuple[str, ...], name: str) -> tuple[int, ...] | None:
        """The shape of a variable's dataset; None if there is no such dataset, or it has no simple shape."""
        dll = self._lib.dll
        for stored in (NON_COORDINATE + name, name):
            path = "/".join(("", *group, stored)).encode("utf-8", "surrogateescape")
            if dll.H5Lexists(c_int64(self._file), c_char_p(path), _DEFAULT) > 0:
                dataset = dll.H5Dopen2(c_int64(self._file), c_char_p(path), _DEFAULT)
                space = dll.H5Dget_space(c_int64(dataset))
                rank = max(0, dll.H5Sget_simple_extent_ndims(c_int64(space)))
                lengths = (c_uint64 * max(1, rank))()
                dll.H5Sget_simple_extent_dims(c_int64(space), lengths, None)
                dll.H5Sclose(c_int64(space))
                dll.H5Dclose(c_int64(dataset))
                return tuple(lengths[:rank])
        return None


@contextmanager
def extents(lib: Library, path: str) -> Iterator[Extents | None]:
    """The extents in a file that the library has open as well; None if HDF5 does not open it a second time."""
    dll = lib.dll
    for name in ("H5Pcreate", "H5Fopen", "H5Dopen2", "H5Dget_space"):
        getattr(dll, name).restype = c_int64
    kind = c_int64.in_dll(dll, "H5P_CLS_FILE_ACCESS_ID_g")
    file = -1
    for degree in CLOSE_DEGREES:
        access = c_int64(dll.H5Pcreate(kind))
        dll.H5Pset_fclose_degree(access, c_int(degree))
        file = dll.H5Fopen(c_char_p(os.fsencode(os.path.abspath(path))), c_uint(0), access)
        dll.H5Pclose(access)
        if file >= 0:
            break
    try:
        yield Extents(lib, file) if file >= 0 else None
    finally:
        if file >= 0:
            dll.H5Fclose(c_int64(file))
