"""The cost of operations follows what they must touch: random ones here, more in the proof."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.cost.model import FACTOR, expected, ratio, touched
from tests.cost.operations import Case, every_case, measured
from tests.support.proof import PART, PARTS, share

SEED = os.urandom(4).hex() if os.environ.get("NCZARR_RANDOM") == "1" else f"steady {PART}"

QUICK = 10
"""Operations that the quick tests measure."""

SMALLEST = (
    Case("convert", "dense", "netcdf4", "column"),
    Case("convert", "dense", "netcdf3", "cell"),
    Case("convert", "sparse", "netcdf4", "stride", "huge", "netcdf4"),
    Case("convert", "sparse", "zarr3", "whole", "transposed", "zarr3"),
    Case("convert", "sparse", "shards", "stride", "shards", "zarr3"),
    Case("verify", "sparse", "netcdf4", "whole", target="zarr3"),
    Case("append", "sparse", "netcdf4"),
    Case("dry-run", "sparse", "zip", "column", target="zarr3"),
    Case("serve folder", "broad", "zip"),
    Case("serve dods", "sparse", "zip", "stride"),
    Case("serve view", "dense", "netcdf4", "plane"),
)
"""Operations that once cost as much as the source, its declared shape, or all keys of an archive."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cost")


def check(case: Case, folder: Path) -> None:
    """An operation takes at most `FACTOR` times what it may need; one that is refused is cheap as well."""
    work = measured(case, folder)
    if work is None:
        return
    value = ratio(case, work)
    taken = f"{work.seconds:.2f} s, {work.megabytes:.0f} MB, {work.read:.1f} MB read; allowed {expected(case)}"
    assert value <= FACTOR, f"{case}: {value:.1f} times the expected cost: {taken}; {touched(case)}\n{work.failure}"
    assert not work.failure or "status" in work.failure, f"{case}\n{work.failure}"


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", SMALLEST, ids=str)
def test_faults_of_the_past_stay_mended(case: Case, folder: Path) -> None:
    check(case, folder)


@pytest.mark.long
def test_random_operations_cost_what_they_touch(folder: Path) -> None:
    some = [case for case in every_case() if case.shape in ("dense", "sparse")]
    for case in random.Random(SEED).sample(some, QUICK):
        check(case, folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_more_random_operations_cost_what_they_touch(number: int, folder: Path) -> None:
    some = every_case()
    if PARTS > 1:  # zarr-python alone takes 40 seconds for so many chunks
        some = [case for case in some if (case.operation, case.shape) != ("zarr_store", "tiny")]
    for case in random.Random(f"{SEED} {number}").sample(some, 80 if PARTS == 1 else 8):
        check(case, folder)


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["convert", "handle", "digest", "dump", "diff", "engine"])
def test_many_variables_cost_what_each_of_them_costs(operation: str, folder: Path) -> None:
    some = [case for case in every_case() if case.shape == "broad" and case.operation == operation]
    for case in random.Random(SEED).sample(some, min(len(some), share(20))):
        check(case, folder)
