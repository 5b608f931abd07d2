"""Existing stores that are extended in place: a folder, or objects at a URL. Each key is replaced at once."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable
from contextlib import suppress

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.base import JOURNAL, safe_key
from nczarr.stores.directory import GROWING, DirectoryStore, DirectoryTarget
from nczarr.stores.extension import Extensible
from nczarr.stores.remote import RemoteStore
from nczarr.stores.remote_target import RemoteTarget
from nczarr.stores.url import is_remote


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
        with open(growing, "xb") as file:
            file.write(journal)
        try:
            os.link(growing, f"{self._real}/{JOURNAL}")
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(f"{self._real}/{JOURNAL}"):
                return False
            os.rename(growing, f"{self._real}/{JOURNAL}")
            return True
        finally:
            with suppress(FileNotFoundError):
                os.unlink(growing)
        return True

    def move(self, key: str, target: str) -> None:
        """Rename a key; a missing one is in its place. Raises OSError."""
        self._make(safe_key(target).rpartition("/")[0])
        with suppress(FileNotFoundError):
            os.replace(f"{self._real}/{safe_key(key)}", f"{self._real}/{target}")

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


class ExtensibleObjects(RemoteTarget):
    """Objects below a URL. Raises OSError if the protocol does not replace objects at once."""

    def __init__(self, url: str, options: StorageOptions = NO_OPTIONS) -> None:
        RemoteStore.__init__(self, url, options)
        if not self.connection.is_object_store:
            text = "this protocol does not replace objects at once, so the target could be seen half written"
            raise OSError(errno.EOPNOTSUPP, text, self.path)

    def is_done(self, key: str) -> bool:
        """Return False: the run knows what is done."""
        return False

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key as they are now, or None. Raises OSError, UnsafeKeyError."""
        return self._fetch(safe_key(key), None)

    def claim(self, journal: bytes) -> bool:
        """Create the journal; return False if there is one already. Raises OSError."""
        if self.get(JOURNAL) is not None:
            return False
        with suppress(OSError):  # not all know how to create; what is there then tells
            self.connection.call("pipe_file", JOURNAL, journal, mode="create")
        there = self.get(JOURNAL)
        if there is None:
            self._put(JOURNAL, journal)
            there = self.get(JOURNAL)
        return there == journal

    def move(self, key: str, target: str) -> None:
        """Copy an object and remove the first; a missing one is in its place. Raises OSError."""
        data = self.get(key)
        if data is not None:
            self._put(safe_key(target), data)
            self.connection.remove([key])

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored. Raises OSError."""
        some: Collection[str] = list(keys)
        if some:
            self.connection.remove(list(some))

    def tidy(self) -> None:
        """Do nothing: no object is incomplete."""
        return


def extensible(path: str, storage: StorageOptions) -> Extensible:
    """Return the store at a path or URL for writing. Raises OSError."""
    return ExtensibleObjects(path, storage.of("target")) if is_remote(path) else ExtensibleFolder(path)
