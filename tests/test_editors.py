"""Files for editors: current, well-formed, and loaded by the editors that are there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr import registry
from nczarr.plugins.languages.language import find_language
from tests.conftest import ROOT

EDITORS = ROOT / "editors"

SHOW = """
set nocompatible
set runtimepath^={editors}/vim
filetype plugin on
syntax on
edit {path}
let lines = [&filetype, b:current_syntax, &commentstring]
for line in range(1, line("$"))
  for column in range(1, col([line, "$"]) - 1)
    call add(lines, synIDattr(synID(line, column, 1), "name") . " " . getline(line)[column - 1])
  endfor
endfor
call writefile(lines, "{out}")
qall!
"""


def test_generated_files_are_current() -> None:
    done = subprocess.run([sys.executable, "tools/editors.py", "--check"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def _patterns(rule: Any) -> Iterator[str]:
    for key in ("match", "begin", "end"):
        if key in rule:
            yield rule[key]
    for inner in rule.get("patterns", ()):
        yield from _patterns(inner)


@pytest.mark.parametrize("name", ["cdl", "ncz"])
def test_textmate_grammars(name: str) -> None:
    grammar = json.loads((EDITORS / "vscode" / "syntaxes" / f"{name}.tmLanguage.json").read_text("utf-8"))
    package = json.loads((EDITORS / "vscode" / "package.json").read_text("utf-8"))
    declared = {entry["language"]: entry for entry in package["contributes"]["grammars"]}[name]
    assert declared["scopeName"] == grammar["scopeName"]
    assert (EDITORS / "vscode" / declared["path"]).is_file()
    for pattern in _patterns(grammar):
        re.compile(pattern)


def test_the_extension_names_files_that_are_there() -> None:
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    languages = package["contributes"]["languages"]
    paths = [package["main"], *(language["configuration"] for language in languages)]
    assert all((folder / path).is_file() for path in paths)
    assert {suffix for language in languages for suffix in language["extensions"]} == {".cdl", ".ncz"}
    rules = json.loads((folder / "language-configuration.json").read_text("utf-8"))["indentationRules"]
    assert re.search(rules["increaseIndentPattern"], "variables: // c")
    assert re.search(rules["increaseIndentPattern"], "group: g {")
    assert not re.search(rules["increaseIndentPattern"], "int v ;")


def test_the_words_are_those_of_the_package() -> None:
    form = registry.for_target("a.cdl")
    assert form is not None
    language = find_language(form.name)
    assert language is not None
    words = language.words
    for path in ("vscode/syntaxes/cdl.tmLanguage.json", "vim/syntax/cdl.vim"):
        text = (EDITORS / path).read_text("utf-8")
        for word in (word for group in words.values() for word in group):
            assert word in text, (path, word)


def _colours(vim: str, sample: str, folder: Path) -> list[str]:
    out = folder / "colours"
    script = folder / "show.vim"
    script.write_text(SHOW.format(editors=EDITORS, path=ROOT / "samples" / sample, out=out))
    command = [vim, "-u", "NONE", "-N", "-n", "-es", "-S", str(script)]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    return out.read_text("utf-8", "replace").split("\n")


def test_vim_loads_the_syntax_of_cdl(tool: Callable[[str], str], tmp_path: Path) -> None:
    lines = _colours(tool("vim"), "05-every-type.cdl", tmp_path)
    assert lines[:3] == ["cdl", "cdl", "// %s"]
    groups = {line.partition(" ")[0] for line in lines[3:]}
    assert groups >= {"cdlComment", "cdlSection", "cdlType", "cdlAttribute", "cdlSpecial", "cdlString", "cdlNumber"}
    bare = {line.partition(" ")[2] for line in lines[3:] if line.startswith(" ")}
    assert bare <= set("{}();:,=* \t")


def test_vim_loads_the_syntax_of_the_notation(tool: Callable[[str], str], tmp_path: Path) -> None:
    lines = _colours(tool("vim"), "09-notation.ncz", tmp_path)
    assert lines[:3] == ["ncz", "ncz", "// %s"]
    groups = {line.partition(" ")[0] for line in lines[3:]}
    assert groups >= {"nczComment", "nczDeclaration", "nczDeclared", "nczType", "nczPath", "nczProperty", "nczNumber"}


FORMAT = """
set nocompatible
set runtimepath^={editors}/vim
filetype plugin on
let g:nczarr_command = "{python} -m nczarr"
edit {path}
NczarrFormat
write
qall!
"""


@pytest.mark.plugin("fmt")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("netcdf a{\n:b=1;\n\n\n\n}", "netcdf a {\n\t\t:b = 1 ;\n\n}\n"),
        ("netcdf a { :b = 1 }\n", "netcdf a { :b = 1 }\n"),
    ],
)
def test_vim_formats_the_buffer(before: str, after: str, tool: Callable[[str], str], tmp_path: Path) -> None:
    path, script = tmp_path / "a.cdl", tmp_path / "format.vim"
    path.write_text(before)
    script.write_text(FORMAT.format(editors=EDITORS, python=sys.executable, path=path))
    command = [tool("vim"), "-u", "NONE", "-N", "-n", "-es", "-S", str(script)]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert path.read_text() == after


def test_neovim_starts_the_server(tool: Callable[[str], str], tmp_path: Path) -> None:
    """The command of the server is run with a buffer of CDL."""
    mark = tmp_path / "started"
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\ntouch {mark}\n")
    server.chmod(0o755)
    script = tmp_path / "init.lua"
    script.write_text(
        f'vim.opt.runtimepath:prepend("{EDITORS}/vim")\nvim.cmd("filetype plugin on")\n'
        f'require("nczarr").setup({{ cmd = {{ "{server}" }} }})\n'
    )
    command = [tool("nvim"), "--headless", "-u", str(script), str(ROOT / "samples" / "01-station.cdl")]
    wait = f'lua vim.wait(20000, function() return vim.loop.fs_stat("{mark}") ~= nil end)'
    subprocess.run([*command, "-c", wait, "-c", "qall!"], capture_output=True, check=False, timeout=60)
    assert mark.exists()
