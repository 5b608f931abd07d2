"""Options of `nczarr.write` for objects of xarray: kind of file, shards, and the cluster of their dask arrays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.api.xarray_objects.declare import DeclaredDataset, declare
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.operations import targets

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.registry import Format

KIND = "nc4"
"""Kind of netCDF file that xarray writes by default."""


class Prepared(NamedTuple):
    """An xarray object ready to be written."""

    handle: DatasetHandle
    """The dataset."""
    options: dict[str, Any]
    """Options of the run."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the object."""


def prepared(
    data: Any,
    path: str | os.PathLike[str],
    format_name: str | None,
    encoding: Any,
    unlimited: Any,
    group: str | None,
    options: dict[str, Any],
) -> Prepared:
    """Return an xarray object as a dataset for this target. Raises CompileError, and TypeError for other objects."""
    report = Report()
    form = targets.target_format(os.fspath(path), format_name, report)
    if form is None:
        raise CompileError(report.sorted())
    kind = options.get("kind")
    if form.kinds and kind is None:
        kind = KIND if KIND in form.kinds else min(form.kinds)
        options = {**options, "kind": KIND} if kind == KIND else options
    declared = declare(data, "", encoding, unlimited, group, None, kind)
    options, lost = _with_shards(declared, form, options)
    if "dask" not in options and (address := _cluster(declared.handle, form, os.fspath(path))) is not None:
        options = {**options, "dask": address}
    return Prepared(declared.handle, options, (*declared.handle.diagnostics, *lost))


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
    if not lazy or not form.emit or form.begins or path.lower().endswith(".zip"):
        return None
    from nczarr.arrays.sources.dask_array import client_of

    client = client_of(lazy[0].array)
    return None if client is None else str(client.scheduler.address)
