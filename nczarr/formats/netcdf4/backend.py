"""`netcdf4`: plan → HDF5 file by the netCDF library: declarations, then values in bounded memory."""

from __future__ import annotations

import ctypes
import errno
import math
import os
from collections.abc import Iterator
from contextlib import suppress

from nczarr import names
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.execution.counts import Counts, Route, Step
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.regions import count_blocks
from nczarr.arrays.sources.source import Layout, big_descr, itemsize
from nczarr.arrays.sources.windows import choose_route, matches
from nczarr.arrays.values.parts import descr, is_fixed, struct
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.define import Ids, chunk_lengths
from nczarr.formats.netcdf4.fill_values import own_fill
from nczarr.formats.netcdf4.filter_plugins import BUILT_IN, available, is_registered, list_registrable, register_filter
from nczarr.formats.netcdf4.hdf5 import close_written, hdf5
from nczarr.formats.netcdf4.header.messages import FILL
from nczarr.formats.netcdf4.library import Library, MissingLibraryError, library
from nczarr.formats.netcdf4.object_headers import Change, addresses, change_messages
from nczarr.plan.chunk_lengths import check_chunk
from nczarr.plan.plans import FilePlan

HAS_VALUE = 0x20
"""Flag of a fill value message of version 3: size and value follow."""


def will_move(path: str, plan: FilePlan) -> bool:
    """Return whether a variable's chunks will be copied, without using its filters."""
    source, layout = plan.checked.parts.get(path, {}).get(""), _layout(path, plan)
    return source is not None and layout is not None and matches(source.stored, layout)


def check_memory(plan: FilePlan, report: Report) -> bool:
    """Report chunks to decode or encode that exceed the run's memory; False if any."""
    before = report.errors
    for path, parts in plan.checked.parts.items():
        source, layout = parts.get(""), _layout(path, plan)
        if source is not None and layout is not None and not matches(source.stored, layout):
            cells = math.prod(layout.chunks)
            if source.stored is not None and source.stored.codecs:
                cells = max(cells, volume(source.stored.chunks))
            check_chunk(plan, path, "", cells * itemsize(layout.dtype), report)
    return report.errors == before


def steps(plan: FilePlan, report: Report) -> Iterator[Step] | None:
    """Return the planned steps by part; None (reported) if a chunk exceeds the run's memory."""
    return _steps(plan) if check_memory(plan, report) else None


def _steps(plan: FilePlan) -> Iterator[Step]:
    """Yield the steps; the library writes chunks not copied or encoded here."""
    checked = plan.checked
    for path, parts in checked.parts.items():
        shape = checked.shapes[path]
        layout = _layout(path, plan)
        for part, source in parts.items():
            route: Route = "encode" if layout is None else choose_route(source, layout)
            lengths = shape if layout is None else layout.chunks
            chunks = 1 if layout is None or 0 in shape else count_blocks(source.list_occupied(lengths))
            size = math.prod(shape) * itemsize(layout.dtype) if layout is not None else 0
            if 0 not in shape:
                yield Step(path, part, route, chunks, lengths, size)


def _layout(path: str, plan: FilePlan) -> Layout | None:
    """Return the layout of a variable whose chunks are written without the library."""
    checked, storage = plan.checked, plan.storage[path]
    variable = checked.variables[path]
    if storage.quantize is not None or not is_fixed(variable.type, checked.types):  # quantized by the library
        return None
    lengths = chunk_lengths(path, variable, plan)
    dtype = descr(variable.type, checked.types)
    if lengths is None or struct(variable.type, checked.types).size != itemsize(dtype):  # the library pads records
        return None
    if storage.endian == "big" and isinstance(dtype, str):
        dtype = big_descr(dtype)
    return Layout(dtype, checked.shapes[path], lengths, storage.codecs)


def provide(lib: Library, plan: FilePlan, report: Report) -> bool:
    """Make every filter of a dataset declarable, and usable where values are encoded.

    Registers our codecs for HDF5 filters without a plug-in. Unknown filters are
    declared for variables without values, which never call them. Reports
    `unavailable-filter` for each variable that cannot be encoded.
    """
    before = report.errors
    for path, variable in plan.checked.variables.items():
        for codec in plan.storage[path].codecs:
            if codec.id in BUILT_IN or available(lib, codec.id):
                continue
            can = codec.id in list_registrable() and codecs.expressible([codec])
            if not can and plan.checked.parts.get(path) and not will_move(path, plan):
                name = f" ({codec.name})" if codec.name else ""
                text = f"variable `{path}` has values and needs HDF5 filter {codec.id}{name}, which is not available"
                helps = ["install its plug-in and set HDF5_PLUGIN_PATH, or choose another codec with `--codec`"]
                report.error("unavailable-filter", text, variable.span, helps=helps)
            elif not is_registered(codec.id):
                register_filter(lib, codec.id)
    return report.errors == before


_TIME, _IF_SET = 0x0C, 2
"""Bits of the fill time in such a message; HDF5's default time: on allocation, if the value is user-defined."""

_TIME_SHIFT = 2
"""Position of these bits; in version 2, index of the time's byte."""


def list_unfilled(plan: FilePlan) -> list[str]:
    """Return the no-fill strings and lists, which the library fills nevertheless."""
    checked = plan.checked
    return [path for path in _without_mode(plan) if not is_fixed(checked.variables[path].type, checked.types)]


def list_undefined(plan: FilePlan) -> list[str]:
    """Return the other no-fill variables, whose unwritten cells the library leaves undefined."""
    checked = plan.checked
    return [
        path
        for path in _without_mode(plan)
        if is_fixed(checked.variables[path].type, checked.types) and own_fill(path, checked) is None
    ]


def _without_mode(plan: FilePlan) -> Iterator[str]:
    return (path for path in plan.checked.variables if plan.storage[path].no_fill)


def take_fills(path: str, variables: list[str]) -> None:
    """Remove the fill values of variables from a closed file. Raises OSError."""
    _change_fills(path, variables, _without_value)


def define_fills(path: str, variables: list[str]) -> None:
    """Make unwritten cells of variables zeros, in a closed file. Raises OSError."""
    _change_fills(path, variables, _set_fill_time)


def _change_fills(path: str, variables: list[str], change: Change) -> None:
    """Change the fill value messages of variables in a closed HDF5 file, in place."""
    if not variables:
        return
    places = addresses(path, [(names.split(names.parent(name)), names.last(name)) for name in variables])
    with open(path, "r+b") as raw:
        for address, variable in zip(places, variables, strict=True):
            if not change_messages(raw, address, {FILL: change}):
                text = f"the header of `{variable}` has an unknown layout; its fill value is kept"
                raise OSError(errno.EIO, text)


def _without_value(body: bytes) -> bytes | None:
    """Remove the value from a fill value message, keeping its size; None for unknown versions."""
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, body[1] & ~HAS_VALUE]) + bytes(len(body) - 2)  # the message keeps its length in the header
    if len(body) >= 8 and body[0] == 2:  # allocation time, fill time, whether it is defined, its size
        return body[:4] + bytes(len(body) - 4)
    return None


def _set_fill_time(body: bytes) -> bytes | None:
    """Set the default fill time in a fill value message; None for unknown versions."""
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, (body[1] & ~_TIME) | _IF_SET << _TIME_SHIFT]) + body[2:]
    if len(body) > _TIME_SHIFT and body[0] == 2:  # allocation time, fill time, whether it is defined
        return body[:_TIME_SHIFT] + bytes([_IF_SET]) + body[_TIME_SHIFT + 1 :]
    return None


def build(plan: FilePlan, path: str, report: Report, counts: Counts) -> bool:
    """Write the file. False: errors were reported; discard the file.

    Raises OSError if it cannot be written. Then the library keeps it open: to close it would write again, which ends
    the process.
    """
    try:
        lib = library()
    except MissingLibraryError:
        text = "netCDF-4 files need the netCDF library of netCDF4-python, which is not installed"
        report.error("missing-library", text, helps=["run `pip install 'nczarr[netcdf]'`, or write a store"])
        return False
    from nczarr.formats.netcdf4.object_headers import take_times
    from nczarr.formats.netcdf4.write_chunks import chunk_writer
    from nczarr.formats.netcdf4.write_values import write_data

    with LOCK:
        if not (provide(lib, plan, report) and check_memory(plan, report)):
            return False
        file = _declare_in_block(lib, plan, path, report)
    if file is None:
        return False
    number, ids = file
    with chunk_writer(lib, path, plan, counts) as chunks:
        write_data(lib, plan, ids, chunks, counts)
    with LOCK:
        close_written(hdf5(lib), number, path)
    take_fills(path, list_unfilled(plan))
    define_fills(path, list_undefined(plan))
    take_times(path, plan.checked.types)
    return True


def _declare_in_block(lib: Library, plan: FilePlan, path: str, report: Report) -> tuple[int, Ids] | None:
    """Make the file with all declarations, in one metadata block if the layout asks for it. Expects `LOCK`."""
    if plan.options.layout.arrangement is None:
        return _declare(lib, plan, path, report)
    from nczarr.formats.netcdf4.metadata_block import has_metadata_blocks, metadata_block, metadata_bytes

    if not has_metadata_blocks(lib):
        needs = f"the layout `{plan.options.layout.arrangement}` needs the netCDF library 4.10.1 or newer"
        text = f"{needs}, and netCDF4-python has an older one"
        report.error("missing-library", text, helps=["run `pip install -U netCDF4`"])
        return None

    def declare(scratch: str) -> bool:
        file = _declare(lib, plan, scratch, report)
        if file is not None:
            close_written(hdf5(lib), file[0], scratch)
        return file is not None

    size = metadata_bytes(plan, declare)
    if size is None:
        return None
    with metadata_block(lib, size):
        return _declare(lib, plan, path, report)


def _declare(lib: Library, plan: FilePlan, path: str, report: Report) -> tuple[int, Ids] | None:
    """Make the file with all declarations; return its ids, or None after a reported error. Expects `LOCK`.

    Raises OSError.
    """
    from nczarr.formats.netcdf4.define import define

    if "\\" in path:
        text = "the netCDF library takes a backslash in the name of a folder for a separator"
        raise OSError(errno.EINVAL, text, path)
    before = report.errors
    mode = c.NETCDF4 | c.NOCLOBBER | (c.CLASSIC_MODEL if plan.kind == "nc7" else 0)
    ctypes.set_errno(0)
    file = lib.make("nc_create", os.fsencode(path), mode)
    try:
        ids = define(lib, file, plan, report)
        if report.errors > before:
            lib.do("nc_abort", file)
            return None
    except BaseException:
        with suppress(OSError, c.CallError):  # the first failure is the one to tell
            lib.do("nc_abort", file)
        raise
    try:
        lib.do("nc_enddef", file)
    except c.CallError as error:
        report.error("refused-storage", f"the netCDF library cannot write this dataset: {error}")
        return None
    return file, ids
