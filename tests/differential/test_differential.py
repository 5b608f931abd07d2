"""Random sources of other libraries, converted to random targets: each value is what the source's own library reads.

`python -m tests.differential 100000` searches longer and prints figures.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conftest import missing_peer

from .conversions import Judges
from .search import batch
from .worker import Judge

pytestmark = pytest.mark.peer

SECONDS = 3
"""Of the quick search; a slow machine draws less, and the same draws first."""
EXAMPLES = 25
"""Sources of one batch."""
DRAWS = 3_000
"""Conversions in the proof."""
PARTS = 10


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    """The libraries that make and read files; NCZARR_NEWEST names an interpreter with the newest zarr-python."""
    for name in ("h5py", "netCDF4", "zarr", "tensorstore", "fsspec"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    newest = os.environ.get("NCZARR_NEWEST")
    made = {"old": Judge(), "hdf5": Judge()} | ({"new": Judge(newest)} if newest else {})
    yield made
    for judge in made.values():
        judge.close()


@pytest.mark.long
def test_as_many_conversions_as_fit_in_some_seconds_change_no_value(judges: Judges) -> None:
    counts: Counter[str] = Counter()
    end = time.monotonic() + SECONDS
    number = 0
    while time.monotonic() < end:
        batch(number, EXAMPLES, judges, counts)
        number += 1
    assert any(text.startswith("converted") for text in counts)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_conversions_change_no_value(part: int, judges: Judges) -> None:
    counts: Counter[str] = Counter()
    number = 1_000_000 * (part + 1)
    if os.environ.get("NCZARR_RANDOM") == "1":
        number += time.time_ns() % 1_000_000
    while counts["draws"] < DRAWS // PARTS:
        batch(number, EXAMPLES, judges, counts)
        number += 1
