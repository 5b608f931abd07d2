"""Man pages: one for each command, with every option, and without a complaint of groff."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nczarr.cli import help as topics
from nczarr.cli import list_commands, parser_of
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, "tools/man.py", str(made)], cwd=ROOT, check=True)
    return made


def test_every_command_has_a_page(folder: Path) -> None:
    wanted = {"nczarr.1", *(f"nczarr-{name.replace(' ', '-')}.1" for name in list_commands())}
    assert {path.name for path in folder.iterdir()} == wanted


@pytest.mark.parametrize("name", list_commands())
def test_a_page_has_every_option(name: str, folder: Path) -> None:
    text = (folder / f"nczarr-{name.replace(' ', '-')}.1").read_text().replace("\\-", "-")
    for action in parser_of(name).actions():
        for flag in action.option_strings:
            assert f"\\fB{flag}\\fR" in text
    for _, call in parser_of(name).examples:
        assert f"nczarr {call}".replace("\\", "\\e") in text


def test_the_main_page_has_the_topics(folder: Path) -> None:
    text = (folder / "nczarr.1").read_text().replace("\\-", "-")
    for name in topics.topics():
        title = (topics.TOPICS / f"{name}.md").read_text().partition("\n")[0].removeprefix("# ")
        assert f'.SH "{title.upper()}"' in text


def test_equal_sources_make_equal_pages(folder: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "tools/man.py", str(tmp_path)], cwd=ROOT, check=True)
    assert all(path.read_bytes() == (tmp_path / path.name).read_bytes() for path in folder.iterdir())


@pytest.mark.long
def test_groff_accepts_the_pages(folder: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for path in folder.iterdir():
        call = ["groff", "-man", "-Tutf8", "-ww", "-rLL=78n", str(path)]
        done = subprocess.run(call, capture_output=True, check=True)
        assert done.stderr == b"", path.name
        plain = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
        assert "\\" not in plain.replace("A backslash escapes\n", "").replace("/ \\ ( )", ""), path.name
