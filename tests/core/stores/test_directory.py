from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.stores import finish
from nczarr.stores.base import UnsafeKeyError, safe_key
from nczarr.stores.directory import DirectoryStore, DirectoryTarget
from nczarr.stores.memory import MeasuringStore, MemoryStore, blocks
from tests.conftest import run_command


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\0b", "a/"])
def test_keys_that_leave_the_store(key: str, tmp_path: Path) -> None:
    with pytest.raises(UnsafeKeyError):
        safe_key(key)
    target = DirectoryTarget(str(tmp_path / "t"))
    with pytest.raises(UnsafeKeyError):
        target.put(key, b"")
    target.abort()
    with pytest.raises(UnsafeKeyError):
        MemoryStore().put(key, b"")


def test_a_target_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.zarr"
    target = DirectoryTarget(str(path))
    target.put("a/b/0.0", b"12")
    target.put(".zgroup", b"{}")
    assert not path.exists()
    target.finish()
    assert sorted(os.listdir(tmp_path)) == ["t.zarr"]
    store = DirectoryStore(str(path))
    assert list(store.keys()) == [".zgroup", "a/b/0.0"]
    assert store.get("a/b/0.0") == b"12"
    assert store.get("a/b") is None
    assert store.get("a/b/0.0/x") is None


def test_an_aborted_target_leaves_nothing(tmp_path: Path) -> None:
    target = DirectoryTarget(str(tmp_path / "t.zarr"))
    target.put("a/0", b"1")
    target.abort()
    assert os.listdir(tmp_path) == []


def test_an_old_target_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.zarr"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(FileExistsError):
        DirectoryTarget(str(path))
    target = DirectoryTarget(str(path), overwrite=True)
    target.put("new", b"new")
    assert (path / "old").exists()
    target.finish()
    assert os.listdir(path) == ["new"]
    assert os.listdir(tmp_path) == ["t.zarr"]


def test_an_old_target_stays_when_the_rename_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.zarr"
    path.mkdir()
    (path / "old").write_text("old")
    target = DirectoryTarget(str(path), overwrite=True)
    target.put("new", b"new")
    rename = os.rename

    def failing(source: str, to: str) -> None:
        if source.endswith(target.path):
            raise OSError("no")
        rename(source, to)

    monkeypatch.setattr(finish, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        target.finish()
    target.abort()
    assert os.listdir(path) == ["old"]
    assert os.listdir(tmp_path) == ["t.zarr"]


def test_a_link_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "t" / "up").symlink_to(tmp_path)
    (tmp_path / "t" / "circle").symlink_to(tmp_path / "t" / "circle")
    store = DirectoryStore(str(tmp_path / "t"))
    for call in (store.get, store.locate):
        for key in ("link", "up/secret"):
            with pytest.raises(OSError, match="symbolic link"):
                call(key)
    assert (store.children(""), store.entries("")) == ([], ([], ["up"]))


def test_blocks_are_sorted_and_measure_chunks() -> None:
    store = MeasuringStore()
    store.put("v/.zarray", b'{"zarr_format": 2, "shape": [1]}')
    store.put("v/0", b"1234")
    store.put(".zgroup", b'{"zarr_format": 2}')
    text = b"".join(blocks(store.content, store.sizes)).decode()
    assert text == '== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{"zarr_format": 2, "shape": [1]}\n== v/0 (4 bytes)\n'


def test_what_a_killed_process_was_at_is_removed(tmp_path: Path) -> None:
    """A copy of the target is another process's; what it puts is there, what it was putting is not."""
    import pickle

    from nczarr.stores.directory import GROWING

    target = DirectoryTarget(str(tmp_path / "t.zarr"))
    copy = pickle.loads(pickle.dumps(target))
    for _ in range(2):
        copy.put("v/0", b"chunk")
    Path(target.path, "v", f"{GROWING}0123").write_bytes(b"ch")
    target.put(".zgroup", b"{}")
    copy.abort()
    target.finish()
    assert sorted(path.name for path in (tmp_path / "t.zarr").rglob("*")) == [".zgroup", "0", "v"]


def test_chunks_of_a_folder_that_cannot_be_listed_are_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing chunks read as fill: a folder that the system does not list is a failure."""
    made = nczarr.from_cdl("netcdf t { dimensions: x = 4 ; variables: int v(x) ; data: v = 1, 2, 3, 4 ; }")
    nczarr.write(made, tmp_path / "a.zarr", chunks={"x": 2})
    scan = os.scandir

    def failing(path: Any = ".") -> Any:
        if str(path).endswith("v"):
            raise OSError(errno.EIO, "it fails", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", failing)
    with pytest.raises(OSError, match="it fails"):
        list(DirectoryStore(str(tmp_path / "a.zarr")).keys("v/"))
    for command in (("convert",), ("rechunk", "--chunks", "x=1")):
        ran = run_command(*command, str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr"))
        assert (ran.status, "it fails" in ran.err, (tmp_path / "b.zarr").exists()) == (3, True, False)
