"""Store interface of the Zarr v3 draft of 2019: required `get`, `set`, `delete`, and three optional lists.

`Operations` completes an object with the required operations, or a store of
ours. It derives missing lists from the others (the draft, "Store interface"):
`listpre` from `list`, `listdir` from `listpre`, and vice versa, so that any one
suffices. Without one nothing can be listed. Adapters: `operations` to the
draft's interface, `KeyValueStore` to ours.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, runtime_checkable

from nczarr.stores import local_paths
from nczarr.stores.base import Store, UnsafeKeyError, safe_key
from nczarr.stores.directory import GROWING, DirectoryStore

KeySet: TypeAlias = set[str]

NO_PREFIX = "-/"
"""Prefix that no key has."""

_KEY = re.compile(r"[a-zA-Z0-9/.\-_]+")


@runtime_checkable
class KeyValues(Protocol):
    """Protocol of a store: the required operations. For an absent key `get` returns None or raises KeyError."""

    def get(self, key: str, /) -> bytes | None:
        """Return the value of a key.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        bytes or None
            The value.
        """

    def set(self, key: str, value: bytes, /) -> None:
        """Store a value under a key.

        Parameters
        ----------
        key : str
            The key.
        value : bytes
            The value.
        """

    def delete(self, key: str, /) -> None:
        """Remove a key.

        Parameters
        ----------
        key : str
            The key. An absent key may raise KeyError.
        """


class NotListedError(LookupError):
    """Listing of a store without list operations."""


def is_key(key: str) -> bool:
    """Return whether a text is a key of the draft: ASCII letters and digits, `/`, `.`, `-` and `_`."""
    return _KEY.fullmatch(key) is not None


class Operations:
    """All operations of the draft over an object with the required ones.

    An optional operation is missing if the object lacks it, has None for it, or
    raises NotImplementedError in it.

    Parameters
    ----------
    given : KeyValues
        An object with `get`, `set` and `delete`.
    """

    def __init__(self, given: KeyValues) -> None:
        self.given = given
        self._own = {name: getattr(given, name, None) for name in ("listpre", "listdir", "list")}
        self._lists: bool | None = None

    @property
    def lists(self) -> bool:
        """True if keys can be listed; tried once, with a prefix that no key has."""
        if self._lists is None:
            self._lists = any(self._works(name) for name in self._own)
        return self._lists

    def _works(self, name: str) -> bool:
        try:
            return self._call(name, *(() if name == "list" else (NO_PREFIX,))) is not None
        except (KeyError, OSError):
            return True  # of what is not there it says so

    def _call(self, name: str, *arguments: str) -> Any:
        """Call an optional operation; return None without one."""
        call = self._own[name]
        if call is None:
            return None
        try:
            return call(*arguments)
        except NotImplementedError:
            self._own[name] = None
            return None

    def get(self, key: str) -> bytes | None:
        """Return the value of a key.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        bytes or None
            The value; None if the key is absent.

        Raises
        ------
        OSError
            If the store fails.
        """
        try:
            return self.given.get(key)
        except KeyError:
            return None

    def set(self, key: str, value: bytes) -> None:
        """Store a value under a key.

        Parameters
        ----------
        key : str
            The key.
        value : bytes
            The value.

        Raises
        ------
        UnsafeKeyError
            If the draft does not allow the key.
        OSError
            If the store fails.
        """
        if not is_key(key):
            raise UnsafeKeyError(f"not a key of the draft of 2019: {key!r}")
        self.given.set(key, value)

    def delete(self, key: str) -> None:
        """Remove a key if it exists.

        Parameters
        ----------
        key : str
            The key.

        Raises
        ------
        OSError
            If the store fails.
        """
        try:
            self.given.delete(key)
        except KeyError:
            return

    def list(self) -> KeySet:
        """Return all keys.

        Returns
        -------
        set of str
            The keys.

        Raises
        ------
        NotListedError
            If the store cannot list keys.
        """
        keys = self._call("list")
        return self.listpre("") if keys is None else set(keys)

    def listpre(self, prefix: str) -> KeySet:
        """Return the keys with a prefix.

        Parameters
        ----------
        prefix : str
            The prefix.

        Returns
        -------
        set of str
            The keys.

        Raises
        ------
        NotListedError
            If the store cannot list keys.
        """
        keys = self._call("listpre", prefix)
        if keys is not None:
            return set(keys)
        keys = self._call("list")
        if keys is not None:
            return {key for key in keys if key.startswith(prefix)}
        return set(self._walk(prefix))

    def _walk(self, prefix: str) -> Iterator[str]:
        """Yield the keys with a prefix, by folders. Raises NotListedError."""
        folders = [prefix[: prefix.rfind("/") + 1]]
        while folders:
            folder = folders.pop()
            keys_and_folders = self._call("listdir", folder)
            if keys_and_folders is None:
                raise NotListedError("the store has no list operation (list, listpre or listdir)")
            yield from (key for key in keys_and_folders[0] if key.startswith(prefix))
            folders += [below for below in keys_and_folders[1] if below.startswith(prefix) and len(below) > len(folder)]

    def listdir(self, prefix: str) -> tuple[KeySet, KeySet]:
        """Return the keys and the folders directly below a prefix.

        Parameters
        ----------
        prefix : str
            The prefix; it ends with a slash or is empty.

        Returns
        -------
        tuple of (set of str, set of str)
            Keys without a slash after the prefix, and the prefixes of all others.

        Raises
        ------
        NotListedError
            If the store cannot list keys.
        """
        keys_and_folders = self._call("listdir", prefix)
        if keys_and_folders is not None:
            return set(keys_and_folders[0]), set(keys_and_folders[1])
        keys, prefixes = set(), set()
        for key in self.listpre(prefix):
            slash = key.find("/", len(prefix))
            if slash < 0:
                keys.add(key)
            else:
                prefixes.add(key[: slash + 1])
        return keys, prefixes


class _OurStore:
    """Our store with the draft's operations; it deletes nothing, because our stores are write-once."""

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
    """Return the draft's operations on a store of ours, or on an object with the required ones."""
    if isinstance(store, KeyValueStore):
        return store.operations
    if isinstance(store, KeyValues):
        return Operations(store)
    return Operations(_OurStore(store))


class KeyValueStore(Store):
    """Our store interface over an object with the draft's operations: readable, and writable once.

    `path` is its display name. An aborted store deletes its keys.
    """

    def __init__(self, implementation: KeyValues | Operations, path: str = "<store>") -> None:
        self.operations = implementation if isinstance(implementation, Operations) else Operations(implementation)
        self.path = path
        self.listed = self.operations.lists
        self._put: set[str] = set()

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        return self.operations.get(safe_key(key))

    def put(self, key: str, data: bytes) -> None:
        """Set a key. Raises OSError, UnsafeKeyError."""
        self._put.add(key)
        self.operations.set(safe_key(key), data)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted; empty without listing."""
        return iter(sorted(self.operations.listpre(prefix)) if self.listed else [])

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`; empty without listing."""
        if not self.listed:
            return []
        keys, below = self.operations.listdir(prefix)
        return sorted({key[len(prefix) :] for key in keys} | {below_prefix[len(prefix) : -1] for below_prefix in below})

    def finish(self) -> None:
        """Accept what was put."""
        self._put.clear()

    def abort(self) -> None:
        """Delete what was put, unless finished. Raises OSError."""
        while self._put:
            self.operations.delete(self._put.pop())


class MemoryKeys:
    """A store in a dictionary, which lists its keys.

    Parameters
    ----------
    content : dict of str to bytes, optional
        The dictionary; by default a new one.
    """

    def __init__(self, content: dict[str, bytes] | None = None) -> None:
        self.content = {} if content is None else content

    def get(self, key: str) -> bytes | None:
        """Return the value of a key.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        bytes or None
            The value; None if the key is absent.
        """
        return self.content.get(key)

    def set(self, key: str, value: bytes) -> None:
        """Store a value under a key.

        Parameters
        ----------
        key : str
            The key.
        value : bytes
            The value.
        """
        self.content[key] = value

    def delete(self, key: str) -> None:
        """Remove a key.

        Parameters
        ----------
        key : str
            The key.

        Raises
        ------
        KeyError
            If the key is absent.
        """
        del self.content[key]

    def list(self) -> KeySet:
        """Return all keys.

        Returns
        -------
        set of str
            The keys.
        """
        return set(self.content)


class FolderKeys:
    """A store in a folder: one file per key, by relative path. Changes apply at once.

    Files appear complete, and folders that become empty are removed. Symbolic links
    are not followed.

    Parameters
    ----------
    path : str or os.PathLike
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._root = local_paths.absolute(os.fspath(path))
        self._real = local_paths.real(self._root)

    def _file(self, key: str) -> str:
        *folders, name = safe_key(key).split("/")
        folder = os.path.join(self._root, *folders)
        if local_paths.real(folder) != os.path.join(self._real, *folders):
            raise UnsafeKeyError(f"a link points outside the store: {key!r}")
        return os.path.join(folder, name)

    def get(self, key: str) -> bytes | None:
        """Return the content of a file.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        bytes or None
            The content; None if the file is absent.

        Raises
        ------
        UnsafeKeyError
            If the key leads out of the folder.
        OSError
            If the file is unreadable or a symbolic link.
        """
        path = self._file(key)
        if os.path.islink(path):
            raise OSError(errno.ELOOP, "a symbolic link, which is not followed", path)
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def set(self, key: str, value: bytes) -> None:
        """Write a file.

        Parameters
        ----------
        key : str
            The key.
        value : bytes
            The content.

        Raises
        ------
        UnsafeKeyError
            If the key leads out of the folder.
        OSError
            If the file is not writable.
        """
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
        """Remove a file.

        Parameters
        ----------
        key : str
            The key.

        Raises
        ------
        KeyError
            If the file is absent.
        UnsafeKeyError
            If the key leads out of the folder.
        OSError
            If the file cannot be removed.
        """
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
        """Return the keys with a prefix.

        Parameters
        ----------
        prefix : str
            The prefix.

        Returns
        -------
        set of str
            The keys.
        """
        keys = DirectoryStore(self._root).keys(prefix)
        return {key for key in keys if not key.rpartition("/")[2].startswith(GROWING)}
