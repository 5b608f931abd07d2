"""`netcdf4`: plan → HDF5 file by the netCDF library: declarations, then values in bounded memory."""

from __future__ import annotations

import os
from contextlib import suppress

from nczarr.arrays.counts import Counts
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.library import MissingLibraryError, library
from nczarr.plan.plans import FilePlan


def build(plan: FilePlan, path: str, report: Report, counts: Counts) -> bool:
    """Write the file. False: errors were reported; discard the file.

    Raises OSError if it cannot be written.
    """
    try:
        lib = library()
    except MissingLibraryError:
        text = "netCDF-4 files need the netCDF library of netCDF4-python, which is not installed"
        report.error("missing-library", text, helps=["run `pip install 'nczarr[netcdf]'`, or write a store"])
        return False
    from nczarr.formats.netcdf4.chunk_plan import check_memory, provide
    from nczarr.formats.netcdf4.define import define
    from nczarr.formats.netcdf4.no_fill import define_fills, take_fills, undefined, unfilled
    from nczarr.formats.netcdf4.object_headers import take_times
    from nczarr.formats.netcdf4.write_chunks import chunk_writer
    from nczarr.formats.netcdf4.write_values import write_data

    if not (provide(lib, plan, report) and check_memory(plan, report)):
        return False
    before = report.errors
    mode = c.NETCDF4 | c.NOCLOBBER | (c.CLASSIC_MODEL if plan.kind == "nc7" else 0)
    file = lib.make("nc_create", os.fsencode(path), mode)
    writing = False
    try:
        ids = define(lib, file, plan, report)
        if report.errors > before:
            lib.do("nc_abort", file)
            return False
        writing = True
        try:
            lib.do("nc_enddef", file)
        except c.CallError as error:
            report.error("refused-storage", f"the netCDF library cannot write this dataset: {error}")
            return False
        with chunk_writer(lib, path, plan, counts) as chunks:
            write_data(lib, plan, ids, chunks, counts)
        lib.do("nc_close", file)
    except BaseException:
        if not writing:  # what cannot be written cannot be closed either: to try again ends the process
            with suppress(OSError, c.CallError):  # the first failure is the one to tell
                lib.do("nc_abort", file)
        raise
    take_fills(lib, path, unfilled(plan))
    define_fills(lib, path, undefined(plan))
    take_times(lib, path, plan.checked.types)
    return True
