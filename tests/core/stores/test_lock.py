"""Locks of local targets: one holder, released with its process, and named to others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.stores import lock as module
from nczarr.stores.finish import lock_target
from nczarr.stores.lock import BusyTargetError, Holder, NoLock, assure, lock_file, lock_name
from tests.conftest import ROOT, run_command
from tests.support.repositories import icechunk

HOLD = """
import sys, time
from nczarr.stores.lock import lock_file
lock = lock_file(sys.argv[1])
print(1, flush=True)
time.sleep(60)
"""


def locks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".nczarr-lock"))


def test_the_lock_is_beside_the_target_and_removed(tmp_path: Path) -> None:
    lock = lock_file(str(tmp_path / "t.zarr"))
    assert locks(tmp_path) == [".t.zarr.nczarr-lock"]
    holder = Holder.parse((tmp_path / ".t.zarr.nczarr-lock").read_bytes())
    assert holder is not None
    assert holder.process == os.getpid()
    assert lock.is_held()
    lock.release()
    assert locks(tmp_path) == []
    assert not lock_file(str(tmp_path / "none" / "t.zarr")).release()


def test_a_second_holder_learns_who_has_it(tmp_path: Path) -> None:
    lock = lock_file(str(tmp_path / "t.nc"))
    with pytest.raises(BusyTargetError) as busy:
        lock_file(str(tmp_path / "t.nc"))
    assert busy.value.holder is not None
    assert busy.value.holder.process == os.getpid()
    lock.release()
    lock_file(str(tmp_path / "t.nc")).release()


def test_a_link_and_its_target_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "t.nc").write_bytes(b"")
    (tmp_path / "link.nc").symlink_to("t.nc")
    lock = lock_file(str(tmp_path / "t.nc"))
    with pytest.raises(BusyTargetError):
        lock_file(str(tmp_path / "link.nc"))
    lock.release()


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    target = str(tmp_path / "t.nc")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", HOLD, target], env=environment, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"1\n"
        with pytest.raises(BusyTargetError) as busy:
            lock_file(target)
        assert busy.value.holder is not None
        assert busy.value.holder.process == other.pid
        assert not busy.value.holder.is_dead
        other.send_signal(signal.SIGKILL)
    assert busy.value.holder.is_dead
    assert locks(tmp_path) == [".t.nc.nczarr-lock"]
    lock_file(target).release()
    assert locks(tmp_path) == []


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    target = str(tmp_path / "t.nc")
    ready, go = os.pipe(), os.pipe()
    lock = lock_file(target)
    child = os.fork()
    if not child:
        os.write(ready[1], b"1")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    lock.release()
    lock_file(target).release()
    os.write(go[1], b"1")
    os.waitpid(child, 0)


def test_a_file_system_without_locks_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(module, "exclusive", refuse)
    report = Report()
    for replaces in (False, True):
        with lock_target(str(tmp_path / "t.zarr"), report, NO_OPTIONS, replaces=replaces) as lock:
            assert isinstance(lock, NoLock)
        assert [found.code for found in report.list_sorted()] == ["unlocked-target"] * replaces


def test_a_store_in_a_closed_folder_is_locked_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.zarr").mkdir()
    real = module._open

    def opened(path: str) -> int:
        if os.path.dirname(path) == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(module, "_open", opened)
    lock = lock_file(str(tmp_path / "t.zarr"))
    assert locks(tmp_path / "t.zarr") == [".nczarr-lock"]
    with pytest.raises(BusyTargetError):
        lock_file(str(tmp_path / "t.zarr"))
    lock.release()
    assert isinstance(lock_file(str(tmp_path / "u.zarr")), NoLock)


@pytest.mark.parametrize("holds_inside", [False, True])
def test_runs_with_different_rights_exclude_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds_inside: bool
) -> None:
    """One run can make files in the folder of the store, the other only in the store."""
    (tmp_path / "t.zarr").mkdir()
    target, real = str(tmp_path / "t.zarr"), module._open

    def opened(path: str) -> int:
        if os.path.dirname(path) == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return real(path)

    for has_inside in (holds_inside, not holds_inside):
        with monkeypatch.context() as patch:
            if has_inside:
                patch.setattr(module, "_open", opened)
            if has_inside == holds_inside:
                lock = lock_file(target)
                continue
            with pytest.raises(BusyTargetError) as busy:
                lock_file(target)
    assert busy.value.holder is not None
    assert busy.value.holder.process == os.getpid()
    lock.release()
    assert [locks(folder) for folder in (tmp_path, tmp_path / "t.zarr")] == [[], []]


@pytest.mark.parametrize("make", ["mkdir", "symlink_to", "mkfifo"])
def test_what_is_no_file_is_no_lock(tmp_path: Path, make: str) -> None:
    place = tmp_path / ".t.nc.nczarr-lock"
    os.mkfifo(place) if make == "mkfifo" else getattr(place, make)(*["t.nc"] * (make == "symlink_to"))
    (tmp_path / "a.cdl").write_text("netcdf a { variables: int v ; }")
    done = run_command("compile", str(tmp_path / "a.cdl"), "-o", str(tmp_path / "t.nc"))
    assert done.status == 3
    assert f"error[unreachable-file]: `{place}`: " in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [place.name, "a.cdl"]


def test_the_lock_of_a_killed_run_on_another_machine_is_free_at_once(tmp_path: Path) -> None:
    """The system tells whether a lock file is held, so its content does not count."""
    place = tmp_path / ".t.nc.nczarr-lock"
    place.write_bytes(Holder.this()._replace(host="elsewhere", machine="another", process=1).bytes())
    lock_file(str(tmp_path / "t.nc")).release()
    assert locks(tmp_path) == []


SPELLINGS = ["{0}", "./{0}", "{0}/", "{0}//", "sub/../{0}", "here/{0}", "here/here/{0}", "link-{0}", "link-{0}/"]
SPELLINGS += ["{1}/{0}", "file://{1}/{0}", "file://localhost{1}/{0}"]


@pytest.mark.parametrize("name", ["t.zarr", "t.nc", "t.json", "t.parq", "r"])
def test_all_spellings_of_a_target_have_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nczarr.plugins.combine.append.placement.PATIENCE", 0)
    for source, text in (("a.nc", "1, 2"), ("b.nc", "3")):
        nczarr.write(nczarr.from_cdl(CDL % text), source, kind="nc4")
    is_reference, prefix = name in ("t.json", "t.parq"), "icechunk:" if name == "r" else ""
    if is_reference:
        nczarr.refs.combine(["a.nc"], name, along="t")
    elif prefix:
        icechunk()
        nczarr.convert("a.nc", prefix + name)
    else:
        nczarr.convert("a.nc", name)
    (tmp_path / "here").symlink_to(".")
    (tmp_path / f"link-{name}").symlink_to(name)
    (tmp_path / "sub").mkdir()
    lock = lock_file(name)
    before = content(tmp_path)
    for spelling in SPELLINGS:
        text = prefix + spelling.format(name, tmp_path)
        append = ["refs", "append", text, "b.nc"] if is_reference else ["append", "b.nc", text, "--along", "t"]
        combine = ["refs", "combine", "a.nc", "b.nc", "--along", "t", "-o", text, "--overwrite"]
        for command in (append, combine if is_reference else ["convert", "b.nc", text, "--overwrite"]):
            done = run_command(*command)
            assert (done.status, "error[busy-target]" in done.err) == (2, True), (command, done.err)
    assert content(tmp_path) == before
    lock.release()


def test_a_lost_lock_is_reported(tmp_path: Path) -> None:
    report, target = Report(), str(tmp_path / "t.nc")
    lock = lock_file(target)
    (tmp_path / ".t.nc.nczarr-lock").unlink()
    other = lock_file(target)
    assert not assure(lock, target, report)
    assert [found.code for found in report.list_sorted()] == ["busy-target"]
    lock.release()
    assert other.is_held()
    other.release()


def test_long_names_have_short_locks() -> None:
    assert len(lock_name("ü" * 127)) < 255
    assert lock_name("ü" * 127) != lock_name("ü" * 126 + "u" * 2)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"nczarr_lock": 1}', b'{"nczarr_lock": 2, "run": "a"}', b"\xff"])
def test_other_content_names_no_holder(data: bytes) -> None:
    assert Holder.parse(data) is None


CDL = "netcdf t { dimensions: t = UNLIMITED ; variables: int t(t) ; data: t = %s ; }"


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("t.zarr", "append b.nc t.zarr --along t"),
        ("t.nc", "append b.nc t.nc --along t"),
        ("t.zarr", "convert b.nc t.zarr --overwrite"),
        ("t.nc", "convert b.nc t.nc --overwrite"),
        ("t.zip", "convert b.nc t.zip --overwrite --to zarr2"),
        ("new.zarr", "convert b.nc new.zarr"),
        ("t.json", "refs append t.json b.nc"),
        ("t.parq", "refs append t.parq b.nc"),
        ("t.json", "refs combine b.nc --along t -o t.json --overwrite"),
        ("u.json", "refs expand t.json -o u.json --overwrite"),
    ],
)
def test_a_second_writer_is_refused_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, command: str
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    nczarr.write(nczarr.from_cdl(CDL % "1, 2"), "a.nc", kind="nc4")
    nczarr.write(nczarr.from_cdl(CDL % "3"), "b.nc", kind="nc4")
    for name in ("t.zarr", "t.nc", "t.zip"):
        nczarr.convert("a.nc", name)
    for name in ("t.json", "t.parq", "u.json"):
        nczarr.refs.combine(["a.nc"], name, along="t")
    lock = lock_file(target)
    before = content(tmp_path)
    done = run_command(*command.split())
    assert done.status == 2
    assert f"error[busy-target]: `{target}` is being written by another run: process {os.getpid()} on" in done.err
    assert content(tmp_path) == before
    lock.release()
    done = run_command(*command.split())
    assert done.status == 0, done.err
    assert locks(tmp_path) == []


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
