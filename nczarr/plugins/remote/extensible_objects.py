"""An existing store at a URL, whose objects are replaced."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.remote.remote_store import RemoteStore
from nczarr.plugins.remote.remote_target import RemoteTarget
from nczarr.stores.base import JOURNAL, safe_key

IN_FLIGHT = 16
"""Documents that are sent to a server at a time."""


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
        stored = self.get(JOURNAL)
        if stored is None:
            self._put(JOURNAL, journal)
            stored = self.get(JOURNAL)
        return stored == journal

    def put_several(self, documents: Mapping[str, bytes]) -> None:
        """Set keys, some at a time. Raises OSError, UnsafeKeyError."""
        with ThreadPoolExecutor(IN_FLIGHT) as threads:
            for _ in threads.map(self.put, documents, documents.values()):
                pass

    def move(self, key: str, target: str) -> None:
        """Copy an object and remove the first; a missing one is in its place. Raises OSError."""
        data = self.get(key)
        if data is not None:
            self._put(safe_key(target), data)
            self.connection.remove([key])

    def move_folder(self, folder: str, target: str) -> None:
        """Raise OSError: a bucket has no folders that move at once."""
        raise OSError(errno.EOPNOTSUPP, "keys of a bucket do not move at once", self.path)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored. Raises OSError."""
        some: Collection[str] = list(keys)
        if some:
            self.connection.remove(list(some))

    def tidy(self) -> None:
        """Do nothing: no object is incomplete."""
        return
