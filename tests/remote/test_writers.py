"""Two writers of one target in a bucket at each step, and writers that are killed (`tests/support/writers.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.proof import share
from tests.support.s3 import S3
from tests.support.writers import check_kills, check_pairs, make

PAIRS, KILLS, REPLACED = 100, 60, 40

KINDS = ("zarr2", "zarr3", "nczarr", "netcdf4", "json")

REPLACING = [
    ("overwrite", "zarr3"),
    ("overwrite", "netcdf4"),
    ("resume", "nczarr"),
    pytest.param("combine", "json", marks=pytest.mark.plugin("combine")),
]

pytestmark = pytest.mark.peer


@pytest.mark.long
@pytest.mark.plugin("combine")
def test_some_pairs_and_kills(s3: S3, tmp_path: Path) -> None:
    place = make(tmp_path, "zarr3", s3, coordinate=True)
    check_pairs(place, 2, coordinate=True)
    check_kills(place, 1)


@pytest.mark.slow
@pytest.mark.plugin("combine")
@pytest.mark.parametrize("coordinate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs(s3: S3, tmp_path: Path, kind: str, coordinate: bool) -> None:
    print(kind, check_pairs(make(tmp_path, kind, s3, coordinate=coordinate), share(PAIRS // 2), coordinate=coordinate))


@pytest.mark.slow
@pytest.mark.plugin("combine")
@pytest.mark.parametrize("kind", KINDS)
def test_kills(s3: S3, tmp_path: Path, kind: str) -> None:
    print(kind, check_kills(make(tmp_path, kind, s3, coordinate=True), share(KILLS)))


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), REPLACING)
def test_pairs_that_replace(s3: S3, tmp_path: Path, command: str, kind: str) -> None:
    print(command, kind, check_pairs(make(tmp_path, kind, s3, coordinate=True, command=command), share(REPLACED)))
