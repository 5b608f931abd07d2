"""Sources for which xarray takes this engine by itself: those of formats that no other engine reads."""

from __future__ import annotations

import os

from nczarr import registry
from nczarr.diagnostics.source import HEAD
from nczarr.registry import Format
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.repository.layout import is_repository
from nczarr.stores.url import BadURLError, location

_ARCHIVE = b"PK"


def claims(path: str) -> bool:
    """Return whether a path or URL has a format that no other engine reads, from its name and first bytes.

    Never raises: what cannot be read is not claimed.
    """
    try:
        place = location(path)
        if place.service or place.repository:
            return True
        if place.remote or not os.path.exists(place.path):
            return _by_suffix(place.path.partition("?")[0])
        if os.path.isdir(place.path):
            return _is_claimed_store(place.path)
        with open(place.path, "rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError, BadURLError):
        return False
    if head.startswith(_ARCHIVE):
        return _by_suffix(place.path)
    form = registry.detect("", head)  # a suffix is no evidence: JSON may be anything
    return form is not None and form.only_reader


def _claimed() -> list[Format]:
    return [row for row in registry.formats() if row.only_reader]


def _by_suffix(path: str) -> bool:
    return path.rstrip("/").lower().endswith(tuple(suffix for row in _claimed() for suffix in row.suffixes))


def _is_claimed_store(path: str) -> bool:
    """Return whether a folder has a claimed format. Raises OSError."""
    if is_repository(path):
        return True
    store = DirectoryStore(path)
    return any(row.holds is not None and registry.load(row.holds)(store) for row in _claimed())
