"""`nczarr.convert` and `nczarr.write`: from any format to any other."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from nczarr.api.handle import DatasetHandle, report_losses
from nczarr.api.options import ConvertOptions, WriteOptions, options_from, subset_from, takes
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.operations import targets
from nczarr.options import Subset, part_in_words
from nczarr.plan.plans import Conversion

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from nczarr.api.xarray_objects import Unlimited
    from nczarr.check.checked import Checked
    from nczarr.options import Options


@takes(ConvertOptions)
def convert(
    source: str | os.PathLike[str] | DatasetHandle,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    **options: Unpack[ConvertOptions],
) -> Conversion:
    """Convert a file, store or open dataset to another format. The target is complete, or it does not appear.

    Parameters
    ----------
    source : str, os.PathLike or DatasetHandle
        Path, URL or open dataset.
    target : str or os.PathLike
        Path or URL of the new target.
    format : str, optional
        Format of the target; by default that of its suffix.
    **options
        The options of `nczarr.api.options.ConvertOptions`.

    Returns
    -------
    Conversion
        What was written: number of variables, chunks by route, losses, warnings.

    Raises
    ------
    FileExistsError
        If the target exists and `overwrite` is false.
    CompileError
        If the source has errors, if the target would lose something that
        `allow_loss` does not name, or if `verify` finds a difference.
    OSError
        If the source or the target is unreachable.
    TypeError, ValueError
        If an option does not exist, or has an invalid value.

    Examples
    --------
    >>> import nczarr
    >>> done = nczarr.convert("samples/01-station.cdl", "station.zarr", codecs="zlib:5", verify=True)
    >>> done.format, done.variables, done.losses
    ('nczarr', 5, ())
    >>> nczarr.diff("samples/01-station.cdl", "station.zarr")
    []
    """
    from nczarr.operations import pipeline
    from nczarr.stores.spool import passing

    report, fixed = Report(), options.get("fixed", False)
    subset = subset_from(report, **options)
    settings = options_from(**options)._replace(
        source=None if isinstance(source, DatasetHandle) else os.fspath(source),
        part=part_in_words(subset, fixed=fixed),
    )
    form = targets.target_format(path := os.fspath(target), format, report)
    checked = done = None
    with passing():
        if form is not None and not report.errors:
            checked = _part(source, options.get("from_format"), subset, report, settings, fixed=fixed)
        if form is not None and checked is not None and not report.errors:
            done = pipeline.write(checked, path, form, report, settings)
    return _finished(done, path, report)


def _finished(done: Conversion | None, path: str, report: Report) -> Conversion:
    """Return the conversion with its diagnostics. Raises FileExistsError, CompileError."""
    diagnostics = report.sorted()
    if any(diagnostic.code == "target-exists" for diagnostic in diagnostics):
        raise FileExistsError(errno.EEXIST, "the target exists; overwrite=True replaces it", path)
    if done is None or any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        raise CompileError(diagnostics)
    return done._replace(diagnostics=tuple(diagnostics))


def _part(
    source: str | os.PathLike[str] | DatasetHandle,
    form: str | None,
    subset: Subset,
    report: Report,
    options: Options,
    *,
    fixed: bool,
) -> Checked | None:
    """Return the part of a dataset that is requested; None after an error."""
    from nczarr.operations import pipeline

    checked = _checked(source, form, report, options)
    if checked is not None and not report.errors:
        checked = pipeline.select(checked, subset, report)
    if fixed and checked is not None and not report.errors:
        from nczarr.select.subset import fixed as without_growth

        checked = without_growth(checked)
    return checked


def _checked(
    source: str | os.PathLike[str] | DatasetHandle, form: str | None, report: Report, options: Options
) -> Checked | None:
    if isinstance(source, DatasetHandle):
        report_losses(source, report, options)
        return None if report.errors else source.checked
    from nczarr.operations import pipeline

    return pipeline.read_path(os.fspath(source), report, options._replace(kind=None, survey=True), form)


@takes(WriteOptions)
def write(
    dataset: DatasetHandle | Dataset | DataArray | DataTree,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    encoding: Mapping[Any, Mapping[Any, Any]] | None = None,
    unlimited_dims: Unlimited = None,
    group: str | None = None,
    **options: Unpack[WriteOptions],
) -> tuple[Diagnostic, ...]:
    """Write an open dataset, or an object of xarray, to a new target. The target is complete, or it does not appear.

    An xarray object is taken as `nczarr.from_xarray` takes it. Its dask arrays are
    computed chunk by chunk within `memory`. If a client of `dask.distributed` is
    active and the target is a store of files, its cluster computes and writes the
    chunks, unless the option `dask` is given.

    Parameters
    ----------
    dataset : DatasetHandle, xarray.Dataset, xarray.DataArray or xarray.DataTree
        An open dataset or an xarray object.
    path : str or os.PathLike
        Path or URL of the new target.
    format : str, optional
        Format of the target; by default that of its suffix. An xarray object becomes a
        netCDF-4 file if neither `format` nor `kind` names another netCDF file.
    encoding : Mapping, optional
        Encoding of an xarray object, as `nczarr.from_xarray` takes it.
    unlimited_dims : iterable of str or Mapping, optional
        Unlimited dimensions of an xarray object.
    group : str, optional
        Path of the group for an xarray object.
    **options
        The options of `nczarr.api.options.WriteOptions`.

    Returns
    -------
    tuple of Diagnostic
        Warnings, accepted losses included.

    Raises
    ------
    FileExistsError
        If the target exists and `overwrite` is false.
    CompileError
        If the target would lose something that `allow_loss` does not name, or if
        the dataset was opened with losses (`DatasetHandle.losses`) that it does not
        name, or if an xarray object or its encoding cannot be stored.
    OSError
        If the target is unreachable.
    TypeError, ValueError
        If an option does not exist, has an invalid value, or concerns xarray objects
        alone.

    Examples
    --------
    >>> import nczarr
    >>> dataset = nczarr.open("samples/01-station.cdl")
    >>> nczarr.write(dataset, "written.zarr", chunks={"/temperature": (3, 2)}, codecs="zlib:5")
    ()
    """
    if isinstance(dataset, DatasetHandle):
        xarray_options = {"encoding": encoding, "unlimited_dims": unlimited_dims, "group": group}
        for name, value in xarray_options.items():
            if value is not None:
                raise TypeError(f"`{name}` is for objects of xarray, not for a DatasetHandle")
        return convert(dataset, path, format, **options).diagnostics
    from nczarr.api.xarray_objects.declare import is_xarray
    from nczarr.api.xarray_objects.target import prepared

    if not is_xarray(dataset):
        kind = type(dataset).__name__
        raise TypeError(f"write takes an open dataset (`nczarr.open`) or an object of xarray, not {kind}")
    ready = prepared(dataset, path, format, encoding, unlimited_dims, group, dict(options))
    return (*ready.diagnostics, *convert(ready.handle, path, format, **ready.options).diagnostics)
