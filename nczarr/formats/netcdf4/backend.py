"""`netcdf4`: plan → HDF5 file by the netCDF library: declarations, then values in bounded memory."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.library import Library, MissingLibraryError, library
from nczarr.plan.plans import FilePlan

if TYPE_CHECKING:
    from nczarr.formats.netcdf4.define import Ids


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
    from nczarr.formats.netcdf4.chunk_plan import check_memory, provide
    from nczarr.formats.netcdf4.no_fill import define_fills, take_fills, undefined, unfilled
    from nczarr.formats.netcdf4.object_headers import take_times
    from nczarr.formats.netcdf4.write_chunks import chunk_writer
    from nczarr.formats.netcdf4.write_values import write_data

    with LOCK:
        if not (provide(lib, plan, report) and check_memory(plan, report)):
            return False
        file = _declared(lib, plan, path, report)
    if file is None:
        return False
    number, ids = file
    with chunk_writer(lib, path, plan, counts) as chunks:
        write_data(lib, plan, ids, chunks, counts)
    with LOCK:
        lib.do("nc_close", number)
    take_fills(lib, path, unfilled(plan))
    define_fills(lib, path, undefined(plan))
    take_times(lib, path, plan.checked.types)
    return True


def _declared(lib: Library, plan: FilePlan, path: str, report: Report) -> tuple[int, Ids] | None:
    """Make the file with all declarations; return its ids, or None after a reported error. Expects `LOCK`.

    Raises OSError.
    """
    from nczarr.formats.netcdf4.define import define

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
