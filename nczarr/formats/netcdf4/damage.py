"""Finds what a damaged file has lost, before libnetcdf 4.10.1 reads it.

If an attribute with texts or lists of variable length cannot be read, the
library keeps memory that was never filled, and frees the pointers in it when
the file is closed: the process crashes. So such attributes are looked for with
HDF5, which fails in order, and left out. A file whose close would crash is
given up instead.
"""

from __future__ import annotations

from ctypes import c_char
from typing import Any

from nczarr.formats.netcdf4.hdf5 import ALL_FILES, DATASET, FILES, NAMED_TYPE, ON_ATTRIBUTE, Hdf5, closing, open_objects
from nczarr.formats.netcdf4.objects import STRING, VLEN, Describer
from nczarr.formats.netcdf4.survey import Survey

_LOCAL_OBJECTS = 0x3E
"""Kinds of open objects (H5F_OBJ_DATASET …): all but files that were opened by a file's own identifier."""


def scan(h5: Hdf5, file: int, survey: Survey, size: int) -> Survey:
    """Return the survey of a file with its unreadable objects and attributes. `size`: bytes of the file."""
    damaged, unreadable = [], []
    for place, listed in survey.objects.items():
        path = place.encode()
        if not _is_readable(h5, file, path, listed.kind):
            damaged.append(place)
            continue
        names: list[bytes] = []

        def note(owner: int, name: bytes, info: Any, data: Any, into: list[bytes] = names) -> int:
            into.append(name)
            return 0

        if h5.H5Aiterate_by_name(file, path, 0, 0, None, ON_ATTRIBUTE(note), None, 0) < 0:
            damaged.append(place)
            continue
        unreadable += [(place, name) for name in names if not _is_attribute_readable(h5, file, path, name, size)]
    return survey._replace(damaged=tuple(damaged), unreadable=tuple(unreadable))


def _is_readable(h5: Hdf5, file: int, path: bytes, kind: int) -> bool:
    """Return whether HDF5 opens an object and reads its type, shape and storage."""
    if kind == DATASET:
        dataset = h5.H5Dopen2(file, path, 0)
        if dataset < 0:
            return False
        with closing(h5, "H5Dclose", dataset):
            try:
                Describer(h5).describe(dataset)
            except OSError:
                return False
    elif kind == NAMED_TYPE:
        declared = h5.H5Topen2(file, path, 0)
        if declared < 0:
            return False
        h5.H5Tclose(declared)
    return True


def _is_attribute_readable(h5: Hdf5, file: int, path: bytes, name: bytes, size: int) -> bool:
    """Return whether HDF5 reads the values of an attribute."""
    attribute = h5.H5Aopen_by_name(file, path, name, 0, 0)
    if attribute < 0:
        return False
    try:
        with (
            closing(h5, "H5Aclose", attribute),
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as stored,
            closing(h5, "H5Tclose", h5.do("H5Tget_native_type", stored, 0)) as element,
            closing(h5, "H5Sclose", h5.do("H5Aget_space", attribute)) as space,
        ):
            count = h5.do("H5Sget_simple_extent_npoints", space)
            if count == 0:
                return True
            if h5.H5Aget_storage_size(attribute) > size:
                return False
            memory = (c_char * (count * h5.H5Tget_size(element)))()
            if h5.H5Aread(attribute, element, memory) < 0:
                return False
            if h5.H5Tdetect_class(stored, VLEN) > 0 or h5.H5Tdetect_class(stored, STRING) > 0:
                h5.H5Treclaim(element, space, 0, memory)
    except OSError:
        return False
    return True


def open_files(h5: Hdf5) -> frozenset[int]:
    """Return HDF5's identifiers of all files that are open in this process."""
    return frozenset(open_objects(h5, ALL_FILES, FILES))


def give_up(h5: Hdf5, before: frozenset[int]) -> None:
    """Close all files that were opened since, and what is open of them, without the netCDF library."""
    for file in open_files(h5) - before:
        for number in open_objects(h5, file, _LOCAL_OBJECTS):
            h5.H5Idec_ref(number)
        h5.H5Fclose(file)
