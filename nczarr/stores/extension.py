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
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Literal, NamedTuple

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.stores.base import JOURNAL, Extensible, Store, safe_key
from nczarr.stores.commitment import after_commit, forget_commits
from nczarr.stores.directory import GROWING, DirectoryStore, DirectoryTarget
from nczarr.stores.finish import delay_signals
from nczarr.stores.folder_moves import Moves, StoreWithMoves
from nczarr.stores.overlay import Overlay
from nczarr.stores.places import find_places
from nczarr.stores.url import is_remote

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


def decode_text(data: bytes) -> str:
    """Return a document as text of a JSON file; invalid UTF-8 becomes surrogates."""
    return data.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """Invert `decode_text`. Raises UnicodeEncodeError."""
    return text.encode("utf-8", "surrogateescape")


def texts_of(documents: Mapping[str, bytes]) -> dict[str, str]:
    """Return documents for a journal."""
    return {key: decode_text(data) for key, data in documents.items()}


def view(store: Store, extension: ExtendJournal) -> Store:
    """Return the state of a store with this journal, which it does not show: as before, or when committed as after."""
    if extension.folders:
        store = StoreWithMoves(store, extension.folders)
    if extension.state == "writing":
        return Overlay(store, {}, removed=frozenset({JOURNAL}))
    documents = {key: encode_text(text) for key, text in extension.documents.items()}
    moved = {key: STAGED + key for key in extension.staged}
    return Overlay(store, documents, moved, frozenset({JOURNAL, *extension.removed}))


def turn(key: str) -> tuple[int, bool, bool]:
    """Return the sort key of documents: the deepest first, then consolidated metadata, a root's own last."""
    name = key.rpartition("/")[2]
    return -key.count("/"), name == ".zmetadata", name in ("zarr.json", ".zgroup")


def apply(store: Extensible, extension: ExtendJournal) -> None:
    """Put a committed extension in its place, remove the journal, then what is incomplete. Raises CommittedError."""
    with delay_signals(), after_commit(store.path):
        for old, new in extension.folders:
            store.move_folder(old, new)
        for key in extension.staged:
            store.move(STAGED + key, key)
        for documents in _turns(extension.documents):
            store.put_several(documents)
        store.remove(extension.removed)
        store.remove([JOURNAL])
        if extension.staged:
            store.tidy()


def complete(store: Extensible, extension: ExtendJournal) -> None:
    """Apply an extension that an earlier run committed: the target reads as before. Raises CommittedError."""
    apply(store, extension)
    forget_commits()


def _turns(documents: Mapping[str, str]) -> Iterator[dict[str, bytes]]:
    """Yield documents in the order of `turn`, those of one turn together."""
    for _, keys in groupby(sorted(documents, key=turn), turn):
        yield {key: encode_text(documents[key]) for key in keys}


def new_run() -> str:
    """Return an identifier of a run."""
    return os.urandom(8).hex()


class ExtensibleFolder(DirectoryTarget):
    """A folder. A key is replaced by the rename of a new file."""

    def __init__(self, path: str) -> None:
        DirectoryStore.__init__(self, path)
        self._made: set[str] = {""}
        self._open = False
        self._whole = True

    def is_done(self, key: str) -> bool:
        """Return False: the run knows what is done."""
        return False

    def claim(self, journal: bytes) -> bool:
        """Create the journal; return False if there is one already. Raises OSError."""
        growing = f"{self._real}/{GROWING}{os.urandom(8).hex()}"
        try:
            with open(growing, "xb") as file:
                file.write(journal)
            return self._place(growing)
        except OSError as error:
            error.filename = error.filename or self._real
            raise
        finally:
            with suppress(OSError):  # `tidy` removes it later
                os.unlink(growing)

    def _place(self, growing: str) -> bool:
        """Make a whole file the journal; return False if there is one already. Raises OSError."""
        try:
            os.link(growing, f"{self._real}/{JOURNAL}")
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(f"{self._real}/{JOURNAL}"):
                return False
            os.rename(growing, f"{self._real}/{JOURNAL}")
        return True

    def put_several(self, documents: Mapping[str, bytes]) -> None:
        """Write files. Raises OSError, UnsafeKeyError."""
        for key, data in documents.items():
            self.put(key, data)

    def move(self, key: str, target: str) -> None:
        """Rename a key; a missing one is in its place. Raises OSError."""
        self._make(safe_key(target).rpartition("/")[0])
        with suppress(FileNotFoundError):
            os.replace(f"{self._real}/{safe_key(key)}", f"{self._real}/{target}")

    def move_folder(self, folder: str, target: str) -> None:
        """Rename a folder; a missing one is in its place. Raises OSError."""
        with suppress(FileNotFoundError):
            os.rename(f"{self._real}/{safe_key(folder)}", f"{self._real}/{safe_key(target)}")
        self._made = {""}

    def remove(self, keys: Iterable[str]) -> None:
        """Remove files; missing ones are ignored. Raises OSError."""
        for key in keys:
            with suppress(FileNotFoundError):
                os.unlink(f"{self._real}/{safe_key(key)}")

    def tidy(self) -> None:
        """Remove incomplete files, and empty folders of staged chunks. Raises OSError."""
        self._remove_halves()
        self.drop_folder(".nczarr-append")

    def drop_folder(self, folder: str) -> None:
        """Remove a folder without files. Raises OSError."""
        for below, _, _ in os.walk(f"{self._real}/{folder}", topdown=False):
            with suppress(OSError):
                os.rmdir(below)


def extensible(path: str, storage: StorageOptions) -> Extensible:
    """Return the store at a path or URL for writing. Raises OSError."""
    return find_places(path).extend(path, storage.of("target")) if is_remote(path) else ExtensibleFolder(path)
