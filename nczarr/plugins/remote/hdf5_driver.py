"""Driver of HDF5 that reads remote files: every byte that HDF5 reads is asked for here.

Only values behind filters of plug-ins are read so. Most structures that HDF5 follows
were fetched when the header was read.

Source: HDF5's header H5FDdevelop.h, version 1 of its class.
"""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_ulong, c_void_p
from typing import Any

from nczarr.stores import local_paths
from nczarr.stores.places import Hdf5Driver, RemoteFile, find_remote_file

OLDEST = 1, 14
"""First release of HDF5 whose drivers have the class below."""

_VERSION = 1
"""H5FD_CLASS_VERSION."""

_NUMBER = 0x6E63
"""H5FD_class_value_t of the driver: any number above those that are reserved."""

_LONGEST = (1 << 63) - 1
_SEMI = 2
"""H5F_CLOSE_SEMI, as HDF5's own driver has."""

_KINDS = 7
"""Kinds of memory (H5FD_MEM_NTYPES)."""

_FILE_BYTES = 512
"""Bytes of HDF5's structure for an open file (H5FD_t), with room."""

_OPEN = ctypes.CFUNCTYPE(c_void_p, c_char_p, c_uint, c_int64, c_uint64)
_CLOSE = ctypes.CFUNCTYPE(c_int, c_void_p)
_COMPARE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
_QUERY = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_ulong))
_GET_END = ctypes.CFUNCTYPE(c_uint64, c_void_p, c_int)
_SET_END = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_uint64)
_TRANSFER = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_int64, c_uint64, c_size_t, c_void_p)


class _Class(ctypes.Structure):
    """H5FD_class_t. Members without a function stay null."""

    _fields_ = (
        ("version", c_uint),
        ("value", c_int),
        ("name", c_char_p),
        ("longest", c_uint64),
        ("close_degree", c_int),
        *((name, c_void_p) for name in ("terminate", "sb_size", "sb_encode", "sb_decode")),
        ("fapl_size", c_size_t),
        *((name, c_void_p) for name in ("fapl_get", "fapl_copy", "fapl_free")),
        ("dxpl_size", c_size_t),
        *((name, c_void_p) for name in ("dxpl_copy", "dxpl_free")),
        ("open", _OPEN),
        ("close", _CLOSE),
        ("compare", _COMPARE),
        ("query", _QUERY),
        *((name, c_void_p) for name in ("get_type_map", "alloc", "free")),
        ("get_end", _GET_END),
        ("set_end", _SET_END),
        ("get_size", _GET_END),
        ("get_handle", c_void_p),
        ("read", _TRANSFER),
        ("write", _TRANSFER),
        *((name, c_void_p) for name in ("read_vector", "write_vector", "read_selection", "write_selection")),
        *((name, c_void_p) for name in ("flush", "truncate", "lock", "unlock", "delete", "control")),
        ("free_lists", c_int * _KINDS),
    )


class _Hdf5File:
    """A file that HDF5 has open."""

    def __init__(self, file: RemoteFile) -> None:
        self.file = file
        self.memory = ctypes.create_string_buffer(_FILE_BYTES)
        self.end = 0
        """End of HDF5's allocated addresses."""


class OtherFileError(OSError):
    """Another file that HDF5 would open for a remote one, by a link or for values."""

    def __init__(self, name: str) -> None:
        text = f"a remote file is read without others, and it leads to `{local_paths.name_of(name)}`"
        super().__init__(errno.ENOENT, text)


class RemoteDriver(Hdf5Driver):
    """The driver, registered with the HDF5 of one library. Expects the lock, as all of HDF5."""

    def __init__(self, library: Any) -> None:
        self._opened: dict[int, _Hdf5File] = {}
        self._failure: BaseException | None = None
        nothing = _TRANSFER(lambda *_: -1)
        self._class = _Class(
            version=_VERSION,
            value=_NUMBER,
            name=b"nczarr_remote",
            longest=_LONGEST,
            close_degree=_SEMI,
            open=_OPEN(self._open),
            close=_CLOSE(self._close),
            compare=_COMPARE(lambda one, other: (one > other) - (one < other)),  # each opening is a file of its own
            query=_QUERY(self._query),
            get_end=_GET_END(lambda file, kind: self._opened[file].end),
            set_end=_SET_END(self._set_end),
            get_size=_GET_END(lambda file, kind: self._opened[file].file.size),
            read=_TRANSFER(self._read),
            write=nothing,
        )
        library.dll.H5FDregister.restype = c_int64
        self.number: int = library.dll.H5FDregister(byref(self._class))

    def failure(self) -> BaseException | None:
        """Return the first failure of a request since the last call; HDF5 knows only that there was one."""
        failure, self._failure = self._failure, None
        return failure

    # ---- functions that HDF5 calls: an exception would be lost in it --------------------------------------------
    def _open(self, name: bytes, flags: int, access: int, longest: int) -> int | None:
        """Open a remote file for HDF5: the address of its structure, or None (NULL) after noting the failure."""
        try:
            file = find_remote_file(os.fsdecode(name))
        except OSError:
            file = None
        if file is None or flags & 1:
            self._failure = self._failure or OtherFileError(os.fsdecode(name))
            return None
        opened = _Hdf5File(file)
        place = ctypes.addressof(opened.memory)
        self._opened[place] = opened
        return place

    def _close(self, file: int) -> int:
        del self._opened[file]
        return 0

    def _query(self, file: int | None, flags: Any) -> int:
        if flags:
            flags[0] = 0
        return 0

    def _set_end(self, file: int, kind: int, end: int) -> int:
        self._opened[file].end = end
        return 0

    def _read(self, file: int, kind: int, transfer: int, address: int, size: int, target: int) -> int:
        """Copy bytes of a file to an address, zeros beyond its end; 0, or -1 after noting the failure."""
        try:
            data = self._opened[file].file.read(address, size)
            ctypes.memmove(target, data, len(data))
            if len(data) < size:
                ctypes.memset(target + len(data), 0, size - len(data))
        except BaseException as error:
            self._failure = self._failure or error
            return -1
        return 0


_drivers: dict[int, RemoteDriver | None] = {}


def find_driver(library: Any) -> RemoteDriver | None:
    """Return the driver for a library, registered once; None if its HDF5 has other drivers."""
    if id(library) not in _drivers:
        numbers = [c_uint() for _ in range(3)]
        library.dll.H5get_libversion(*map(byref, numbers))
        recent = (numbers[0].value, numbers[1].value) >= OLDEST
        registered = RemoteDriver(library) if recent else None
        _drivers[id(library)] = registered if registered is not None and registered.number >= 0 else None
    return _drivers[id(library)]
