"""The page `docs/start/compiler.md` as a new user follows it: every command, also those of other programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, missing_peer

PAGE = (ROOT / "docs" / "start" / "compiler.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^% ([^\n]*)\n(?:<<\n(.*?)^\^D\n)?", re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, str, int]]:
    """Each command with its standard input and the status that the page states."""
    for kind, text in BLOCK.findall(PAGE):
        if kind == "sh":
            yield text, "", 0
            continue
        found = list(COMMAND.finditer(text))
        for number, each in enumerate(found):
            end = found[number + 1].start() if number + 1 < len(found) else len(text)
            status = re.search(r"^=> (\d+)$", text[each.end() : end], re.MULTILINE)
            yield each[1], each[2] or "", int(status[1]) if status else 0


@pytest.mark.long
def test_every_command_of_the_page(tmp_path: Path, tool: Callable[[str], str]) -> None:
    tool("gcc")
    if not Path("/usr/include/netcdf.h").exists():
        missing_peer("libnetcdf-dev")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = ""
    for command, stdin, status in commands():
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            check=False,
        )
        assert done.returncode == status, (command, done.stderr)
        said += done.stdout
    assert "this change breaks programs" in said
    assert "breaking    /temp  other-units" in said
