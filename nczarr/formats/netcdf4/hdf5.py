"""C interface of the HDF5 library beneath the netCDF library; one shared object exports both.

Thin: prototypes, identifiers, and files that the netCDF library may have open
too. HDF5 is not thread-safe: callers hold `LOCK`.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file
from nczarr.formats.netcdf4.library import Library
from nczarr.stores import local_paths
from nczarr.stores.places import Hdf5Driver, find_remote_file

CLOSE_DEGREES = (2, 3, 1)
"""Close degrees (H5F_CLOSE_SEMI …): HDF5 opens a file twice only with the same one, the library's."""

_ID, _HERR, _LENGTHS = c_int64, c_int, POINTER(c_uint64)

ALL_FILES = 0x1F
"""H5F_OBJ_ALL in place of a file: objects of all open files."""

FILES = 0x01
"""Kind of open objects (H5F_OBJ_FILE)."""

_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("H5Pset_fapl_stdio", "H5Pset_fapl_sec2", "H5Pclose", "H5Fclose", "H5Oclose", "H5Dclose",
                     "H5Sclose", "H5Tclose", "H5Aclose"), (_HERR, _ID)),
    **dict.fromkeys(("H5Pcreate", "H5Freopen", "H5Dget_space", "H5Dget_type", "H5Dget_create_plist", "H5Tcopy",
                     "H5Aget_type", "H5Aget_space"), (_ID, _ID)),
    **dict.fromkeys(("H5Pget_layout", "H5Pget_nfilters", "H5Pget_external_count", "H5Iget_type", "H5Tcommitted",
                     "H5Tget_order", "H5Sget_simple_extent_type", "H5Sget_simple_extent_ndims"), (c_int, _ID)),
    **dict.fromkeys(("H5Pget_chunk_opts", "H5Pfill_value_defined", "H5Pget_fill_time", "H5Pget_virtual_count",
                     "H5Fget_filesize", "H5Oget_info1", "H5Dget_space_status", "H5Dget_chunk_index_type"),
                    (_HERR, _ID, c_void_p)),
    **dict.fromkeys(("H5Pset_driver", "H5Pget_fill_value", "H5Aread", "H5Awrite"), (_HERR, _ID, _ID, c_void_p)),
    "H5Pset_fclose_degree": (_HERR, _ID, c_int),
    "H5Pset_cache": (_HERR, _ID, c_int, c_size_t, c_size_t, c_double),
    "H5Pget_chunk": (c_int, _ID, c_int, c_void_p),
    "H5Pget_filter2": (c_int, _ID, c_uint, c_void_p, c_void_p, c_void_p, c_size_t, c_char_p, c_void_p),
    "H5Pget_external": (_HERR, _ID, c_uint, c_size_t, c_void_p, c_void_p, c_void_p),
    "H5Pget_virtual_filename": (c_int64, _ID, c_size_t, c_void_p, c_size_t),
    "H5Fopen": (_ID, c_char_p, c_uint, _ID),
    "H5Fget_intent": (_HERR, _ID, POINTER(c_uint)),
    "H5Fflush": (_HERR, _ID, c_int),
    "H5Fget_name": (c_int64, _ID, c_char_p, c_size_t),
    "H5Fget_obj_count": (c_int64, _ID, c_uint),
    "H5Fget_obj_ids": (c_int64, _ID, c_uint, c_size_t, POINTER(_ID)),
    "H5Lexists": (c_int, _ID, c_char_p, _ID),
    "H5Lget_val": (_HERR, _ID, c_char_p, c_void_p, c_size_t, _ID),
    "H5Literate1": (_HERR, _ID, c_int, c_int, c_void_p, c_void_p, c_void_p),
    "H5Oopen_by_addr": (_ID, _ID, c_uint64),
    "H5Dopen2": (_ID, _ID, c_char_p, _ID),
    "H5Dget_offset": (c_uint64, _ID),
    "H5Dchunk_iter": (_HERR, _ID, _ID, c_void_p, c_void_p),
    "H5Dread": (_HERR, _ID, _ID, _ID, _ID, _ID, c_void_p),
    "H5Dset_extent": (_HERR, _ID, _LENGTHS),
    "H5Dwrite_chunk": (_HERR, _ID, _ID, c_uint32, _LENGTHS, c_size_t, c_void_p),
    "H5Dget_chunk_info_by_coord": (_HERR, _ID, _LENGTHS, POINTER(c_uint), POINTER(c_uint64), POINTER(c_uint64)),
    "H5Sget_simple_extent_dims": (c_int, _ID, c_void_p, c_void_p),
    "H5Screate_simple": (_ID, c_int, c_void_p, c_void_p),
    "H5Sselect_hyperslab": (_HERR, _ID, c_int, c_void_p, c_void_p, c_void_p, c_void_p),
    "H5Tencode": (_HERR, _ID, c_void_p, c_void_p),
    "H5Tget_size": (c_size_t, _ID),
    "H5Tget_native_type": (_ID, _ID, c_int),
    "H5Treclaim": (_HERR, _ID, _ID, _ID, c_void_p),
    "H5free_memory": (_HERR, c_void_p),
    "H5Aopen": (_ID, _ID, c_char_p, _ID),
    "H5Aiterate2": (_HERR, _ID, c_int, c_int, c_void_p, c_void_p, c_void_p),
    "H5Adelete": (_HERR, _ID, c_char_p),
}  # fmt: skip


class Hdf5:
    """Functions of HDF5 in a loaded library, each under its own name or called by `do`."""

    def __init__(self, lib: Library) -> None:
        self.lib = lib
        lib.dll.H5open()  # its types have numbers from then on
        lib.dll.H5Eset_auto2(c_int64(0), None, None)  # or it prints what it cannot do
        self.file_access = c_int64.in_dll(lib.dll, "H5P_CLS_FILE_ACCESS_ID_g").value
        self.remote: Hdf5Driver | None = None
        """The driver of remote files, once one was opened."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function by name; its result is not checked."""
        restype, *arguments = _PROTOTYPES[name]
        prototype = ctypes.CFUNCTYPE(restype, *arguments, use_errno=True)
        function: Callable[..., Any] = prototype((name, self.lib.dll))
        setattr(self, name, function)
        return function

    def do(self, name: str, *arguments: Any) -> int:
        """Call a function that returns a negative number on failure. Raises OSError then."""
        status: int = getattr(self, name)(*arguments)
        self.lib.calls += 1
        if status < 0:
            self.check()
            self.lib.fail_hdf5(name)
        return status

    def check(self) -> None:
        """Raise the failure of a request for a remote file, which HDF5 takes for one of its own, and forget it."""
        if self.remote is not None:
            failure = self.remote.failure()
            if failure is not None:
                raise failure


_made: dict[int, Hdf5] = {}


def hdf5(lib: Library) -> Hdf5:
    """Return the HDF5 functions of a library, cached."""
    if id(lib) not in _made:
        _made[id(lib)] = Hdf5(lib)
    return _made[id(lib)]


def open_objects(h5: Hdf5, file: int, kinds: int) -> list[int]:
    """Return the identifiers of open objects of a file, or of `ALL_FILES`."""
    count = max(0, h5.H5Fget_obj_count(file, kinds))
    ids = (c_int64 * max(1, count))()
    return ids[: max(0, h5.H5Fget_obj_ids(file, kinds, count, ids))] if count else []


_WRITABLE, _GLOBAL, _SWMR_READ = 1, 1, 0x40
"""H5F_ACC_RDWR, H5F_SCOPE_GLOBAL, H5F_ACC_SWMR_READ."""


def has_open_files(h5: Hdf5) -> bool:
    """Return whether a file is open in this process."""
    return bool(h5.H5Fget_obj_count(ALL_FILES, FILES) > 0)


def open_ids(h5: Hdf5, path: str) -> list[int]:
    """Return the identifiers of the file at a path that are open in this process."""
    ids = []
    for file in open_objects(h5, ALL_FILES, FILES) if has_open_files(h5) else ():
        name = ctypes.create_string_buffer(max(0, h5.H5Fget_name(file, None, 0)) + 1)
        h5.H5Fget_name(file, name, len(name))
        with suppress(OSError):  # an image in memory, or a file that was removed
            if os.path.samefile(os.fsdecode(name.value), path):
                ids.append(file)
    return ids


def flush_written(h5: Hdf5, path: str) -> None:
    """Let HDF5 put on disk what it has of a file that is open here to be written."""
    intent = c_uint()
    for file in open_ids(h5, path):
        if h5.H5Fget_intent(file, byref(intent)) >= 0 and intent.value & _WRITABLE:
            h5.H5Fflush(file, _GLOBAL)


def close_written(h5: Hdf5, number: int, path: str) -> None:
    """Close a file that the netCDF library has written. Raises OSError, CallError.

    HDF5 writes for the last time when the last identifier of a file is closed. If that fails in `nc_close`, the library
    looks at what HDF5 has given up, and crashes. So another identifier is closed after its own.
    """
    others = [h5.H5Freopen(file) for file in open_ids(h5, path)[:1]]
    try:
        h5.lib.do("nc_close", number)
    finally:
        failed = any(h5.H5Fclose(other) < 0 for other in others)
    if failed:
        h5.lib.fail_hdf5("H5Fclose")


class closing:  # noqa: N801 - it reads as a function, like contextlib's
    """Yield an identifier and close it by the function `what`. Not a generator: opening a file uses thousands."""

    __slots__ = ("_h5", "_number", "_what")

    def __init__(self, h5: Hdf5, what: str, number: int) -> None:
        self._h5 = h5
        self._what = what
        self._number = number

    def __enter__(self) -> int:
        return self._number

    def __exit__(self, *_: object) -> None:
        getattr(self._h5, self._what)(self._number)


def open_file(h5: Hdf5, path: str, *, writing: bool = False) -> int:
    """Return a file's identifier, -1 on failure; the netCDF library may have it open. Raises OSError."""
    if find_remote_file(path) is not None:
        return _open_remote(h5, path)
    name = os.fsencode(local_paths.absolute(path))
    for degree in CLOSE_DEGREES:
        access = h5.H5Pcreate(h5.file_access)
        h5.H5Pset_fclose_degree(access, degree)
        if not writing:  # metadata alone: a cache of chunks takes longer to make than a dataset to open
            h5.H5Pset_cache(access, 0, 0, 0, 0.0)
        file: int = h5.H5Fopen(name, 1 if writing else 0, access)
        if file < 0:
            h5.lib.note_reason()
        h5.H5Pclose(access)
        if file >= 0:
            return file
    return -1


@cache
def _copy_of(path: str) -> str:
    """Return the path of a local copy of a remote file. Raises OSError."""
    remote = find_remote_file(path)
    assert remote is not None
    return remote.copy()


def _open_remote(h5: Hdf5, path: str) -> int:
    """Return the identifier of a remote file, -1 on failure. Raises OSError if it is unreachable."""
    file_of_path = find_remote_file(path)
    h5.remote = None if file_of_path is None else file_of_path.find_driver(h5.lib)
    if h5.remote is None:  # HDF5 before 1.14 reads a copy
        return open_file(h5, _copy_of(path))
    h5.remote.failure()
    access = h5.H5Pcreate(h5.file_access)
    h5.H5Pset_driver(access, h5.remote.number, None)
    file: int = h5.H5Fopen(os.fsencode(path), 0, access)
    h5.H5Pclose(access)
    if file < 0:
        h5.check()
    return file


def _open_alone(h5: Hdf5, path: str) -> int:
    """Return the identifier of a file, opened by a driver of its own; -1 on failure.

    To read texts and lists, HDF5 binds the types of an open dataset to the file
    that reads. Files of one driver share these types: after the reader is
    closed, other users of the file would have types bound to freed memory.
    """
    if find_remote_file(path) is not None:
        return _open_remote(h5, path)
    file = -1
    for flags, set_driver in ((0, h5.H5Pset_fapl_stdio), (_SWMR_READ, h5.H5Pset_fapl_sec2)):
        access = h5.H5Pcreate(h5.file_access)
        set_driver(access)
        file = h5.H5Fopen(os.fsencode(local_paths.absolute(path)), flags, access)
        if file < 0:
            h5.lib.note_reason()
        h5.H5Pclose(access)
        if file >= 0 or not _is_unclosed(path):
            break
    return int(file)


def _is_unclosed(path: str) -> bool:
    """Return whether a program has a local file open for writing, or did not close it.

    HDF5 reads others along with a writer too, but without a look at their length: zeros for what is cut off.
    """
    with header_file(path) as file:
        with suppress(*DAMAGE):
            file.root()
        return file.is_unclosed


@contextmanager
def open_for_values(h5: Hdf5, path: str) -> Iterator[int]:
    """Yield a file's identifier for reads of values, and close the file. Raises OSError."""
    file = _open_alone(h5, path)
    if file < 0:  # it is locked by a writer, with which it can be shared
        file = open_file(h5, path)
    if file < 0:
        h5.lib.fail_hdf5("H5Fopen")
    h5.lib.noted = ""
    try:
        with closing(h5, "H5Fclose", file):
            yield file
    finally:
        h5.check()


def object_path(group: tuple[str, ...], name: str) -> bytes:
    """Return the path of an object in a file."""
    return "/".join(("", *group, name)).encode("utf-8", "surrogateescape")


def find(h5: Hdf5, file: int, group: tuple[str, ...], name: str) -> int:
    """Open a netCDF variable's dataset; -1 if it does not exist."""
    for stored in (NON_COORDINATE + name, name):
        path = object_path(group, stored)
        if h5.H5Lexists(file, path, 0) > 0:
            return int(h5.H5Dopen2(file, path, 0))
    return -1
