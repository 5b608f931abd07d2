"""nczarr in a repository of somebody else: hooks of pre-commit, the action's steps, git's diff drivers, pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT, missing_peer

pytestmark = pytest.mark.program

GOOD = """netcdf ocean {
dimensions:
	x = 2 ;
variables:
	float temp(x) ;
		temp:units = "K" ; // kelvin
data:

 temp = 1, 2 ;
}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of git with one schema and one file, and `nczarr` on the path."""
    folder = tmp_path / "repository"
    folder.mkdir()
    run(folder, "git", "init", "-q", "-b", "main")
    for name, value in (("user.name", "n"), ("user.email", "n@n.example"), ("core.autocrlf", "false")):
        run(folder, "git", "config", name, value)
    (folder / "ocean.cdl").write_text(GOOD)
    run(folder, "nczarr", "compile", "ocean.cdl", "-o", "ocean.nc", "--to", "netcdf4")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-qm", "one")
    return folder


def environment() -> dict[str, str]:
    """The environment of a user whose path has this interpreter's commands."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTEST_"))}
    return {**kept, "PATH": path}


def run(folder: Path, *command: str, status: int = 0, **more: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**environment(), **more}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout + done.stderr


# ---- pre-commit ------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_hooks_of_pre_commit(repository: Path) -> None:
    """Hooks as the repository of nczarr describes them, with the installed command instead of an environment."""
    if not (Path(sys.executable).parent / "pre-commit").exists():
        missing_peer("pre-commit")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = [{**hook, "language": "system"} for hook in hooks]
    for hook in local:
        hook.pop("additional_dependencies", None)
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    run(repository, "git", "add", "-A")
    said = run(repository, "pre-commit", "run", "--all-files")
    assert said.count("Passed") == len(hooks)
    (repository / "ocean.cdl").write_text(GOOD.replace("float temp(x) ;", "float   temp( x );"))
    (repository / "bad.cdl").write_text("netcdf bad { variables: int v(y) ; }")
    run(repository, "git", "add", "-A")
    said = run(repository, "pre-commit", "run", "--all-files", status=1)
    assert "bad.cdl:3:8" in said  # formatted before
    assert "undefined-dimension" in said
    assert (repository / "ocean.cdl").read_text() == GOOD  # put right, and reported as changed


def test_the_version_of_the_hooks_is_installable() -> None:
    """pre-commit installs the repository itself, with the extras that are named."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    entries = {"nczarr fmt", "nczarr check", "nczarr diff --compat backward --against HEAD"}
    assert {hook["entry"] for hook in hooks} == entries
    assert {hook["language"] for hook in hooks} == {"python"}


# ---- the action ------------------------------------------------------------------------------------------------------
def step(name: str) -> dict[str, Any]:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return next(step for step in steps if step.get("name") == name)


@pytest.mark.long
def test_steps_of_the_action(repository: Path) -> None:
    (repository / "bad.cdl").write_text("netcdf bad {\nvariables:\n  int v(y) ;\n}\n")
    output = repository / "output"
    names = {"PATHS": "*.cdl ocean.nc", "OPTIONS": "--strict", "SARIF": "found.sarif", "GITHUB_OUTPUT": str(output)}
    run(repository, "bash", "-e", "-c", step("check")["run"], status=1, **names)
    assert output.read_text() == "sarif=found.sarif\n"
    (log,) = json.loads((repository / "found.sarif").read_text())["runs"]
    (result,) = log["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "undefined-dimension", "bad.cdl", 3,
    )  # fmt: skip
    (repository / "bad.cdl").unlink()
    run(repository, "bash", "-e", "-c", step("check")["run"], **names)
    assert json.loads((repository / "found.sarif").read_text())["runs"][0]["results"] == []


def test_inputs_of_the_action_reach_the_steps() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    text = json.dumps(action["runs"])
    assert all(f"inputs.{name}" in text for name in action["inputs"])
    check = step("check")
    assert set(check["env"]) == {"PATHS", "OPTIONS", "SARIF"}
    assert "${{" not in check["run"], "inputs are variables of the shell, never parts of a script"


# ---- git -------------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_a_diff_driver_of_git(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.nc diff=nczarr\n")
    run(repository, "git", "config", "diff.nczarr.command", "nczarr diff --git")
    run(repository, "nczarr", "edit", "ocean.nc", "--set", '/temp@units="degC"', "--undo-file", "../undo.json")
    run(repository, "git", "mv", "ocean.cdl", "sea.cdl")
    said = run(repository, "git", "diff", "--ext-diff", "--", "ocean.nc")
    assert said.splitlines()[0] == "nczarr diff a/ocean.nc b/ocean.nc"
    assert '"K"' in said
    assert '"degC"' in said
    run(repository, "git", "commit", "-qam", "two")
    (repository / "ocean.nc").write_bytes(b"noise")
    said = run(repository, "git", "diff", "--ext-diff")
    assert "the two states cannot be compared" in said
    run(repository, "git", "rm", "-qf", "ocean.nc")
    assert "removed" in run(repository, "git", "diff", "--ext-diff", "--cached", "--", "ocean.nc")
    shown = run(repository, "git", "log", "-p", "--ext-diff", "--format=%s", "--", "ocean.nc")
    assert "added" in shown
    assert '"degC"' in shown


@pytest.mark.long
def test_text_of_files_for_git(repository: Path) -> None:
    """`textconv` shows the lines of the header that differ, also in `git show` and on hosts."""
    (repository / ".gitattributes").write_text("*.nc diff=nczarr\n")
    run(repository, "git", "config", "diff.nczarr.textconv", "nczarr dump -h -n data")
    run(repository, "nczarr", "edit", "ocean.nc", "--set", '/temp@units="degC"', "--undo-file", "../undo.json")
    said = run(repository, "git", "diff", "--", "ocean.nc")
    assert [line for line in said.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        '-\t\ttemp:units = "K" ;',
        '+\t\ttemp:units = "degC" ;',
    ]


@pytest.mark.long
def test_too_few_arguments_of_git(repository: Path) -> None:
    assert "seven arguments" in run(repository, "nczarr", "diff", "--git", "a", "b", status=2)


# ---- pytest ----------------------------------------------------------------------------------------------------------
TESTS = """
import netCDF4
import pytest
from nczarr.testing import assert_same_dataset

TEXT = "netcdf a { dimensions: x = 2 ; variables: int v(x) ; v:u = 1 ; data: v = 1, 2 ; }"

def test_a_handle(cdl):
    assert cdl(TEXT)["/v"][:].tolist() == [1, 2]

@pytest.mark.parametrize(("name", "to"), [("a.nc", None), ("a.zarr", "zarr3")])
def test_a_file(cdl, name, to):
    path = cdl(TEXT, name, to)
    assert path.name == name
    assert_same_dataset(path, cdl(TEXT))

def test_a_peer_reads_it(cdl):
    with netCDF4.Dataset(cdl(TEXT, "a.nc")) as file:
        assert list(file["v"]) == [1, 2]

def test_differences(cdl):
    assert_same_dataset(cdl(TEXT.replace("u = 1", "u = 2").replace("1, 2", "1, 3")), cdl(TEXT))
"""


@pytest.mark.long
def test_the_plugin_of_pytest(repository: Path) -> None:
    """It is loaded by its entry point, in a run that knows nothing of this one."""
    (repository / "test_a.py").write_text(TESTS)
    said = run(repository, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_a.py", status=1)
    assert "1 failed, 4 passed" in said
    lines = [line.removeprefix("E").strip() for line in said.splitlines() if line.startswith("E ")]
    assert lines[0] == "AssertionError: the datasets have 2 differences (actual, expected):"
    assert lines[1].startswith("/v  ")


# ---- lists of errors -------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_lists_of_errors_of_an_editor(repository: Path) -> None:
    (repository / "bad.cdl").write_text("netcdf bad {\nvariables:\n  int v(y) ;\n  int v ;\n}\n")
    said = run(repository, "nczarr", "check", "bad.cdl", "--message-format", "gcc", status=1)
    assert said.splitlines() == [
        "bad.cdl:3:9: error: dimension `y` is not defined [undefined-dimension]",
        "bad.cdl:4:7: error: variable `v` is already defined at 3:7 [duplicate-name]",
        "bad.cdl:4:7: note: rename one",
        "bad.cdl:4:7: note: with `--allow-loss duplicate-name` it is read as `v_2`",
    ]


@pytest.mark.long
def test_a_merge_driver_of_git(repository: Path, tool: Callable[[str], str]) -> None:
    tool("ncdump")
    (repository / ".gitattributes").write_text("*.nc merge=nczarr\n")
    run(repository, "git", "config", "merge.nczarr.driver", "nczarr edit %A --merge %O %B")
    run(repository, "git", "add", "-A")
    run(repository, "git", "commit", "-qm", "attributes")
    run(repository, "git", "branch", "theirs")

    def edit(change: str) -> None:
        run(repository, "nczarr", "edit", "ocean.nc", "--undo-file", "../undo.json", "--set", change)
        (repository.parent / "undo.json").unlink()

    edit('/temp@units="degC"')
    run(repository, "git", "commit", "-qam", "ours")
    run(repository, "git", "checkout", "-q", "theirs")
    edit("@title=1")
    run(repository, "git", "commit", "-qam", "theirs")
    run(repository, "git", "merge", "-q", "main", "-m", "both")
    shown = run(repository, "ncdump", "-h", "ocean.nc")
    assert 'temp:units = "degC"' in shown
    assert ":title = 1" in shown
    assert run(repository, "git", "status", "--short") == ""
    edit('/temp@units="F"')
    run(repository, "git", "commit", "-qam", "more")
    run(repository, "git", "checkout", "-q", "main")
    edit('/temp@units="R"')
    run(repository, "git", "commit", "-qam", "less")
    assert "CONFLICT" in run(repository, "git", "merge", "-q", "theirs", status=1)
    assert 'temp:units = "R"' in run(repository, "ncdump", "-h", "ocean.nc")
