"""What is at a remote place, before anything is read from it or written to it."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.secrets import StorageOptions
from nczarr.stores.base import JOURNAL, ROOT_KEYS
from nczarr.stores.connection import WEB
from nczarr.stores.remote import RemoteStore


def is_folder(store: RemoteStore) -> bool:
    """Whether keys lie below a URL; else there is one object. Raises OSError if there is nothing, or no way to it.

    A web server has no folders: where it says that there is nothing, or a page, the documents of a store decide.
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
    if connection.protocol in WEB:
        return "html" in str(info.get("mimetype", "")) and _has_root(store)
    return bool(info.get("type") == "directory")


def _has_root(store: RemoteStore) -> bool:
    store.expect(ROOT_KEYS)
    return any(store.get(key) is not None for key in ROOT_KEYS)


class Obstacle(NamedTuple):
    """What stands at the place of a target: `words` that follow its name."""

    words: str
    replaceable: bool
    """Whether `--overwrite` may replace it."""
    unfinished: bool = False


def obstacle(url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
    """What stands at a URL where a store or single file is to be; None if nothing does. Raises OSError.

    A store makes way for a store, a file for a file. A folder with other things in it may be somebody's bucket.
    """
    place = RemoteStore(url, storage)
    try:
        folder = is_folder(place)
    except FileNotFoundError:
        return None
    held = place.children("") if folder else []
    if not folder:
        return Obstacle("is one object, not a folder" if store else "exists", replaceable=not store)
    if not held:
        return None
    if not store:
        return Obstacle("is a folder", replaceable=False)
    if JOURNAL in held:
        return Obstacle("is not finished", replaceable=True, unfinished=True)
    if not set(ROOT_KEYS).intersection(held):
        return Obstacle("is a folder with other things than a store in it", replaceable=False)
    return Obstacle("exists", replaceable=True)
