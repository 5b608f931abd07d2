"""Commit of a patch of documents in the steps of an edit, and of the patch that takes it back.

commit    the journal with all new documents: readers of ours see them
conclude  documents and folders in their places; the journal is removed
abandon   the journal is removed, and nothing was changed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import CompileError, Source
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.stores import documents, extension
from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.documents import DocumentPatch, Undo
from nczarr.stores.extension import ExtendJournal
from nczarr.stores.lock import report_changed
from nczarr.stores.open import open_path

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options


class PreparedDocumentPatch:
    """Patch of the documents of a store, which is not applied yet."""

    def __init__(
        self,
        path: str,
        patch: DocumentPatch,
        storage: StorageOptions,
        undo: Undo | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.notes = notes
        self.patch = patch
        self.storage = storage
        self._undo = documents.undo_of(patch, "edit") if undo is None else undo
        self._journal: ExtendJournal | None = None

    def describe(self) -> Iterator[str]:
        """Yield lines on the folders and documents that change."""
        for old, new in self.patch.moves:
            yield f"  moved {old}/ to {new}/"
        for action, key in self.patch.actions():
            yield f"  {action} {key}"
        yield from self.notes

    def undo(self) -> dict[str, Any]:
        """Return the members of the undo file."""
        return self._undo.members()

    def commit(self) -> None:
        """Put the journal. Raises OSError, CompileError with busy-target if another run has one there."""
        self._journal = documents.commit(extension.extensible(self.path, self.storage), self.patch, "edit")
        if self._journal is None:
            raise CompileError([report_changed(f"`{show(self.path)}`")])

    def abandon(self) -> None:
        """Remove the journal. Raises OSError."""
        if self._journal is not None:
            extension.extensible(self.path, self.storage).remove([JOURNAL])

    def conclude(self) -> None:
        """Apply the journal. Raises OSError."""
        if self._journal is not None:
            extension.apply(extension.extensible(self.path, self.storage), self._journal)


def prepare_undo(
    path: str, members: Mapping[str, Any], report: Report, options: Options
) -> PreparedDocumentPatch | None:
    """Return the patch that an undo file describes; None after an unmatched-undo. Raises OSError."""
    undo = documents.parse_undo(members)
    storage = options.storage.of("target")
    store = None if undo is None else open_path(path, storage)
    if undo is None or store is None or isinstance(store, Source):
        report.error("unmatched-undo", "the undo file is damaged, or not one of this store")
        return None
    store.expect(undo.documents)
    changed = undo.list_changed(store)
    if changed:
        text = f"`{show(path)}` is not restored: `{changed[0]}` has changed since the edit"
        report.error("unmatched-undo", text)
        return None
    return PreparedDocumentPatch(path, undo.reverse(store), options.storage, undo)


def recover(path: str, store: Store, storage: StorageOptions) -> bool:
    """Complete a committed but interrupted change of a store; return whether there was one. Raises OSError."""
    journal = documents.find_journal(store)
    if journal is None or journal.state != "committed":
        return False
    extension.apply(extension.extensible(path, storage), journal)
    return True
