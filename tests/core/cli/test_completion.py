"""Completion scripts: bash completes with ours, the other shells accept theirs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nczarr.cli import list_commands
from nczarr.cli.completion import SHELLS, script
from tests.conftest import run_command
from tests.support.plugins import offered

ASK = """
source nczarr.bash
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script for bash and some files."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    folder = tmp_path_factory.mktemp("bash")
    (folder / "nczarr.bash").write_text(script("bash"))
    (folder / "ocean.nc").touch()
    (folder / "ocean.zarr").mkdir()
    return folder


def completed(folder: Path, words: str) -> set[str]:
    """Return the words that bash offers for the last word of a command line."""
    text = (folder / "nczarr.bash").read_text()
    function = next(line.split()[-2] for line in text.splitlines() if line.startswith("complete ") and "-F" in line)
    asked = ASK.format(words=words, function=function)
    done = subprocess.run(["bash", "-c", asked], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {line.strip() for line in done.stdout.splitlines() if line.strip()}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("nczarr con", {"convert"}),
        ("nczarr refs ''", {name.split()[1] for name in list_commands() if name.startswith("refs ")}),
        ("nczarr convert --overw", {"--overwrite"}),
        ("nczarr convert --to zarr3", {"zarr3", *offered("zarr3-2019")}),
        ("nczarr convert --allow-loss lost-n", {"lost-nil"}),
        ("nczarr convert oce", {"ocean.nc", "ocean.zarr"}),
        pytest.param("nczarr refs verify --chunks sa", {"sample"}, marks=pytest.mark.plugin("refs")),
        ("nczarr help sect", {"sections"}),
        ("nczarr explain undefined-dim", {"undefined-dimension"}),
    ],
)
def test_bash_completes(words: str, wanted: set[str], bash: Path) -> None:
    assert completed(bash, words) == wanted


def test_bash_completes_every_command(bash: Path) -> None:
    assert {name.split()[0] for name in list_commands()} <= completed(bash, "nczarr ''")


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_their_script(shell: str, tmp_path: Path) -> None:
    done = run_command("completion", shell)
    assert (done.status, done.err) == (0, "")
    assert done.text.count("\n") > 20 or shell == "tcsh"
    assert "nczarr" in done.text
    if shell == "tcsh" or shutil.which(shell) is None:
        return
    path = tmp_path / "script"
    path.write_bytes(done.out)
    subprocess.run([shell, "-n", str(path)], check=True)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    done = run_command("completion", "bash")
    assert done.status == 3
    assert "error[missing-library]" in done.err
    assert "`pip install 'nczarr[completion]'`" in done.err


def test_an_unknown_shell_is_wrong_usage() -> None:
    assert run_command("completion", "cmd.exe").status == 2
