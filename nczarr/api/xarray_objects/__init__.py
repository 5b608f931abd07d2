"""Datasets, data arrays and data trees of xarray as typed datasets.

`encode` applies xarray's own CF conventions, `storage` translates `encoding`
to storage, and `declare` declares the results in a `DatasetBuilder`. xarray is
imported only when such an object is given.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import Diagnostic, Severity

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from nczarr.api.handle import DatasetHandle

Unlimited = Iterable[Hashable] | Mapping[str, Iterable[Hashable]] | None
"""Names of unlimited dimensions, for a tree also by group."""


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
    from nczarr.api.handle import DatasetHandle
    from nczarr.api.xarray_objects.declare import declare

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
