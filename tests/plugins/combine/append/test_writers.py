"""Appends beside each other, beside readers, and where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.stores import finish, lock
from tests.conftest import ROOT, run_command

CDL = "netcdf t { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"

TARGETS = ["t.zarr", "t.nc", "t.json"]


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", "1, 2"), ("b", "3"), ("c", "4, 5")):
        nczarr.write(nczarr.from_cdl(CDL % text), f"{name}.nc", kind="nc4")


def make(target: str) -> None:
    nczarr.refs.combine(["a.nc"], target, along="t") if target == "t.json" else nczarr.convert("a.nc", target)


def append(target: str, source: str) -> None:
    if target == "t.json":
        nczarr.refs.append(target, [source], along="t")
    else:
        nczarr.append([source], target, along="t")


def values(target: str) -> list[int]:
    with nczarr.open(target) as dataset:
        return list(map(int, np.asarray(dataset["v"][:])))


@pytest.mark.parametrize("target", TARGETS)
def test_of_two_threads_one_appends(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread begins while the first one holds the lock."""
    make(target)
    codes: list[str] = []
    taken, refused = threading.Event(), threading.Event()
    original = finish.lock_file

    def first(target: str) -> lock.Lock:
        made = original(target)
        if not taken.is_set():
            taken.set()
            assert refused.wait(60)
        return made

    def other() -> None:
        assert taken.wait(60)
        try:
            append(target, "c.nc")
        except nczarr.CompileError as error:
            codes.extend(found.code for found in error.diagnostics)
        finally:
            refused.set()

    monkeypatch.setattr(finish, "lock_file", first)
    thread = threading.Thread(target=other)
    thread.start()
    append(target, "b.nc")
    thread.join()
    assert codes == ["busy-target"]
    assert values(target) == [1, 2, 3]
    append(target, "c.nc")
    assert values(target) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("target", TARGETS)
def test_threads_at_once_lose_no_record(target: str) -> None:
    make(target)
    start, done, codes = threading.Barrier(2), list[str](), set[str]()

    def work(source: str) -> None:
        start.wait()
        while codes <= {"busy-target"}:
            try:
                append(target, source)
            except nczarr.CompileError as error:
                codes.update(found.code for found in error.diagnostics)
            else:
                done.append(source)
                return

    threads = [threading.Thread(target=work, args=(source,)) for source in ("b.nc", "c.nc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == ["b.nc", "c.nc"]
    assert codes <= {"busy-target"}
    assert values(target) in ([1, 2, 3, 4, 5], [1, 2, 4, 5, 3])
    assert not [name for name in os.listdir() if "nczarr-lock" in name or "partial" in name]


@pytest.mark.parametrize("target", TARGETS)
def test_an_open_dataset_never_mixes_two_states(target: str) -> None:
    make(target)
    with nczarr.open(target) as before:
        append(target, "b.nc")
        try:
            assert list(before["v"][:]) == [1, 2]
        except OSError as error:
            assert "has changed since it was opened" in str(error)  # noqa: PT017 (both are right)
    assert values(target) == [1, 2, 3]


WITHOUT_RIGHTS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"]
"""Command that takes from root the right to write everywhere."""


@pytest.mark.long
@pytest.mark.parametrize("target", [*TARGETS, "u.zarr", "u.nc"])
def test_a_closed_folder_is_named(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    place = str(folder / target)
    if not target.startswith("u"):
        make(place) if target != "t.json" else nczarr.refs.combine(["a.nc"], place, along="t")
    command = (
        ["append", "b.nc", place, "--along", "t"] if target == "t.nc" else ["convert", "b.nc", place, "--overwrite"]
    )
    if target == "t.json":
        command = ["refs", "append", place, "b.nc"]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    folder.chmod(0o555)
    try:
        rights = WITHOUT_RIGHTS if os.geteuid() == 0 else []
        words = [*rights, sys.executable, "-m", "nczarr", *command]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    except FileNotFoundError:
        pytest.skip("root may write everywhere, and setpriv is missing")
    finally:
        folder.chmod(0o755)
    assert done.returncode == 3, done.stderr
    assert f"error[missing-permission]: `{place}`: Permission denied" in done.stderr
    assert f"the folder `{folder}` cannot be written" in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert run_command(*command).status == 0
