"""Writable store that becomes one commit on a branch of a repository.

Chunks and documents are in a session until `seal` makes a snapshot of it, which
no branch names, and `finish` moves the branch to it. So a run that fails leaves
the branch as it was. A new local repository is made beside its place and moved
there; a new one at a URL is removed if the run fails.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan.plans import StorePlan
from nczarr.secrets import StorageOptions, shown
from nczarr.stores.base import Store, safe_key
from nczarr.stores.finish import obstacle, partial, put_in_place, unfinished, unstopped
from nczarr.stores.repository.library import failing, is_conflict, library, listed, result
from nczarr.stores.repository.sessions import configuration, is_repository, open_repository
from nczarr.stores.repository.storage import forget, retrying, storage_of
from nczarr.stores.url import Repository, location

MAIN = "main"
"""Branch of a new repository."""


def begin(path: str, plan: StorePlan, folder: Callable[[], Store]) -> tuple[Store, str]:
    """Return a new commit for a plan, and its place. Raises OSError, FileExistsError if the place is taken."""
    return RepositoryTarget(_repository(path), plan.options), path


def is_free(path: str, report: Report, options: Options) -> bool:
    """Return whether a commit can be made at a place; reports obstacles. Raises OSError, BadURLError."""
    repository, storage = _repository(path), options.storage.of("target")
    place = repository.place
    if repository.local and not os.path.lexists(place):
        folder = os.path.dirname(place)
        if not os.path.isdir(folder):
            number = errno.ENOTDIR if os.path.lexists(folder) else errno.ENOENT
            raise OSError(number, os.strerror(number), folder)
        library()
        return True
    if not _exists(repository, storage):
        problem = obstacle(place, store=True) if repository.local and options.overwrite else None
        if not repository.local or (options.overwrite and problem is None):
            return True
        text = f"`{place}` {problem or 'is not a repository'}"
        report.error("target-exists", text, helps=["choose another name, or remove the target yourself"])
        return False
    opened = open_repository(repository, storage, configuration(repository, storage), {})
    with failing(place, storage):
        if options.overwrite or repository.revision not in opened.list_branches():
            return True
        empty = not listed(opened.readonly_session(branch=repository.revision).store, "list_dir", "")
    if not empty:
        helps = ["replace it by a new commit with `--overwrite`, or name another branch"]
        report.error(
            "target-exists", f"the branch `{repository.revision}` of `{shown(place)}` has content", helps=helps
        )
    return empty


def _repository(path: str) -> Repository:
    found = location(path).repository
    assert found is not None
    return found.absolute


def _exists(repository: Repository, storage: StorageOptions) -> bool:
    """Return whether a repository is at a place. Raises OSError, BadURLError."""
    if repository.local:
        return os.path.isdir(repository.place) and is_repository(repository.place)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        return bool(library().Repository.exists(place))


class RepositoryTarget(Store):
    """A commit on a branch, created with the branch and the repository if they are missing."""

    documents_first = True

    def __init__(self, repository: Repository, options: Options) -> None:
        self._repository = repository
        self._storage = options.storage.of("target")
        self._overwrite = options.overwrite
        named = "Write a dataset" if options.source is None else f"Convert {shown(options.source)}"
        self._message = named if options.message is None else options.message
        self._metadata = {} if options.author is None else {"author": options.author}
        self._new = not _exists(repository, self._storage)
        self._growing = repository
        self._finished = False
        if self._new and repository.local:
            self._growing = repository._replace(place=partial(repository.place))
        self.path = repository.text
        self.distant = not repository.local
        self._opened = self._create() if self._new else self._open()
        with failing(repository.place, self._storage):
            self._begin()

    def _create(self) -> Any:
        ice, place = library(), storage_of(self._growing, self._storage)
        with failing(self._repository.place, self._storage):
            config = retrying(ice.RepositoryConfig.default(), self._storage)
            return ice.Repository.create(place, config=config)

    def _open(self) -> Any:
        return open_repository(self._repository, self._storage, configuration(self._repository, self._storage), {})

    def _begin(self) -> None:
        """Begin an empty session on the branch, or on the main branch if it is missing."""
        branch = self._repository.revision
        known = branch in self._opened.list_branches()
        self._base = self._opened.lookup_branch(branch) if known else None
        self._session = self._opened.writable_session(branch if known else MAIN)
        if listed(self._store, "list_dir", ""):
            self._session.store.sync_clear()

    @cached_property
    def _store(self) -> Any:
        return self._session.store

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        from zarr.core.buffer import default_buffer_prototype

        with failing(self._repository.place, self._storage):
            found = result(self._store.get(safe_key(key), default_buffer_prototype()))
        return None if found is None else bytes(found.to_bytes())

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError."""
        with failing(self._repository.place, self._storage):
            found = listed(self._store, "list_prefix", prefix.rpartition("/")[0])
        return iter(sorted(key for key in found if key.startswith(prefix)))

    def put(self, key: str, data: bytes) -> None:
        """Set a key in the session. Raises OSError, UnsafeKeyError."""
        from zarr.core.buffer import cpu

        with failing(self._repository.place, self._storage):
            result(self._store.set(safe_key(key), cpu.Buffer.from_bytes(data)))

    def seal(self) -> None:
        """Make a snapshot, which no branch names yet. Raises OSError."""
        if self.sealed is None:
            with failing(self._repository.place, self._storage):
                self._snapshot = self._session.flush(self._message, metadata=self._metadata)
            self.sealed = self._growing._replace(kind="snapshot", revision=self._snapshot).text

    def finish(self) -> None:
        """Move the branch to the snapshot. Raises OSError, also if the branch moved meanwhile."""
        self.seal()
        with unstopped():
            self._publish()
            if self._growing != self._repository:
                put_in_place(self._growing.place, self._repository.place, overwrite=self._overwrite)
            self._finished = True

    def _publish(self) -> None:
        branch, place = self._repository.revision, self._repository.place
        try:
            with failing(place, self._storage):
                if self._base is None:
                    self._opened.create_branch(branch, self._snapshot)
                else:
                    self._reset(branch)
        except OSError as error:
            error.add_note(f"the branch `{branch}` is unchanged")
            raise

    def _reset(self, branch: str) -> None:
        try:
            self._opened.reset_branch(branch, self._snapshot, from_snapshot_id=self._base)
        except BaseException as error:
            if is_conflict(error):
                text = f"another writer has changed the branch `{branch}` meanwhile"
                raise OSError(errno.EBUSY, text, shown(self._repository.place)) from None
            raise

    def abort(self) -> None:
        """Remove a new repository unless finished; an old one is unchanged. Raises OSError."""
        if self._finished:
            return
        self._finished = True
        with unstopped():
            if not self._new:
                return
            if self._repository.local:
                shutil.rmtree(self._growing.place, ignore_errors=True)
                unfinished.discard(self._growing.place)
                return
            forget(self._repository)
            with suppress(ImportError):  # fsspec removes what icechunk has no call for
                _remove(self._repository.place, self._storage)


def _remove(url: str, storage: StorageOptions) -> None:
    """Remove all objects of a new repository at a URL. Raises OSError."""
    from nczarr.stores.connection import Connection

    connection = Connection(url, storage)
    if not connection.is_object_store or connection.protocol == "memory":
        return
    root = f"{connection.root}/"
    connection.remove([str(each["name"]).removeprefix(root) for each in connection.listing("")])
