"""Every cell of the table in docs/reference/seams.md, made anew."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, missing_peer
from tests.support.peers.worker import Worker

from .conversions import Judges
from .seams import FORMATS, SEAMS, Oracle, outcome
from .worker import Judge

pytestmark = pytest.mark.peer


def documented() -> dict[tuple[str, str], str]:
    """The cells of the table, by seam and target."""
    found = {}
    for line in (ROOT / "docs/reference/seams.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(FORMATS) + 1 and cells[0] in SEAMS:
            found |= {(cells[0], target): cell for target, cell in zip(FORMATS, cells[1:], strict=True)}
    return found


def oracle_of(shared: Path) -> Oracle:
    """The program that compares two netCDF files."""
    worker = Worker("nc_same.py")

    def compare(one: Path, other: Path) -> list[str]:
        words = [str(shared / "tools/nc-same"), str(one), str(other), "--no-storage", "--no-type-order"]
        answer = worker.ask("\t".join([*words, "--ignore", "_NCProperties"]))
        return [] if answer.get("status") == 0 else [*answer.get("text", str(answer)).splitlines(), "different"]

    return compare


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    for name in ("h5py", "netCDF4", "zarr", "fsspec"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    made = {"old": Judge(), "hdf5": Judge()}
    yield made
    for judge in made.values():
        judge.close()


@pytest.fixture(scope="module")
def oracle(shared: Path) -> Oracle:
    return oracle_of(shared)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("seam", SEAMS)
def test_seam(seam: str, target: str, judges: Judges, oracle: Oracle) -> None:
    assert outcome(seam, target, judges, oracle) == documented()[seam, target]


def test_no_cell_of_the_table_is_a_change_without_a_word() -> None:
    cells = documented()
    assert len(cells) == len(SEAMS) * len(FORMATS)
    assert [where for where, cell in cells.items() if "changed" in cell] == []
