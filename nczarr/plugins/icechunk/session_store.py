"""One revision of a repository as a store; icechunk reads the keys.

`RepositoryStore` is a repository that is not open yet, and has no keys.
`SessionStore` is its snapshot: the branch may move on meanwhile.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions, show
from nczarr.plugins.icechunk.library import explain, failing, failure, is_foreign, list_yielded, load_library, result
from nczarr.plugins.icechunk.repositories import configuration, open_repository, session_of
from nczarr.plugins.icechunk.virtual_chunks import Access, allow, check_locations, list_virtual_references
from nczarr.stores import local_paths
from nczarr.stores.base import Reference, Store, cut, next_segments, safe_key
from nczarr.stores.reference_policy import Policy
from nczarr.stores.url import Repository

AT_ONCE = 64
"""Chunks that one call reads side by side."""

_CHUNK = re.compile(r"(.*/)?c(?:/[0-9]+)*", re.DOTALL)
_KEY = re.compile(r"(?:.*/)?(?:zarr\.json|c(?:/[0-9]+)*)", re.DOTALL)
"""Keys that a repository may have: others need no request."""

_ABSENT = re.compile(r"node not found|is not an array|not an array at|invalid zarr key|bad key prefix", re.IGNORECASE)
_REFUSED = re.compile(r"virtual chunk container|virtual chunk in this repository resolves", re.IGNORECASE)


class RepositoryStore(Store):
    """A repository that is not open yet. It has no keys. Raises MissingProtocolError."""

    versioned = True

    def __init__(self, repository: Repository, storage: StorageOptions = NO_OPTIONS) -> None:
        load_library()
        self.repository = repository
        self.storage = storage
        self.path = show(repository.text)

    @property
    def title(self) -> str:
        """Path or URL of the repository."""
        return self.repository.place

    @property
    def home(self) -> str:
        """Folder or URL that contains the repository."""
        place = self.repository.place
        return local_paths.folder_of(place) if self.repository.local else place.rpartition("/")[0]

    def get(self, key: str) -> None:
        """Return None."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return no keys."""
        return iter(())

    def session(self, policy: Policy, report: Report) -> SessionStore:
        """Return the revision. Raises OSError, BadURLError, UnknownRevisionError; reports forbidden-target."""
        store = SessionStore(self.repository, policy, self.storage)
        store.open(report)
        return store


class SessionStore(Store):
    """A snapshot as a store. It pickles as a description, which each process opens.

    `distant` also where it is local: a call of icechunk passes through an event
    loop, which takes longer than the chunk, so many should run concurrently.
    """

    refers = True
    distant = True

    def __init__(self, repository: Repository, policy: Policy, storage: StorageOptions = NO_OPTIONS) -> None:
        self.repository = repository.absolute
        self.policy = policy
        self.storage = storage
        self.path = show(repository.text)
        self._references: dict[str, dict[str, Reference]] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._references = {}

    @property
    def title(self) -> str:
        """Path or URL of the repository."""
        return self.repository.place

    def __getstate__(self) -> dict[str, Any]:
        """Return the description with the snapshot, so that every process reads the same."""
        description = self.repository._replace(kind="snapshot", revision=self.snapshot)
        return {"repository": description, "policy": self.policy, "storage": self.storage, "path": self.path}

    def open(self, report: Report) -> None:
        """Open the session. Raises as `RepositoryStore.session`."""
        session, _ = self._opened
        if self.policy.given.roots:
            with failing(self.repository.place, self.storage):
                locations, config = session.all_virtual_chunk_locations(), session.config
            check_locations(locations, config, self.policy, self.path, report)

    @cached_property
    def _opened(self) -> tuple[Any, Access]:
        """The session, and the decisions about containers."""
        config = configuration(self.repository, self.storage)
        access = allow(config, self.policy, self.storage)
        repository = open_repository(self.repository, self.storage, config, access.credentials)
        session = session_of(repository, self.repository, self.storage)
        return session, access

    @property
    def _session(self) -> Any:
        return self._opened[0]

    @cached_property
    def _store(self) -> Any:
        return self._session.store

    @property
    def snapshot(self) -> str:
        """Identifier of the snapshot."""
        return str(self._session.snapshot_id)

    def lacks(self, key: str) -> bool:
        """Return whether no repository has such a key."""
        return _KEY.fullmatch(key) is None

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError, CompileError for a refused chunk."""
        return self._got(key, None)

    def _got(self, key: str, byte_range: Any) -> bytes | None:
        """Return the bytes of a key, or of a range; None if it is missing."""
        if self.lacks(safe_key(key)):
            return None
        try:
            return result(self._fetch(key, byte_range))
        except BaseException as error:
            self._check_absent(key, error)
            return None

    async def _fetch(self, key: str, requested: Any = None) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError for a document that exists but is not returned."""
        from zarr.core.buffer import default_buffer_prototype

        buffer = await self._store.get(key, default_buffer_prototype(), byte_range=requested)
        if buffer is not None:
            return bytes(buffer.to_bytes())
        if key.endswith("zarr.json") and await self._store.exists(key):  # icechunk 1 hides failures of documents
            raise OSError(errno.EIO, "icechunk cannot read it", f"{self.path}/{key}")
        return None

    def _check_absent(self, key: str, error: BaseException) -> None:
        """Do nothing if the error means that the key is absent. Raises OSError, CompileError, or the error."""
        if isinstance(error, KeyError):
            return
        if not is_foreign(error):
            raise error
        text = explain(error)
        if _REFUSED.search(text):
            raise self._refusal(key, text) from None
        if not _ABSENT.search(text):
            refusal = failure(error, self.repository.place, self.storage)
            refusal.add_note(f"when `{key}` of `{self.path}` was read")
            raise refusal from None

    def _refusal(self, key: str, text: str) -> CompileError:
        """Return the error for a chunk in a container that the reader may not follow."""
        helps: tuple[str, ...] = ()
        for prefix, why in self._opened[1].refused.items():
            if prefix in text:
                text = why
                break
        else:
            text = "the repository has no container for its place" if "no virtual chunk container" in text else text
        return CompileError(
            [Diagnostic("forbidden-target", Severity.ERROR, f"`{key}` of `{self.path}`: {text}", helps=helps)]
        )

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None. Raises OSError if it is too short, and as `get`."""
        from zarr.abc.store import RangeByteRequest, SuffixByteRequest

        if length == 0:
            return b""
        if offset < 0:
            data = self._got(key, SuffixByteRequest(-offset))
            return None if data is None else cut(data, key, 0, length)
        data = self._got(key, RangeByteRequest(offset, offset + length))
        if data is not None and len(data) != length:
            raise OSError(errno.EIO, f"it is too short for {length} bytes at {offset}", key)
        return data

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of keys, read side by side; absent ones are missing. Raises as `get`."""
        present = [key for key in keys if not self.lacks(safe_key(key))]
        values = result(self._gather(present))
        brought: dict[str, bytes] = {}
        for key, data in zip(present, values, strict=True):
            if isinstance(data, BaseException):
                self._check_absent(key, data)
            elif data is not None:
                brought[key] = data
        return brought

    def refer(self, key: str) -> Reference | None:
        """Return the place of a virtual chunk; None for others, and with icechunk 1, which does not tell it.

        Raises OSError.
        """
        chunk_key = _CHUNK.fullmatch(safe_key(key))
        if chunk_key is None:
            return None
        array = (chunk_key[1] or "").rstrip("/")
        if array not in self._references:
            _, access = self._opened
            with failing(self.repository.place, self.storage):
                self._references[array] = list_virtual_references(self._store, array, list(access.refused))
        return self._references[array].get(key)

    def expect(self, keys: Iterable[str]) -> None:
        """Do nothing: a snapshot has all documents in one file, which is open."""
        return

    async def _gather(self, keys: list[str]) -> list[bytes | BaseException | None]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(key: str) -> bytes | None:
            async with gate:
                return await self._fetch(key)

        return await asyncio.gather(*map(one, keys), return_exceptions=True)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError."""
        folder = prefix.rpartition("/")[0]
        return iter(sorted(key for key in self._list("list_prefix", folder) if key.startswith(prefix)))

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`. Raises OSError."""
        if prefix.endswith("/") or not prefix:
            return sorted({name.rstrip("/") for name in self._list("list_dir", prefix.rstrip("/"))})
        return next_segments(self.keys(prefix), prefix)

    def _list(self, call: str, folder: str) -> list[str]:
        try:
            return list_yielded(self._store, call, folder)
        except BaseException as error:
            self._check_absent(folder, error)
            return []
