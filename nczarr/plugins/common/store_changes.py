"""Changes of existing stores: their order of writes, and their completion after an interruption.

The journal is that of `stores/extension.py`. Every step of `apply` can be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import groupby

from nczarr import names
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.stores.base import JOURNAL, Extensible, safe_key
from nczarr.stores.commitment import after_commit, forget_commits
from nczarr.stores.directory import GROWING, DirectoryStore, DirectoryTarget
from nczarr.stores.extension import STAGED, ExtendJournal
from nczarr.stores.finish import delay_signals
from nczarr.stores.places import find_places
from nczarr.stores.url import is_remote


def texts_of(documents: Mapping[str, bytes]) -> dict[str, str]:
    """Return documents for a journal."""
    return {key: names.from_bytes(data) for key, data in documents.items()}


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
        for _, keys in groupby(sorted(extension.documents, key=turn), turn):  # those of one turn together
            store.put_several({key: names.to_bytes(extension.documents[key]) for key in keys})
        store.remove(extension.removed)
        store.remove([JOURNAL])
        if extension.staged:
            store.tidy()


def complete(store: Extensible, extension: ExtendJournal) -> None:
    """Apply an extension that an earlier run committed: the target reads as before. Raises CommittedError."""
    apply(store, extension)
    forget_commits()


def new_run() -> str:
    """Return an identifier of a run."""
    return os.urandom(8).hex()


class ExtensibleFolder(DirectoryTarget):
    """A folder. A key is replaced by the rename of a new file."""

    def __init__(self, path: str) -> None:
        DirectoryStore.__init__(self, path)
        self._made: set[str] = {""}
        self._open = False
        self._has_journal = True

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
        self._remove_partial_files()
        self.drop_folder(".nczarr-append")

    def drop_folder(self, folder: str) -> None:
        """Remove a folder without files. Raises OSError."""
        for below, _, _ in os.walk(f"{self._real}/{folder}", topdown=False):
            with suppress(OSError):
                os.rmdir(below)


def extensible(path: str, storage: StorageOptions) -> Extensible:
    """Return the store at a path or URL for writing. Raises OSError."""
    return find_places(path).extend(path, storage.of("target")) if is_remote(path) else ExtensibleFolder(path)
