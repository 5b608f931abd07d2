"""Locations of repositories: `icechunk:` before a path or URL, and folders that are repositories.

    icechunk:s3://bucket/repository#branch=main

`#branch=…`, `#tag=…` or `#snapshot=…` names the revision. Nothing here needs the library.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.stores import local_paths
from nczarr.stores.base import ROOT_KEYS, Store
from nczarr.stores.url import BadURLError, Location, LocationKind, Repository, location, trim

FORMAT = "icechunk"

MAGIC = "ICE🧊CHUNK".encode()  # its files begin so
"""First bytes of the documents of a repository."""

_REVISION = r"(?s)(branch|tag|snapshot)=(.+)"


def locate(text: str, rest: str) -> Location:
    """Return the location of a text whose part behind the prefix names a repository. Raises BadURLError."""
    return Location(text, remote=True, repository=_parse(rest))


def _parse(text: str) -> Repository:
    """Return the repository and revision that a text without its prefix names. Raises BadURLError."""
    path, mark, fragment = text.rpartition("#")
    revision = re.fullmatch(_REVISION, fragment) if mark else None
    if mark and revision is None:
        raise BadURLError(f"`{fragment}` follows `#`, where `branch=…`, `tag=…` or `snapshot=…` is expected")
    place = location(path if mark else text)
    if place.kind or place.modes or "::" in place.path:
        raise BadURLError("a repository is in a folder or below the URL of an object store")
    if not place.path or "\0" in place.path:
        raise BadURLError("the URL names no repository")
    where = trim(place.path)
    if revision is None:
        return Repository(FORMAT, where)
    return Repository(FORMAT, where, revision[1], revision[2])  # type: ignore[arg-type]


def find_repository(folder: str) -> Repository | None:
    """Return the repository that a local folder is, with its branch `main`; None for others and inaccessible ones.

    Version 2 has the document `repo`, version 1 a folder `refs/branch.NAME` for each
    branch; both have snapshots. A folder with the root document of a store is a store.
    """
    if not os.path.isdir(local_paths.join(folder, "snapshots")):
        return None
    if any(os.path.lexists(local_paths.join(folder, key)) for key in ROOT_KEYS):
        return None
    return Repository(FORMAT, folder) if _has_document(folder) or _has_branch(folder) else None


def _has_document(folder: str) -> bool:
    """Return whether a folder has the document of version 2."""
    with suppress(OSError), open(local_paths.join(folder, "repo"), "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _has_branch(folder: str) -> bool:
    """Return whether a folder has a branch of version 1."""
    with suppress(OSError):
        return any(name.startswith("branch.") for name in os.listdir(local_paths.join(folder, "refs")))
    return False


def open_revision(path: str, place: Location, storage: StorageOptions) -> Source | Store:
    """Return the store of a repository, which is not open yet. Raises MissingProtocolError."""
    from nczarr.plugins.icechunk.session_store import RepositoryStore

    assert place.repository is not None
    return RepositoryStore(place.repository, storage)


def identify(place: Location, storage: StorageOptions) -> str:
    """Return the snapshot of a revision. Raises OSError, BadURLError, MissingProtocolError."""
    from nczarr.plugins.icechunk.repositories import snapshot_at

    assert place.repository is not None
    return snapshot_at(place.repository, storage)


KIND = LocationKind(locate, open_revision, identify)
