"""Many sources: the result does not depend on who reads them, and a run that is killed is resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr import refs
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.combine.join import sources as module
from nczarr.plugins.combine.join.journal import SUFFIX
from tests.conftest import ROOT, run_command
from tests.support.series import content, days


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return days(tmp_path_factory.mktemp("series") / "d", 70)


@pytest.mark.long
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
def test_the_document_does_not_depend_on_the_number_of_processes(series: list[str], tmp_path: Path, name: str) -> None:
    made = []
    for workers in (1, 4):
        target = tmp_path / f"{workers}" / name
        target.parent.mkdir()
        refs.combine(series, target, along="time", workers=workers)
        made.append(content(target))
        assert os.listdir(target.parent) == [name]
    assert made[0] == made[1]
    with nczarr.open(tmp_path / "1" / name) as dataset:
        assert dataset["temp"][:, 2, 3].tolist() == [100 * number + 35 for number in range(70)]
        assert dataset["time"][:].tolist() == list(range(70))
        assert dataset["count"][40:43].tolist() == [40, 41, 42]


def test_coordinates_in_long_chunks_are_embedded_from_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = days(tmp_path / "d", 5, chunk=512)
    refs.combine(sources, tmp_path / "all.json", along="time", writing=refs.Writing(metadata="zarr2"))
    document = json.loads((tmp_path / "all.json").read_text())["refs"]
    assert isinstance(document["time/0"], str)
    assert len([key for key in document if key.startswith("temp/") and key[5] != "."]) == 5
    with nczarr.open(tmp_path / "all.json") as dataset:
        assert dataset["time"][:].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.long
def test_faults_are_those_of_one_process(series: list[str], tmp_path: Path) -> None:
    nczarr.write(
        nczarr.from_cdl("netcdf o { dimensions: time = 1 ; variables: int temp(time) ; }"), tmp_path / "odd.nc"
    )
    given = [*series[:40], str(tmp_path / "odd.nc"), *series[40:], str(tmp_path / "odd.nc")]
    told = []
    for workers in (1, 3):
        with pytest.raises(CompileError) as caught:
            refs.combine(given, tmp_path / "all.json", along="time", workers=workers)
        told.append([(each.code, each.message, each.notes) for each in caught.value.diagnostics])
    assert told[0] == told[1]
    assert any("in 1 more source" in note for *_, notes in told[0] for note in notes)
    assert sorted(os.listdir(tmp_path)) == ["odd.nc"]


@pytest.mark.long
def test_an_unreadable_source_is_named_wherever_it_is_read(series: list[str], tmp_path: Path) -> None:
    for workers in (1, 3):
        with pytest.raises(FileNotFoundError, match=r"gone\.nc"):
            refs.combine(
                [*series[:30], str(tmp_path / "gone.nc")], tmp_path / "all.json", along="time", workers=workers
            )


@pytest.mark.long
def test_a_process_that_dies_is_an_error(series: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.combine import process_pool

    real = process_pool.start

    def dying(*arguments: str, apart: bool = False) -> subprocess.Popen[bytes]:
        made = real(*arguments, apart=apart)
        made.kill()
        return made

    monkeypatch.setattr(process_pool, "start", dying)
    with pytest.raises(OSError, match="ended unexpectedly"):
        refs.combine(series, tmp_path / "all.json", along="time", workers=2)


@pytest.mark.long
def test_sources_with_strings_are_joined_by_processes_too(tmp_path: Path) -> None:
    text = 'netcdf s {{ dimensions: t = UNLIMITED ; variables: string s(t) ; int v(t) ; data: s = "a{0}" ; v = {0} ; }}'
    sources = []
    for number in range(20):
        sources.append(str(tmp_path / f"{number}.nc"))
        nczarr.write(nczarr.from_cdl(text.format(number)), sources[-1])
    for workers in (1, 2):
        refs.combine(sources, tmp_path / f"{workers}.json", along="t", workers=workers)
    assert content(tmp_path / "1.json") == content(tmp_path / "2.json")
    with nczarr.open(tmp_path / "2.json") as dataset:
        assert dataset["s"][:].tolist() == [f"a{number}" for number in range(20)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
@pytest.mark.parametrize("moment", range(5))
@pytest.mark.sampled(10)
def test_a_killed_run_is_resumed(series: list[str], tmp_path: Path, moment: int, name: str) -> None:
    """Either there is no output and a journal, or the whole output."""
    target, share = tmp_path / name, random.Random(f"{name} {moment}").random()
    command = [
        "refs",
        "combine",
        *series,
        "--along",
        "time",
        "-o",
        str(target),
        "--resume",
        "--workers",
        str(1 + moment % 2),
    ]
    process = subprocess.Popen([sys.executable, "-m", "nczarr", *command], env={**os.environ, "PYTHONPATH": str(ROOT)})
    journal = Path(f"{target}{SUFFIX}")
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None and not target.exists():
        if journal.exists() and journal.read_bytes().count(b'"source"') >= share * len(series):
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    read = journal.read_bytes().count(b'"source"') if journal.exists() else 0
    assert target.exists() or read
    done = run_command(*command)
    assert done.status == 0, done.err
    refs.combine(series, tmp_path / f"right{name}", along="time", workers=1)
    assert content(target) == content(tmp_path / f"right{name}")
    assert not journal.exists()


def _stopped(series: list[str], target: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Begin a run that fails after some sources."""
    real, count = module.examine_source, 0

    def failing(*arguments: object, **named: object) -> module.SourceResult:
        nonlocal count
        count += 1
        if count > after:
            raise OSError(5, "the disk is on fire")
        return real(*arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "examine_source", failing)
        with pytest.raises(OSError, match="on fire"):
            refs.combine(series, target, along="time", workers=1, resume=True)


def _read(series: list[str], target: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Resume a run; return the sources that were read."""
    read: list[str] = []
    real = module.examine_source

    def noting(given: module.Input, *rest: object, **named: object) -> module.SourceResult:
        read.append(given.name)
        return real(given, *rest, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "examine_source", noting)
        refs.combine(series, target, along="time", workers=1, resume=True)
    return read


def test_only_new_and_changed_sources_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = days(tmp_path / "d", 20)
    target = tmp_path / "all.json"
    _stopped(series, target, monkeypatch, 12)
    os.utime(series[5], ns=(1, 1))
    assert _read(series, target, monkeypatch) == [series[5], *series[13:]]
    refs.combine(series, tmp_path / "right.json", along="time")
    assert content(target) == content(tmp_path / "right.json")


def test_another_request_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = days(tmp_path / "d", 20)
    target = tmp_path / "all.json"
    _stopped(series, target, monkeypatch, 12)
    journal = Path(f"{target}{SUFFIX}")
    assert _read(series[1:], target, monkeypatch) == series[2:]
    assert not journal.exists()


def test_a_damaged_journal_ends_where_it_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = days(tmp_path / "d", 20)
    target = tmp_path / "all.parq"
    _stopped(series, target, monkeypatch, 12)
    journal = Path(f"{target}{SUFFIX}")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]) + lines[-3].replace(b"count", b"COUNT") + lines[-2] + lines[-1][:50])
    assert _read(series, target, monkeypatch) == series[10:]
    refs.combine(series, tmp_path / "right.parq", along="time")
    assert content(target) == content(tmp_path / "right.parq")


def test_a_finished_target_is_told(tmp_path: Path) -> None:
    """A run that was stopped between its last two steps has left a journal beside a whole target."""
    series = days(tmp_path / "d", 3)
    target = tmp_path / "all.json"
    refs.combine(series, target, along="time")
    from nczarr.plugins.combine.join.journal import FileJournal

    os.rename(target, tmp_path / "aside")
    with FileJournal(str(target), "x", resume=False) as journal:
        journal.note_end()
    os.rename(tmp_path / "aside", target)
    command = ["refs", "combine", *series, "--along", "time", "-o", str(target), "--resume"]
    done = run_command(*command)
    assert (done.status, "finished-target" in done.err) == (0, True)
    assert not Path(f"{target}{SUFFIX}").exists()
    assert run_command(*command).status == 2


def test_an_older_target_is_not_taken_for_the_result(tmp_path: Path) -> None:
    series = days(tmp_path / "d", 3)
    target = tmp_path / "all.json"
    refs.combine(series, target, along="time")
    from nczarr.plugins.combine.join.journal import FileJournal

    with FileJournal(str(target), "x", resume=False) as journal:
        journal.note_end()
    done = run_command("refs", "combine", *series, "--along", "time", "-o", str(target), "--resume")
    assert (done.status, "target-exists" in done.err) == (2, True)


def test_two_runs_do_not_write_one_target(tmp_path: Path) -> None:
    from nczarr.plugins.combine.join.journal import FileJournal

    series = days(tmp_path / "d", 3)
    with FileJournal(str(tmp_path / "all.json"), "x", resume=False):
        done = run_command("refs", "combine", *series, "--along", "time", "-o", str(tmp_path / "all.json"), "--resume")
    assert (done.status, "another run" in done.err) == (2, True)


def test_a_dry_run_shows_the_order_and_writes_nothing(tmp_path: Path) -> None:
    series = days(tmp_path / "d", 3)
    before = sorted(os.listdir(tmp_path))
    done = run_command("refs", "combine", *series, "--along", "time", "-o", str(tmp_path / "all.json"), "--dry-run")
    assert done.status == 0, done.err
    assert done.out.decode().splitlines()[:4] == [
        "`/time`: 3 sources, 3 in all", *(f"{number}  1  {path}" for number, path in enumerate(series)),
    ]  # fmt: skip
    assert b"/temp   3 chunks of 1" in done.out
    assert b"nothing was written" in done.out
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_sources(tmp_path: Path) -> None:
    """Two thousand more sources of four variables take less than eight kilobytes each."""
    import resource

    sources = days(tmp_path / "d", 2200)
    peaks = []
    for count in (200, 2200):
        (tmp_path / "list.json").write_text(json.dumps(sources[:count]))
        code = (
            "import json, resource, sys; from nczarr import refs; "
            "refs.combine(json.load(open(sys.argv[1])), sys.argv[2], along='time', workers=1); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        call = [sys.executable, "-c", code, str(tmp_path / "list.json"), str(tmp_path / f"{count}.parq")]
        done = subprocess.run(
            call, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        peaks.append(int(done.stdout) * 1024)
    assert resource is not None
    assert peaks[1] - peaks[0] < 2000 * 8192
    with nczarr.open(tmp_path / "2200.parq") as dataset:
        assert np.array_equal(dataset["count"][:], np.arange(2200))


@pytest.mark.slow
def test_places_and_packings_take_no_more_memory_than_sources_in_order(tmp_path: Path) -> None:
    """The peak is that of a plain combination, but for half a kilobyte a source."""
    sources = days(tmp_path / "d", 1000)
    (tmp_path / "list.json").write_text(json.dumps(sources[::-1]))
    peaks = {}
    for number, options in enumerate(("", ", sort=True", ", join='outer'", ", repack=True")):
        code = (
            "import json, resource, sys; from nczarr import refs; "
            f"refs.combine(json.load(open(sys.argv[1])), sys.argv[2], along='time', workers=1{options}); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        call = [sys.executable, "-c", code, str(tmp_path / "list.json"), str(tmp_path / f"{number}.json")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(call, capture_output=True, text=True, check=True, env=environment)
        peaks[options] = int(done.stdout) * 1024
    assert max(peaks.values()) < peaks[""] + 1000 * 512, peaks
    with nczarr.open(tmp_path / "1.json") as dataset:
        assert np.array_equal(dataset["count"][:], np.arange(1000))
