"""tests/commands/*.md, docs/**/*.md and README.md: `% nczarr …` in fenced blocks, with the wanted output below it.

In a `console` block: `% COMMAND` (also `cat FILE`, `ls FOLDER`); lines up to `^D` after a line `<<` are its standard
input; then the wanted standard output, `2>` before lines of standard error, and `=> N` for a status other than 0.
A `python` block of docs/ runs, as a doctest if it has a prompt `>>>`; ` ```python no-run ` does not, and a comment
above gives the reason. All blocks of a page run in order in one empty folder that has `samples/`; Python blocks
share their names. `pytest --accept GLOB` rewrites pages, and still fails.

README.md is read as it stands, so its blocks look like a terminal: `$ COMMAND`, here-documents that end with `EOF`, and
both streams together.
"""

from __future__ import annotations

import doctest
import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.console_blocks import perform, replay
from tests.support.plugins import EVERY, note_lost

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"^```python no-run$", re.MULTILINE)
REASON = re.compile(r"<!-- Not run: .+ -->\n```python no-run$", re.MULTILINE)
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *sorted((Path(__file__).parent / "commands").glob("*.md")),
    *(page for page in DOCS if BLOCK.search(page.read_text(encoding="utf-8"))),
    README,
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def replay_terminal(block: str) -> str:
    """The block as a terminal shows it, with the output that the commands give now."""
    out = ""
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        if not part.startswith("$ "):
            assert not part.strip(), f"text before the first command: {part!r}"
            continue
        command, _, rest = part[2:].partition("\n")
        stdin = ""
        if command.endswith(" <<'EOF'"):
            stdin, end, _ = rest.partition("EOF\n")
            assert end, f"the here-document of {command!r} has no end"
        ran = perform(command.removesuffix("<<'EOF'"), stdin)
        out += f"$ {command}\n" + (f"{stdin}EOF\n" if stdin else "") + ran.out.decode("utf-8")
        out += "".join(f"{line}".rstrip() + "\n" for line in ran.err.splitlines())
    return out


def run_python(text: str, names: dict[str, Any], page: Path, line: int) -> str:
    """Run a Python block and return it with the output that its prompts give now."""
    if not re.search(r"^>>> ", text, re.MULTILINE):
        exec(compile("\n" * line + text, page.as_posix(), "exec"), names)
        return text
    renewed, place = "", 0
    lines = text.splitlines(keepends=True)
    for example in doctest.DocTestParser().get_examples(text, page.name):
        end = example.lineno + example.source.count("\n")
        renewed += "".join(lines[place:end])
        place = end + example.want.count("\n")
        test = doctest.DocTest([example], names, page.name, page.as_posix(), line, text)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        failed = runner.run(test, out=said.append, clear_globs=False).failed
        names.update(test.globs)
        if failed and "Exception raised" in "".join(said):
            raise AssertionError("".join(said))
        got = "".join(said).partition("Got:\n")[2] if failed else ""
        renewed += re.sub(r"^ {4}", "", got, flags=re.MULTILINE) if failed else example.want
    return renewed + "".join(lines[place:])


def renew(page: Path, text: str) -> str:
    """Return a page with the output that its commands and Python blocks give now."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        kind, inside = match.groups()
        if kind == "python":
            if page not in (*DOCS, README):
                return match[0]
            inside = run_python(inside, names, page, text[: match.start(2)].count("\n"))
        else:
            inside = replay_terminal(inside) if page == README else replay(inside)
        return f"```{kind}\n{inside}```"

    return BLOCK.sub(block, text)


LISTS = {"digest.md"}
"""Pages that list the formats of all plugins."""


OF_PLUGINS = {
    "flatten-groups.md": "flatten", "hdf-eos.md": "hdfeos", "matlab.md": "matlab", "unpack.md": "unpack"
}  # fmt: skip
"""Pages about what one plugin does with files that are read without it too."""


def _mark(page: Path) -> Any:
    """Return the page as a parameter, with the mark of the plugins that it needs."""
    if page.name in OF_PLUGINS:
        return pytest.param(page, marks=pytest.mark.plugin(OF_PLUGINS[page.name]))
    return pytest.param(page, marks=EVERY) if page.name in LISTS else page


@pytest.mark.parametrize(
    "page",
    [_mark(page) for page in PAGES],
    ids=[page.relative_to(ROOT).as_posix() for page in PAGES],
)
def test_page(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    peer: Callable[[str], ModuleType],
) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"^>>> import (xarray|zarr|h5py)\b", text, re.MULTILINE):
        peer(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    renewed = renew(page, text)
    accept = request.config.getoption("--accept")
    if renewed != text and accept and fnmatch.fnmatch(page.name, accept):
        page.write_text(renewed, encoding="utf-8")
    note_lost(text, renewed)
    assert renewed == text


def test_blocks_that_do_not_run_have_a_reason() -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in DOCS}
    assert [page for page, text in texts.items() if len(NOT_RUN.findall(text)) != len(REASON.findall(text))] == []
