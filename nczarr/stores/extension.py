"""Change of an existing store: its journal, its order of writes, and its completion after an interruption.

    claim    the journal, `writing`: the lengths before and after
    write    chunks that no reader of the old lengths sees, in their places; all
             others below `STAGED`
    commit   the journal, `committed`: the new documents, and the staged keys
    apply    staged chunks move to their places; documents are put, those of the
             root last; the journal is removed

A change of documents alone begins with the commit.

The commit is one write. Before it, the store reads as before; after it, our
readers take the documents and staged chunks from the journal until they are in
place (`view`). Every step of `apply` can be repeated.

A chunk at the old edge is replaced in its place: beyond the old lengths no
reader of the old documents looks at it, and within them its values stay the
same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from nczarr import names
from nczarr.stores.base import JOURNAL, Store, safe_key
from nczarr.stores.folder_moves import Moves, StoreWithMoves
from nczarr.stores.overlay import Overlay

VERSION = 2
"""Version of the journal. Readers of version 1 refuse the store."""

STAGED = ".nczarr-append/"
"""Prefix of chunks that are not in their places yet."""


class ExtendJournal(NamedTuple):
    """Content of the journal."""

    command: str | None
    """Fingerprint of sources and options; None without one: the run cannot be resumed."""
    base: str
    """Digest of the documents that change, as they were."""
    run: str
    """Unique identifier of the run."""
    state: Literal["writing", "committed"]
    """Phase of the run."""
    lengths: Mapping[str, tuple[int, int]]
    """Lengths before and after by FQN of the dimension."""
    arrays: tuple[str, ...]
    """Key prefixes of the arrays that change."""
    documents: Mapping[str, str]
    """New documents, when committed."""
    staged: tuple[str, ...]
    """Keys whose chunks are below `STAGED`, when committed."""
    removed: tuple[str, ...]
    """Keys to remove, because their chunks have become fill or their documents are replaced by others, when committed.
    """
    verb: str = "append"
    """Command that changes the store."""
    folders: Moves = ()
    """Folders that get other names, before everything else, when committed."""

    def bytes(self) -> bytes:
        """Return the document."""
        return (json.dumps({"nczarr_journal": VERSION, "append": self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: ExtendJournal) -> bool:
        """Return whether both are runs of one command on the same state of the store."""
        return self.command is not None and (self.command, self.base) == (other.command, other.base)


def parse(data: bytes) -> ExtendJournal | None:
    """Parse a journal; None for others and damaged ones."""
    try:
        document = json.loads(data)
        if not isinstance(document, dict) or document.get("nczarr_journal") != VERSION:
            return None
        journal = ExtendJournal(**document["append"])
        texts = [
            journal.base,
            journal.run,
            *journal.arrays,
            *journal.staged,
            *journal.removed,
            *journal.documents.values(),
            journal.verb,
        ]
        folders = tuple((safe_key(old), safe_key(new)) for old, new in journal.folders)
        lengths = {path: (int(old), int(new)) for path, (old, new) in journal.lengths.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if journal.state not in ("writing", "committed") or not all(isinstance(text, str) for text in texts):
        return None
    return journal._replace(
        folders=folders,
        lengths=lengths,
        arrays=tuple(journal.arrays),
        staged=tuple(journal.staged),
        removed=tuple(journal.removed),
    )


def view(store: Store, extension: ExtendJournal) -> Store:
    """Return the state of a store with this journal, which it does not show: as before, or when committed as after."""
    if extension.folders:
        store = StoreWithMoves(store, extension.folders)
    if extension.state == "writing":
        return Overlay(store, {}, removed=frozenset({JOURNAL}))
    documents = {key: names.to_bytes(text) for key, text in extension.documents.items()}
    moved = {key: STAGED + key for key in extension.staged}
    return Overlay(store, documents, moved, frozenset({JOURNAL, *extension.removed}))
