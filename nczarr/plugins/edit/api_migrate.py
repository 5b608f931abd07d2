"""`nczarr.migrate`: give a Zarr store the documents of another format, in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nczarr.api.hints import add_hints

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Diagnostic
    from nczarr.plugins.edit.document_change import DocumentChange


class MigrationSummary(NamedTuple):
    """A finished migration, as `nczarr.migrate` returns it."""

    target: str
    """Path or URL of the store."""
    source_format: str | None
    """Format that the store had; None if a migration was taken back."""
    format: str | None
    """Format that the store has now; None if a migration was taken back."""
    added: tuple[str, ...]
    """Keys of new documents."""
    replaced: tuple[str, ...]
    """Keys of documents with new content."""
    removed: tuple[str, ...]
    """Keys of documents that are gone."""
    undo: str | None
    """File that takes the migration back; None for a rehearsal, and if nothing changed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings."""


@add_hints
def migrate(
    target: str | os.PathLike[str],
    to: str | None = None,
    *,
    keep: bool = False,
    mask_fill: bool = False,
    consolidated: bool | None = None,
    zarr_names: Literal["common", "registered"] = "common",
    allow_loss: Iterable[str] = (),
    dry_run: bool = False,
    undo_file: str | os.PathLike[str] | None = None,
    undo: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> MigrationSummary:
    """Give a Zarr store the documents of another format, in its place. No chunk is read or moved.

    docs/how-to/migrate.md describes what changes, and what is refused.

    Parameters
    ----------
    target : str or os.PathLike
        Path or URL of the store.
    to : str, optional
        Format that the store gets: `zarr3`, `nczarr3`, `nczarr` or `zarr2`. None with
        `undo`.
    keep : bool
        Leave the old documents beside the new ones, for readers of the old format.
    mask_fill : bool
        State fill values of Zarr v2 as `_FillValue`, because xarray takes them so.
    consolidated : bool, optional
        Write the metadata of all nodes in one key of the root as well. None: if the
        store has them.
    zarr_names : {"common", "registered"}
        Names of record types in Zarr v3: `structured`, or `struct`.
    allow_loss : Iterable of str
        Codes of value losses that are accepted; `all` accepts every one.
    dry_run : bool
        Write nothing.
    undo_file : str or os.PathLike, optional
        Name of the undo file. None: `TARGET.undo-1.json`, or the next number.
    undo : str or os.PathLike, optional
        Undo file of an earlier migration, which is taken back.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    MigrationSummary
        The documents that changed, and the undo file.

    Raises
    ------
    CompileError
        If the format cannot state the dataset with its chunks, or if the store has
        changed since an undo file was written. Nothing is written then.
    OSError
        If the store is unreachable or cannot be written.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    >>> _ = nczarr.write(nczarr.from_cdl(text), "old.zarr", "zarr2")
    >>> done = nczarr.migrate("old.zarr", "zarr3")
    >>> done.added
    ('v/zarr.json', 'zarr.json')
    >>> nczarr.open("old.zarr")["v"][:].tolist()
    [1, 2]
    >>> _ = nczarr.migrate("old.zarr", undo=done.undo)
    >>> nczarr.migrate("old.zarr", "zarr3", dry_run=True).source_format
    'zarr2'
    """
    from nczarr.api.inputs import raise_errors
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.plugins.edit.document_change import take_back
    from nczarr.plugins.edit.migrate_store import MigrateRequest
    from nczarr.plugins.edit.migrate_store import migrate as run

    if (to is None) == (undo is None):
        raise ValueError("name a format (`to`) or an undo file (`undo`)")
    options = options_from(
        storage_options=storage_options, consolidated=consolidated, zarr_names=zarr_names, allow_loss=allow_loss
    ).change(masking_fill=mask_fill, aggregation="keep")
    report, path = Report(), os.fspath(target)
    summary = None
    if undo is not None:
        taken = take_back(path, os.fspath(undo), report, options)
        summary = None if taken is None else _summarize(taken, None, None)
    elif to is not None:
        name = None if undo_file is None else os.fspath(undo_file)
        migration = run(MigrateRequest(path, to, options, keep, dry_run, name), report)
        summary = None if migration is None else _summarize(migration.change, migration.source, migration.form)
    raise_errors(report)
    if summary is None:
        raise CompileError(report.list_sorted())
    return summary._replace(diagnostics=tuple(report.list_sorted()))


def _summarize(change: DocumentChange, source: str | None, form: str | None) -> MigrationSummary:
    """Return the keys of a change by what happened to them."""
    keys: dict[str, list[str]] = {"added": [], "replaced": [], "removed": []}
    for action, key in change.patch.actions():
        keys[action].append(key)
    added, replaced, removed = map(tuple, keys.values())
    return MigrationSummary(change.target, source, form, added, replaced, removed, change.undo)
