"""The store interface of the Zarr v3 draft of 2019: `get`, `set` and `delete` are required, three lists are optional.

Comes in: any object with the required operations, or a store of ours. Goes out: the same with all operations, those
that are missing derived from what there is (the draft, "Store interface"): `listpre` from `list`, `listdir` from
`listpre`, and the other way round, so that any one of the three gives all. Without one nothing can be listed. Adapters
lead both ways: `operations` to the draft's interface, `KeyValueStore` to ours.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, runtime_checkable

from nczarr.stores.base import Store, UnsafeKeyError, safe_key
from nczarr.stores.directory import GROWING, DirectoryStore

KeySet: TypeAlias = set[str]

NO_PREFIX = "-/"
"""What no key of a hierarchy begins with."""

_KEY = re.compile(r"[a-zA-Z0-9/.\-_]+")


@runtime_checkable
class KeyValues(Protocol):
    """The required operations. `get` gives None, or raises KeyError, for a key that there is not."""

    def get(self, key: str, /) -> bytes | None:
        """The value of a key."""

    def set(self, key: str, value: bytes, /) -> None:
        """Store a value under a key."""

    def delete(self, key: str, /) -> None:
        """Remove a key and its value; a key that there is not may raise KeyError."""


class NotListedError(LookupError):
    """A store without any operation that lists keys was asked for some."""


def is_key(key: str) -> bool:
    """Whether a text is a key of the draft: letters and digits of ASCII, `/`, `.`, `-` and `_`."""
    return _KEY.fullmatch(key) is not None


class Operations:
    """All operations of the draft over an object that has the required ones.

    An optional one is not there if the object lacks it, has None for it, or raises NotImplementedError in it.
    """

    def __init__(self, given: KeyValues) -> None:
        self.given = given
        self._own = {name: getattr(given, name, None) for name in ("listpre", "listdir", "list")}
        self._lists: bool | None = None

    @property
    def lists(self) -> bool:
        """Whether keys can be listed; tried once, with a prefix that no key has."""
        if self._lists is None:
            self._lists = any(self._works(name) for name in self._own)
        return self._lists

    def _works(self, name: str) -> bool:
        try:
            return self._called(name, *(() if name == "list" else (NO_PREFIX,))) is not None
        except (KeyError, OSError):
            return True  # of what is not there it says so

    def _called(self, name: str, *arguments: str) -> Any:
        """What an optional operation of the object gives, None if it has none."""
        call = self._own[name]
        if call is None:
            return None
        try:
            return call(*arguments)
        except NotImplementedError:
            self._own[name] = None
            return None

    def get(self, key: str) -> bytes | None:
        """The value of a key, None if there is none. Raises OSError."""
        try:
            return self.given.get(key)
        except KeyError:
            return None

    def set(self, key: str, value: bytes) -> None:
        """Store a value under a key. Raises UnsafeKeyError for a text that is no key of the draft, OSError."""
        if not is_key(key):
            raise UnsafeKeyError(f"not a key of the draft of 2019: {key!r}")
        self.given.set(key, value)

    def delete(self, key: str) -> None:
        """Remove a key, if it is there. Raises OSError."""
        try:
            self.given.delete(key)
        except KeyError:
            return

    def list(self) -> KeySet:
        """All keys. Raises NotListedError."""
        found = self._called("list")
        return self.listpre("") if found is None else set(found)

    def listpre(self, prefix: str) -> KeySet:
        """The keys that begin with a prefix. Raises NotListedError."""
        found = self._called("listpre", prefix)
        if found is not None:
            return set(found)
        found = self._called("list")
        if found is not None:
            return {key for key in found if key.startswith(prefix)}
        return set(self._walked(prefix))

    def _walked(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a prefix, folder by folder. Raises NotListedError."""
        folders = [prefix[: prefix.rfind("/") + 1]]
        while folders:
            folder = folders.pop()
            found = self._called("listdir", folder)
            if found is None:
                raise NotListedError("the store has none of the operations list, listpre and listdir")
            yield from (key for key in found[0] if key.startswith(prefix))
            folders += [each for each in found[1] if each.startswith(prefix) and len(each) > len(folder)]

    def listdir(self, prefix: str) -> tuple[KeySet, KeySet]:
        """The keys that have no slash behind a prefix, and the prefixes of all others up to that slash. Raises
        NotListedError.
        """
        found = self._called("listdir", prefix)
        if found is not None:
            return set(found[0]), set(found[1])
        keys, prefixes = set(), set()
        for key in self.listpre(prefix):
            slash = key.find("/", len(prefix))
            if slash < 0:
                keys.add(key)
            else:
                prefixes.add(key[: slash + 1])
        return keys, prefixes


class _OurStore:
    """A store of ours by the draft's operations; nothing is deleted, because our stores grow once and stay."""

    def __init__(self, store: Store) -> None:
        self._store = store
        if store.listed:
            self.listpre = self._keys

    def get(self, key: str) -> bytes | None:
        try:
            return self._store.get(key)
        except UnsafeKeyError:
            return None

    def set(self, key: str, value: bytes) -> None:
        self._store.put(key, value)

    def delete(self, key: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), self._store.path)

    def _keys(self, prefix: str) -> KeySet:
        return set(self._store.keys(prefix))


def operations(store: Store | KeyValues) -> Operations:
    """The draft's operations on a store of ours, or on any object that has the required ones."""
    if isinstance(store, KeyValueStore):
        return store.operations
    if isinstance(store, KeyValues):
        return Operations(store)
    return Operations(_OurStore(store))


class KeyValueStore(Store):
    """A store of ours over an object with the draft's operations: it can be read, and written to once.

    `path` is its name for people. What was put is deleted again if nothing comes of it.
    """

    def __init__(self, given: KeyValues | Operations, path: str = "<store>") -> None:
        self.operations = given if isinstance(given, Operations) else Operations(given)
        self.path = path
        self.listed = self.operations.lists
        self._put: set[str] = set()

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if it is absent. Raises OSError, UnsafeKeyError."""
        return self.operations.get(safe_key(key))

    def put(self, key: str, data: bytes) -> None:
        """Set a key. Raises OSError, UnsafeKeyError."""
        self._put.add(key)
        self.operations.set(safe_key(key), data)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted; none where nothing can be listed."""
        return iter(sorted(self.operations.listpre(prefix)) if self.listed else [])

    def children(self, prefix: str) -> list[str]:
        """The next segments of all keys that begin with `prefix`; none where nothing can be listed."""
        if not self.listed:
            return []
        keys, below = self.operations.listdir(prefix)
        return sorted({key[len(prefix) :] for key in keys} | {each[len(prefix) : -1] for each in below})

    def finish(self) -> None:
        """All is written."""
        self._put.clear()

    def abort(self) -> None:
        """Delete what was put, unless it is finished. Raises OSError."""
        while self._put:
            self.operations.delete(self._put.pop())


class MemoryKeys:
    """A dictionary with the required operations and all lists."""

    def __init__(self, content: dict[str, bytes] | None = None) -> None:
        self.content = {} if content is None else content

    def get(self, key: str) -> bytes | None:
        """The value of a key."""
        return self.content.get(key)

    def set(self, key: str, value: bytes) -> None:
        """Store a value."""
        self.content[key] = value

    def delete(self, key: str) -> None:
        """Remove a key. Raises KeyError if there is none."""
        del self.content[key]

    def list(self) -> KeySet:
        """All keys."""
        return set(self.content)


class FolderKeys:
    """The files of a folder by their relative paths, for those who change a hierarchy in place. Links are not followed.

    A file appears whole; a folder that becomes empty is removed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._root = os.path.abspath(os.fspath(path))
        self._real = os.path.realpath(self._root)

    def _file(self, key: str) -> str:
        path = os.path.join(self._root, *safe_key(key).split("/"))
        folder = os.path.relpath(os.path.dirname(path), self._root)
        if os.path.realpath(os.path.dirname(path)) != os.path.normpath(os.path.join(self._real, folder)):
            raise UnsafeKeyError(f"a link leads out of the store: {key!r}")
        return path

    def get(self, key: str) -> bytes | None:
        """The bytes of a file. Raises OSError, UnsafeKeyError."""
        path = self._file(key)
        if os.path.islink(path):
            return None
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def set(self, key: str, value: bytes) -> None:
        """Write a file. Raises OSError, UnsafeKeyError."""
        path = self._file(key)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        growing = os.path.join(folder, f"{GROWING}{uuid.uuid4().hex}")
        try:
            with open(growing, "xb") as file:
                file.write(value)
            os.replace(growing, path)
        except BaseException:
            with suppress(OSError):
                os.remove(growing)
            raise

    def delete(self, key: str) -> None:
        """Remove a file. Raises KeyError if there is none, OSError."""
        path = self._file(key)
        try:
            os.remove(path)
        except (FileNotFoundError, NotADirectoryError):
            raise KeyError(key) from None
        folder = os.path.dirname(path)
        while folder != self._root:
            try:
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)

    def listpre(self, prefix: str) -> KeySet:
        """The files whose paths begin with a prefix."""
        found = DirectoryStore(self._root).keys(prefix)
        return {key for key in found if not key.rpartition("/")[2].startswith(GROWING)}
