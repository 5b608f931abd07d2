"""ncgen makes the same file of a CDL text before and after `nczarr fmt`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, shared_folder
from tests.support.formatting import assert_formats

LONGEST = 2_000_000
"""Bytes of a text or print that is compared."""


def _compile(ncgen: str, folder: Path, text: bytes) -> bytes | None:
    """The file of a text, None if ncgen refuses it, or hangs."""
    (folder / "t.cdl").write_bytes(text)
    (folder / "t.nc").unlink(missing_ok=True)
    command = [ncgen, "-k", "nc4", "-o", "t.nc", "t.cdl"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=10)
    except subprocess.TimeoutExpired:
        return None
    path = folder / "t.nc"
    return path.read_bytes() if done.returncode == 0 and path.exists() else None


def _print(ncdump: str, folder: Path) -> bytes:
    """The beginning of the file's print: declared arrays may be huge."""
    with subprocess.Popen([ncdump, "-n", "t", "t.nc"], cwd=folder, stdout=subprocess.PIPE) as dump:
        assert dump.stdout is not None
        text = dump.stdout.read(LONGEST)
        dump.stdout.close()
        dump.kill()
    return text


def _assert_same_file(path: Path, folder: Path, ncgen: str, ncdump: str) -> bool:
    """Whether a text is one that ncgen and the formatter take; then both files are equal."""
    data = path.read_bytes()
    text = assert_formats(data, path.name) if len(data) < LONGEST else None
    before = None if text is None else _compile(ncgen, folder, data)
    if text is None or before is None:
        return False
    shown = _print(ncdump, folder)
    if _compile(ncgen, folder, data) != before and _print(ncdump, folder) != shown:
        return False  # ncgen writes memory that it never set
    after = _compile(ncgen, folder, text)
    assert after is not None, path.name
    assert after == before or _print(ncdump, folder) == shown, path.name
    return True


@pytest.fixture
def programs(tool: Callable[[str], str]) -> tuple[str, str]:
    return tool("ncgen"), tool("ncdump")


@pytest.mark.long
def test_samples(tmp_path: Path, programs: tuple[str, str]) -> None:
    paths = sorted(ROOT.glob("samples/*.cdl"))
    assert sum(_assert_same_file(path, tmp_path, *programs) for path in paths) > 4


@pytest.mark.slow
def test_the_corpus(tmp_path: Path, programs: tuple[str, str]) -> None:
    folder = shared_folder()
    paths = [] if folder is None else sorted((folder / "data").rglob("*.cdl"))
    same = sum(_assert_same_file(path, tmp_path, *programs) for path in paths)
    assert not paths or same > 450
