"""Programs of every CDL text, beside those of ncgen: each of ours writes ncgen's file, or is refused by name.

`docs/_tools/generated_programs.py` counts the results of both in docs/reference/generators.md.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import missing_peer
from tests.support.generated import find_sample
from tests.support.netcdf_java import find_jar
from tests.support.peers.program_survey import TOOLS, Attempt, find_folders, list_texts, read_task, survey
from tests.support.proof import part

pytestmark = pytest.mark.peer

OURS = [name for name in TOOLS if name.startswith("nczarr ")]
SLICES = 8
RIGHT = {"equal", "own", "refused"}
"""Right results; `own` is that of `compile` where ncgen is at fault (docs/reference/ncgen-differences.md)."""

OF_LANGUAGE = {"nczarr java": {"compiled"}, "nczarr python-netcdf4": {"order"}}
"""Right results of one language: programs that need libnetcdf are not run by Java; the order of attributes."""


def find_faults(text: Path, folder: Path, shared: Path, names: list[str]) -> list[tuple[str, str, Attempt]]:
    """Return the programs of a text that are wrong, with their results."""
    task = read_task(text, folder)
    if isinstance(task, str):
        return []
    results = survey(task, shared / "tools", names)
    return [(text.name, name, attempt) for name, attempt in results if not is_right(name, attempt)]


def is_right(name: str, attempt: Attempt) -> bool:
    """Whether a program is equal, or was refused with the name of a node in each message."""
    if attempt.word == "refused":
        return all(re.match("`/", line) for line in re.split(r"\n(?=`/)", attempt.reason))
    return attempt.word in RIGHT | OF_LANGUAGE.get(name, set())


@pytest.fixture
def compilers(tool: Callable[[str], str], peer: Callable[[str], object]) -> None:
    """Everything that makes and runs programs; a visible skip without it."""
    for name in ("ncgen", "ncdump", "gcc", "gfortran", "java", "javac"):
        tool(name)
    peer("netCDF4")
    for file, package in (("netcdf.h", "libnetcdf-dev"), ("netcdf.mod", "libnetcdff-dev")):
        if not Path("/usr/include", file).exists():
            missing_peer(package)
    if find_jar() is None:
        missing_peer("netCDF-Java")


@pytest.mark.program
@pytest.mark.slow
@pytest.mark.usefixtures("compilers")
@pytest.mark.parametrize("number", range(SLICES))
def test_programs_of_the_corpus(number: int, shared: Path, tmp_path: Path) -> None:
    wrong = []
    for place, text in enumerate(part(list_texts(find_folders(shared))[number::SLICES])):
        folder = tmp_path / str(place)
        folder.mkdir()
        wrong += find_faults(text, folder, shared, OURS)
    assert wrong == []


@pytest.mark.program
@pytest.mark.long
@pytest.mark.usefixtures("compilers")
@pytest.mark.parametrize("number", ["01", "05"])
def test_programs_of_a_sample(number: str, shared: Path, tmp_path: Path) -> None:
    assert find_faults(find_sample(number), tmp_path, shared, OURS) == []


def test_identifiers_are_no_macros_of_headers(tmp_path: Path, tool: Callable[[str], str]) -> None:
    from nczarr.plugins.generate.c import MACROS, RESERVED

    if not Path("/usr/include/netcdf.h").exists():
        missing_peer("libnetcdf-dev")
    headers = ("stddef.h", "netcdf.h", "math.h", "stdio.h")
    (tmp_path / "a.c").write_text("".join(f"#include <{name}>\n" for name in headers))
    for standard in ("c99", "gnu17"):
        command = [tool("gcc"), f"-std={standard}", "-dM", "-E", tmp_path / "a.c"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        macros = re.findall(r"^#define ([A-Za-z]\w*)(?= )", printed, re.MULTILINE)  # others have parameters
        assert len(macros) > 300
        assert [name for name in macros if name not in RESERVED and not MACROS.match(name)] == []
