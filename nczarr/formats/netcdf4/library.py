"""C interface of the netCDF library that netCDF4-python ships, with HDF5 beneath it.

netCDF4-python cannot define opaque types, vlens of non-numbers or attributes of
user types. So the library is called by `ctypes`, without importing the package.
Thin: Python arguments, status codes as exceptions, no trees or plans.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from typing import Any, NoReturn

from nczarr.stores import local_paths

GLOBAL = -1
"""Variable number for attributes of a group."""

BYTE_ORDER = sys.byteorder
"""Byte order of values in memory."""

CHUNKED, CONTIGUOUS, COMPACT = 0, 1, 2
NETCDF4, CLASSIC_MODEL, NOCLOBBER = 0x1000, 0x0100, 0x0004
ENDIAN = {"little": 1, "big": 2}  # NC_ENDIAN_LITTLE, NC_ENDIAN_BIG
QUANTIZE = {"bitgroom": 1, "granularbitround": 2, "bitround": 3}

_UNREACHABLE = range(-108, -100)  # NC_EVARMETA to NC_EHDFERR
"""Status codes about the file rather than the call: NC_EHDFERR to NC_EVARMETA."""

_SYSTEM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM})
"""System errors of failed writes, which the library does not pass on."""

_INTEGER, _SIZES, _INTEGERS, _TEXT = c_int, POINTER(c_size_t), POINTER(c_int), c_char_p

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "nc_create": (_TEXT, c_int, _INTEGERS),
    **dict.fromkeys(("nc_close", "nc_abort", "nc_enddef", "nc_redef"), (c_int,)),
    "nc_def_grp": (c_int, _TEXT, _INTEGERS),
    "nc_def_dim": (c_int, _TEXT, c_size_t, _INTEGERS),
    "nc_inq_dimlen": (c_int, c_int, _SIZES),
    "nc_def_opaque": (c_int, c_size_t, _TEXT, _INTEGERS),
    "nc_def_vlen": (c_int, _TEXT, c_int, _INTEGERS),
    "nc_def_enum": (c_int, c_int, _TEXT, _INTEGERS),
    "nc_insert_enum": (c_int, c_int, _TEXT, c_char_p),
    "nc_def_compound": (c_int, c_size_t, _TEXT, _INTEGERS),
    "nc_insert_compound": (c_int, c_int, _TEXT, c_size_t, c_int),
    "nc_insert_array_compound": (c_int, c_int, _TEXT, c_size_t, c_int, c_int, _INTEGERS),
    "nc_def_var": (c_int, _TEXT, c_int, c_int, _INTEGERS, _INTEGERS),
    "nc_def_var_chunking": (c_int, c_int, c_int, _SIZES),
    "nc_def_var_fletcher32": (c_int, c_int, c_int),
    "nc_def_var_deflate": (c_int, c_int, c_int, c_int, c_int),
    "nc_def_var_filter": (c_int, c_int, c_uint, c_size_t, POINTER(c_uint)),
    "nc_def_var_endian": (c_int, c_int, c_int),
    "nc_def_var_fill": (c_int, c_int, c_int, c_void_p),
    "nc_def_var_quantize": (c_int, c_int, c_int, c_int),
    "nc_put_att": (c_int, c_int, _TEXT, c_int, c_size_t, c_void_p),
    "nc_put_vara": (c_int, c_int, _SIZES, _SIZES, c_void_p),
}


class _Error(ctypes.Structure):
    """H5E_error2_t: one entry of HDF5's error stack."""

    _fields_ = (
        ("error_class", ctypes.c_int64),
        ("major", ctypes.c_int64),
        ("minor", ctypes.c_int64),
        ("line", c_uint),
        ("function", c_char_p),
        ("file", c_char_p),
        ("text", c_char_p),
    )


_WALK = ctypes.CFUNCTYPE(c_int, c_uint, POINTER(_Error), c_void_p)


class MissingLibraryError(ImportError):
    """No netCDF library is installed."""


class CallError(RuntimeError):
    """A call failed that a correct plan excludes: a bug."""


class Library:
    """Functions of one library. Raise OSError if the file is unavailable, else CallError."""

    def __init__(self, dll: ctypes.CDLL) -> None:
        self.dll = dll
        self.noted = ""
        """HDF5's reason of a failure after which other functions were called."""
        self.calls = 0
        """Number of calls that returned, most of them counted: a sign of progress (`isolation.py`)."""
        dll.H5dont_atexit()  # files that could not be written stay open; to flush them at the end would crash
        dll.nc_strerror.restype = c_char_p
        self._call: dict[str, Callable[..., int]] = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(dll, name)
            function.argtypes = arguments
            function.restype = c_int
            self._call[name] = function

    def fail(self, name: str, status: int) -> NoReturn:
        """Raise OSError or CallError for the status of a failed function."""
        if status > 0:
            number = ctypes.get_errno()  # the library answers EACCES to all that HDF5 does not create
            status = number if status == errno.EACCES and number in _SYSTEM else status
            raise OSError(status, os.strerror(status))
        text = self.dll.nc_strerror(status).decode("utf-8", "replace")
        if status in _UNREACHABLE:
            number = ctypes.get_errno()  # of the last call of the system that failed
            if number in _SYSTEM:
                raise OSError(number, f"{os.strerror(number)} (the netCDF library, {name}: {text})")
            reason = self._reason()
            raise OSError(errno.EIO, f"the netCDF library: {text}{': ' + reason if reason else ''} ({name})")
        raise CallError(f"{name}: {text} ({status})")

    def fail_hdf5(self, name: str) -> NoReturn:
        """Raise OSError for a failed function of HDF5."""
        number = ctypes.get_errno()
        if number in _SYSTEM:
            raise OSError(number, f"{os.strerror(number)} (the HDF5 library, {name})")
        raise OSError(errno.EIO, f"the HDF5 library: {self._reason() or 'no reason given'} ({name})")

    def _reason(self) -> str:
        """Return HDF5's innermost message about its last failure, or an empty text."""
        messages: list[str] = []

        def note(number: int, error: Any, data: Any) -> int:
            messages.append(error.contents.text.decode("utf-8", "replace"))
            return 0

        self.dll.H5Ewalk2(ctypes.c_int64(0), c_int(0), _WALK(note), None)
        return messages[0] if messages else self.noted

    def note_reason(self) -> None:
        """Note HDF5's reason of the last failure, which the next call of a function clears."""
        self.noted = self._reason()

    def do(self, name: str, *arguments: Any) -> None:
        """Call a function without a result. Raises OSError, CallError."""
        status = self._call[name](*arguments)
        self.calls += 1
        if status:
            self.fail(name, status)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function with C arguments. Raises OSError, CallError."""
        status = getattr(self.dll, name)(*arguments)
        self.calls += 1
        if status:
            self.fail(name, status)

    def make(self, name: str, *arguments: Any) -> int:
        """Call a function whose last argument returns an id. Raises OSError, CallError."""
        new_id = c_int()
        status = self._call[name](*arguments, byref(new_id))
        if status:
            self.fail(name, status)
        return new_id.value

    def dimension_length(self, file: int, dimension: int) -> int:
        """Return the current length of a dimension."""
        length = c_size_t()
        self.do("nc_inq_dimlen", file, dimension, byref(length))
        return length.value


def integers(values: Sequence[int]) -> Any:
    """Return a C array of int."""
    return (c_int * len(values))(*values)


def make_unsigned(values: Sequence[int]) -> Any:
    """Return a C array of unsigned int."""
    return (c_uint * len(values))(*values)


def sizes(values: Sequence[int]) -> Any:
    """Return a C array of size_t."""
    return (c_size_t * len(values))(*values)


def _find_plugins(lib: Library, folder: str) -> None:
    """Add netCDF4-python's plug-in folder to HDF5's search path, as its import would."""
    if os.path.isdir(folder) and not os.environ.get("HDF5_PLUGIN_PATH"):
        lib.dll.nc_initialize()  # it sets the path itself, from the environment
        lib.dll.H5PLappend(c_char_p(os.fsencode(folder)))


def is_installed() -> bool:
    """Return whether there is a library to load."""
    try:
        return find_spec("netCDF4") is not None
    except ValueError:  # a module without a specification
        return False


@cache
def library() -> Library:
    """Return the library, loaded once. Raises MissingLibraryError without netCDF4-python."""
    spec = find_spec("netCDF4")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for suffix in EXTENSION_SUFFIXES:
            path = local_paths.join(folder, "_netCDF4" + suffix)
            if os.path.exists(path):
                loaded = Library(ctypes.CDLL(path, use_errno=True))
                _find_plugins(loaded, local_paths.join(folder, "plugins"))
                return loaded
    raise MissingLibraryError("netCDF4")
