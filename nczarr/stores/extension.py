"""Extension of an existing store: its journal, its order of writes, and its completion after an interruption.

    claim    the journal, `writing`: the lengths before and after
    write    chunks that no reader of the old lengths sees, in their places; all
             others below `STAGED`
    commit   the journal, `committed`: the new documents, and the staged keys
    apply    staged chunks move to their places; documents are put, those of the
             root last; the journal is removed

The commit is one write. Before it, the store reads as before; after it, our
readers take the documents and staged chunks from the journal until they are in
place (`view`). Every step of `apply` can be repeated.

A chunk at the old edge is replaced in its place: beyond the old lengths no
reader of the old documents looks at it, and within them its values stay the
same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Protocol

from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.overlay import Overlay
from nczarr.stores.signals import unstopped

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
    """Keys to remove, because their chunks have become fill, when committed."""

    def bytes(self) -> bytes:
        """Return the document."""
        return (json.dumps({"nczarr_journal": VERSION, "append": self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: ExtendJournal) -> bool:
        """Return whether both are runs of one command on the same state of the store."""
        return self.command is not None and (self.command, self.base) == (other.command, other.base)


def parsed(data: bytes) -> ExtendJournal | None:
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
        ]
        lengths = {path: (int(old), int(new)) for path, (old, new) in journal.lengths.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if journal.state not in ("writing", "committed") or not all(isinstance(text, str) for text in texts):
        return None
    return journal._replace(
        lengths=lengths, arrays=tuple(journal.arrays), staged=tuple(journal.staged), removed=tuple(journal.removed)
    )


def texts_of(documents: Mapping[str, bytes]) -> dict[str, str]:
    """Return documents for a journal."""
    return {key: data.decode("utf-8", "surrogateescape") for key, data in documents.items()}


def view(store: Store, extension: ExtendJournal) -> Store:
    """Return the state of a store with this journal, which it does not show: as before, or when committed as after."""
    if extension.state == "writing":
        return Overlay(store, {}, removed=frozenset({JOURNAL}))
    documents = {key: text.encode("utf-8", "surrogateescape") for key, text in extension.documents.items()}
    moved = {key: STAGED + key for key in extension.staged}
    return Overlay(store, documents, moved, frozenset({JOURNAL, *extension.removed}))


class Extensible(Store, Protocol):
    """An existing store whose keys are replaced, each at once."""

    def claim(self, journal: bytes) -> bool:
        """Create the journal; return False if there is one already. Raises OSError."""

    def move(self, key: str, target: str) -> None:
        """Move a key to another, which is replaced at once; a missing key is in its place. Raises OSError."""

    def remove(self, keys: Iterable[str]) -> None:
        """Remove keys; missing ones are ignored. Raises OSError."""

    def tidy(self) -> None:
        """Remove the incomplete files of killed runs. Raises OSError."""


def turn(key: str) -> tuple[int, bool, bool]:
    """Return the sort key of documents: the deepest first, then consolidated metadata, a root's own last."""
    name = key.rpartition("/")[2]
    return -key.count("/"), name == ".zmetadata", name in ("zarr.json", ".zgroup")


def apply(store: Extensible, extension: ExtendJournal) -> None:
    """Put a committed extension in its place, and remove the journal. Raises OSError."""
    with unstopped():
        for key in extension.staged:
            store.move(STAGED + key, key)
        store.remove(extension.removed)
        for key in sorted(extension.documents, key=turn):
            store.put(key, extension.documents[key].encode("utf-8", "surrogateescape"))
        store.remove([JOURNAL])


def new_run() -> str:
    """Return an identifier of a run."""
    return os.urandom(8).hex()
