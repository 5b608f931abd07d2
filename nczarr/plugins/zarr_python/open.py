"""`nczarr.zarr_store`: a dataset of any format, opened for zarr-python. Loads without zarr."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nczarr.api.handle import DatasetHandle, open_unchecked, warn_of_losses
from nczarr.api.hints import add_hints
from nczarr.diagnostics.report import DataWarning
from nczarr.options import FOLLOWING, Following

if TYPE_CHECKING:
    from nczarr.plugins.zarr_python.store import ZarrStore

LISTED = 5
"""Maximum losses that one warning lists."""


@add_hints
def zarr_store(
    source: str | os.PathLike[str] | DatasetHandle,
    zarr_format: int = 3,
    *,
    storage_options: Mapping[str, Any] | None = None,
    following: Following = FOLLOWING,
) -> ZarrStore:
    """Return a dataset of any format as a read-only store of zarr-python.

    The keys are those that `nczarr convert` writes and `nczarr serve` serves, with
    consolidated metadata. Chunks are bytes of the file where its encoding fits, and
    are encoded on request otherwise.

    Parameters
    ----------
    source : str, os.PathLike or DatasetHandle
        Path, URL or open dataset.
    zarr_format : int
        Version of Zarr, 2 or 3.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.
    following : nczarr.refs.Following
        Options for following the references of a document.

    Returns
    -------
    ZarrStore
        The store, for `zarr.open`, `xarray.open_zarr` and other users of zarr-python 3.
        It can be pickled like a dataset: without credentials.

    Raises
    ------
    OSError
        If the path is unreachable.
    CompileError
        If the content has errors, or Zarr cannot hold it.
    ValueError
        If `zarr_format` is another number.
    ImportError
        If zarr-python 3 is not installed.

    Warns
    -----
    DataWarning
        If the version of Zarr cannot hold values. Lost annotations, such as that a
        dimension is unlimited, are in `ZarrStore.losses` alone.

    Examples
    --------
    >>> import nczarr, zarr
    >>> store = nczarr.zarr_store("samples/01-station.cdl", zarr_format=2)
    >>> zarr.open(store)["temperature"][0].tolist()
    [21800, 23100, -999]
    """
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format is {zarr_format!r}; use 2 or 3")
    from nczarr.plugins.zarr_python.store import ZarrStore

    if not isinstance(source, DatasetHandle):
        source = open_unchecked(os.fspath(source), storage_options=storage_options, following=following)
        warn_of_losses(source)
    store = ZarrStore(source, zarr_format)
    lost = [each for each in store.losses if each.weight == "value"]
    if lost:
        more = f"; and {len(lost) - LISTED} more in `losses`" if len(lost) > LISTED else ""
        listed = "; ".join(f"{each.kind}: {each.message}" for each in lost[:LISTED])
        warnings.warn(f"Zarr v{zarr_format} cannot hold all content: {listed}{more}", DataWarning, stacklevel=2)
    return store
