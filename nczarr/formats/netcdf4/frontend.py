"""netCDF-4 files → `Unchecked`, with array sources that locate the values, which are not read."""

from __future__ import annotations

import os

from nczarr.ast.dataset import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, find_loaded, reason_of
from nczarr.formats.netcdf4.header_model import HeaderModel
from nczarr.formats.netcdf4.tree_reader import TreeReader
from nczarr.options import Options
from nczarr.stores import remote_file


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a file, or None. Reports unreadable-file."""
    if remote_file.at(source.path) is None and not os.path.isfile(source.path):
        text = f"`{source.name}` is not a file; netCDF-4 is read only from files"
        report.error("unreadable-file", text, helps=["save it to a file first"])
        return None
    try:
        if find_loaded() is not None:
            from nczarr.formats.netcdf4.isolation import flush  # the file may be open in the library

            flush(source.path)
        with building():
            return TreeReader(HeaderModel(source.path), source, report).read()
    except DAMAGE as error:
        helps = ["the file is damaged, or not an HDF5 file"]
        report.error("unreadable-file", f"`{source.name}`: {reason_of(error)}", helps=helps)
    except OSError as error:
        report.error("unreadable-file", f"`{source.name}`: {error.strerror or error}")
    return None
