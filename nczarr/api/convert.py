"""`nczarr.convert` and `nczarr.write`: from any format to any other."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from nczarr.api.handle import DatasetHandle, find_object_reader, open_dataset
from nczarr.api.inputs import Dataset as Source
from nczarr.api.inputs import finish, input_of
from nczarr.api.options import ConvertOptions, WriteOptions, options_from, subset_from, takes
from nczarr.ast import Dataset as Tree
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.plan.plans import Conversion

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

Unlimited = Iterable[Hashable] | Mapping[str, Iterable[Hashable]] | None
"""Names of unlimited dimensions, for a tree also by group."""


@takes(ConvertOptions)
def convert(
    source: Source,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    **options: Unpack[ConvertOptions],
) -> Conversion:
    """Convert a file, store or open dataset to another format. The target is complete, or it does not appear.

    Parameters
    ----------
    source : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
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
    from nczarr.pipeline.phases import prepare
    from nczarr.stores.spool import remove_fetched_files

    if not isinstance(source, str | os.PathLike | DatasetHandle):
        made = _convert_object(source, target, format, dict(options))
        if made is not None:
            return made
    report, path = Report(), os.fspath(target)
    subset = subset_from(report, **options)
    settings = options_from(**options)
    read = input_of(source, settings, options.get("from_format"))
    with remove_fetched_files():
        ready = None
        if not report.errors:
            ready = prepare(read, subset, path, format, report, settings)
        done = None if ready is None else ready.write(report)
    return finish(done, path, report)


@takes(WriteOptions)
def write(
    dataset: DatasetHandle | Tree | Dataset | DataArray | DataTree,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    encoding: Mapping[Any, Mapping[Any, Any]] | None = None,
    unlimited_dims: Unlimited = None,
    group: str | None = None,
    **options: Unpack[WriteOptions],
) -> tuple[Diagnostic, ...]:
    """Write an open dataset, or an object of xarray, to a new target. The target is complete, or it does not appear.

    An xarray object is taken as `nczarr.from_xarray` takes it, a data frame of pandas with
    its columns as variables. Dask arrays are computed chunk by chunk within `memory`.
    If a client of `dask.distributed` is active and the target is a store of files, its
    cluster computes and writes the chunks, unless the option `dask` is given.

    Parameters
    ----------
    dataset : DatasetHandle, nczarr.ast.Dataset, object of xarray, pandas.DataFrame or pandas.Series
        An open dataset, a tree, whose variables get fill values, or an object of xarray or pandas.
    path : str or os.PathLike
        Path or URL of the new target.
    format : str, optional
        Format of the target; by default that of its suffix. An xarray object becomes a
        netCDF-4 file if neither `format` nor `kind` names another netCDF file, and
        `zarr3` if the suffix is that of a store.
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
    if isinstance(dataset, Tree):
        dataset = open_dataset(dataset)
    if isinstance(dataset, DatasetHandle):
        xarray_options = {"encoding": encoding, "unlimited_dims": unlimited_dims, "group": group}
        for name, value in xarray_options.items():
            if value is not None:
                raise TypeError(f"`{name}` is for objects of xarray, not for a DatasetHandle")
        return convert(dataset, path, format, **options).diagnostics
    done = _convert_object(dataset, path, format, dict(options), encoding, unlimited_dims, group)
    if done is None:
        kind = type(dataset).__name__
        raise TypeError(f"write takes an open dataset (`nczarr.open`) or an object of xarray, not {kind}")
    return done.diagnostics


def _convert_object(
    data: object,
    path: str | os.PathLike[str],
    format_name: str | None,
    options: dict[str, Any],
    encoding: Mapping[Any, Mapping[Any, Any]] | None = None,
    unlimited: Unlimited = None,
    group: str | None = None,
) -> Conversion | None:
    """Write an object of another library in the format that it is best read from; None if no plugin takes it."""
    read = find_object_reader(data)
    ready = None if read is None else read(data, path, format_name, encoding, unlimited, group, options)
    if ready is None:
        return None
    done = convert(ready.handle, path, ready.format, **ready.options)
    return done._replace(diagnostics=(*ready.diagnostics, *done.diagnostics))
