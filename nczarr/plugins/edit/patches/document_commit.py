"""Commit of a patch of documents in the steps of an edit, and of the patch that takes it back.

commit    the journal with all new documents: readers of ours see them
conclude  documents and folders in their places; the journal is removed
abandon   the journal is removed, and nothing was changed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import registry
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.options import Options
from nczarr.plugins.common import store_changes
from nczarr.plugins.edit.patches import documents
from nczarr.plugins.edit.patches.documents import DocumentPatch, Undo
from nczarr.plugins.edit.patches.file_patch import PreparedFilePatch
from nczarr.plugins.edit.patches.zip_patch import patch_archive
from nczarr.stores import open as store_opening
from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.commitment import note_commit
from nczarr.stores.extension import ExtendJournal
from nczarr.stores.lock import report_changed
from nczarr.stores.open import open_path
from nczarr.stores.url import Repository, location, trim


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
        self._journal = documents.commit(
            store_changes.extensible(self.path, self.storage), self.patch, self._undo.command
        )
        if self._journal is None:
            raise CompileError([report_changed(f"`{show(self.path)}`")])

    def abandon(self) -> None:
        """Remove the journal. Raises OSError."""
        if self._journal is not None:
            store_changes.extensible(self.path, self.storage).remove([JOURNAL])

    def conclude(self) -> None:
        """Apply the journal. Raises OSError."""
        if self._journal is not None:
            store_changes.apply(store_changes.extensible(self.path, self.storage), self._journal)


class PreparedCommit(PreparedDocumentPatch):
    """Patch of the documents in a repository, which becomes a commit on a branch."""

    def __init__(
        self,
        path: str,
        store: Store,
        patch: DocumentPatch,
        options: Options,
        undo: Undo | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(path, patch, options.run.storage, undo, notes)
        self.store = store
        self.options = options

    def commit(self) -> None:
        """Make the commit. Raises OSError, CompileError with busy-target if the branch has moved."""
        repository = find_repository(self.path)
        assert repository is not None
        form = registry.find_format(repository.format)
        assert form is not None
        assert form.store.extends is not None
        message = self.options.target.message or "Edit the header"
        target = registry.load(form.store.extends)(self.path, self.options.change(message=message), self.store)
        try:
            for key, data in self.patch.puts().items():
                target.put(key, data)
            target.remove(self.patch.removals())
            target.finish()
        finally:
            target.abort()

    def abandon(self) -> None:
        """Make a commit with the old documents. Raises as `commit`."""
        repository = find_repository(self.path)
        assert repository is not None
        store = open_repository(repository, Report(), self.options)
        if store is not None:
            reverse = self._undo.reverse(store)
            PreparedCommit(self.path, store, reverse, self.options, self._undo).commit()

    def conclude(self) -> None:
        """Do nothing more: the commit is whole."""
        note_commit(self.path)


def find_repository(path: str) -> Repository | None:
    """Return the repository at a path or URL; None for other targets. Raises BadURLError."""
    place = location(path)
    if place.repository is not None or place.remote:
        return place.repository
    return store_opening.find_repository(place.path)


def open_repository(repository: Repository, report: Report, options: Options) -> Store | None:
    """Return the content of a branch; None after an error. Raises OSError, BadURLError."""
    form = registry.find_format(repository.format)
    assert form is not None
    assert form.store.opens is not None
    closed = open_path(repository.text, options.run.storage.of("target"))
    opened: Store | None = registry.load(form.store.opens)(closed, report, options)
    return opened


def prepare_patch(
    path: str,
    store: Store,
    patch: DocumentPatch,
    options: Options,
    undo: Undo | None = None,
    notes: tuple[str, ...] = (),
) -> PreparedDocumentPatch | PreparedFilePatch:
    """Return what applies a patch at a path or URL: a journal, a commit in a repository, or new bytes of an archive."""
    if store.archive:
        return PreparedFilePatch(trim(path), patch_archive(trim(path), patch.after))
    repository = find_repository(path)
    if repository is None:
        return PreparedDocumentPatch(trim(path), patch, options.run.storage, undo, notes)
    return PreparedCommit(repository.text, store, patch, options, undo, notes)


def prepare_undo(
    path: str, members: Mapping[str, Any], report: Report, options: Options
) -> PreparedDocumentPatch | PreparedFilePatch | None:
    """Return the patch that an undo file describes; None after an unmatched-undo. Raises OSError."""
    undo = documents.parse_undo(members)
    repository = find_repository(path)
    store: Store | Source | None = None
    if repository is not None:
        store = open_repository(repository, report, options)
    elif undo is not None:
        store = open_path(path, options.run.storage.of("target"))
    if undo is None or store is None or isinstance(store, Source):
        report.error("unmatched-undo", "the undo file is damaged, or not one of this store")
        return None
    store.expect(undo.documents)
    changed = undo.list_changed(store)
    if changed:
        text = f"`{show(path)}` is not restored: `{changed[0]}` has changed since the edit"
        report.error("unmatched-undo", text)
        return None
    return prepare_patch(path, store, undo.reverse(store), options, undo)


def report_interrupted(path: str, journal: ExtendJournal, code: str, report: Report) -> None:
    """Report a change of a store that is not committed: it has put chunks, which only its own command completes."""
    text = f"`{show(path)}` is being extended, or `nczarr {journal.verb}` was interrupted"
    helps = ["complete it with its own command", f"discard its work: `nczarr {journal.verb} … --discard`"]
    report.error(code, text, helps=helps)
