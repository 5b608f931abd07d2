"""Very many files are announced before the work; interruptions say what becomes of the finished chunks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.link import target
from nczarr.stores import directory
from nczarr.stores import finish as removal
from tests.conftest import run_command

CHUNKS = 8
ONES = ", ".join("1" * CHUNKS)
CDL = f"netcdf t {{ dimensions: x = {CHUNKS} ; variables: int v(x), w(x) ; data: v = {ONES} ; w = {ONES} ; }}"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "s.nc", kind="nc4")
    return tmp_path / "s.nc"


def convert(source: Path, name: str, *options: str) -> Any:
    arguments = ("convert", str(source), str(source.parent / name), "--chunks", "x=1", "--workers", "1", *options)
    return run_command(*arguments)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MANY_FILES", 2 * CHUNKS - 1)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", ["human", "json"])
def test_many_files_are_announced_before_the_work(source: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    original = target.begin_store

    def begun(*given: Any) -> Any:
        printed.append(sys.stderr.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return original(*given)

    monkeypatch.setattr(target, "begin_store", begun)
    ran = convert(source, "t.zarr", "--message-format", form)
    assert ran.status == 0
    assert printed[0].count("many-files") == 1
    assert "--shards auto" in printed[0]
    assert ran.err.startswith(printed[0])
    assert ran.err.count("many-files") == 1
    assert ("1 warning\n" in ran.err) == (form == "human")


@pytest.mark.usefixtures("few")
def test_many_files_are_once_in_sarif(source: Path) -> None:
    (results,) = [
        log["results"] for log in json.loads(convert(source, "t.zarr", "--message-format", "sarif").err)["runs"]
    ]
    assert [result["ruleId"] for result in results] == ["many-files"]


@pytest.mark.usefixtures("few")
def test_a_strict_run_ends_before_the_work(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "begin_store", None)
    ran = convert(source, "t.zarr", "--strict")
    assert (ran.status, ran.err.count("error[many-files]")) == (1, 1)
    assert os.listdir(source.parent) == ["s.nc"]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("name", "options"), [("t.zarr.zip", ()), ("t.zarr", ("--to", "zarr3", "--shards", "x=4")), ("t.nc", ())]
)
def test_other_targets_have_few_files(source: Path, name: str, options: tuple[str, ...]) -> None:
    assert "many-files" not in convert(source, name, *options).err


def test_as_many_files_as_the_limit_are_no_matter(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MANY_FILES", 2 * CHUNKS)
    assert "many-files" not in convert(source, "t.zarr").err


@pytest.mark.usefixtures("few")
def test_missing_chunks_are_no_files(tmp_path: Path) -> None:
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("x", 1000, unlimited=True)], chunks=(1,), fill_value=0)
    nczarr.write(built.finish(data={"/v": [0] * 1000}), tmp_path / "s.zarr")
    files = [path for path in (tmp_path / "s.zarr").rglob("*") if path.is_file()]
    assert len(files) < CHUNKS
    assert "many-files" not in run_command("convert", str(tmp_path / "s.zarr"), str(tmp_path / "t.zarr")).err


def interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a run when it has all chunks of the first variable."""
    original = directory.DirectoryTarget.put

    def put(self: Any, key: str, data: bytes) -> None:
        if key.startswith("w/"):
            raise KeyboardInterrupt
        original(self, key, data)

    monkeypatch.setattr(directory.DirectoryTarget, "put", put)


def notes(source: Path, name: str, *options: str) -> list[str]:
    with pytest.raises(KeyboardInterrupt) as caught:
        nczarr.convert(
            source, source.parent / name, chunks={"/v": (1,), "/w": (1,)}, workers=1, **dict.fromkeys(options, True)
        )
    return [note.replace(f"{source.parent}/", "") for note in getattr(caught.value, "__notes__", [])]


def test_an_interruption_counts_removed_chunks(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch)
    first, second = notes(source, "t.zarr")
    assert first == "`t.zarr` is incomplete; its finished chunks (8) were removed"
    assert second == "with `--resume`, finished chunks are kept and the same command continues"
    assert os.listdir(source.parent) == ["s.nc"]


@pytest.mark.parametrize("shards", [{}, {"shards": {"/v": (1,), "/w": (2,)}}])
def test_an_interruption_within_a_task_counts_chunks(
    source: Path, monkeypatch: pytest.MonkeyPatch, shards: dict[str, Any]
) -> None:
    """A task has several keys: those that it put before count as well."""
    original, written = directory.DirectoryTarget._write, list[str]()

    def write(self: Any, key: str, pieces: Any) -> None:
        if key.startswith("w/") and len([name for name in written if name.startswith("w/")]) == 2:
            raise KeyboardInterrupt
        original(self, key, pieces)
        written.append(key)

    monkeypatch.setattr(directory.DirectoryTarget, "_write", write)
    is_sharded = bool(shards)
    form = "zarr3" if is_sharded else "zarr2"
    options = {**shards, "chunks": {"/v": (1,), "/w": (1,)}, "workers": 1}
    with pytest.raises(KeyboardInterrupt) as caught:
        nczarr.convert(source, source.parent / "t.zarr", form, **options)
    count = CHUNKS + 2 * (2 if is_sharded else 1)
    assert f"finished chunks ({count}) were removed" in caught.value.__notes__[0]
    assert os.listdir(source.parent) == ["s.nc"]


def test_an_interruption_names_what_is_removed_later(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(removal, "_removers", started)
    monkeypatch.setattr(removal, "PATIENCE", 0.0)
    interrupt(monkeypatch)
    first, _ = notes(source, "t.zarr")
    assert "chunks (8) are removed in the background, from `t.zarr.removed-" in first
    assert started[0].wait(60) == 0
    assert os.listdir(source.parent) == ["s.nc"]


def test_an_interrupted_run_that_can_be_resumed_stays(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupt(patch)
        assert notes(source, "t.zarr", "resume") == ["`t.zarr` is incomplete: continue with `--resume`"]
    assert len([name for name in os.listdir(source.parent) if ".partial-" in name]) == 1
    nczarr.convert(source, source.parent / "t.zarr", chunks={"/v": (1,), "/w": (1,)}, resume=True)
    assert sorted(os.listdir(source.parent)) == ["s.nc", "t.zarr"]
    assert nczarr.diff(source, source.parent / "t.zarr") == []


def test_an_interrupted_file_is_removed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    from nczarr.formats.netcdf4 import write_values

    monkeypatch.setattr(write_values, "write_data", interrupted)
    assert notes(source, "t.nc") == ["`t.nc` is incomplete, and what was written of it was removed"]
    assert os.listdir(source.parent) == ["s.nc"]


def test_the_command_line_prints_the_notes(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch)
    from nczarr.cli import shared

    lines: list[str] = []
    monkeypatch.setattr(shared.Messages, "_write", lambda self, texts: lines.extend(texts))
    convert(source, "t.zarr")
    assert (
        f"nczarr: interrupted; `{source.parent / 't.zarr'}` is incomplete; its finished chunks (8) were removed\n"
        in lines
    )
