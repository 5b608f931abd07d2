"""Change of the documents of an existing store: opening, recovery, undo files, commit, and taking a change back.

`migrate` and `edit` prepare a patch; the rest is here. At any moment the store
reads as before or as after. What an interrupted run has committed is completed
by the next one.
"""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Iterator
from typing import NamedTuple

from nczarr import registry
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.pipeline import endpoints
from nczarr.plugins.common import store_changes
from nczarr.plugins.edit.patches import documents, file_patch
from nczarr.plugins.edit.patches.document_commit import prepare_patch, report_interrupted
from nczarr.plugins.edit.patches.documents import Action, DocumentPatch
from nczarr.plugins.edit.patches.zip_patch import find_wrapping
from nczarr.plugins.edit.undo_file import FORMS, can_write_undo, carry_out, parse_undo, write_undo
from nczarr.stores import extension
from nczarr.stores.base import Store
from nczarr.stores.memory import pretty

LARGEST_TEXT = 1 << 16
"""Maximum bytes of a document that a rehearsal shows line by line."""


class DocumentChange(NamedTuple):
    """Finished or rehearsed change of a store."""

    target: str
    """Path or URL of the store."""
    patch: DocumentPatch
    """Documents before and after."""
    undo: str | None = None
    """File that takes the change back; None for a rehearsal, and without a change."""

    def count_actions(self) -> dict[Action, int]:
        """Return the number of documents by what happened to them."""
        counts: dict[Action, int] = {"added": 0, "replaced": 0, "removed": 0}
        for action, _ in self.patch.actions():
            counts[action] += 1
        return counts


def open_store(path: str, report: Report, options: Options, *, rehearsal: bool) -> Store | None:
    """Return the store at a path or URL whose documents change; None after an error. Raises OSError.

    An interrupted change that was committed is completed, in a rehearsal only
    read as complete. Reports unchangeable-store.
    """
    if not rehearsal:
        file_patch.recover(path)
    reading = options.change(storage=options.run.storage.of("target"), kind=None)
    source = endpoints.open_source(path, report, reading)
    if source is None:
        return None
    reason = find_wrapping(path, source) or _refusal(source) or _find_outer(path)
    if isinstance(source, Source) or reason is not None:
        helps = ["write a new target: `nczarr convert SRC DST`"]
        report.error("unchangeable-store", f"`{show(path)}` {reason}", helps=helps)
        return None
    journal = documents.find_journal(source)
    if journal is None:
        return endpoints.open_readable(source, report, options.reading)
    if journal.state == "writing":
        report_interrupted(path, journal, "unchangeable-store", report)
        return None
    if rehearsal:
        return extension.view(source, journal)
    store_changes.complete(store_changes.extensible(path, options.run.storage), journal)
    again = endpoints.open_source(path, report, reading)
    return None if isinstance(again, Source) else again


def _find_outer(path: str) -> str | None:
    """Return that a target is a group of a larger store, in words; None for a whole one."""
    outer = next(documents.list_outer_groups(path), None)
    return None if outer is None else f"is a group of the store `{outer}`, all of which has one format"


def _refusal(source: Source | Store) -> str | None:
    """Return why documents of a source are not changed in place; None if they are."""
    if isinstance(source, Source):
        return "is a file, not a Zarr store"
    if source.versioned:
        return "is a repository, whose documents are changed by commits"
    if source.archive and source.distant:
        return "is an archive behind a URL, which is not changed in place"
    return "is a set of references" if source.refers else None


def commit(
    change: DocumentChange, store: Store, command: str, report: Report, options: Options, undo_file: str | None = None
) -> DocumentChange:
    """Apply a change to a store that is locked; return it with its undo file.

    Reports target-exists or unknown-target for the undo file. Raises OSError,
    CompileError with busy-target if another run has changed the store.
    """
    path, patch = change.target, change.patch
    if not patch.after or not can_write_undo(path, undo_file, report):
        return change
    prepared = prepare_patch(path, store, patch, options, documents.undo_of(patch, command))
    members = {"target": show(path), "header": "", "previous": "", **prepared.undo()}
    undo = write_undo(path, undo_file, members)
    carry_out(prepared, path, undo)
    return change._replace(undo=undo)


def take_back(path: str, name: str, report: Report, options: Options) -> DocumentChange | None:
    """Restore the documents that an undo file names; None after an error.

    Nothing is restored if a document is not as the command has left it. Reports
    unmatched-undo, unchangeable-store, busy-target. Raises OSError, CompileError as `commit`.
    """
    with open(name, "rb") as file:
        members = parse_undo(file.read(), report)
    if members is None:
        return None
    with endpoints.lock_place(path, report, options.run, replaces=True) as lock:
        store = None if lock is None else open_store(path, report, options, rehearsal=False)
        if store is None:
            return None
        prepared = registry.load(FORMS[members["form"]])(path, members, report, options)
        if prepared is None:
            return None
        carry_out(prepared, path, None)
        patch = getattr(prepared, "patch", None)
        return DocumentChange(path, patch if isinstance(patch, DocumentPatch) else DocumentPatch({}, {}))


def show_patch(change: DocumentChange) -> Iterator[str]:
    """Yield a patch as text in the form of `diff -u`: new documents, the lines that differ, and removed documents."""
    for action, key in sorted(change.patch.actions()):
        before, after = change.patch.before[key], change.patch.after[key]
        yield f"--- {'/dev/null' if before is None else key}\n"
        yield f"+++ {'/dev/null' if after is None else key}\n"
        if action == "removed":
            continue
        if max(len(before or b""), len(after or b"")) > LARGEST_TEXT:
            sizes = (f"{0 if data is None else len(data)} bytes" for data in (before, after))
            yield f"@@ {' → '.join(sizes)}\n"
            continue
        lines = difflib.unified_diff(_lines(before), _lines(after), n=1, lineterm="")
        yield from (f"{line}\n" for line in itertools.islice(lines, 2, None))


def _lines(data: bytes | None) -> list[str]:
    """Return a document as lines of readable JSON."""
    if data is None:
        return []
    text = data.decode("utf-8", "surrogateescape")
    try:
        return pretty(json.loads(text)).split("\n")
    except (ValueError, RecursionError):
        return text.split("\n")
