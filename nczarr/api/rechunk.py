"""`nczarr.rechunk`: write a dataset in other chunks, in bounded memory."""

from __future__ import annotations

import os
from typing import Unpack

from nczarr.api.inputs import Dataset, finish, input_of
from nczarr.api.options import ConvertOptions, options_from, subset_from, takes
from nczarr.diagnostics.report import Report
from nczarr.plan.plans import Conversion


@takes(ConvertOptions)
def rechunk(
    source: Dataset,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    scratch: str | os.PathLike[str] | None = None,
    **options: Unpack[ConvertOptions],
) -> Conversion:
    """Write a dataset in other chunks, in bounded memory. The target is complete, or it does not appear.

    An array whose chunks would be decoded more than 1.5 times within `memory` takes two
    passes: its values pass through a scratch folder without codecs, which is removed at
    the end. An interrupted run is continued with `resume=True`.

    Parameters
    ----------
    source : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
        Path, URL or open dataset.
    target : str or os.PathLike
        Path or URL of the new target, netCDF-4 or Zarr.
    format : str, optional
        Format of the target; by default that of its suffix.
    scratch : str or os.PathLike, optional
        Folder for the values between two passes; by default that of the target, or the
        folder of temporary files for a URL. It needs as many bytes as the largest of these
        arrays.
    **options
        The options of `nczarr.api.options.ConvertOptions`; `chunks`, `shards` or `layout`
        is required.

    Returns
    -------
    Conversion
        What was written.

    Raises
    ------
    FileExistsError
        If the target exists and `overwrite` is false.
    CompileError
        If the source has errors, if the target cannot hold it or has no chunks, or if
        `verify` finds a difference.
    OSError
        If the source, the target or the scratch folder is unreachable.
    TypeError, ValueError
        If an option does not exist, has an invalid value, or no chunks are named.

    Examples
    --------
    >>> import nczarr
    >>> done = nczarr.rechunk("samples/07-storage.cdl", "series.zarr", chunks={"y": 2})
    >>> nczarr.diff("samples/07-storage.cdl", "series.zarr")
    []
    """
    from nczarr.pipeline.rechunk import prepare_rechunk
    from nczarr.stores.spool import remove_fetched_files

    report, path = Report(), os.fspath(target)
    subset = subset_from(report, **options)
    settings = options_from(**options).change(scratch="" if scratch is None else os.fspath(scratch))
    if not (settings.layout.chunks or settings.layout.shards or settings.layout.arrangement):
        raise ValueError("chunks={…}: name the chunk lengths of the target")
    if options.get("dask") is not None or options.get("fixed") or options.get("unlimited"):
        raise TypeError("rechunk takes no cluster (dask), and leaves dimensions as they are (fixed, unlimited)")
    with remove_fetched_files():
        ready = None
        if not report.errors:
            read = input_of(source, settings, options.get("from_format"))
            ready = prepare_rechunk(read, subset, path, format, report, settings)
        done = None if ready is None else ready.write(report)
    return finish(done, path, report)
