"""The last JSON object of commands that write."""

import json
from pathlib import Path
from typing import Any

import netCDF4
import pytest

from nczarr.cli.progress import WAYS
from tests.conftest import run_command

COMBINES = pytest.mark.plugin("combine")

MEMBERS = [
    *("result", "target", "targets", "format", "sources", "variables", "chunks", "skipped_keys", "replaced_keys"),
    *("bytes", "lengths", "previous_lengths", "losses", "verified_with", "completed"),
]


@pytest.fixture
def days(tmp_path: Path) -> list[str]:
    paths = [str(tmp_path / f"day{number}.nc") for number in range(3)]
    for number, path in enumerate(paths):
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("t", None)
            time = file.createVariable("t", "i4", ("t",), chunksizes=(2,))
            time[:] = [2 * number, 2 * number + 1]
    return paths


def result(*arguments: str) -> dict[str, Any]:
    ran = run_command(*arguments, "--message-format", "json")
    assert ran.status == 0, ran.err
    *diagnostics, last = map(json.loads, ran.err.splitlines())
    assert all("code" in each for each in diagnostics)
    assert list(last) == MEMBERS
    assert list(last["chunks"]) == list(WAYS)
    return last


@pytest.mark.long
def test_convert(days: list[str], tmp_path: Path) -> None:
    target = str(tmp_path / "a.zarr")
    found = result("convert", days[0], target, "--verify")
    assert (found["result"], found["target"], found["format"], found["variables"]) == ("convert", target, "nczarr", 1)
    assert sum(found["chunks"].values()) == 1
    assert found["bytes"] > 0
    assert "nczarr" in found["verified_with"]
    assert found["losses"] == []


def test_convert_of_several_sources(days: list[str], tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    found = result("convert", *days[:2], folder, "--to", "zarr3")
    assert (found["target"], found["sources"], len(found["targets"])) == (folder, 2, 2)
    assert {loss["target"] for loss in found["losses"] if loss["kind"] == "unlimited"} == set(found["targets"])


def test_append(days: list[str], tmp_path: Path) -> None:
    target = str(tmp_path / "a.zarr")
    assert run_command("convert", days[0], target).status == 0
    found = result("append", days[1], days[2], target, "--along", "t")
    assert (found["lengths"], found["previous_lengths"], found["sources"]) == ({"/t": 6}, {"/t": 2}, 2)
    assert found["replaced_keys"] >= 0


def test_references(days: list[str], tmp_path: Path) -> None:
    target = str(tmp_path / "a.json")
    found = result("refs", "combine", *days[:2], "-o", target, "--along", "t", "--inline", "0")
    assert (found["result"], found["lengths"], found["previous_lengths"]) == ("refs combine", {"/t": 4}, {})
    assert found["chunks"]["referenced"] == 2
    found = result("refs", "append", target, days[2])
    assert (found["result"], found["lengths"], found["previous_lengths"]) == ("refs append", {"/t": 6}, {"/t": 4})


def test_combine_takes_its_target_last(days: list[str], tmp_path: Path) -> None:
    target, other = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    found = result("combine", *days, target, "--along", "t")
    assert (found["result"], found["sources"], found["target"], found["lengths"]) == ("combine", 3, target, {"/t": 6})
    assert result("combine", *days, "-o", other, "--along", "t")["sources"] == 3
    assert Path(target).read_bytes() == Path(other).read_bytes()
    printed = run_command("combine", *days, "-", "--along", "t")
    assert printed.out == run_command("refs", "combine", *days, "--along", "t").out
    assert json.loads(printed.out)["refs"]
    alone = run_command("combine", days[0], "--along", "t")
    assert (alone.status, alone.err) == (
        2,
        "nczarr combine: name the sources and, as the last argument, the target\n",
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(
            *(pytest.param(name, "combine", marks=COMBINES) for name in ("merge", "concat")),
            ("cat", "dump"),
            ("ls", "dump"),
        ),
        *(("copy", "convert"), ("version", "--version"), pytest.param("combin", "combine", marks=COMBINES)),
    ],
)
def test_names_of_other_programs_suggest_a_command(name: str, meant: str) -> None:
    ran = run_command(name, "a.nc")
    assert ran.status == 2
    assert f"unknown command `{name}`; did you mean `{meant}`?" in ran.err


def test_no_result_without_a_target(days: list[str], tmp_path: Path) -> None:
    failed = run_command("convert", days[0], str(tmp_path / "a.nope"), "--message-format", "json")
    assert failed.status != 0
    assert all("code" in json.loads(line) for line in failed.err.splitlines())
    printed = run_command("convert", days[0], "-", "--to", "cdl", "--message-format", "json")
    assert (printed.status, printed.err) == (0, "")
    assert run_command("convert", days[0], str(tmp_path / "q.zarr"), "-q", "--message-format", "json").err == ""
