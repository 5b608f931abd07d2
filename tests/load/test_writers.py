"""Two writers of one local target at each step, and writers that are killed (`tests/support/writers.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.proof import share
from tests.support.writers import KINDS, check_kills, check_pairs, make

PAIRS, KILLS = 200, 300


@pytest.mark.parametrize("kind", ["nczarr", "netcdf4", "json"])
def test_some_pairs_and_kills(tmp_path: Path, kind: str) -> None:
    check_pairs(make(tmp_path, kind, coordinate=kind == "netcdf4"), 4, coordinate=kind == "netcdf4")
    (tmp_path / "kills").mkdir()
    check_kills(make(tmp_path / "kills", kind, coordinate=True), 3)


@pytest.mark.slow
@pytest.mark.parametrize("coordinate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs(tmp_path: Path, kind: str, coordinate: bool) -> None:
    print(kind, check_pairs(make(tmp_path, kind, coordinate=coordinate), share(PAIRS // 2), coordinate=coordinate))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_kills(tmp_path: Path, kind: str) -> None:
    print(kind, check_kills(make(tmp_path, kind, coordinate=True), share(KILLS)))
