"""Hierarchies of the Zarr v3 draft of 2019 in stores of a caller's own: the public door to the format `zarr3-2019`.

A store is any object with `get`, `set` and `delete`, and perhaps `list`, `listpre` or `listdir`. `read` and `write` go
between such a store and datasets; `Hierarchy` is the draft's own operations. Paths and folders need none of this:
`nczarr.open` and `nczarr.write(…, format="zarr3-2019")` take them.
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
    """The dataset of a hierarchy; values are read when they are asked for. Raises CompileError, OSError, and
    ValueError for a text among `nodes` that is no path.

    `nodes`: paths of arrays and groups, as `/foo/bar`, which are looked for where the store lists no keys. Hierarchies
    of ours need none: each group names its children. What cannot be read is left out, as `allow_loss` says, and said in
    the handle's `diagnostics`. `name`: of the store, for people.
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
    """Put a dataset into a store, whole or not at all; returns the warnings. Options: those of `to_keys`.

    Keys of the same names are replaced, all others stay. Raises CompileError, OSError.
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
