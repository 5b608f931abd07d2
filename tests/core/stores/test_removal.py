"""Removal of folders: renamed first, bounded by a signal or patience, completed by another process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr.stores import finish as removal
from nczarr.stores.finish import STRIDE, delay_signals, go_on, leftovers, remove_folder, sibling

FILES = 3 * STRIDE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An unfinished target with files in a folder, and a link to a folder that is not its own."""
    path = tmp_path / "t.zarr.partial-0123abcd"
    (path / "v").mkdir(parents=True)
    for number in range(FILES):
        (path / "v" / str(number)).touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    (path / "link").symlink_to(tmp_path / "other")
    return path


@pytest.fixture
def unlinked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that this process unlinks."""
    paths: list[str] = []
    original = os.unlink

    def unlink(path: str, **options: Any) -> None:
        paths.append(path)
        original(path, **options)

    monkeypatch.setattr(removal.os, "unlink", unlink)
    return paths


@pytest.fixture
def removers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that a test starts; they have ended after it."""
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(removal, "_removers", started)
    yield started
    for process in started:
        process.wait(60)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_removed_here(folder: Path, unlinked: list[str], removers: list[Any]) -> None:
    assert remove_folder(str(folder)) is None
    assert names(folder.parent) == ["other"]
    assert names(folder.parent / "other") == ["file"]
    assert {os.path.dirname(path) for path in unlinked} >= {path for path in unlinked if path.endswith("/v")}
    assert all(".removed-" in path and ".partial-" not in path for path in unlinked)
    assert not removers


def test_without_patience_a_process_removes_it(folder: Path, unlinked: list[str], removers: list[Any]) -> None:
    removed = remove_folder(str(folder), patience=0)
    assert removed is not None
    assert os.path.basename(removed).startswith("t.zarr.removed-")
    assert unlinked == []
    assert len(removers) == 1
    assert removers[0].wait(60) == 0
    assert names(folder.parent) == ["other"]
    assert names(folder.parent / "other") == ["file"]


def test_a_signal_ends_the_removal_within_a_stride(
    folder: Path, monkeypatch: pytest.MonkeyPatch, removers: list[Any]
) -> None:
    signals: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
    count = 0
    original = os.unlink

    def unlink(path: str) -> None:
        nonlocal count
        count += 1
        if count == STRIDE // 2:
            signal.raise_signal(signal.SIGTERM)
        original(path)

    monkeypatch.setattr(removal.os, "unlink", unlink)
    try:
        with delay_signals():
            removed = remove_folder(str(folder))
            assert signals == []
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signals == [signal.SIGTERM]
    assert count <= STRIDE + 1
    assert removed is not None
    assert len(removers) == 1


def test_without_processes_it_is_removed_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def popen(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert remove_folder(str(folder), patience=0) is None
    assert names(folder.parent) == ["other"]


def test_a_folder_that_cannot_be_renamed_stays(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_folder(str(folder / "absent"))
    assert len(names(folder / "v")) == FILES


@pytest.mark.parametrize("name", ["t.zarr", "x" * 250, "ä" * 127])
def test_leftovers_of_a_target(name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    found = [(word, sibling(str(target), word)) for word in ("partial", "removed", "replaced")]
    others = [tmp_path / end for end in ("u.zarr.partial-01234567", "t.zarr.partial-0123", "t.zarr.old-01234567")]
    for path in (target, *others, *(Path(path) for _, path in found)):
        path.mkdir()
        assert len(os.fsencode(path.name)) <= 255
    assert leftovers(str(target)) == sorted(found, key=lambda pair: pair[1])


def test_a_stopped_removal_goes_on(folder: Path, removers: list[Any]) -> None:
    stopped = folder.rename(folder.parent / "t.zarr.removed-01234567")
    go_on(str(stopped))
    assert removers[0].wait(60) == 0
    assert names(folder.parent) == ["other"]
