"""Ranges of files: read in pieces, joined where they touch, moved into stores."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nczarr.stores import ranges
from nczarr.stores.directory import DirectoryStore, DirectoryTarget
from nczarr.stores.memory import MeasuringStore, MemoryStore
from nczarr.stores.ranges import BoundedCache, Range
from nczarr.stores.zip import ZipStore, ZipTarget

DATA = bytes(range(256)) * 40


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "data"
    path.write_bytes(DATA)
    return str(path)


def test_a_range_is_read_in_pieces(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "PIECE", 1000)
    assert [len(piece) for piece in ranges.pieces(Range(file, 5, 2500))] == [1000, 1000, 500]
    assert ranges.read(Range(file, 5, 2500)) == DATA[5:2505]


def test_neighbours_become_one(file: str) -> None:
    parts = [Range(file, 0, 4), Range(file, 4, 6), b"x", Range(file, 10, 1), Range(file, 12, 1), Range("other", 13, 1)]
    assert list(ranges.join(parts)) == [Range(file, 0, 10), b"x", *parts[3:]]


def test_a_range_beyond_the_end_is_an_error(file: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="ends before byte"):
        ranges.read(Range(file, len(DATA) - 1, 2))
    target = DirectoryTarget(str(tmp_path / "t"))
    with pytest.raises(OSError, match="ends before byte"):
        target.put_pieces("k", [Range(file, len(DATA) - 1, 2)])
    target.abort()


def test_a_file_that_was_replaced_is_opened_anew(file: str) -> None:
    assert ranges.read(Range(file, 0, 2)) == DATA[:2]
    Path(file + ".new").write_bytes(b"new")
    os.replace(file + ".new", file)
    assert ranges.read(Range(file, 0, 3)) == b"new"


@pytest.mark.parametrize("kernel", [True, False])
def test_every_store_takes_pieces(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kernel: bool) -> None:
    if not kernel:

        def refuse(*arguments: object) -> int:
            raise OSError(errno.EXDEV, "another device")

        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    pieces = [b"head", Range(file, 3, 7000), Range(file, 7003, 17), b"", b"tail"]
    wanted = b"head" + DATA[3:7020] + b"tail"
    memory, measured = MemoryStore(), MeasuringStore()
    folder, archive = DirectoryTarget(str(tmp_path / "folder")), ZipTarget(str(tmp_path / "a.zip"))
    for store in (memory, measured, folder, archive):
        store.put_pieces("a/b", pieces)
        store.finish()
    assert memory.content["a/b"] == wanted
    assert measured.sizes["a/b"] == len(wanted)
    for seen in (DirectoryStore(str(tmp_path / "folder")), ZipStore(str(tmp_path / "a.zip"))):
        place = seen.locate("a/b")
        assert seen.get("a/b") == wanted
        assert place is not None
        assert ranges.read(place) == wanted
        assert seen.locate("a/c") is None


def test_links_are_in_no_place(file: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "k").symlink_to(file)
    with pytest.raises(OSError, match="symbolic link"):
        DirectoryStore(str(tmp_path / "store")).locate("k")


def test_the_least_recently_used_entry_goes_first() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    assert (cache.get("a"), len(cache), cache.entries()) == (None, 0, {})
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.entries() == {"a": 1, "c": 3}
    assert ("b" in cache, cache.get("b", "missing")) == (False, "missing")


def test_sizes_count() -> None:
    cache: BoundedCache[int, bytes] = BoundedCache(10, len)
    cache.put(1, b"aaaa")
    cache.put(2, b"bbbb")
    cache.put(1, b"a" * 7)
    assert cache.entries() == {1: b"a" * 7}
    cache.put(3, b"c" * 99)
    assert len(cache) == 1
    cache.put(4, b"")
    assert len(cache) == 2
    cache.put(5, b"d")
    assert cache.entries() == {4: b"", 5: b"d"}
