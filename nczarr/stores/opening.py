"""What lies at a path: a file, or a store of keys. Detection is by content, never by suffix."""

from __future__ import annotations

import os

from nczarr.source import Source
from nczarr.stores.base import Store
from nczarr.stores.single import open_source
from nczarr.stores.url import BadURLError, location

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How an archive begins; the second is that of an empty one."""


def open_path(path: str) -> Source | Store:
    """The folder or archive at a path or `file://` URL as a store, anything else as one text or file.

    Raises OSError, BadURLError.
    """
    path = location(path).path
    if os.path.isdir(path):
        from nczarr.stores.directory import DirectoryStore

        return DirectoryStore(path)
    source = open_source(path)
    if not source.data[:4].startswith(_ZIP):
        return source
    from nczarr.stores.zip import ZipStore

    return ZipStore(path)


def is_store(path: str) -> bool:
    """Whether there is a folder or archive at a path or URL; what cannot be looked at is none."""
    try:
        place = location(path).path
        if os.path.isdir(place):
            return True
        with open(place, "rb") as file:
            return file.read(4) in _ZIP
    except (OSError, BadURLError):
        return False
