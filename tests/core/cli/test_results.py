"""First lines of results: the version of Zarr, and the way to v3 where a suffix chose v2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_command
from tests.support.plugins import skip_without

CDL = "netcdf t { dimensions: t = UNLIMITED ; variables: int t(t) ; data: t = 1, 2 ; }"

DEFAULT = "NCZarr, Zarr v2 (`--to zarr3` writes v3)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.cdl").write_text(CDL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "to", "label"),
    [
        ("a.zarr", [], DEFAULT),
        ("A.ZARR", [], DEFAULT),
        ("a.zarr.zip", [], "NCZarr, Zarr v2"),
        ("a.zarr", ["--to", "nczarr"], "NCZarr, Zarr v2"),
        ("a.zarr", ["--to", "nczarr3"], "NCZarr, Zarr v3"),
        ("a.zarr", ["--to", "zarr2"], "Zarr v2"),
        ("a.zarr", ["--to", "zarr3"], "Zarr v3"),
    ],
)
def test_a_result_names_the_version_of_zarr(folder: Path, target: str, to: list[str], label: str) -> None:
    for command in ("convert", "rechunk"):
        done = run_command(command, "t.cdl", target, *to, "--overwrite", "--chunks", "t=1")
        assert done.status == 0
        assert f"\n`{target}`: {label}, 1 variable, " in f"\n{done.err}"
    compiled = run_command("compile", "t.cdl", "-o", target, *to, "--overwrite")
    said = [line for line in compiled.err.splitlines() if line.startswith("`")]
    assert said == ([] if to else [f"`{target}`: {label}"])
    assert run_command("info", target).text.startswith(f"{target}: {label.partition(' (')[0]}, ")


def test_joined_stores_say_it_too(folder: Path) -> None:
    skip_without("combine")
    (folder / "u.cdl").write_text(CDL.replace("1, 2", "3, 4"))
    done = run_command("combine", "t.cdl", "u.cdl", "-o", "all.zarr", "--along", "t")
    assert done.err.startswith(f"`all.zarr`: 2 sources, {DEFAULT}, 1 variable, ")


def test_programs_get_the_name_of_the_format(folder: Path) -> None:
    done = run_command("convert", "t.cdl", "a.zarr", "--message-format", "json")
    assert json.loads(done.err)["format"] == "nczarr"
    assert json.loads(run_command("info", "a.zarr", "--json").text)["format"] == "nczarr"
    assert run_command("compile", "t.cdl", "-o", "b.zarr", "--message-format", "json").err == ""
    assert run_command("compile", "t.cdl", "-o", "c.zarr", "-q").err == ""


def test_missing_files_of_digests_are_one_message(folder: Path) -> None:
    digest = run_command("digest", "t.cdl").text.split()[0]
    names = ["t.cdl", *(f"day{number}.nc" for number in range(40))]
    (folder / "sums").write_text("".join(f"{digest}  {name}\n" for name in names))
    done = run_command("digest", "--check", "sums")
    assert done.text == "t.cdl: OK\n" + "".join(f"{name}: FAILED open or read\n" for name in names[1:])
    text = "`day0.nc`, `day1.nc`, `day2.nc` and 37 more: No such file or directory"
    assert (done.status, done.err) == (3, f"error[unreachable-file]: {text}\n\n1 error\n")
