"""Folders that are gone on with: after a kill nothing that was finished is made again, and nothing is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.stores.base import JOURNAL, StoreJournal
from nczarr.stores.directory import GROWING, DirectoryTarget
from tests.conftest import ROOT, run_command


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A store of 150 chunks that are worth compressing anew."""
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("t", 150), built.dimension("x", 20000)], chunks=(1, 20000))
    values = np.random.default_rng(1).integers(0, 1000, (150, 20000), dtype="i4")
    nczarr.write(built.finish(data={"/v": values}), tmp_path / "source.zarr", codecs="none")
    return tmp_path / "source.zarr"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def partials(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if ".partial-" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.1, 0.5])
def test_a_killed_run_is_gone_on_with(source: Path, tmp_path: Path, moment: float) -> None:
    command = ["convert", str(source), str(tmp_path / "t.zarr"), "--codec", "zlib:6", "--resume"]
    process = subprocess.Popen([sys.executable, "-m", "nczarr", *command], env={**os.environ, "PYTHONPATH": str(ROOT)})
    target = tmp_path / "t.zarr"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        chunks = [path for each in partials(tmp_path) for path in each.glob("v/*") if not path.name.startswith(".")]
        if len(chunks) > 150 * moment:
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not target.exists()
    (partial,) = partials(tmp_path)
    assert (partial / JOURNAL).exists()
    refused = run_command("dump", str(partial))
    assert (refused.status, "unfinished-store" in refused.err) == (1, True)
    there = {path.name: path.stat().st_ino for path in partial.glob("v/*") if not path.name.startswith(".")}
    assert there
    done = run_command(*command, "--verify")
    assert done.status == 0, done.err
    again = {path.name: path.stat().st_ino for path in target.glob("v/*")}
    assert {name: again[name] for name in there} == there
    assert "already" in done.err
    nczarr.convert(source, tmp_path / "right.zarr", codecs="zlib:6")
    assert files(target) == files(tmp_path / "right.zarr")
    assert partials(tmp_path) == []


def test_other_runs_begin_anew(source: Path, tmp_path: Path) -> None:
    (tmp_path / "t.zarr.partial-00000000" / "v").mkdir(parents=True)
    (tmp_path / "t.zarr.partial-00000000" / JOURNAL).write_bytes(StoreJournal("another").bytes())
    (tmp_path / "t.zarr.partial-00000000" / "v" / "0.0").write_bytes(b"wrong")
    (tmp_path / "t.zarr.partial-11111111").mkdir()
    nczarr.convert(source, tmp_path / "t.zarr", resume=True)
    assert nczarr.diff(source, tmp_path / "t.zarr") == []
    assert len(partials(tmp_path)) == 2


@pytest.mark.slow
def test_a_source_that_has_changed_is_another(source: Path, tmp_path: Path) -> None:
    journal = _journal(source, tmp_path)
    os.utime(source / "v" / "0.0", ns=(1, 1))
    assert _journal(source, tmp_path) != journal


def _journal(source: Path, folder: Path) -> bytes:
    """The journal that a run writes which fails at its first document."""
    command = ["convert", str(source), str(folder / "t.zarr"), "--resume", "--codec", "zlib:1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nczarr.link.target.put_metadata", _no_space)
        failed = run_command(*command)
    assert (failed.status, "--resume" in failed.err) == (3, True)
    (partial,) = partials(folder)
    data = (partial / JOURNAL).read_bytes()
    for path in sorted(partial.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    partial.rmdir()
    return data


def _no_space(*arguments: object) -> None:
    raise OSError(28, "No space left on device")


def test_without_resume_a_failure_leaves_nothing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.link.target.RESUMABLE", 0)
    monkeypatch.setattr("nczarr.link.target.put_metadata", _no_space)
    assert run_command("convert", str(source), str(tmp_path / "t.zarr")).status == 3
    assert [path.name for path in tmp_path.iterdir()] == ["source.zarr"]


def test_the_journal_is_gone_from_a_finished_folder(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nczarr.convert(source, tmp_path / "small.zarr")
    monkeypatch.setattr("nczarr.link.target.RESUMABLE", 0)
    nczarr.convert(source, tmp_path / "large.zarr")
    assert files(tmp_path / "small.zarr") == files(tmp_path / "large.zarr")


def test_halves_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    first = DirectoryTarget(str(tmp_path / "t"), journal=StoreJournal("x"), resume=True)
    first.put("v/0", b"whole")
    (Path(first.path) / "v" / f"{GROWING}1234").write_bytes(b"ha")
    second = DirectoryTarget(str(tmp_path / "t"), journal=StoreJournal("x"), resume=True)
    assert second.path == first.path
    assert [second.is_done(key) for key in ("v/0", "v/1")] == [True, False]
    second.put("v/1", b"too")
    second.finish()
    assert files(tmp_path / "t") == {"v/0": b"whole", "v/1": b"too"}


@pytest.mark.slow
def test_what_is_finished_is_looked_at_and_left(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.zarr"
    nczarr.convert(source, target)
    before = files(target)
    for flags, words in (([], "not compared"), (["--verify"], "already exists, equal")):
        done = run_command("convert", str(source), str(target), "--resume", *flags)
        assert done.status == 0, done.err
        assert "finished-target" in done.err
        assert words in done.err
    nczarr.write(nczarr.from_cdl("netcdf o { variables: int w ; }"), target, overwrite=True)
    other = files(target)
    assert other != before
    assert run_command("convert", str(source), str(target), "--resume").status == 1
    assert files(target) == other


@pytest.mark.slow
def test_of_several_sources_only_the_rest_is_made(tmp_path: Path) -> None:
    samples = [str(path) for path in sorted((ROOT / "samples").glob("0[1-4]*.cdl"))]
    out = str(tmp_path / "out")
    assert run_command("convert", *samples[:2], out).status == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert run_command("convert", *samples, out).status == 2
    done = run_command("convert", *samples, out, "--resume", "--verify")
    assert done.status == 0, done.err
    assert len(list((tmp_path / "out").iterdir())) == 4
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("length", [237, 238, 250, 255])
def test_a_target_with_a_long_name_is_resumed(tmp_path: Path, length: int) -> None:
    name = "ü" * 100 + "t" * (length - 205) + ".zarr"
    other = name.replace("t.zarr", "u.zarr")
    first = DirectoryTarget(str(tmp_path / name), journal=StoreJournal("x"), resume=True)
    first.put("v/0", b"whole")
    beside = DirectoryTarget(str(tmp_path / other), journal=StoreJournal("x"), resume=True)
    assert beside.path != first.path
    second = DirectoryTarget(str(tmp_path / name), journal=StoreJournal("x"), resume=True)
    assert second.path == first.path
    assert second.is_done("v/0")
    second.finish()
    assert files(tmp_path / name) == {"v/0": b"whole"}
    assert len(partials(tmp_path)) == 1


@pytest.mark.parametrize("length", [237, 255])
def test_a_command_continues_a_target_with_a_long_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    target = tmp_path / ("t" * (length - 5) + ".zarr")
    with monkeypatch.context() as patch:
        patch.setattr("nczarr.link.target.put_metadata", _no_space)
        assert run_command("convert", str(source), str(target), "--resume").status == 3
    assert len(partials(tmp_path)) == 1
    done = run_command("convert", str(source), str(target), "--resume")
    assert done.status == 0, done.err
    assert "already" in done.err
    assert nczarr.diff(source, target) == []
    assert partials(tmp_path) == []
