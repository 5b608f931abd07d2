"""The store interface of the draft of 2019: what is missing is derived, and adapters lead both ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nczarr.stores.base import UnsafeKeyError
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.keyvalue import (
    FolderKeys,
    KeyValues,
    KeyValueStore,
    MemoryKeys,
    NotListedError,
    Operations,
    operations,
)
from nczarr.stores.memory import MemoryStore

KEYS = ["a/b", "a/c", "a/d/e", "a/f/g", "e/f/g", "ab"]


class Required:
    """The required operations alone, which raise KeyError."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content = content

    def get(self, key: str) -> bytes:
        return self.content[key]

    def set(self, key: str, value: bytes) -> None:
        self.content[key] = value

    def delete(self, key: str) -> None:
        del self.content[key]


class WithList(Required):
    def list(self) -> list[str]:
        return list(self.content)


class WithListpre(Required):
    def listpre(self, prefix: str) -> list[str]:
        return [key for key in self.content if key.startswith(prefix)]


class WithListdir(Required):
    def listdir(self, prefix: str) -> tuple[set[str], set[str]]:
        return Operations(WithList(self.content)).listdir(prefix)


def content() -> dict[str, bytes]:
    return {key: key.encode() for key in KEYS}


@pytest.mark.parametrize("kind", [WithList, WithListpre, WithListdir, MemoryKeys])
def test_any_list_gives_all(kind: Callable[[dict[str, bytes]], KeyValues]) -> None:
    found = Operations(kind(content()))
    assert found.lists
    assert found.list() == set(KEYS)
    assert found.listpre("a/") == {"a/b", "a/c", "a/d/e", "a/f/g"}
    assert found.listpre("a/d") == {"a/d/e"}
    assert found.listdir("a/") == ({"a/b", "a/c"}, {"a/d/", "a/f/"})
    assert found.listdir("") == ({"ab"}, {"a/", "e/"})


class Unfinished(Required):
    """The optional operations are there, but for one in name only."""

    listpre = None

    def listdir(self, prefix: str) -> tuple[set[str], set[str]]:
        raise NotImplementedError

    def list(self) -> set[str]:
        return set(self.content)


class Nothing(Unfinished):
    def list(self) -> set[str]:
        raise NotImplementedError


def test_operations_that_are_not_implemented_are_not_there() -> None:
    found = Operations(Unfinished(content()))
    assert found.lists
    assert found.listdir("a/") == ({"a/b", "a/c"}, {"a/d/", "a/f/"})
    found = Operations(Nothing(content()))
    assert not found.lists
    with pytest.raises(NotListedError):
        found.listdir("a/")
    assert not KeyValueStore(Nothing(content())).listed


def test_without_lists_nothing_is_listed() -> None:
    found = Operations(Required(content()))
    assert not found.lists
    for call in (found.list, lambda: found.listpre("a/"), lambda: found.listdir("a/")):
        with pytest.raises(NotListedError):
            call()


def test_required_operations() -> None:
    found = Operations(Required(content()))
    assert found.get("a/b") == b"a/b"
    assert found.get("gone") is None
    found.set("new.key_1-2", b"")
    assert found.get("new.key_1-2") == b""
    found.delete("new.key_1-2")
    found.delete("new.key_1-2")
    assert found.get("new.key_1-2") is None


@pytest.mark.parametrize("key", ["", "a b", "é", "a\\b", "a:b", "a%2e"])
def test_keys_have_the_characters_of_the_draft_alone(key: str) -> None:
    with pytest.raises(UnsafeKeyError):
        Operations(Required({})).set(key, b"")


def test_our_stores_by_the_operations_of_the_draft(tmp_path: Path) -> None:
    (tmp_path / "a" / "d").mkdir(parents=True)
    (tmp_path / "a" / "d" / "e").write_bytes(b"1")
    (tmp_path / "a" / "b").write_bytes(b"2")
    found = operations(DirectoryStore(str(tmp_path)))
    assert found.listdir("a/") == ({"a/b"}, {"a/d/"})
    assert found.listpre("a/d") == {"a/d/e"}
    assert found.get("a/b") == b"2"
    with pytest.raises(OSError, match="Read-only"):
        found.delete("a/b")


def test_a_store_in_memory_takes_keys() -> None:
    store = MemoryStore()
    operations(store).set("a/b", b"1")
    assert store.content == {"a/b": b"1"}


@pytest.mark.parametrize("kind", [WithList, WithListdir])
def test_a_bare_store_as_one_of_ours(kind: Callable[[dict[str, bytes]], KeyValues]) -> None:
    store = KeyValueStore(kind(content()))
    assert store.listed
    assert store.children("a/") == ["b", "c", "d", "f"]
    assert list(store.keys("a/")) == ["a/b", "a/c", "a/d/e", "a/f/g"]
    assert (store.get("a/b"), store.get("x"), store.part("a/d/e", -1, 1)) == (b"a/b", None, b"e")
    assert operations(store) is store.operations


def test_a_bare_store_without_lists_as_one_of_ours() -> None:
    store = KeyValueStore(Required(content()))
    assert (store.listed, store.children("a/"), list(store.keys())) == (False, [], [])


def test_what_was_put_is_deleted_if_nothing_comes_of_it() -> None:
    given = Required({"old": b""})
    store = KeyValueStore(given)
    store.put("a", b"1")
    store.put_pieces("b", [b"2", b"3"])
    assert given.content == {"old": b"", "a": b"1", "b": b"23"}
    store.abort()
    assert given.content == {"old": b""}
    store.put("a", b"1")
    store.finish()
    store.abort()
    assert given.content == {"old": b"", "a": b"1"}


def test_files_of_a_folder(tmp_path: Path) -> None:
    found = Operations(FolderKeys(tmp_path / "s"))
    assert (found.list(), found.get("a/b")) == (set(), None)
    found.set("a/d/e", b"1")
    found.set("a/d/e", b"2")
    found.set("a/b", b"3")
    assert (found.get("a/d/e"), found.get("a/d")) == (b"2", None)
    assert found.listdir("a/") == ({"a/b"}, {"a/d/"})
    found.delete("a/d/e")
    found.delete("a/d/e")
    assert [each.name for each in (tmp_path / "s" / "a").iterdir()] == ["b"]


def test_no_key_leaves_the_folder(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "secret").write_bytes(b"!")
    (tmp_path / "s" / "link").symlink_to(tmp_path)
    (tmp_path / "s" / "file").symlink_to(tmp_path / "secret")
    store = FolderKeys(tmp_path / "s")
    calls: list[Callable[[str], Any]] = [store.get, store.delete, lambda key: store.set(key, b"")]
    for call in calls:
        for key in ("../secret", "link/secret", "/secret"):
            with pytest.raises(UnsafeKeyError):
                call(key)
    with pytest.raises(OSError, match="symbolic link"):
        store.get("file")
    assert (tmp_path / "secret").read_bytes() == b"!"
