"""`--depfile`, `--if-changed`, `--watch`: with Make and Ninja, and by what a run touches."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.conftest import ROOT, Ran, run_command

SCHEMA = "netcdf d {{ dimensions: x = {} ; variables: int v(x) ; }}"

PASS = """from nczarr.ast import Attribute, Constant

def stamp(tree, report):
    from dataclasses import replace
    return replace(tree, attributes=(Attribute(name="stamp", value=Constant.text(b"1")),))
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my schema#$.cdl").write_text(SCHEMA.format(2))


def compile_it(*options: str) -> Ran:
    ran = run_command("compile", "my schema#$.cdl", "-o", "d.nc", *options)
    assert ran.status == 0, ran.err
    return ran


def test_make_knows_the_inputs(tool: Callable[[str], str]) -> None:
    Path("stamping.py").write_text(PASS)
    compile_it("--depfile", "d.d", "--pass", "stamping:stamp")
    Path("Makefile").write_text("d.nc: ; @echo made\ninclude d.d\n")

    def make() -> str:
        call = [tool("make"), "--no-print-directory"]  # `make test` runs this test below another make
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    assert "up to date" in make()
    for name in ("my schema#$.cdl", "stamping.py"):
        os.utime(name, (time.time() + 10,) * 2)
        assert make() == "made\n", name
        os.utime(name, (1, 1))
        assert "up to date" in make()


def test_the_files_of_references_are_inputs() -> None:
    nczarr.write(nczarr.from_cdl(SCHEMA.format(2) + ""), "source.nc")
    assert run_command("convert", "source.nc", "refs.json").status == 0
    assert run_command("convert", "refs.json", "d.zarr", "--depfile", "d.d").status == 0
    assert "refs.json" in Path("d.d").read_text()


def test_all_files_of_a_store_are_inputs() -> None:
    nczarr.write(nczarr.from_cdl(SCHEMA.format(2)), "source.zarr", format="zarr2")
    assert run_command("convert", "source.zarr", "d.nc", "--depfile", "d.d").status == 0
    assert "source.zarr/v/.zarray" in Path("d.d").read_text()


def test_nothing_is_done_if_the_target_is_current() -> None:
    compile_it("--if-changed")
    made = Path("d.nc").stat().st_mtime_ns
    assert compile_it("--if-changed") == Ran(0, b"", "")
    os.utime("my schema#$.cdl", (5, 5))  # another time, the same content
    assert compile_it("--if-changed") == Ran(0, b"", "")
    assert Path("d.nc").stat().st_mtime_ns == made


@pytest.mark.parametrize("change", ["input", "option", "target", "lost target", "other release", "document"])
def test_any_change_makes_the_target_again(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--if-changed"]
    compile_it(*options)
    made = Path("d.nc").stat().st_ino
    document = Path("d.nc.nczarr-inputs.json")
    if change == "input":
        Path("my schema#$.cdl").write_text(SCHEMA.format(3))
    elif change == "option":
        options += ["--kind", "nc3"]
    elif change == "target":
        os.utime("d.nc", (5, 5))
    elif change == "lost target":
        Path("d.nc").unlink()
    elif change == "other release":
        document.write_text(document.read_text().replace(nczarr.__version__, "0.0.0"))
    else:
        document.write_text("{")
    compile_it(*options)
    assert change == "lost target" or Path("d.nc").stat().st_ino != made
    assert len(nczarr.open("d.nc")["/v"][...]) == (3 if change == "input" else 2)
    again = Path("d.nc").stat().st_mtime_ns
    compile_it(*options)
    assert Path("d.nc").stat().st_mtime_ns == again


def test_a_failed_run_leaves_the_old_target_and_no_depfile() -> None:
    compile_it("--if-changed")
    made = Path("d.nc").read_bytes()
    Path("my schema#$.cdl").write_text("netcdf d { variables: int v(nowhere) ; }")
    ran = run_command("compile", "my schema#$.cdl", "-o", "d.nc", "--if-changed", "--depfile", "d.d")
    assert (ran.status, Path("d.nc").read_bytes(), Path("d.d").exists()) == (1, made, False)


def test_a_depfile_without_a_folder_begins_no_run() -> None:
    ran = run_command("compile", "my schema#$.cdl", "-o", "d.nc", "--depfile", "nowhere/d.d")
    assert (ran.status, "does not exist" in ran.err, Path("d.nc").exists()) == (2, True, False)


def test_a_source_that_changes_during_the_run_counts_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target is made of what the source was; the next run must not take it for current."""
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("late.py").write_text(
        "from pathlib import Path\n\n\ndef edit(tree, report):\n"
        f"    Path('my schema#$.cdl').write_text({SCHEMA.format(3)!r})\n    return tree\n"
    )
    compile_it("--if-changed", "--pass", "late:edit")
    assert len(nczarr.open("d.nc")["/v"][...]) == 2
    compile_it("--if-changed", "--pass", "late:edit")
    assert len(nczarr.open("d.nc")["/v"][...]) == 3


def test_a_target_is_needed() -> None:
    for options in (["--depfile", "x"], ["--if-changed"], ["--watch", "-o", "-"]):
        assert run_command("compile", "my schema#$.cdl", *options).status == 2


@pytest.mark.long
def test_watch(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "nczarr", "compile", "my schema#$.cdl", "-o", "d.nc", "--watch"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "nczarr: watching 1 file; status 0\n"
        Path("my schema#$.cdl").write_text(SCHEMA.format("three"))
        assert any("status 1" in line for line in iter(running.stderr.readline, ""))
        assert len(nczarr.open("d.nc")["/v"][...]) == 2
        Path("my schema#$.cdl").write_text(SCHEMA.format(30))
        assert any("status 0" in line for line in iter(running.stderr.readline, ""))
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
    assert running.returncode == 0
    assert len(nczarr.open("d.nc")["/v"][...]) == 30


# ---- the recipes of the guide ----------------------------------------------------------------------------------------
GUIDE = (ROOT / "docs" / "how-to" / "build-systems.md").read_text(encoding="utf-8")


def recipe(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def times_of(path: Path) -> int:
    return path.stat().st_mtime_ns


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs beside this Python, such as `nczarr`, are found by their names."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


BUILDS = {
    "make": ("Makefile", "make", [], ["make", "station.nc"], "station.nc"),
    "ninja": ("build.ninja", "ninja", [], ["ninja"], "station.nc"),
    "cmake": (
        "CMakeLists.txt",
        "cmake",
        ["cmake", "-S", ".", "-B", "out"],
        ["cmake", "--build", "out"],
        "out/station.nc",
    ),
    "meson": ("meson.build", "meson", ["meson", "setup", "out"], ["ninja", "-C", "out"], "out/station.nc"),
    "snakemake": ("Snakefile", "snakemake", [], ["snakemake", "--cores", "1", "station.nc"], "station.nc"),
}


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("language", BUILDS)
def test_a_recipe(language: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    """The first build makes the target, a second one does nothing, a changed schema makes it again."""
    name, program, first, build, target = BUILDS[language]
    if program == "snakemake" and shutil.which(program) is None:  # 50 packages: no peer that a run may require
        pytest.skip("snakemake is not installed")
    for each in {program, build[0]}:
        tool(each)
    (tmp_path / name).write_text(recipe(language))
    schema = tmp_path / "station.cdl"
    schema.write_text(SCHEMA.format(2))
    for words in (first, build):
        if words:
            subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    made = times_of(tmp_path / target)
    subprocess.run(build, check=True, capture_output=True, cwd=tmp_path)
    assert times_of(tmp_path / target) == made
    schema.write_text(SCHEMA.format(3))
    os.utime(schema, (time.time() + 5,) * 2)
    subprocess.run(build, check=True, capture_output=True, cwd=tmp_path)
    assert len(nczarr.open(tmp_path / target)["/v"][...]) == 3
