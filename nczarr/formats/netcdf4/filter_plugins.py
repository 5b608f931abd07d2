"""Python codecs registered as HDF5 filters.

HDF5 finds filters by number: built-in, in plug-ins, or registered. Callers hold
the library lock.
"""

import ctypes
from collections.abc import Iterable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import decode
from nczarr.ast import Codec
from nczarr.ast.dataset import BLOSC, DEFLATE, FLETCHER32, SHUFFLE
from nczarr.formats.netcdf4.library import Library

BUILT_IN = frozenset({DEFLATE, SHUFFLE, FLETCHER32})
"""Filters of the HDF5 library itself."""

REVERSE = 0x0100
"""HDF5's flag for decoding."""

_FUNCTION = CFUNCTYPE(
    c_size_t, c_uint, c_size_t, POINTER(c_uint), c_size_t, POINTER(c_size_t), POINTER(c_void_p)
)  # H5Z_func_t


class _FilterClass(Structure):
    """H5Z_class2_t: registration record of a filter."""

    _fields_ = (
        ("version", c_int),
        ("id", c_int),
        ("encoder_present", c_uint),
        ("decoder_present", c_uint),
        ("name", c_char_p),
        ("can_apply", c_void_p),
        ("set_local", c_void_p),
        ("filter", _FUNCTION),
    )


_registered: dict[int, _FilterClass] = {}
"""Registered records; HDF5 points at them until the process ends."""


def list_registrable() -> frozenset[int]:
    """Return the filters that Python can encode and decode for HDF5: bzip2, blosc, zstd."""
    return table.list_encoded(hdf5=True) - BUILT_IN


def available(lib: Library, number: int) -> bool:
    """Return whether HDF5 can encode with a filter that is not built in."""
    if number in _registered:
        return number in list_registrable()
    if number == BLOSC:
        return False  # the usual plug-in fails on a chunk that does not get smaller
    return bool(lib.dll.H5Zfilter_avail(c_int(number)) > 0)


def missing_filters(lib: Library, numbers: Iterable[int]) -> list[str]:
    """Return the filters among these that HDF5 does not have, in words."""
    return [table.filter_name(number) for number in numbers if lib.dll.H5Zfilter_avail(c_int(number)) <= 0]


def is_registered(number: int) -> bool:
    """Return whether the filter was registered here."""
    return number in _registered


def lend_readers(lib: Library) -> None:
    """Register the filters that Python can decode, for files opened later."""
    for number in table.list_decoded_filters() - table.list_encoded(hdf5=True):
        if number not in _registered and lib.dll.H5Zfilter_avail(c_int(number)) <= 0:
            register_filter(lib, number)


def register_filter(lib: Library, number: int) -> None:
    """Register a filter. Unknown ones can be declared: HDF5 does not call them without values."""
    allocate, free = lib.dll.H5allocate_memory, lib.dll.H5free_memory
    allocate.argtypes, allocate.restype = (c_size_t, c_uint), c_void_p
    free.argtypes = (c_void_p,)

    def run(flags: int, count: int, values: Any, length: int, size: Any, buffer: Any) -> int:
        """Replace a chunk by its encoded or decoded bytes. 0 signals failure to HDF5."""
        try:
            data = ctypes.string_at(buffer[0], length)
            codec = Codec(id=number, parameters=tuple(values[:count]))
            width = codec.parameters[2] if number == BLOSC and count > 2 else 1
            if flags & REVERSE:
                chunk = decode(data, codecs.to_configs([codec], width), width, None)
            else:
                chunk = codecs.encode([codec], data, width)
            address = allocate(max(1, len(chunk)), 0)
            ctypes.memmove(address, chunk, len(chunk))
        except Exception:  # nothing may be raised through C; HDF5 makes an error of the 0, which the library passes on
            return 0
        free(buffer[0])
        buffer[0] = address
        size[0] = max(1, len(chunk))
        return len(chunk)

    filter_class = _FilterClass(  # HDF5 declares no filter without an encoder, though nothing is encoded by it
        1, number, 1, 1, f"nczarr filter {number}".encode(), None, None, _FUNCTION(run)
    )
    lib.dll.H5Zregister(ctypes.byref(filter_class))
    _registered[number] = filter_class
