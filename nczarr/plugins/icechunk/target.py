"""Writable store that becomes one commit on a branch of a repository.

Chunks and documents are in a session until `seal` makes a snapshot of it, which
no branch names, and `finish` moves the branch to it. So a run that fails leaves
the branch as it was. A new local repository is made beside its place and moved
there; a new one at a URL is removed if the run fails.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from nczarr.arrays.chunks.manifest import WHOLE, PlaceColumns, Referred
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import indices_of, unravel
from nczarr.ast.rectilinear import Lengths, varies
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.options import Options
from nczarr.plan.plans import StorePlan
from nczarr.plugins.icechunk.library import failing, is_conflict, is_foreign, list_yielded, load_library, result
from nczarr.plugins.icechunk.repositories import (
    configuration,
    forget,
    is_repository,
    open_repository,
    retrying,
    storage_of,
)
from nczarr.plugins.icechunk.virtual_chunks import (
    Container,
    File,
    containers_for,
    file_at,
    find_unchanged_since,
    register,
)
from nczarr.stores import local_paths
from nczarr.stores.base import Store, is_metadata, safe_key
from nczarr.stores.commitment import note_commit
from nczarr.stores.finish import delay_signals, obstacle, partial, put_in_place, unfinished
from nczarr.stores.lock import report_changed
from nczarr.stores.stat import facts
from nczarr.stores.target_urls import UnnamedTargetError, UrlNaming
from nczarr.stores.url import Repository, location

if TYPE_CHECKING:
    from nczarr.plugins.icechunk.session_store import SessionStore

TOGETHER, HELD = 256, 4 << 20
"""Chunks, or bytes of chunks, that wait to be set together."""

MAIN = "main"  # every new repository has it
"""Branch of a new repository."""

NAMED_SINCE = 2
"""Version of the specification whose references may name a container."""


RECTILINEAR_SINCE = 2
"""First major version of icechunk that stores rectilinear grids."""


def begin(path: str, plan: StorePlan, folder: Callable[[], Store]) -> tuple[Store, str]:
    """Return a new commit for a plan, and its place.

    Raises OSError, FileExistsError if the place is taken, CompileError with
    `unmatched-chunks` for a grid that the installed icechunk cannot store.
    """
    _check_grids(plan)
    kind = VirtualTarget if plan.options.target.virtual else RepositoryTarget
    return kind(_repository(path), plan.options), path


def _check_grids(plan: StorePlan) -> None:
    """Raise CompileError for a rectilinear grid with icechunk 1, or with padded chunks.

    Icechunk 2 reads lists of lengths alone, not one length that repeats beyond
    the edge.
    """
    for path, targets in plan.targets.items():
        layouts = [target.layout for target in targets.values() if varies(target.layout.chunks)]
        version = load_library().__version__ if layouts else ""
        helps = ["omit `--grid rectilinear`"]
        if layouts and int(version.partition(".")[0]) < RECTILINEAR_SINCE:
            text = f"`{path}` has chunks of different lengths, which icechunk {version} cannot store"
            helps = [f"install icechunk {RECTILINEAR_SINCE} (Python 3.12 or later), or {helps[0]}"]
        else:
            padded = [
                f"{length} of {extent}"
                for layout in layouts
                for length, extent in zip(layout.chunks, layout.shape, strict=True)
                if not isinstance(length, Lengths) and extent % length
            ]
            if not padded:
                continue
            text = f"`{path}` has chunks of different lengths, and chunks beyond its edge (chunk length {padded[0]})"
            text += ", which icechunk cannot store together"
        raise CompileError([Diagnostic("unmatched-chunks", Severity.ERROR, text, helps=tuple(helps))])


def extend(path: str, options: Options, base: SessionStore) -> RepositoryTarget:
    """Return a new commit that begins with `base`, the content of its branch.

    Raises OSError, CompileError with `busy-target` if the branch has moved.
    """
    kind = VirtualTarget if options.target.virtual else RepositoryTarget
    target = kind(_repository(path), options, cleared=False)
    if target.base != base.snapshot:
        raise _describe_moved(base.repository)
    return target


def _describe_moved(repository: Repository) -> CompileError:
    """Return the error for a branch that another writer has moved."""
    return CompileError([report_changed(f"the branch `{repository.revision}` of `{show(repository.place)}`")])


def is_free(path: str, report: Report, options: Options) -> bool:
    """Return whether a commit can be made at a place; reports obstacles. Raises OSError, BadURLError."""
    repository, storage = _repository(path), options.run.storage.of("target")
    place = repository.place
    if repository.local and not os.path.lexists(place):
        folder = local_paths.parent_of(place)
        if not os.path.isdir(folder):
            number = errno.ENOTDIR if os.path.lexists(folder) else errno.ENOENT
            raise OSError(number, os.strerror(number), folder)
        load_library()
        return True
    if not _exists(repository, storage):
        problem = obstacle(place, store=True) if repository.local and options.target.overwrite else None
        if not repository.local or (options.target.overwrite and problem is None):
            return True
        text = f"`{place}` {problem or 'is not a repository'}"
        report.error("target-exists", text, helps=["choose another name, or remove the target yourself"])
        return False
    opened = open_repository(repository, storage, configuration(repository, storage), {})
    with failing(place, storage):
        if options.target.overwrite or repository.revision not in opened.list_branches():
            return True
        empty = not list_yielded(opened.readonly_session(branch=repository.revision).store, "list_dir", "")
    if not empty:
        helps = ["replace it by a new commit with `--overwrite`, or name another branch"]
        report.error("target-exists", f"the branch `{repository.revision}` of `{show(place)}` has content", helps=helps)
    return empty


def _repository(path: str) -> Repository:
    repository = location(path).repository
    assert repository is not None
    return repository.absolute


def _exists(repository: Repository, storage: StorageOptions) -> bool:
    """Return whether a repository is at a place. Raises OSError, BadURLError."""
    if repository.local:
        return os.path.isdir(repository.place) and is_repository(repository.place)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        return bool(load_library().Repository.exists(place))


class RepositoryTarget(Store):
    """A commit on a branch, created with the branch and the repository if they are missing."""

    documents_first = True

    def __init__(self, repository: Repository, options: Options, *, cleared: bool = True) -> None:
        self._cleared = cleared
        self._repository = repository
        self._storage = options.run.storage.of("target")
        self._overwrite = options.target.overwrite
        named = "Write a dataset" if options.reading.source is None else f"Convert {show(options.reading.source)}"
        self._message = named if options.target.message is None else options.target.message
        self._metadata = {} if options.target.author is None else {"author": options.target.author}
        self._new = not _exists(repository, self._storage)
        self._growing = repository
        self._finished = False
        self._lock = Lock()
        self._waiting: list[tuple[str, Any]] = []
        self._held = 0
        if self._new and repository.local:
            self._growing = repository._replace(place=partial(repository.place))
        self.path = repository.text
        self.distant = not repository.local
        try:
            self._opened = self._create() if self._new else self._open()
            with failing(repository.place, self._storage):
                self._begin()
        except BaseException:  # there is no target yet that its user could abort
            if repository.local:
                self.abort()
            raise

    def _create(self) -> Any:
        ice, place = load_library(), storage_of(self._growing, self._storage)
        with failing(self._repository.place, self._storage):
            config = retrying(ice.RepositoryConfig.default(), self._storage)
            return ice.Repository.create(place, config=config)

    def _open(self) -> Any:
        return open_repository(self._repository, self._storage, configuration(self._repository, self._storage), {})

    def _begin(self) -> None:
        """Begin a session on the branch, or on the main branch if it is missing; mostly an empty one."""
        branch = self._repository.revision
        exists = branch in self._opened.list_branches()
        self._base = self._opened.lookup_branch(branch) if exists else None
        self._session = self._opened.writable_session(branch if exists else MAIN)
        if self._cleared and list_yielded(self._store, "list_dir", ""):
            self._session.store.sync_clear()

    @cached_property
    def _store(self) -> Any:
        return self._session.store

    @property
    def base(self) -> str | None:
        """Identifier of the snapshot on which the commit is based; None on a new branch."""
        return self._base

    def remove(self, keys: Iterable[str]) -> None:
        """Remove keys from the session. Raises OSError."""
        with failing(self._repository.place, self._storage):
            for key in keys:
                result(self._store.delete(safe_key(key)))

    def get(self, key: str) -> bytes | None:
        from zarr.core.buffer import default_buffer_prototype

        with failing(self._repository.place, self._storage):
            data = result(self._store.get(safe_key(key), default_buffer_prototype()))
        return None if data is None else bytes(data.to_bytes())

    def keys(self, prefix: str = "") -> Iterator[str]:
        with failing(self._repository.place, self._storage):
            keys = list_yielded(self._store, "list_prefix", prefix.rpartition("/")[0])
        return iter(sorted(key for key in keys if key.startswith(prefix)))

    def put(self, key: str, data: bytes) -> None:
        """Set a key in the session, a chunk with the next ones. Raises OSError, also of other keys; UnsafeKeyError."""
        from zarr.core.buffer import cpu

        buffer = cpu.Buffer.from_bytes(data)
        if is_metadata(safe_key(key)):
            with failing(self._repository.place, self._storage):
                result(self._store.set(key, buffer))
            return
        with self._lock:
            self._waiting.append((key, buffer))
            self._held += len(data)
            if len(self._waiting) < TOGETHER and self._held < HELD:
                return
            taken = self._take()
        self._send(taken)

    def _take(self) -> list[tuple[str, Any]]:
        taken, self._waiting, self._held = self._waiting, [], 0
        return taken

    def _send(self, chunks: list[tuple[str, Any]]) -> None:
        """Set chunks side by side: one call of icechunk takes longer than a small chunk. Raises OSError."""

        async def together() -> None:
            await asyncio.gather(*(self._store.set(key, buffer) for key, buffer in chunks))

        with failing(self._repository.place, self._storage):
            result(together())

    def seal(self) -> None:
        """Make a snapshot, which no branch names yet. Raises OSError."""
        if self.sealed is None:
            self._send(self._take())
            with failing(self._repository.place, self._storage):
                self._snapshot = self._session.flush(self._message, metadata=self._metadata)
            self.sealed = self._growing._replace(kind="snapshot", revision=self._snapshot).text

    def finish(self) -> None:
        """Move the branch to the snapshot. Raises OSError, CompileError with `busy-target` if it moved meanwhile."""
        self.seal()
        with delay_signals():
            self._publish()
            if self._growing == self._repository:
                note_commit(self._repository.text)
            else:
                put_in_place(self._growing.place, self._repository.place, overwrite=self._overwrite)
            self._finished = True

    def _publish(self) -> None:
        """Make the commit visible on the branch; notes on failures that the branch is unchanged."""
        branch, place = self._repository.revision, self._repository.place
        try:
            with failing(place, self._storage):
                self._move(branch)
        except OSError as error:
            error.add_note(f"the branch `{branch}` is unchanged")
            raise

    def _move(self, branch: str) -> None:
        """Create or move the branch. Raises what icechunk raises, CompileError with `busy-target`."""
        try:
            if self._base is None:
                self._opened.create_branch(branch, self._snapshot)
            else:
                self._opened.reset_branch(branch, self._snapshot, from_snapshot_id=self._base)
        except BaseException as error:
            is_new = self._base is None and is_foreign(error)
            if is_conflict(error) or (is_new and branch in self._opened.list_branches()):
                raise _describe_moved(self._repository) from None
            raise

    def abort(self) -> None:
        """Remove a new repository unless finished; an old one is unchanged. Raises OSError."""
        if self._finished:
            return
        self._finished = True
        with delay_signals():
            if not self._new:
                return
            if self._repository.local:
                shutil.rmtree(self._growing.place, ignore_errors=True)
                unfinished.discard(self._growing.place)
                return
            forget(self._repository)
            with suppress(ImportError):  # fsspec removes what icechunk has no call for
                _remove(self._repository.place, self._storage)


class VirtualTarget(RepositoryTarget):
    """A commit that refers to chunks in the files of the source."""

    def __init__(self, repository: Repository, options: Options, *, cleared: bool = True) -> None:
        super().__init__(repository, options, cleared=cleared)
        self._begun = datetime.now(UTC)
        self._sources = options.run.storage.of("source")
        self._naming = UrlNaming(repository.place, options.reading.source, options.target.writing)
        self._config = configuration(self._growing, self._storage)
        self._is_named = getattr(self._opened, "spec_version", 1) >= NAMED_SINCE
        self._files: dict[str, File | None] = {}
        self._referred: list[Referred] = []
        self._containers: list[Container] = []

    def accepts(self, sources: tuple[str, ...]) -> bool:
        """Return whether icechunk can read all of these paths and URLs."""
        for source in sources:
            if source not in self._files:
                try:
                    self._files[source] = file_at(self._naming.url(source))
                except UnnamedTargetError:  # from a pipe, or with a secret
                    self._files[source] = None
        return all(self._files[source] is not None for source in sources)

    def add(self, referred: Referred) -> None:
        """Add the chunk locations of an array. They are set when all files are known."""
        self._referred.append(referred)

    def seal(self) -> None:
        """Refer to the chunks, with a container for each folder; then as every commit. Raises OSError."""
        if self.sealed is None:
            self.set_references()
            with failing(self._repository.place, self._storage):
                if register(self._config, self._containers, self._sources):
                    place = storage_of(self._growing, self._storage)
                    load_library().Repository.open(place, config=self._config).save_config()
        super().seal()

    def set_references(self) -> None:
        """Set the references of all arrays in the session. Raises OSError."""
        if self._referred:
            used = {source for referred in self._referred for source in referred.columns.sources}
            files = {source: file for source in used if (file := self._files[source]) is not None}
            containers = containers_for(files.values(), self._config, named=self._is_named)
            named = {source: containers[file.folder].reference(file) for source, file in files.items()}
            with failing(self._repository.place, self._storage):
                for referred in self._referred:
                    self._refer(referred, named)
            self._containers += containers.values()
            self._referred.clear()

    def _refer(self, referred: Referred, named: Mapping[str, str]) -> None:
        """Set the references of an array by one call. Raises OSError, and what icechunk raises."""
        columns, counts = referred.columns, referred.counts
        path = f"/{referred.chunk_keys.prefix.rstrip('/')}"
        texts = [named[source] for source in columns.sources]
        lengths = self._lengths(columns)
        rows = len(columns.chunk)
        total = math.prod(counts)
        checksum = find_unchanged_since(columns.sources, self._begun)
        is_new = self._cleared  # one call for all chunks removes those without a reference
        if is_new and counts and 2 * rows >= total and hasattr(self._store, "set_virtual_refs_arr"):
            offsets, sizes = np.zeros(total, np.uint64), np.zeros(total, np.uint64)
            offsets[columns.chunk], sizes[columns.chunk] = columns.offset, lengths
            if len(texts) == 1 and rows == total:
                locations = texts * total
            else:
                by_chunk = np.full(total, "", object)
                by_chunk[columns.chunk] = np.array(texts, object)[columns.source]
                locations = by_chunk.tolist()
            self._store.set_virtual_refs_arr(
                path, counts, locations, offsets, sizes, validate_containers=False, checksum=checksum
            )
            return
        index = indices_of(unravel(columns.chunk, counts)) if counts else [()] * rows
        values = zip(index, columns.source.tolist(), columns.offset.tolist(), lengths.tolist(), strict=True)
        make = load_library().VirtualChunkSpec
        chunks = [
            make(list(at), texts[source], offset, length, None, checksum) for at, source, offset, length in values
        ]
        self._store.set_virtual_refs(path, chunks, validate_containers=False)

    def _lengths(self, columns: PlaceColumns) -> NDArray[np.int64]:
        """Return the lengths of ranges, int64, shape (rows,), with the sizes of whole files. Raises OSError."""
        whole = columns.length == WHOLE
        if not whole.any():
            return columns.length
        sizes = {number: self._size(columns.sources[number]) for number in np.unique(columns.source[whole]).tolist()}
        lengths = columns.length.copy()
        lengths[whole] = [sizes[number] for number in columns.source[whole].tolist()]
        return lengths

    def _size(self, source: str) -> int:
        size = facts(source, self._sources).size
        if size is None:
            raise OSError(errno.EINVAL, "its size is unknown", show(source))
        return size


def _remove(url: str, storage: StorageOptions) -> None:
    """Remove all objects of a new repository at a URL. Raises OSError."""
    from nczarr.stores.places import find_places

    find_places(url).remove_objects(url, storage)
