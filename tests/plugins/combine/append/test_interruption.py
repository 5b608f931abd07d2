"""Extensions that end at any write: the target reads as before or as after, and the same command completes it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.common.store_changes import ExtensibleFolder
from nczarr.stores.base import JOURNAL
from tests.conftest import ROOT, run_command
from tests.support.proof import share

STEPS = ("_write", "move", "remove", "claim")
"""Everything that changes a folder."""


class KilledError(BaseException):
    """The end of a process."""


def records(start: int, stop: int, seed: int = 0) -> nczarr.DatasetHandle:
    """Records of some times, with values that no other seed has."""
    built = nczarr.DatasetBuilder("t")
    time, x = built.dimension("time", stop - start, unlimited=True), built.dimension("x", 5)
    built.variable("time", "double", [time], chunks=(4,))
    built.variable("v", "int", [time, x], chunks=(4, 3))
    built.variable("w", "int", [x, time], chunks=(3, 4))
    built.variable("x", "int", [x])
    times = np.arange(start, stop)
    values = times[:, None] * 10 + np.arange(5) + 1000 * seed
    data = {"/time": times.astype("f8"), "/v": values, "/w": values.T, "/x": np.arange(5)}
    return built.finish(data=data)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Files of records 6 to 13, and 3 to 9 with other values."""
    nczarr.write(records(6, 13), tmp_path / "next.nc", kind="nc4")
    nczarr.write(records(3, 9, seed=1), tmp_path / "again.nc", kind="nc4")
    return tmp_path


def killed_at(step: int, work: Callable[[], object], *, late: bool) -> bool:
    """Run, and end it before or after a write; return whether it came so far."""
    count = 0
    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            original = getattr(ExtensibleFolder, name)

            def counted(self: Any, *given: Any, original: Callable[..., Any] = original) -> Any:
                nonlocal count
                count += 1
                if count == step and not late:
                    raise KilledError
                found = original(self, *given)
                if count == step:
                    raise KilledError
                return found

            patch.setattr(ExtensibleFolder, name, counted)
        try:
            work()
        except KilledError:
            return True
    return False


FORMS = [
    ("nczarr", {}),
    ("zarr2", {"consolidated": True}),
    ("zarr3", {"consolidated": True}),
    ("nczarr3", {"shards": {"/v": (8, 3), "/w": (3, 8)}}),
]


@pytest.mark.long
@pytest.mark.parametrize(("number", "source"), [(3, "next.nc"), (2, "again.nc")])
def test_some_writes_may_be_the_last(sources: Path, number: int, source: str) -> None:
    check_writes(sources, *FORMS[number], source, stride=4)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["next.nc", "again.nc"])
@pytest.mark.parametrize(("form", "options"), FORMS, ids=[form for form, _ in FORMS])
def test_every_write_may_be_the_last(sources: Path, form: str, options: dict[str, Any], source: str) -> None:
    check_writes(sources, form, options, source, stride=1)


def check_writes(sources: Path, form: str, options: dict[str, Any], source: str, *, stride: int) -> None:
    """End the run at each `stride`th write, and complete it by the same command."""
    before, after, target = sources / "before.zarr", sources / "after.zarr", sources / "t.zarr"
    nczarr.write(records(0, 6), before, form, allow_loss="all", **options)
    given: dict[str, Any] = {"along": "time", "region": "auto" if source == "again.nc" else None, "workers": 1}
    shutil.copytree(before, after)
    nczarr.append(sources / source, after, **given)
    assert nczarr.open(after)["v"].shape == ((13, 5) if source == "next.nc" else (9, 5))
    seen = {"before": 0, "after": 0}
    for late in (False, True):
        step = 1
        while True:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(before, target)
            if not killed_at(step, lambda: nczarr.append(sources / source, target, **given), late=late):
                break
            states = [name for name, path in (("before", before), ("after", after)) if not nczarr.diff(path, target)]
            assert len(states) == 1, (step, late, states)
            seen[states[0]] += 1
            if (target / JOURNAL).exists():
                told = run_command("check", str(target))
                assert (told.status, "unfinished-append" in told.err) == (0, True)
                nczarr.append(sources / source, target, **given)
            elif states == ["before"]:
                nczarr.append(sources / source, target, **given)
            assert nczarr.diff(after, target) == []
            assert files(target) == files(after), (step, late)
            step += stride
    assert all(seen.values()) or stride > 1


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_command_begins_anew(sources: Path) -> None:
    """Readers ignore the chunks of an abandoned run, and the next run removes them."""
    target, right = sources / "t.zarr", sources / "right.zarr"
    nczarr.write(records(0, 6), target, "nczarr3")
    shutil.copytree(target, right)
    nczarr.write(records(6, 8, seed=7), sources / "short.nc", kind="nc4")
    assert killed_at(9, lambda: nczarr.append(sources / "next.nc", target, along="time", workers=1), late=True)
    assert b"writing" in (target / JOURNAL).read_bytes()
    left = files(target)
    with pytest.raises(nczarr.CompileError, match="by another command was interrupted"):
        nczarr.append(sources / "short.nc", target, along="time")
    with pytest.raises(nczarr.CompileError, match=r"uneditable-target.*`nczarr append` was interrupted"):
        nczarr.edit(target, attributes={"/v@units": "K"})
    assert files(target) == left
    for path in (target, right):
        nczarr.append(sources / "short.nc", path, along="time", discard=True)
    assert files(target) == files(right)


@pytest.mark.long
def test_a_committed_run_is_completed_by_any_other(sources: Path) -> None:
    target, right = sources / "t.zarr", sources / "right.zarr"
    nczarr.write(records(0, 6), target, "nczarr3")
    shutil.copytree(target, right)
    nczarr.write(records(13, 15), sources / "last.nc", kind="nc4")
    step = 1
    while b"committed" not in ((target / JOURNAL).read_bytes() if (target / JOURNAL).exists() else b""):
        shutil.rmtree(target)
        shutil.copytree(right, target)
        killed_at(step, lambda: nczarr.append(sources / "next.nc", target, along="time", workers=1), late=True)
        step += 1
    for name in ("next.nc", "last.nc"):
        nczarr.append(sources / name, right, along="time")
    nczarr.append(sources / "last.nc", target, along="time")
    assert files(target) == files(right)


def test_a_failure_is_resumed(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = sources / "t.zarr"
    nczarr.write(records(0, 6), target, "nczarr3")
    before = nczarr.digest(target)
    original = ExtensibleFolder._write

    def full(self: Any, key: str, pieces: Any) -> None:
        if key.startswith("v/c/2"):
            raise OSError(28, "No space left on device")
        original(self, key, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(ExtensibleFolder, "_write", full)
        ran = run_command("append", str(sources / "next.nc"), str(target), "--along", "time", "--workers", "1")
    assert (ran.status, "continue with the same command" in ran.err) == (3, True)
    assert nczarr.digest(target) == before
    done = run_command("append", str(sources / "next.nc"), str(target), "--along", "time")
    assert done.status == 0, done.err
    assert "already written" in done.err
    nczarr.refs.combine([records(0, 6), sources / "next.nc"], sources / "whole.nc", along="time")
    assert nczarr.diff(target, sources / "whole.nc") == []


def test_a_damaged_source_leaves_nothing(tmp_path: Path) -> None:
    """The same command would find the same chunk, so nothing waits for it."""
    target, source = tmp_path / "t.zarr", tmp_path / "s.zarr"
    nczarr.write(records(0, 6), target, "nczarr3")
    nczarr.write(records(6, 13), source, "nczarr3", codecs="zlib:1")
    (source / "v" / "c" / "1" / "0").write_bytes(b"damaged")
    before = files(target)
    with pytest.raises(nczarr.CompileError, match="cannot be decoded"):
        nczarr.append(source, target, along="time")
    after = files(target)
    edges = {key for key in before if before[key] != after[key]}
    assert before.keys() == after.keys()
    assert all("/c/" in key for key in edges)
    assert nczarr.diff(target, records(0, 6)) == []


def test_a_failure_without_a_fingerprint_leaves_nothing(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources in memory cannot be recognized, so the run is not continued."""
    target = sources / "t.zarr"
    nczarr.write(records(0, 6), target, "nczarr3")
    before = files(target)
    original = ExtensibleFolder._write

    def full(self: Any, key: str, pieces: Any) -> None:
        if key.startswith("v/c/2"):
            raise OSError(28, "No space left on device")
        original(self, key, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(ExtensibleFolder, "_write", full)
        with pytest.raises(OSError, match="No space"):
            nczarr.append(records(6, 13), target, along="time")
    assert files(target).keys() == before.keys()
    nczarr.append(records(6, 13), target, along="time")
    assert nczarr.open(target)["v"].shape == (13, 5)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zarr3", "netcdf4"])
def test_killed_at_random_moments(tmp_path: Path, form: str) -> None:
    """The process is killed by the system: it cannot tidy up."""
    before, after, target = (tmp_path / f"{name}.{form[:3]}" for name in ("before", "after", "t"))
    nczarr.write(large(0, 50), before, form, codecs="zlib:6")
    nczarr.write(large(50, 90), tmp_path / "next.nc", kind="nc4")
    copy: Callable[..., Any] = shutil.copytree if before.is_dir() else shutil.copy
    copy(before, after)
    nczarr.append(tmp_path / "next.nc", after, along="time")
    choose, seen = random.Random(form), {"before": 0, "after": 0}
    command = [sys.executable, "-m", "nczarr", "append", str(tmp_path / "next.nc"), str(target), "--along", "time"]
    for _ in range(share(20)):
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        copy(before, target)
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
        try:
            process.wait(choose.uniform(0.2, 1.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        states = [name for name, path in (("before", before), ("after", after)) if not nczarr.diff(path, target)]
        assert len(states) == 1
        seen[states[0]] += 1
        if states == ["before"] or (target.is_dir() and (target / JOURNAL).exists()):
            nczarr.append(tmp_path / "next.nc", target, along="time")
        assert nczarr.diff(after, target) == []
        assert not target.is_dir() or not (target / JOURNAL).exists()


def large(start: int, stop: int) -> nczarr.DatasetHandle:
    """Records that take a moment to compress."""
    built = nczarr.DatasetBuilder("t")
    time, x = built.dimension("time", stop - start, unlimited=True), built.dimension("x", 40000)
    built.variable("time", "double", [time])
    built.variable("v", "int", [time, x], chunks=(3, 40000))
    times = np.arange(start, stop)
    values = np.random.default_rng(start).integers(0, 1000, (stop - start, 40000), dtype="i4")
    return built.finish(data={"/time": times.astype("f8"), "/v": values})
