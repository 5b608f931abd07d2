"""Layout of an icechunk repository in a local folder, by which it is recognized without its library."""

from __future__ import annotations

import os
from contextlib import suppress

from nczarr.stores.base import ROOT_KEYS

MAGIC = "ICE🧊CHUNK".encode()
"""First bytes of the documents of a repository."""


def is_repository(folder: str) -> bool:
    """Return whether a local folder is a repository; False if it is inaccessible.

    Version 2 has the document `repo`, version 1 a folder `refs/branch.NAME` for each
    branch; both have snapshots. A folder with the root document of a store is a store.
    """
    if not os.path.isdir(os.path.join(folder, "snapshots")):
        return False
    if any(os.path.lexists(os.path.join(folder, key)) for key in ROOT_KEYS):
        return False
    return _has_document(folder) or _has_branch(folder)


def _has_document(folder: str) -> bool:
    """Return whether a folder has the document of version 2."""
    with suppress(OSError), open(os.path.join(folder, "repo"), "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _has_branch(folder: str) -> bool:
    """Return whether a folder has a branch of version 1."""
    with suppress(OSError):
        return any(name.startswith("branch.") for name in os.listdir(os.path.join(folder, "refs")))
    return False
