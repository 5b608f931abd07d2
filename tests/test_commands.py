"""tests/commands/*.md, docs/**/*.md and README.md: `% nczarr …` in fenced blocks, with the wanted output below it.

In a block: `% COMMAND` (also `cat FILE`, `ls FOLDER`); lines up to `^D` after a line `<<` are its standard input;
then the wanted standard output, `2>` before lines of standard error, and `=> N` for a status other than 0.
All blocks of a page run in order in one empty folder. `pytest --accept GLOB` rewrites pages, and still fails.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Ran, run_command

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    *sorted((Path(__file__).parent / "commands").glob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))),
    ROOT / "README.md",
]


def perform(command: str, stdin: str) -> Ran:
    words = shlex.split(command)
    match words:
        case ["nczarr", *arguments]:
            return run_command(*arguments, stdin=stdin.encode("utf-8", "surrogateescape"))
        case ["cat", name]:
            return Ran(0, Path(name).read_bytes(), "")
        case ["ls", name]:
            listed = sorted(entry.name for entry in Path(name).iterdir())
            return Ran(0, "".join(f"{entry}\n" for entry in listed).encode(), "")
    raise AssertionError(f"a page may not run {words[:1]}")


def shown(command: str, stdin: str | None, ran: Ran) -> str:
    """The block's text for one command as it should stand in the page."""
    text = f"% {command}\n"
    if stdin is not None:
        text += f"<<\n{stdin}^D\n"
    text += ran.out.decode("utf-8")
    text += "" if text.endswith("\n") else "\n"  # of a file without one
    text += "".join(f"2> {line}".rstrip() + "\n" for line in ran.err.splitlines())
    return text + (f"=> {ran.status}\n" if ran.status else "")


def replay(block: str) -> str:
    """The block with the output that the commands give now."""
    out = ""
    for part in re.split(r"^(?=% )", block, flags=re.MULTILINE):
        if not part.startswith("% "):
            assert not part.strip(), f"text before the first command: {part!r}"
            continue
        command, _, rest = part[2:].partition("\n")
        given = re.match(r"<<\n(.*?)^\^D\n", rest, re.MULTILINE | re.DOTALL)
        stdin = given.group(1) if given else None
        out += shown(command, stdin, perform(command, stdin or ""))
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    renewed = BLOCK.sub(lambda match: f"```console\n{replay(match.group(1))}```", text)
    accept = request.config.getoption("--accept")
    if renewed != text and accept and fnmatch.fnmatch(page.name, accept):
        page.write_text(renewed, encoding="utf-8")
    assert renewed == text
