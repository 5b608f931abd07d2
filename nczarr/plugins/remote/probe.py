"""Inspection of a remote place before it is read or written."""

from __future__ import annotations

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.remote.object_record import describe_object
from nczarr.plugins.remote.remote_store import RemoteStore
from nczarr.stores.base import JOURNAL, ROOT_KEYS
from nczarr.stores.places import Obstacle
from nczarr.stores.stat import digest
from nczarr.stores.url import WEB


def is_folder(store: RemoteStore) -> bool:
    """Return whether keys are below a URL; else it is one object. Raises OSError if it is missing.

    Web servers have no folders: if they answer "not found" or with a page, the
    documents of a store decide.
    """
    connection = store.connection
    if connection.place.path.endswith("/"):
        return True
    try:
        info = connection.call("info", "")
    except FileNotFoundError:
        if connection.protocol in WEB and _has_root(store):
            return True
        raise
    except PermissionError:  # a question without an answer's body; a listing has the server's reason
        connection.call("ls", "")
        raise
    if info.get("type") == "directory":  # in an archive also on a web server
        return True
    return connection.protocol in WEB and "html" in str(info.get("mimetype", "")) and _has_root(store)


def _has_root(store: RemoteStore) -> bool:
    store.expect(ROOT_KEYS)
    documents = (store.get(key) for key in ROOT_KEYS)  # some servers answer every request with a page
    return any(document is not None and not document.lstrip().startswith(b"<") for document in documents)


def obstacle(url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
    """Return the existing content at the URL of a new store or file, or None. Raises OSError.

    A store may replace a store, a file a file. Folders with other content may
    be user data.
    """
    place = RemoteStore(url, storage)
    try:
        folder = is_folder(place)
    except FileNotFoundError:
        return None
    names = place.children("") if folder else []
    if not folder:
        return Obstacle("is one object, not a folder" if store else "exists", replaceable=not store)
    if not names:
        return None
    if not store:
        return Obstacle("is a folder", replaceable=False)
    if JOURNAL in names:
        return Obstacle("is incomplete", replaceable=True, unfinished=True)
    if not set(ROOT_KEYS).intersection(names):
        return Obstacle("is a folder that is not a store", replaceable=False)
    return Obstacle("exists", replaceable=True)


def identify(url: str, storage: StorageOptions) -> str | None:
    """Return a text that changes with the content at a URL; None if changes are not detectable. Raises OSError."""
    store = RemoteStore(url, storage)
    if not is_folder(store):
        return digest([describe_object(store.connection.call("info", ""))])
    if not store.listed:
        return None
    return digest(sorted(f"{info['name']} {describe_object(info)}" for info in store.connection.listing("")))
