"""Repositories and their read-only sessions, opened by icechunk."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from typing import Any

from nczarr.diagnostics.report import suggest
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.icechunk.library import explain, failing, is_foreign, load_library
from nczarr.plugins.icechunk.storage import retrying, storage_of
from nczarr.stores.url import Repository

_NO_SNAPSHOT = re.compile(r"invalid snapshot id|snapshot (?:id )?not found", re.IGNORECASE)


class UnknownRevisionError(ValueError):
    """A branch, tag or snapshot that a repository does not have; `helps` names those that it has."""

    def __init__(self, text: str, helps: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.helps = helps


def is_repository(path: str) -> bool:
    """Return whether a local folder is a repository. Raises OSError if it is inaccessible."""
    return not {"repo", "refs"}.isdisjoint(os.listdir(path))


def _check_place(repository: Repository) -> None:
    """Raise OSError without a repository at a local path: icechunk 1 would make a folder there, or panic."""
    if repository.local and not is_repository(repository.place):
        raise OSError(errno.EINVAL, "it is not an icechunk repository", repository.place)


def configuration(repository: Repository, storage: StorageOptions = NO_OPTIONS) -> Any:
    """Return the configuration that a repository stores. Raises OSError, BadURLError."""
    ice = load_library()
    _check_place(repository)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        return ice.Repository.fetch_config(place) or ice.RepositoryConfig.default()


def open_repository(
    repository: Repository, storage: StorageOptions, config: Any, credentials: Mapping[str, Any]
) -> Any:
    """Open a repository with a configuration and credentials by prefix of its containers. Raises as `configuration`."""
    ice = load_library()
    _check_place(repository)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        try:
            return ice.Repository.open(
                place, config=retrying(config, storage), authorize_virtual_chunk_access=dict(credentials)
            )
        except ValueError:  # icechunk reads containers that 0.1 and 0.2 stored, but refuses to be given them
            return ice.Repository.open(place)


def session_of(opened: Any, repository: Repository, storage: StorageOptions = NO_OPTIONS) -> Any:
    """Return a read-only session at a revision. Raises OSError, UnknownRevisionError."""
    kind, name = repository.kind, repository.revision
    with failing(repository.place, storage):
        if kind == "snapshot":
            return _at_snapshot(opened, name)
        revisions = opened.list_branches() if kind == "branch" else opened.list_tags()
        if name in revisions:
            return opened.readonly_session(**{kind: name})
    helps = tuple(suggest(name, revisions))
    if revisions and not helps:
        words = {"branch": "branches", "tag": "tags"}[kind]
        helps = (f"its {words}: " + ", ".join(f"`{revision}`" for revision in sorted(revisions)[:8]),)
    raise UnknownRevisionError(f"the repository has no {kind} `{name}`", helps)


def _at_snapshot(opened: Any, name: str) -> Any:
    """Return the session at a snapshot. Raises UnknownRevisionError, and what icechunk raises."""
    try:
        return opened.readonly_session(snapshot_id=name)
    except BaseException as error:
        if is_foreign(error) and _NO_SNAPSHOT.search(explain(error)):
            raise UnknownRevisionError(f"the repository has no snapshot `{name}`") from None
        raise


def snapshot_at(repository: Repository, storage: StorageOptions = NO_OPTIONS) -> str:
    """Return the identifier of the snapshot at a revision. Raises OSError, BadURLError, UnknownRevisionError."""
    opened = open_repository(repository, storage, configuration(repository, storage), {})
    return str(session_of(opened, repository, storage).snapshot_id)
