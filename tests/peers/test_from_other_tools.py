"""docs/how-to/from-other-tools.md: what the other tools make of their blocks is what nczarr makes of the next block.

A `sh` block has one command of another tool. If it writes `NAME-TOOL.nc`, nczarr writes `NAME.nc`, and both are
compared. Otherwise both print the same text.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.console_blocks import replay

PAGE = ROOT / "docs" / "how-to" / "from-other-tools.md"
BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ABOUT_TOOLS = re.compile(r"attribute `(history|NCO|cell_methods)` only in the first")
"""Attributes that NCO adds; `ncrcat` notes that it has joined records of means, in `cell_methods`."""


class Recipe(NamedTuple):
    """Command of another tool, and the block of nczarr with the same result."""

    theirs: str
    """The command."""
    ours: str
    """The block, with its output."""

    @property
    def tool(self) -> str:
        """Name of the other tool."""
        return self.theirs.split()[0]


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def recipes() -> list[Recipe]:
    page = blocks()
    return [Recipe(text.strip(), page[number + 1][1]) for number, (kind, text) in enumerate(page) if kind == "sh"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all blocks of nczarr have run."""
    path = tmp_path_factory.mktemp("tools")
    (path / "samples").symlink_to(ROOT / "samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for kind, text in blocks():
            if kind == "console":
                replay(text)
    return path


def test_the_page_has_recipes_of_each_tool() -> None:
    assert {recipe.tool for recipe in recipes()} == {"ncdump", "ncgen", "nccopy", "ncks", "ncrcat"}
    assert all("\n" not in recipe.theirs for recipe in recipes())


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.theirs.replace(" ", "_"))
def test_both_results_are_equal(recipe: Recipe, folder: Path) -> None:
    if shutil.which(recipe.tool) is None:
        pytest.skip(f"{recipe.tool} is not installed")
    for stale in folder.glob(f"*-{recipe.tool}.nc"):
        stale.unlink()
    ran = subprocess.run(recipe.theirs.split(), cwd=folder, capture_output=True, text=True, check=True)
    target = re.search(rf"(\S+)-{recipe.tool}\.nc", recipe.theirs)
    if target is None:
        assert ran.stdout == recipe.ours.partition("\n")[2]
        return
    found = nczarr.diff(folder / target[0], folder / f"{target[1]}.nc")
    assert [each for each in found if not ABOUT_TOOLS.search(each.message)] == []
    with nczarr.open(folder / target[0]) as theirs:
        assert "/tas" in theirs
