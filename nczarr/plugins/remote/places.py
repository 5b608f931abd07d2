"""URLs of all protocols that fsspec knows, as places of the compiler. Each method loads what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.base import Extensible, Store
from nczarr.stores.lock import Lock
from nczarr.stores.places import Obstacle, RemoteFile, RemotePlaces, Unfinished

if TYPE_CHECKING:
    from nczarr.plugins.remote.connection import FileConnection
    from nczarr.stores.base import StoreJournal


class UrlPlaces(RemotePlaces):
    """Places behind fsspec."""

    def connect(
        self,
        url: str,
        storage: StorageOptions = NO_OPTIONS,
        make_system: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> FileConnection:
        """Return a connection, which is opened on first use."""
        from nczarr.plugins.remote.connection import FileConnection

        return FileConnection(url, storage, make_system)

    def open_path(self, url: str, storage: StorageOptions, is_ranged: Callable[[bytes], bool]) -> Source | Store:
        """Open a folder or archive as store, else one file. Raises OSError, BadURLError, MissingProtocolError."""
        from nczarr.plugins.remote.open import open_path

        return open_path(url, storage, is_ranged)

    def reopen(self, path: str, remote: RemoteFile | None, *, tail: bool) -> RemoteFile:
        """Return a file as if it were opened first. Raises OSError."""
        from nczarr.plugins.remote.connection import LocalConnection
        from nczarr.plugins.remote.ranged_file import RangedFile

        connection: Any = LocalConnection(path) if remote is None else remote.connection
        return RangedFile.of(connection, tail=tail)

    def is_store(self, url: str, storage: StorageOptions) -> bool:
        """Return whether a folder is at a URL; else it is one object. Raises OSError if it is missing."""
        from nczarr.plugins.remote.open import is_folder
        from nczarr.plugins.remote.remote_store import RemoteStore

        return is_folder(RemoteStore(url, storage))

    def find_obstacle(self, url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
        """Return the existing content at the URL of a new store or file, or None. Raises OSError."""
        from nczarr.plugins.remote.open import obstacle

        return obstacle(url, storage, store=store)

    def identify(self, url: str, storage: StorageOptions) -> str | None:
        """Return a text that changes with the content; None if changes are not detectable. Raises OSError."""
        from nczarr.plugins.remote.open import identify

        return identify(url, storage)

    def lock(self, url: str, storage: StorageOptions, *, checks: bool) -> Lock:
        """Lock a target. Raises BusyTargetError, OSError."""
        from nczarr.plugins.remote.lock_object import lock_object

        return lock_object(url, storage, checks=checks)

    def write_file(self, url: str, storage: StorageOptions) -> AbstractContextManager[Unfinished]:
        """Provide a temporary file, which is sent at the end of the block if that succeeds."""
        from nczarr.plugins.remote.open import write_file

        return write_file(url, storage)

    def begin_store(
        self, url: str, storage: StorageOptions, *, journal: StoreJournal, overwrite: bool, resume: bool
    ) -> Store:
        """Begin a store of keys. Raises OSError, FileExistsError, CompileError with busy-target."""
        from nczarr.plugins.remote.remote_target import RemoteTarget

        return RemoteTarget(url, storage, journal=journal, overwrite=overwrite, resume=resume)

    def begin_archive(self, url: str, storage: StorageOptions) -> Store:
        """Begin an archive, which is sent when it is finished. Raises OSError."""
        from nczarr.plugins.remote.remote_target import SentZip

        return SentZip(url, storage)

    def extend(self, url: str, storage: StorageOptions) -> Extensible:
        """Return an existing store for changes. Raises OSError if the protocol does not replace objects at once."""
        from nczarr.plugins.remote.remote_target import ExtensibleObjects

        return ExtensibleObjects(url, storage)

    def remove_objects(self, url: str, storage: StorageOptions) -> None:
        """Remove all objects below a URL, if its protocol has objects that other programs see. Raises OSError."""
        connection = self.connect(url, storage)
        if not connection.is_object_store or connection.protocol == "memory":
            return
        root = f"{connection.root}/"
        connection.remove([str(entry["name"]).removeprefix(root) for entry in connection.listing("")])


PLACES = UrlPlaces()
