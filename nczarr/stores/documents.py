"""Changes of the documents of a store that leave its chunks in place: the patch, its file for `--undo`, its commit.

A patch names every document that changes, with its bytes before and after. It
begins with the commit of `extension.py`: one journal holds all new documents, so
that the store reads as before or as after at any moment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from nczarr.stores import extension
from nczarr.stores.base import JOURNAL, Store, UnsafeKeyError, safe_key
from nczarr.stores.extension import ExtendJournal, Extensible, decode_text, encode_text

VERSION = 1
"""Version of undo files."""

FORM = "documents"
"""Form of undo files of stores."""

Action = Literal["added", "replaced", "removed"]
"""Effect of a patch on a document."""


class DocumentPatch(NamedTuple):
    """Documents that change: their bytes by key, None for missing ones. Both mappings have the same keys."""

    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]

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


def patch_of(store: Store, documents: Mapping[str, bytes | None]) -> DocumentPatch:
    """Return the patch that gives a store these documents; equal ones are left out. Raises OSError."""
    before = {key: store.get(key) for key in documents}
    changed = [key for key, data in documents.items() if data != before[key]]
    return DocumentPatch({key: before[key] for key in changed}, {key: documents[key] for key in changed})


def commit(store: Extensible, patch: DocumentPatch, verb: str) -> ExtendJournal | None:
    """Commit a patch; return its journal for `extension.apply`. None if another run has one there. Raises OSError."""
    documents = extension.texts_of(patch.puts())
    journal = ExtendJournal(None, "", extension.new_run(), "committed", {}, (), documents, (), patch.removals(), verb)
    return journal if store.claim(journal.bytes()) else None


def find_journal(store: Store) -> ExtendJournal | None:
    """Return the journal of an interrupted change; None without one. Raises OSError."""
    return extension.parse(store.get(JOURNAL) or b"")


class Undo(NamedTuple):
    """Content of an undo file: the documents as they were, and digests of those that replaced them."""

    command: str
    """Command that changed the store."""
    target: str
    """Path or URL of the store, as that command named it."""
    documents: Mapping[str, bytes | None]
    """Documents before the change; None for missing ones."""
    digests: Mapping[str, str | None]
    """SHA-256 of the documents after the change; None for missing ones."""

    def bytes(self) -> bytes:
        """Return the file."""
        document = {
            "nczarr_undo": VERSION,
            "form": FORM,
            "command": self.command,
            "target": self.target,
            "documents": {key: None if data is None else decode_text(data) for key, data in self.documents.items()},
            "sha256": dict(self.digests),
        }
        return (json.dumps(document, indent=1) + "\n").encode()

    def list_changed(self, store: Store) -> list[str]:
        """Return the documents that are not as the command left them, sorted. Raises OSError."""
        return sorted(key for key, digest in self.digests.items() if digest_of(store.get(key)) != digest)


def undo_of(patch: DocumentPatch, command: str, target: str) -> Undo:
    """Return what takes a patch back."""
    return Undo(command, target, patch.before, {key: digest_of(data) for key, data in patch.after.items()})


def digest_of(data: bytes | None) -> str | None:
    """Return the SHA-256 of a document; None for a missing one."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def parse_undo(data: bytes) -> Undo | None:
    """Parse an undo file; None for other files and damaged ones."""
    try:
        document: Any = json.loads(data)
        if (document["nczarr_undo"], document["form"]) != (VERSION, FORM):
            return None
        documents = {
            safe_key(key): None if text is None else encode_text(text) for key, text in document["documents"].items()
        }
        digests, command, target = document["sha256"], document["command"], document["target"]
        texts = [command, target, *(digest for digest in digests.values() if digest is not None)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnsafeKeyError):
        return None
    if digests.keys() != documents.keys() or not all(isinstance(text, str) for text in texts):
        return None
    return Undo(command, target, documents, digests)
