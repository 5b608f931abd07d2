"""One failure at each call of the file system: the exit status says what the target is."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import nczarr
from tests.conftest import Ran, run_command

SCHEMA = 'netcdf a { dimensions: x = 3; variables: int v(x); v:units = "K"; :title = "p"; data: v = 1, 2, 3; }'
CALLS = (
    *("open", "write", "pwrite", "fsync", "stat", "fstat", "lstat", "rename", "replace", "unlink", "mkdir", "rmdir"),
    *("link", "ftruncate"),
)
EDIT = ("--set", '@title="a much longer title"')
FORMATS = {
    "a.nc": ["--kind", "nc3", "--header-pad", "1KiB"],
    "b.nc": ["--kind", "nc4"],
    "a.zarr": ["--to", "nczarr"],
    "b.zarr": ["--to", "zarr3"],
    "a.zip": ["--to", "zarr2"],
}


class Failures:
    """Failure of the call with one number, counted below a folder, or a signal during it."""

    def __init__(self, folder: Path, at: int | None, *, signal_number: int | None = None) -> None:
        self.count = 0
        self._folder, self._at = str(folder), at
        self._signal = signal_number

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that fails in its turn."""

        def wrapped(place: Any, *arguments: Any, **options: Any) -> Any:
            is_ours = place > 2 if isinstance(place, int) else os.path.abspath(place).startswith(self._folder)
            if is_ours:
                self.count += 1
                if self.count == self._at and self._signal is not None:
                    signal.raise_signal(self._signal)
                elif self.count == self._at:
                    raise OSError(errno.EIO, "it fails", place)
            return call(place, *arguments, **options)

        return wrapped

    def run(self, *words: str | Path) -> Ran:
        """Run a command with it."""
        with ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(mock.patch.object(os, name, self.wrap(getattr(os, name))))
            return run_command(*map(str, words))


def _run(*words: str | Path) -> Ran:
    return run_command(*map(str, words))


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals interrupt the run: a shell lets what it starts in the background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Path]:
    """Function that makes a target of a format anew."""

    def make(name: str) -> Path:
        kept, here = tmp_path / "kept", tmp_path / "here"
        if not kept.exists():
            kept.mkdir()
            (kept / "a.cdl").write_text(SCHEMA)
            assert _run("compile", kept / "a.cdl", "-o", kept / name, *FORMATS[name]).status == 0
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(kept, here)
        return here / name

    return make


def _undo_files(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir() if ".undo-" in path.name]


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_the_status_of_an_edit_says_what_the_target_is(made: Callable[[str], Path], name: str) -> None:
    target = made(name)
    before = nczarr.digest(target)
    counter = Failures(target.parent, None)
    assert counter.run("edit", target, *EDIT).status == 0
    after, number = nczarr.digest(target), counter.count
    assert before != after
    assert number > 20
    found = set()
    for at in range(1, number + 1):
        target = made(name)
        ran = Failures(target.parent, at).run("edit", target, *EDIT)
        expected = after if ran.status in (0, 4) else before
        assert nczarr.digest(target) == expected, (at, ran)
        assert bool(_undo_files(target)) is (expected == after), (at, ran)
        assert "internal-error" not in ran.err
        found.add(ran.status)
        if ran.status == 4:
            assert "has its new content, but" in ran.err
            assert "--recover" in ran.err
            assert _run("edit", target, "--recover").status == 0
            assert nczarr.digest(target) == after
            assert _run("edit", target, "--undo", target.parent / _undo_files(target)[0]).status == 0
            assert nczarr.digest(target) == before
    assert found == ({0, 3, 4} if target.suffix == ".zarr" else {0, 3} if name != "b.nc" else {0, 1, 3})


@pytest.mark.long
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", ["a.nc", "b.zarr"])
def test_an_interruption_after_the_commit_is_none(made: Callable[[str], Path], name: str) -> None:
    """Interrupted anywhere, a run ends with 130 and the old target, or with 0 and the new one."""
    target = made(name)
    before = nczarr.digest(target)
    counter = Failures(target.parent, None)
    assert counter.run("edit", target, *EDIT).status == 0
    after = nczarr.digest(target)
    found = set()
    for at in range(1, counter.count + 1, 3):
        target = made(name)
        ran = Failures(target.parent, at, signal_number=signal.SIGINT).run("edit", target, *EDIT)
        found.add(ran.status)
        assert nczarr.digest(target) == (before if ran.status == 130 else after), (at, ran)
    assert found >= {130}


def test_an_old_target_that_cannot_be_removed_is_no_failure_to_write(
    made: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = made("a.zarr")
    (target.parent / "b.cdl").write_text(SCHEMA.replace("1, 2, 3", "4, 5, 6"))

    def remove(path: str, *, dir_fd: int | None = None) -> None:
        raise OSError(errno.EIO, "it fails", path)

    monkeypatch.setattr("os.rmdir", remove)
    ran = _run("compile", target.parent / "b.cdl", "-o", target, "--overwrite")
    assert (ran.status, "incomplete-change" in ran.err, "is incomplete" in ran.err) == (4, True, False)
    assert re.search(r"its old content stays in `\S+/a\.zarr\.removed-[0-9a-f]{8}`: it fails", ran.err), ran.err
    assert [int(each) for each in nczarr.open(target)["v"][...]] == [4, 5, 6]


@pytest.mark.parametrize("end", [".nc", ".zarr"])
def test_targets_of_the_longest_names_are_edited(tmp_path: Path, end: str) -> None:
    """The names of the undo file and of the journal are no longer than those that a file system takes."""
    target = tmp_path / ("n" * (255 - len(end)) + end)
    (tmp_path / "a.cdl").write_text(SCHEMA)
    assert _run("convert", tmp_path / "a.cdl", target).status == 0
    before = nczarr.digest(target)
    for number in (1, 2):
        assert _run("edit", target, "--set", f"@title={number}").status == 0
        assert len(_undo_files(target)) == number
    for undo in sorted(_undo_files(target), reverse=True):
        assert _run("edit", target, "--undo", tmp_path / undo).status == 0
    assert nczarr.digest(target) == before
