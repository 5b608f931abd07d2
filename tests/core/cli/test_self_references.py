"""Documents that would replace the file to which they refer are refused before a byte is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import run_command

TEXT = "netcdf a { dimensions: x = 100 ; variables: int v(x) ; v:_ChunkSizes = 50 ; data: v = " + ", ".join(
    map(str, range(100))
)
JOIN = ("--new-dim", "run", "--along", "v")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A netCDF-4 file, a copy of it, a link to it, and references of it, in the present folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.nc", "b.nc"):
        assert run_command("compile", "-", "-o", name, "--kind", "nc4", stdin=f"{TEXT} ; }}".encode()).status == 0
    assert run_command("convert", "a.nc", "r.json").status == 0
    os.symlink("a.nc", "link.nc")
    return tmp_path / "a.nc"


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "a.nc", "a.nc", "--to", "reference"),
        ("convert", "link.nc", "a.nc", "--to", "reference"),
        ("convert", "link.nc", "link.nc", "--to", "reference"),
        ("convert", "r.json", "a.nc", "--to", "reference"),
        ("convert", "a.nc", "a.nc", "--to", "dmrpp"),
        ("combine", "a.nc", "b.nc", "-o", "a.nc", "--to", "reference", *JOIN),
        ("combine", "link.nc", "b.nc", "-o", "a.nc", "--to", "cfa", *JOIN),
    ],
    ids=" ".join,
)
def test_a_document_replaces_no_file_to_which_it_refers(file: Path, arguments: tuple[str, ...]) -> None:
    before, entries = file.read_bytes(), sorted(os.listdir())
    ran = run_command(*arguments, "--overwrite")
    assert (ran.status, "error[unnamed-target]" in ran.err) == (1, True)
    assert (file.read_bytes(), sorted(os.listdir())) == (before, entries)
    assert os.path.islink("link.nc")


def test_a_document_replaces_itself_and_other_files(file: Path) -> None:
    for target in ("r.json", "b.nc"):
        assert run_command("convert", "a.nc", target, "--to", "reference", "--overwrite").status == 0
    assert run_command("check", "r.json").status == run_command("check", "b.nc").status == 0
