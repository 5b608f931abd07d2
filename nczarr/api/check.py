"""`nczarr.check`: the diagnostics of a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr.options import FOLLOWING, Following

if TYPE_CHECKING:
    from nczarr.api.inputs import Dataset
    from nczarr.diagnostics.report import Diagnostic


def check(
    source: str | os.PathLike[str],
    *,
    readers: str | Iterable[str] = (),
    schema: Dataset | None = None,
    kind: str | None = None,
    from_format: str | None = None,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Diagnostic]:
    """Return the diagnostics of a dataset: its errors and warnings, and those of the questions asked.

    Parameters
    ----------
    source : str or os.PathLike
        Path or URL.
    readers : str or Iterable of str
        Other readers (`netcdf-c`, `zarr-python`, `xarray`, or a release such as
        `zarr-python@3.1`), whose faults are reported; conventions (`nz`), of which is
        reported what is missing; formats, whose losses are reported.
    schema : str, os.PathLike or DatasetHandle, optional
        Schema from which deviations are reported: CDL, notation or any dataset.
    kind : str, optional
        Kind of netCDF file whose limits are checked, in any spelling of `ncgen -k`.
    from_format : str, optional
        Format of the source; by default found by its content.
    following : nczarr.refs.Following
        Options for following references in the source.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    list of Diagnostic
        Errors, warnings and notes, ordered by place; empty if there is nothing to say.

    Raises
    ------
    OSError
        If the source is unreachable.
    ValueError
        If a reader or kind does not exist.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.check("samples/01-station.cdl")
    []
    >>> [diagnostic.code for diagnostic in nczarr.check("samples/01-station.cdl", readers="zarr3")]
    ['lost-annotations']
    """
    from nczarr.api.inputs import input_of
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import Report
    from nczarr.operations import check as operation

    options = options_from(kind=kind, following=following, storage_options=storage_options)._replace(special=False)
    every_reader = [readers] if isinstance(readers, str) else readers
    request = operation.CheckRequest(
        os.fspath(source),
        form=from_format,
        judges=tuple(map(operation.judge, every_reader)),
        schema=None if schema is None else input_of(schema, options, values=False).read,
        options=options,
    )
    report = Report()
    operation.check(request, report)
    return report.sorted()
