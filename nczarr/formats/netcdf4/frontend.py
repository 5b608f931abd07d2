"""netCDF-4 files → `Unchecked`, with array sources that locate the values, which are not read.

The netCDF library reads the model: it defines dimension scales, non-coordinate
names and the classic model. `library_reader.py` asks it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.diagnostics.source import Source
from nczarr.formats.netcdf4 import isolation
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.header_reader import read_header
from nczarr.formats.netcdf4.inquiry import (
    Inquiry,
)
from nczarr.formats.netcdf4.library import MissingLibraryError, library
from nczarr.formats.netcdf4.library_file import use_library_file
from nczarr.formats.netcdf4.library_reader import LibraryReader
from nczarr.formats.netcdf4.objects import datasets
from nczarr.formats.netcdf4.omissions import look, strange
from nczarr.formats.netcdf4.remote_driver import driver
from nczarr.formats.netcdf4.survey import Survey
from nczarr.options import Options
from nczarr.stores import remote_file
from nczarr.stores.local_file import is_told
from nczarr.stores.remote_file import RemoteFile
from nczarr.stores.spool import fetched


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a file, or None. Reports missing-library, unreadable-file."""
    if remote_file.at(source.path) is None and not os.path.isfile(source.path):
        text = f"`{source.name}` is not a file; netCDF-4 is read only from files"
        report.error("unreadable-file", text, helps=["save it to a file first"])
        return None
    if remote_file.at(source.path) is not None or not isolation.is_open(source.path, writing=True):
        try:
            unchecked = read_header(source, report)
        except OSError as error:
            report.error("unreadable-file", f"`{source.name}`: {error.strerror or error}")
            return None
        if unchecked is not None:
            return unchecked
    try:
        lib = library()
    except MissingLibraryError:
        text = "netCDF-4 files need the netCDF library of netCDF4-python, which is not installed"
        report.error("missing-library", text, helps=["run `pip install 'nczarr[netcdf]'`"])
        return None
    if isolation.is_here(source.path):
        try:
            return _read(lib, _readable(lib, source), report)
        except isolation.SuspectError:
            isolation.suspect(source.path)
    remote = remote_file.at(source.path)
    try:
        outcome: _ReadApart = isolation.called(source.path, _read_apart, source.name, source.path, remote)
    except OSError as error:
        report.error("unreadable-file", f"`{source.name}`: {error.strerror or error}")
        return None
    for diagnostic in outcome.diagnostics:
        report.add(diagnostic)
    return outcome.unchecked


class _ReadApart(NamedTuple):
    """A file that was read in another process."""

    unchecked: Unchecked | None
    """Its dataset; None after an error."""
    diagnostics: list[Diagnostic]
    """Diagnostics of the reading."""


def _read_apart(name: str, path: str, remote: RemoteFile | None) -> _ReadApart:
    """Return the dataset of a file, for another process. `remote`: the file, if it is remote."""
    report, lib = Report(), library()
    unchecked = _read(lib, _readable(lib, Source(name, b"", binary=True, path=path)), report)
    return _ReadApart(unchecked, report.sorted())


def _readable(lib: c.Library, source: Source) -> Source:
    """Return a file that the libraries can read: a remote one is fetched whole if they cannot read its ranges.

    Raises OSError.
    """
    remote = remote_file.at(source.path)
    if remote is None or (driver(lib) is not None and is_told()):
        return source
    return Source(source.name, b"", binary=True, path=fetched(remote.connection))


def _read(lib: c.Library, source: Source, report: Report) -> Unchecked | None:
    survey: Survey | None = None
    try:
        with LOCK, building():
            survey = look(lib, source.path)

            def tree(file: int, shown: Survey | None) -> tuple[Unchecked, Report]:
                noted = Report()
                with datasets(lib, source.path, {} if shown is None else shown.objects) as datasets_of_file:
                    reader = LibraryReader(Inquiry(lib), file, source, noted, datasets_of_file)
                    return reader.read_surveyed(shown), noted

            # the library opens the file before `datasets`, as it wants it closed
            unchecked, noted = use_library_file(lib, source.path, survey, tree)
            for diagnostic in noted.sorted():
                report.add(diagnostic)
            return unchecked
    except (c.CallError, OSError) as error:
        why = strange(lib, source.path, survey) if isinstance(survey, Survey) else None
        helps = [f"{why}; netCDF does not support this" if why else "the file is damaged, or not a netCDF-4 file"]
        report.error("unreadable-file", f"`{source.name}`: {error}", helps=helps)
        return None
