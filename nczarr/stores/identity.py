"""Whether what lies at a path or URL is still what it was: a text that changes when it does, without reading it whole.

A file's is its size and the time of its last change, a folder's those of all files in it; an object's is what its
server tells of it, a digest if there is one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.url import location

_TELLING = ("ETag", "etag", "md5Hash", "content_settings", "version_id", "VersionId", "generation", "mtime",
            "LastModified", "last_modified", "updated", "created")  # fmt: skip
"""Members of what libraries tell of an object that change with it."""


def identity(path: str, storage: StorageOptions = NO_OPTIONS) -> str | None:
    """The text for a path or URL; None for what nobody tells the changes of: stores on web servers, datasets that a
    server gives by sections.

    Raises OSError if it is out of reach.
    """
    place = location(path)
    if place.service:
        return None
    if place.remote:
        return _of_remote(path, storage)
    if not os.path.isdir(place.path):
        return _line("", os.stat(place.path))
    found = []
    for folder, _, files in os.walk(place.path):
        for name in files:
            whole = os.path.join(folder, name)
            found.append(_line(os.path.relpath(whole, place.path), os.lstat(whole)))
    return _digest(sorted(found))


def _line(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def _of_remote(url: str, storage: StorageOptions) -> str | None:
    from nczarr.stores.probe import is_folder
    from nczarr.stores.remote import RemoteStore

    store = RemoteStore(url, storage)
    if not is_folder(store):
        return _digest([told_of(store.connection.call("info", ""))])
    if not store.listed:
        return None
    return _digest(sorted(f"{info['name']} {told_of(info)}" for info in store.connection.listing("")))


def told_of(info: dict[str, Any]) -> str:
    """What a library tells of an object that changes with it."""
    return " ".join([str(info.get("size")), *(str(info[name]) for name in _TELLING if name in info)])


def _digest(lines: Iterable[str]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return found.hexdigest()
