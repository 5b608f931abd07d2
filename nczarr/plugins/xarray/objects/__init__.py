"""Datasets, data arrays and data trees of xarray as typed datasets.

`encode` applies xarray's own CF conventions, `storage` translates `encoding`
to storage, and `declare` declares the results in a `DatasetBuilder`.
`pandas_frames` makes datasets of data frames. xarray is imported only when such an
object is given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nczarr import names, registry
from nczarr.api.convert import Unlimited
from nczarr.api.handle import DatasetHandle, PreparedObject
from nczarr.api.hints import add_hints
from nczarr.ast.dataset import KIND_SPELLINGS
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.pipeline import endpoints
from nczarr.plugins.xarray.objects.declare import DeclaredDataset, declare, is_xarray
from nczarr.plugins.xarray.objects.pandas_frames import FrameDataset, is_frame, read_frame
from nczarr.registry import NETCDF_KINDS
from nczarr.stores.url import location

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from nczarr.registry import Format


KIND = "nc4"
"""Kind of netCDF file that xarray writes by default."""


def prepare_dataset(
    data: Any,
    path: str | os.PathLike[str],
    format_name: str | None,
    encoding: Any,
    unlimited: Any,
    group: str | None,
    options: dict[str, Any],
) -> PreparedObject | None:
    """Return an xarray object as a dataset for this target; None for other objects. Raises CompileError.

    A data frame or series of pandas is the dataset that `read_frame` makes of it.
    With neither a path nor a format, the dataset is that of `from_xarray`.
    Where the target is a store, its format is Zarr v3, because xarray reads that back as it was.
    """
    if not (is_xarray(data) or is_frame(data)):
        return None
    if not os.fspath(path) and format_name is None:
        frame = _as_dataset(data, encoding, None)
        handle = from_xarray(frame.dataset, encoding=encoding, unlimited_dims=unlimited, group=group)
        if frame.diagnostics:
            handle = DatasetHandle(handle.checked, (*frame.diagnostics, *handle.diagnostics))
        return PreparedObject(handle, "", options, handle.diagnostics)
    report = Report()
    form = endpoints.target_format(os.fspath(path), format_name, report)
    if form is None:
        raise CompileError(report.list_sorted())
    if format_name is None and form.name == registry.STORE and not location(os.fspath(path)).modes:
        # xarray reads texts of NCZarr as bytes, and its scalars with a dimension
        form = registry.find_format(registry.PLAIN_STORE) or form
    kind = options.get("kind")
    if form.target.kinds and kind is None:
        kind = KIND if KIND in form.target.kinds else min(form.target.kinds)
        options = {**options, "kind": KIND} if kind == KIND else options
    lists = form.capabilities.json_attributes != "none"
    frame = _as_dataset(data, encoding, kind)
    accepted = frozenset(names.list_texts(options.get("allow_loss", ())))
    declared = declare(frame.dataset, "", encoding, unlimited, group, None, kind, lists=lists, accepted=accepted)
    options, lost = _with_shards(declared, form, options)
    if "dask" not in options and (address := _cluster(declared.handle, form, os.fspath(path))) is not None:
        options = {**options, "dask": address}
    return PreparedObject(
        declared.handle, form.name, options, (*frame.diagnostics, *declared.handle.diagnostics, *lost)
    )


def _as_dataset(data: Any, encoding: Any, kind: object) -> FrameDataset:
    """Return a data frame or series as a dataset for this kind of netCDF file; objects of xarray as they are."""
    if is_xarray(data):
        return FrameDataset(data, ())
    netcdf_kind = KIND_SPELLINGS.get(str(kind))
    is_classic = netcdf_kind is not None and "int64" not in NETCDF_KINDS[netcdf_kind].atomic
    return read_frame(data, encoding, is_classic=is_classic)


def _with_shards(
    declared: DeclaredDataset, form: Format, options: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """Return the options with the shards of the encoding, and warnings about those that the target cannot have."""
    arrays = form.capabilities.arrays
    if not declared.shards or options.get("shards") is not None:
        return options, ()
    shapes = {
        path: shards.lengths for path, shards in declared.shards.items() if shards.given or (arrays and arrays.shards)
    }
    lost = tuple(
        Diagnostic(
            "unused-encoding",
            Severity.WARNING,
            f"variable `{path}`: `shards` of its encoding: format `{form.name}` has no shards",
        )
        for path in declared.shards
        if path not in shapes
    )
    return {**options, "shards": shapes}, lost


def _cluster(handle: DatasetHandle, form: Format, path: str) -> str | None:
    """Return the address of the scheduler of the active client; None if threads of this process do the work."""
    lazy = [
        source.deferred
        for parts in handle.checked.parts.values()
        for source in parts.values()
        if source.deferred is not None
    ]
    if not lazy or not form.emit or form.store.begins or path.lower().endswith(".zip"):
        return None
    return lazy[0].scheduler


@add_hints
def from_xarray(
    data: Dataset | DataArray | DataTree,
    *,
    name: str = "",
    encoding: Mapping[Any, Mapping[Any, Any]] | None = None,
    unlimited_dims: Unlimited = None,
    group: str | None = None,
    kind: str | None = None,
) -> DatasetHandle:
    """Take an xarray object as a dataset, as xarray's own `to_netcdf` would write it.

    xarray's coders encode times, packed values, fill values and `coordinates`.
    The arrays are not copied. Dask arrays are computed when their values are read,
    block by block.

    Parameters
    ----------
    data : xarray.Dataset, xarray.DataArray or xarray.DataTree
        The object. The groups of a tree become groups.
    name : str
        Name of the dataset.
    encoding : Mapping, optional
        Encoding by variable, with the keys of xarray's `to_netcdf` and `to_zarr`; it
        replaces the variables' own. For a tree: by path of a group, then by variable.
    unlimited_dims : iterable of str or Mapping, optional
        Unlimited dimensions, for a tree also by path of a group. By default those of
        `encoding["unlimited_dims"]` of the object.
    group : str, optional
        Path of the group for the object; by default the root.
    kind : str, optional
        Kind of netCDF file that the dataset must fit: nc3, nc6, nc5, nc4 or nc7. For
        kinds other than nc4, texts become char arrays, and 64-bit integers `int`.

    Returns
    -------
    DatasetHandle
        The checked dataset.

    Raises
    ------
    CompileError
        If the object or `encoding` have something that cannot be stored;
        `.diagnostics` has everything that was found.
    TypeError
        If `data` is another object.

    Examples
    --------
    >>> import nczarr
    >>> import numpy as np
    >>> import xarray as xr
    >>> data = xr.Dataset({"t": ("x", np.array([1.5, 2.5], "f4"))}, attrs={"title": "two"})
    >>> print(nczarr.from_xarray(data, encoding={"t": {"zlib": True, "chunksizes": (1,)}}).to_notation(), end="")
    dataset 2.0.0 {
      dimension x 2
      variable t float /x {
        fill NaN
        layout chunked
        chunks 1
        codec shuffle
        codec deflate 4
      }
      attribute title char "two"
    }
    """
    declared = declare(data, name, encoding, unlimited_dims, group, kind)
    lost = tuple(
        Diagnostic(
            "unused-encoding",
            Severity.WARNING,
            f"variable `{path}`: `shards` of its encoding is a choice of the target, not of the dataset",
            helps=("give `shards` to `nczarr.write`",),
        )
        for path in declared.shards
    )
    return DatasetHandle(declared.handle.checked, (*declared.handle.diagnostics, *lost)) if lost else declared.handle
