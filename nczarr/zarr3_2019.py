"""Hierarchies of the Zarr v3 draft of 2019 in custom stores: public interface of the format `zarr3-2019`.

A store is any object with `get`, `set` and `delete`, and optionally `list`,
`listpre` or `listdir`. `read` and `write` convert between such a store and
datasets; `Hierarchy` has the draft's own operations. For paths and folders use
`nczarr.open` and `nczarr.write(…, format="zarr3-2019")`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from nczarr.api.handle import DatasetHandle, report_losses
from nczarr.api.options import TargetOptions, options_from, takes
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.formats.zarr.draft2019.keys import array_key, data_key, group_key, path_problem
from nczarr.formats.zarr.draft2019.protocol import Children, ContradictionError, Hierarchy, Nodes
from nczarr.options import UNREAD
from nczarr.stores.keyvalue import FolderKeys, KeyValues, KeyValueStore, MemoryKeys, NotListedError, Operations

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
    """Return the dataset of a hierarchy; values are read on demand.

    `nodes`: paths of arrays and groups, as `/foo/bar`, to look for if the store
    lists no keys. Hierarchies that we write need none: each group names its
    children. Unreadable content is skipped as `allow_loss` permits, and listed
    in the handle's `diagnostics`. `name`: display name of the store. Raises
    CompileError, OSError, and ValueError for an invalid path in `nodes`.
    """
    from nczarr import pipeline, registry

    report, nodes = Report(), tuple(nodes)
    for path in nodes:
        wrong = path_problem(path)
        if wrong is not None:
            raise ValueError(f"`{path}` is no path of a node: {wrong}")
    options = options_from(allow_loss=allow_loss)._replace(nodes=nodes)
    checked = pipeline.read(KeyValueStore(store, name), report, options, registry.named("zarr3-2019"))
    if checked is None or report.errors:
        raise CompileError(report.sorted())
    return DatasetHandle(checked, report.sorted(), report.losses)


@takes(TargetOptions)
def write(
    dataset: DatasetHandle, store: KeyValues | Operations, **options: Unpack[TargetOptions]
) -> tuple[Diagnostic, ...]:
    """Write a dataset to a store, whole or not at all; return the warnings. Options: those of `to_keys`.

    Keys of the same names are replaced, others remain. Raises CompileError,
    OSError.
    """
    from nczarr import link, pipeline, registry

    report = Report()
    form = registry.named("zarr3-2019")
    assert form is not None
    wanted = options_from(**options)
    report_losses(dataset, report, wanted)
    planned = pipeline.plan_store(dataset.checked, form, report, wanted) if not report.errors else None
    if planned is None or not link.into(planned, KeyValueStore(store), report):
        raise CompileError(report.sorted())
    return tuple(report.sorted())
