"""Opening of a path or URL: a file, or a store of keys. Detection is by content, not by suffix."""

from __future__ import annotations

import os

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.source import Source
from nczarr.stores.base import Store
from nczarr.stores.single import open_source
from nczarr.stores.url import BadURLError, location

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""Magic numbers of archives; the second is for empty ones."""


def open_path(path: str, storage: StorageOptions = NO_OPTIONS) -> Source | Store:
    """Open a folder, archive or repository as store, else one file.

    Raises OSError, BadURLError, MissingProtocolError.
    """
    place = location(path)
    if place.repository:
        from nczarr.stores.repository.session_store import RepositoryStore

        return RepositoryStore(place.repository, storage)
    if place.service:
        from nczarr.stores.cdm_remote import served

        return served(path, storage)
    if place.remote:
        return _open_remote(path, storage)
    path = place.path
    if os.path.isdir(path):
        from nczarr.stores.directory import DirectoryStore

        return DirectoryStore(path)
    return _open_file(path, path)


def _open_file(path: str, name: str) -> Source | Store:
    """Open an archive or file; `name` is its display name."""
    source = open_source(path, name)
    if not source.data[:4].startswith(_ZIP):
        return source
    from nczarr.stores.zip import ZipStore

    return ZipStore(path, name)


def _open_remote(url: str, storage: StorageOptions) -> Source | Store:
    from nczarr.stores.probe import is_folder
    from nczarr.stores.remote import RemoteStore

    store = RemoteStore(url, storage)
    if is_folder(store):
        return store
    from nczarr.stores.spool import fetched

    return _open_file(fetched(store.connection), store.path)


def is_store(path: str, storage: StorageOptions = NO_OPTIONS) -> bool:
    """Return whether a folder or archive is at a path or URL; False if inaccessible."""
    try:
        place = location(path)
        if place.service or place.repository:
            return place.repository is not None
        if place.remote:
            from nczarr.stores.probe import is_folder
            from nczarr.stores.remote import RemoteStore

            return path.lower().endswith(".zip") or is_folder(RemoteStore(path, storage))
        if os.path.isdir(place.path):
            return True
        with open(place.path, "rb") as file:
            return file.read(4) in _ZIP
    except (OSError, BadURLError, ImportError):
        return False
