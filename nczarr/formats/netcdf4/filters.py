"""HDF5 filters that the library at hand has no plug-in for: those whose codec we have are lent to it.

HDF5 finds filters by number, in itself, in plug-ins, and among those that a program registers. So a dataset with bzip2
can be written, and read again, wherever Python can compress; and a filter of which nothing is known can still be
declared for a variable without values, for then nobody calls it.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from nczarr.ast import Codec
from nczarr.data import codecs
from nczarr.diagnostics import Report
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.moving import will_move
from nczarr.passes.planned import Planned

BUILT_IN = frozenset({codecs.DEFLATE, codecs.SHUFFLE, codecs.FLETCHER32})
OURS = codecs.NUMCODECS - BUILT_IN
"""Filters that Python can do: bzip2, blosc, zstd."""

REVERSE = 0x0100
"""The flag by which HDF5 asks for decoding."""

_FUNCTION = CFUNCTYPE(
    c_size_t, c_uint, c_size_t, POINTER(c_uint), c_size_t, POINTER(c_size_t), POINTER(c_void_p)
)  # H5Z_func_t


class _FilterClass(Structure):
    """H5Z_class2_t: how a program tells HDF5 of a filter."""

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
"""What HDF5 points at must live as long as the process."""


def provide(lib: Library, planned: Planned, report: Report) -> bool:
    """See to it that every filter of a dataset can be declared, and used where there are values to encode.

    Reports `unavailable-filter`, with its number, for each variable whose values nobody can encode.
    """
    before = report.errors
    for path, variable in planned.checked.variables.items():
        for codec in planned.storage[path].codecs:
            if codec.id in BUILT_IN or _available(lib, codec.id):
                continue
            can = codec.id in OURS and codecs.expressible([codec])
            if not can and planned.parts.get(path) and not will_move(path, planned):
                name = f" ({codec.name})" if codec.name else ""
                text = f"variable `{path}` has values and needs HDF5 filter {codec.id}{name}, which is not available"
                helps = ["install its plug-in and set HDF5_PLUGIN_PATH, or choose another codec with `--codec`"]
                report.error("unavailable-filter", text, variable.span, helps=helps)
            elif codec.id not in _registered:
                _register(lib, codec.id)
    return report.errors == before


def _available(lib: Library, number: int) -> bool:
    if number in _registered:
        return number in OURS
    if number == codecs.BLOSC:
        return False  # the usual plug-in fails on a chunk that does not get smaller
    return bool(lib.dll.H5Zfilter_avail(c_int(number)) > 0)


def _register(lib: Library, number: int) -> None:
    allocate, free = lib.dll.H5allocate_memory, lib.dll.H5free_memory
    allocate.argtypes, allocate.restype = (c_size_t, c_uint), c_void_p
    free.argtypes = (c_void_p,)

    def run(flags: int, count: int, values: Any, length: int, size: Any, buffer: Any) -> int:
        """Replace a chunk by its encoded or decoded bytes. 0 tells HDF5 that it failed."""
        try:
            data = ctypes.string_at(buffer[0], length)
            codec = Codec(id=number, parameters=tuple(values[:count]))
            width = codec.parameters[2] if number == codecs.BLOSC and count > 2 else 1
            made = codecs.decode([codec], data, width) if flags & REVERSE else codecs.encode([codec], data, width)
            address = allocate(max(1, len(made)), 0)
            ctypes.memmove(address, made, len(made))
        except Exception:  # nothing may be raised through C; HDF5 makes an error of the 0, which the library passes on
            return 0
        free(buffer[0])
        buffer[0] = address
        size[0] = max(1, len(made))
        return len(made)

    made = _FilterClass(1, number, 1, 1, f"nczarr filter {number}".encode(), None, None, _FUNCTION(run))
    lib.dll.H5Zregister(ctypes.byref(made))
    _registered[number] = made
