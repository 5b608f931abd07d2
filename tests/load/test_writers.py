"""Two writers of one local target at each step, and writers that are killed (`tests/support/writers.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.proof import share
from tests.support.writers import KINDS, check_kills, check_pairs, make

PAIRS, KILLS = 200, 300

REPLACED = 60
"""Pairs and kills of writers that replace the target."""

STORES = ("zarr2", "zarr3", "nczarr", "nczarr3-shards")

REPLACING = [
    *(("overwrite", kind) for kind in (*STORES, "netcdf3", "netcdf4", "icechunk")),
    *(("resume", kind) for kind in STORES),
    *(pytest.param("combine", kind, marks=pytest.mark.plugin("combine")) for kind in ("json", "parquet")),
]
"""Commands that replace targets, and the kinds that they write."""


@pytest.mark.long
@pytest.mark.plugin("combine")
@pytest.mark.parametrize("kind", ["nczarr", "netcdf4", "json"])
def test_some_pairs_and_kills(tmp_path: Path, kind: str) -> None:
    check_pairs(make(tmp_path, kind, coordinate=kind == "netcdf4"), 2, coordinate=kind == "netcdf4")
    (tmp_path / "kills").mkdir()
    check_kills(make(tmp_path / "kills", kind, coordinate=True), 2)


@pytest.mark.long
@pytest.mark.parametrize(("command", "kind"), [("overwrite", "zarr3"), ("resume", "nczarr"), REPLACING[-2]])
def test_some_that_replace(tmp_path: Path, command: str, kind: str) -> None:
    place = make(tmp_path, kind, coordinate=True, command=command)
    check_pairs(place, 2)
    check_kills(place, 2)


@pytest.mark.slow
@pytest.mark.plugin("combine")
@pytest.mark.parametrize("coordinate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs(tmp_path: Path, kind: str, coordinate: bool) -> None:
    print(kind, check_pairs(make(tmp_path, kind, coordinate=coordinate), share(PAIRS // 2), coordinate=coordinate))


@pytest.mark.slow
@pytest.mark.plugin("combine")
@pytest.mark.parametrize("kind", KINDS)
def test_kills(tmp_path: Path, kind: str) -> None:
    print(kind, check_kills(make(tmp_path, kind, coordinate=True), share(KILLS)))


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), REPLACING)
def test_pairs_that_replace(tmp_path: Path, command: str, kind: str) -> None:
    print(command, kind, check_pairs(make(tmp_path, kind, coordinate=True, command=command), share(REPLACED)))


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), REPLACING)
def test_kills_that_replace(tmp_path: Path, command: str, kind: str) -> None:
    print(command, kind, check_kills(make(tmp_path, kind, coordinate=True, command=command), share(REPLACED)))
