"""A signal at any step of putting a target in its place leaves the old one or the new one, and nothing beside it."""

from __future__ import annotations

import linecache
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import nczarr
from nczarr.stores import finish
from nczarr.stores.finish import delay_signals, put_in_place

STEPS = ("finish.py", "open.py", "directory.py", "zip.py")
"""Modules at whose lines the signal comes."""

OLD, NEW = "netcdf t { variables: int v ; data: v = 1 ; }", "netcdf t { variables: int v ; data: v = 2 ; }"


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals do here what they do on the command line."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, before)


class Stepping:
    """Sends the signal at the step with a number; counts steps."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = os.path.basename(frame.f_code.co_filename)
        if name not in STEPS and name != "contextlib.py":
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and name in STEPS and line.strip() != "try:":  # where Python handles no signal
            self.count += 1
            if self.count == self.at:
                signal.raise_signal(signal.SIGTERM)
        return self


@pytest.mark.slow
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", ["t.zarr", "t.zarr.zip", "t.nc"])
def test_every_step_of_replacing_a_target(name: str, tmp_path: Path) -> None:
    old, new = nczarr.from_cdl(OLD), nczarr.from_cdl(NEW)
    seen: set[int] = set()
    at = 0
    while True:
        at += 1
        target = tmp_path / str(at) / name
        target.parent.mkdir()
        nczarr.write(old, target)
        stepping = Stepping(at)
        interrupted = False
        sys.settrace(stepping)
        try:
            nczarr.write(new, target, overwrite=True, workers=1)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        assert [each.name for each in target.parent.iterdir()] == [name], f"step {at}"
        seen.add(int(nczarr.open(target)["v"][...]))
        if stepping.count < at:
            break
        assert interrupted, f"step {at}"
    assert seen == {1, 2}
    assert at > 5


@pytest.mark.usefixtures("heard")
def test_a_signal_is_kept_until_the_block_is_done() -> None:
    done = []

    def block() -> None:
        with delay_signals():
            signal.raise_signal(signal.SIGTERM)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == [1]


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with delay_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_old_folder_comes_back_where_the_new_one_cannot_be_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    rename = os.rename

    def failing(source: Any, target: Any) -> None:
        if os.path.basename(source) == "new":
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(finish, "_exchange", lambda one, other: False)  # as on systems without it
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        put_in_place(str(tmp_path / "new"), str(tmp_path / "old"), overwrite=True)
    assert (tmp_path / "old" / "a").read_text() == "old"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges names")
def test_a_folder_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rename leaves a moment without the target, and nothing of the old one remains."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)

    def failing(source: Any, target: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "rename", failing)
    put_in_place(str(tmp_path / "new"), str(tmp_path / "old"), overwrite=True)
    assert (tmp_path / "old" / "a").read_text() == "new"
    assert os.listdir(tmp_path) == ["old"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.zarr", "t.zarr.zip", "t.nc"])
def test_runs_that_are_ended_at_any_moment(name: str, tmp_path: Path) -> None:
    text = "netcdf t { dimensions: x = 4000 ; variables: int v(x) ; v:_ChunkSizes = 5 ; data: v = 1 ; }"
    source, target = tmp_path / "s.nc", tmp_path / "made" / name
    target.parent.mkdir()
    nczarr.write(nczarr.from_cdl(text), source, kind="nc4")
    chunks = {"x": 5}
    nczarr.convert(source, target, chunks=chunks)
    command = [sys.executable, "-m", "nczarr", "convert", "--overwrite", "--chunks", "x=5", str(source), str(target)]
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    usual = time.monotonic() - begun
    chance = random.Random(1)
    for _ in range(10):
        run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(usual * chance.uniform(0.6, 1.05))
        run.terminate()
        run.wait()
        deadline = time.monotonic() + 30
        while [path.name for path in target.parent.iterdir()] != [name]:  # a process removes the other folder
            assert time.monotonic() < deadline, os.listdir(target.parent)
            time.sleep(0.05)
        assert nczarr.open(target)["v"].shape == (4000,)


@pytest.mark.usefixtures("heard")
def test_a_signal_in_an_outer_block_waits_for_its_end() -> None:
    done = []

    def blocks() -> None:
        with delay_signals():
            with delay_signals():
                done.append("inner")
            signal.raise_signal(signal.SIGTERM)
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        blocks()
    assert done == ["inner", "outer"]
