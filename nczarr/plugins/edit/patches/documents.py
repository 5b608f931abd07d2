"""Changes of the documents of a store that leave its chunks in place: the patch, its file for `--undo`, its commit.

A patch names every document that changes, with its bytes before and after. It
begins with the commit of `extension.py`: one journal holds all new documents, so
that the store reads as before or as after at any moment.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from nczarr import names
from nczarr.plugins.common import store_changes
from nczarr.stores import extension
from nczarr.stores.base import JOURNAL, Extensible, Store, UnsafeKeyError, safe_key
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.extension import ExtendJournal
from nczarr.stores.folder_moves import Moves, StoreWithMoves, move_key
from nczarr.stores.local_paths import join, parent_of
from nczarr.stores.overlay import Overlay
from nczarr.stores.url import is_remote, real

FORM = "documents"
"""Form of undo files of stores."""

Action = Literal["added", "replaced", "removed"]
"""Effect of a patch on a document."""


def reverse_moves(moves: Moves) -> tuple[tuple[str, str], ...]:
    """Return the moves that take others back."""
    return tuple((new, old) for old, new in reversed(moves))


class DocumentPatch(NamedTuple):
    """Documents that change: their bytes by key, None for missing ones. Both mappings have the same keys."""

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]
    moves: Moves = ()
    """Folders that get other names first; keys are those afterwards."""

    def view(self, store: Store) -> Store:
        """Return a store as it reads with the patch."""
        moved = StoreWithMoves(store, self.moves) if self.moves else store
        return Overlay(moved, self.puts(), removed=frozenset({*self.removals(), JOURNAL}))

    def actions(self) -> Iterator[tuple[Action, str]]:
        """Yield what happens to each document, sorted by key."""
        for key in sorted(self.after):
            if self.before[key] is None:
                yield "added", key
            else:
                yield "removed" if self.after[key] is None else "replaced", key

    def puts(self) -> dict[str, bytes]:
        """Return the documents that are written."""
        return {key: data for key, data in self.after.items() if data is not None}

    def removals(self) -> tuple[str, ...]:
        """Return the keys that are removed."""
        return tuple(sorted(key for key, data in self.after.items() if data is None))


def patch_of(store: Store, documents: Mapping[str, bytes | None], moves: Moves = ()) -> DocumentPatch:
    """Return the patch that gives a store these documents, with keys after the moves; equal ones are left out.

    Raises OSError.
    """
    moved = StoreWithMoves(store, moves) if moves else store
    before = {key: moved.get(key) for key in documents}
    changed = [key for key, data in documents.items() if data != before[key]]
    return DocumentPatch({key: before[key] for key in changed}, {key: documents[key] for key in changed}, moves)


def commit(store: Extensible, patch: DocumentPatch, verb: str) -> ExtendJournal | None:
    """Commit a patch; return its journal, for `apply`. None if another run has one there. Raises OSError."""
    documents = store_changes.texts_of(patch.puts())
    journal = ExtendJournal(
        None, "", store_changes.new_run(), "committed", {}, (), documents, (), patch.removals(), verb, patch.moves
    )
    return journal if store.claim(journal.bytes()) else None


def list_outer_groups(path: str) -> Iterator[str]:
    """Yield the folders above a local store that are groups of one store with it, the nearest first."""
    place = real(path)
    while not is_remote(path) and (above := parent_of(place)) != place:
        if not any(os.path.lexists(join(above, name)) for name in (".zgroup", "zarr.json")):
            return
        yield above
        place = above


def is_consolidated(path: str) -> bool:
    """Return whether a local group has the documents of all nodes below it. Raises OSError."""
    store = DirectoryStore(path)
    if store.get(".zmetadata") is not None:
        return True
    try:
        return bool(json.loads(store.get("zarr.json") or b"{}").get("consolidated_metadata"))
    except (ValueError, AttributeError, RecursionError):
        return False


def find_journal(store: Store) -> ExtendJournal | None:
    """Return the journal of an interrupted change; None without one. Raises OSError."""
    return extension.parse(store.get(JOURNAL) or b"")


class Undo(NamedTuple):
    """Documents as they were before a patch, and digests of those that replaced them."""

    command: str
    """Command that changed the store."""
    documents: Mapping[str, bytes | None]
    """Documents before the change; None for missing ones."""
    digests: Mapping[str, str | None]
    """SHA-256 of the documents after the change; None for missing ones."""
    moves: Moves = ()
    """Folders that got other names."""

    def members(self) -> dict[str, Any]:
        """Return the members of an undo file."""
        documents = {key: None if data is None else names.from_bytes(data) for key, data in self.documents.items()}
        return {
            "form": FORM,
            "command": self.command,
            "documents": documents,
            "sha256": dict(self.digests),
            "folders": [list(move) for move in self.moves],
        }

    def list_changed(self, store: Store) -> list[str]:
        """Return the documents that are not as the command left them, sorted. Raises OSError."""
        return sorted(key for key, digest in self.digests.items() if digest_of(store.get(key)) != digest)

    def reverse(self, store: Store) -> DocumentPatch:
        """Return the patch that restores the documents of a store. Raises OSError."""
        back = reverse_moves(self.moves)
        return patch_of(store, {move_key(key, back): data for key, data in self.documents.items()}, back)


def undo_of(patch: DocumentPatch, command: str) -> Undo:
    """Return what takes a patch back."""
    digests = {key: digest_of(data) for key, data in patch.after.items()}
    return Undo(command, patch.before, digests, patch.moves)


def digest_of(data: bytes | None) -> str | None:
    """Return the SHA-256 of a document; None for a missing one."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def parse_undo(members: Mapping[str, Any]) -> Undo | None:
    """Parse the members of an undo file; None for other forms and damaged ones."""
    try:
        documents = {
            safe_key(key): None if text is None else names.to_bytes(text) for key, text in members["documents"].items()
        }
        digests, command = members["sha256"], members["command"]
        moves = tuple((safe_key(old), safe_key(new)) for old, new in members.get("folders", ()))
        texts = [command, *(digest for digest in digests.values() if digest is not None)]
        is_sound = members["form"] == FORM and digests.keys() == documents.keys()
    except (ValueError, KeyError, TypeError, AttributeError, UnsafeKeyError):
        return None
    if not is_sound or not all(isinstance(text, str) for text in texts):
        return None
    return Undo(command, documents, digests, moves)
