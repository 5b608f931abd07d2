"""Read-only store behind fsspec: URLs of any protocol, also chained; `remote_target.py` makes new ones.

A store object is a snapshot: documents are fetched once. Objects are compared
with the listed size and MD5, and fetched again if they differ; a listed but
missing object is an error, not fill. Before reading everything, list everything
(`survey`): then absent keys cost no request. Web servers have no reliable
listing (`listed`): every chunk is requested.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.remote.connection import FileConnection
from nczarr.stores.base import Reference, Store, cut, is_metadata, next_segments, safe_key, with_prefix
from nczarr.stores.url import WEB

FETCHERS = 32
"""Documents fetched concurrently."""

TRIES = 3
"""Attempts to fetch or put an object whose bytes differ from the listing."""

_MD5 = re.compile(r"[0-9a-f]{32}")


class ObjectFacts(NamedTuple):
    """Listed properties of an object."""

    size: int | None
    """Size in bytes; None: unknown."""
    md5: str | None = None
    """Its digest, or a similar tag; None: unknown."""

    @classmethod
    def of(cls, info: dict[str, Any]) -> ObjectFacts:
        """Return the listed properties from a library's record."""
        size = info.get("size")
        return cls(size if isinstance(size, int) else None, md5_of(info))


class RemoteStore(Store):
    """Objects below a URL by key."""

    distant = True

    def __init__(self, url: str, options: StorageOptions = NO_OPTIONS) -> None:
        self.connection = FileConnection(url, options)
        self.path = self.connection.shown
        self._begin()

    def _begin(self) -> None:
        self._documents: dict[str, bytes | None] = {}
        self._told: dict[str, ObjectFacts] = {}
        self._sorted: list[str] = []
        self._tags_are_digests = True
        self._surveyed = False
        self.listed = self.connection.protocol not in WEB

    def __getstate__(self) -> dict[str, Any]:
        """Return only the place, without cached state."""
        return {"connection": self.connection, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    @property
    def home(self) -> str:
        """URL that contains the store."""
        return self.connection.url.rstrip("/").rpartition("/")[0]

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        if key in self._documents:
            return self._documents[key]
        if self._surveyed and key not in self._told:
            return None
        data = self._read(safe_key(key))
        if is_metadata(key):
            self._documents[key] = data
        return data

    def expect(self, keys: Iterable[str]) -> None:
        """Fetch documents concurrently in advance. Raises OSError."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._documents]
        if self._surveyed:
            missing = [key for key in missing if key in self._told]
        if len(missing) < 2:
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(FETCHERS, len(missing))) as threads:
            self._documents.update(zip(missing, threads.map(self._read, missing), strict=True))

    def survey(self) -> None:
        """List everything, for comparison with fetched bytes. Raises OSError."""
        if self.listed and not self._surveyed:
            self._told = self._list()
            self._sorted = sorted(self._told)
            self._surveyed = True

    def _below(self, prefix: str) -> Sequence[str]:
        """Return the surveyed keys with `prefix`."""
        return with_prefix(self._sorted, prefix)

    def _read(self, key: str) -> bytes | None:
        """Return the bytes of a key as listed. Raises OSError on failure."""
        facts = self._told.get(key)
        last: bytes | None = None
        for _ in range(TRIES):
            data = self._fetch(key, facts)
            if data is None or facts is None or self._agree(data, facts):
                return data
            if data == last and facts.size in (None, len(data)) and not self.connection.tags_are_digests(key):
                self._tags_are_digests = False
                return data
            last = data
        raise OSError(errno.EIO, f"it was read {TRIES} times, and never matched the server's listing", self._show(key))

    def _fetch(self, key: str, facts: ObjectFacts | None) -> bytes | None:
        """Return the bytes of a key; None if it is missing. Raises OSError if it is listed (`facts`) but missing."""
        try:
            data: bytes = self.connection.call("cat_file", key, size=(facts.size or 0) if facts else 0)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            if facts is None:
                return None
            raise OSError(errno.EIO, "it is listed but does not exist", self._show(key)) from None
        return data

    def _agree(self, data: bytes, facts: ObjectFacts) -> bool:
        if facts.size is not None and len(data) != facts.size:
            return False
        return facts.md5 is None or not self._tags_are_digests or md5(data) == facts.md5

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None. Raises OSError if it is too short."""
        bounds = {"start": offset} if offset < 0 else {"start": offset, "end": offset + length}
        try:
            data: bytes = self.connection.call("cat_file", safe_key(key), size=length, **bounds)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        data = data[:length] if offset < 0 and len(data) == -offset else data
        if len(data) == length:
            return data
        whole = self._read(key)  # a server that knows no ranges gives everything
        return None if whole is None else cut(whole, self._show(key), offset, length)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, which is empty or ends in a slash; sorted. Raises OSError."""
        if self._surveyed:
            return iter(self._below(prefix))
        facts_by_key = self._list(prefix)
        self._told.update(facts_by_key)
        return iter(sorted(facts_by_key))

    def _list(self, prefix: str = "") -> dict[str, ObjectFacts]:
        """Return the listed properties of all keys with `prefix`."""
        try:
            infos = self.connection.listing(prefix.rstrip("/"))
            keys = ((self._key(str(info["name"])), info) for info in infos)
            return {key: ObjectFacts.of(info) for key, info in keys if key.startswith(prefix) and key}
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`. Raises OSError."""
        if self._surveyed:
            return next_segments(self._below(prefix), prefix)
        try:
            entries = self.connection.call("ls", prefix.rstrip("/"), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        names = (self._key(str(info["name"]).rstrip("/")) for info in entries)
        below = (name[len(prefix) :] for name in names if name.startswith(prefix))
        return sorted({name for name in below if name and "/" not in name})

    def _key(self, name: str) -> str:
        """Return the key of a file system path; empty if it is outside."""
        root = self.connection.root + "/"
        if not name.startswith(root):
            root = root.lstrip("/")
            name = name.lstrip("/")
        if not name.startswith(root):
            return ""
        key = name[len(root) :]
        if self.listed:
            return key
        from urllib.parse import unquote

        return unquote(key)

    def find_size(self, key: str) -> int | None:
        """Return a key's size in the last listing."""
        facts = self._told.get(key)
        return None if facts is None else facts.size

    def refer(self, key: str) -> Reference | None:
        """Return the object of a key, without checking its existence."""
        if "::" in self.connection.place.path or self.connection.place.server is not None:
            return None
        if self.connection.protocol not in WEB:
            return Reference(f"{self.connection.protocol}://{self.connection.path(key)}")
        return Reference(self.connection.path(key))

    def _show(self, key: str) -> str:
        return f"{self.path.rstrip('/')}/{key}"


def md5(data: bytes) -> str:
    """Return the MD5 in hexadecimal, as in servers' tags."""
    import hashlib

    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def md5_of(info: dict[str, Any]) -> str | None:
    """Return an object's MD5 from a library's record; None for multipart or encrypted objects."""
    if "kms" in str(info.get("ServerSideEncryption", "")) or info.get("SSECustomerAlgorithm"):
        return None
    tag = str(info.get("ETag") or "").strip('"').lower()
    return tag if _MD5.fullmatch(tag) else None
