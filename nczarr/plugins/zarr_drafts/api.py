"""Hierarchies of the Zarr v3 draft of 2019 in custom stores: public interface of the format `zarr3-2019`.

A store is any object with `get`, `set` and `delete`, and optionally `list`,
`listpre` or `listdir`. `read` and `write` convert between such a store and
datasets; `Hierarchy` has the draft's own operations. For paths and folders use
`nczarr.open` and `nczarr.write(…, format="zarr3-2019")`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from nczarr.api.handle import DatasetHandle, report_losses, warn_of_losses
from nczarr.api.options import KeysOptions, options_from, takes
from nczarr.diagnostics.report import UNREAD, CompileError, Diagnostic, Report
from nczarr.plugins.zarr_drafts.keys import array_key, data_key, group_key, path_problem
from nczarr.plugins.zarr_drafts.keyvalue import (
    FolderKeys,
    KeyValues,
    KeyValueStore,
    MemoryKeys,
    NotListedError,
    Operations,
)
from nczarr.plugins.zarr_drafts.protocol import Children, ContradictionError, Hierarchy, Nodes

__all__ = [
    "Children",
    "ContradictionError",
    "FolderKeys",
    "Hierarchy",
    "KeyValues",
    "MemoryKeys",
    "Nodes",
    "NotListedError",
    "Operations",
    "array_key",
    "data_key",
    "group_key",
    "read",
    "write",
]


def read(
    store: KeyValues | Operations,
    *,
    nodes: Iterable[str] = (),
    allow_loss: Iterable[str] = UNREAD,
    name: str = "<store>",
) -> DatasetHandle:
    """Open the dataset of a hierarchy. Values are read when they are indexed.

    Parameters
    ----------
    store : KeyValues or Operations
        An object with `get`, `set` and `delete`, and optionally `list`, `listpre` or
        `listdir`.
    nodes : Iterable of str
        Paths of arrays and groups (`/foo/bar`) to look for in a store that lists no
        keys. Hierarchies that `write` made need none: each group names its children.
    allow_loss : Iterable of str
        Codes of unreadable content that is omitted, and listed in `diagnostics`.
    name : str
        Name of the store in diagnostics.

    Returns
    -------
    DatasetHandle
        The checked dataset.

    Raises
    ------
    CompileError
        If the hierarchy has errors.
    OSError
        If the store fails.
    ValueError
        If a path in `nodes` is invalid.

    Examples
    --------
    >>> import nczarr
    >>> store = nczarr.zarr3_2019.MemoryKeys()
    >>> nczarr.zarr3_2019.write(nczarr.open("samples/01-station.cdl"), store)
    ()
    >>> list(nczarr.zarr3_2019.read(store))
    ['/station_name', '/lat', '/lon', '/time', '/temperature']
    """
    from nczarr import registry
    from nczarr.pipeline import phases

    report, nodes = Report(), tuple(nodes)
    for path in nodes:
        wrong = path_problem(path)
        if wrong is not None:
            raise ValueError(f"`{path}` is not the path of a node: {wrong}")
    options = options_from(allow_loss=allow_loss).change(nodes=nodes)
    checked = phases.read(KeyValueStore(store, name), report, options, registry.find_format("zarr3-2019"))
    if checked is None or report.errors:
        raise CompileError(report.list_sorted())
    handle = DatasetHandle(checked, report.list_sorted(), report.losses)
    warn_of_losses(handle)
    return handle


@takes(KeysOptions)
def write(
    dataset: DatasetHandle, store: KeyValues | Operations, **options: Unpack[KeysOptions]
) -> tuple[Diagnostic, ...]:
    """Write a dataset to a store. The store receives all keys, or none.

    Keys of the same names are replaced; other keys remain.

    Parameters
    ----------
    dataset : DatasetHandle
        An open dataset.
    store : KeyValues or Operations
        An object with `get`, `set` and `delete`.
    **options
        The options of `nczarr.api.options.KeysOptions`.

    Returns
    -------
    tuple of Diagnostic
        Warnings, accepted losses included.

    Raises
    ------
    CompileError
        If the store would lose something that `allow_loss` does not name.
    OSError
        If the store fails.
    """
    from nczarr import link, registry
    from nczarr.pipeline import phases

    report = Report()
    form = registry.find_format("zarr3-2019")
    assert form is not None
    settings = options_from(**options)
    checked = report_losses(dataset, report, settings.run)
    planned = phases.plan_store(checked, form, report, settings) if not report.errors else None
    if planned is None or not link.write_into_store(planned, KeyValueStore(store), report):
        raise CompileError(report.list_sorted())
    return tuple(report.list_sorted())
