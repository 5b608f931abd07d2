"""Extensions of stores on a real S3 server: equal to a combination, killed at any moment, resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command
from tests.support.proof import share
from tests.support.s3 import S3

pytestmark = pytest.mark.peer


def records(start: int, stop: int, width: int = 20000) -> nczarr.DatasetHandle:
    """Records of some times."""
    built = nczarr.DatasetBuilder("t")
    time, x = built.dimension("time", stop - start, unlimited=True), built.dimension("x", width)
    built.variable("time", "double", [time], chunks=(16,))
    built.variable("v", "int", [time, x], chunks=(2, width))
    times = np.arange(start, stop)
    values = np.random.default_rng(start).integers(0, 1000, (stop - start, width), dtype="i4")
    return built.finish(data={"/time": times.astype("f8"), "/v": values})


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory, peer: object) -> list[Path]:
    """Three files whose ends fall into chunks."""
    folder = tmp_path_factory.mktemp("months")
    bounds = [(0, 11), (11, 40), (40, 63)]
    for number, (start, stop) in enumerate(bounds):
        nczarr.write(records(start, stop), folder / f"{number}.nc", kind="nc4")
    return [folder / f"{number}.nc" for number in range(3)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("form", "options"), [("nczarr", {"consolidated": True}), ("nczarr3", {"shards": "auto"})])
def test_months_one_by_one_equal_all_at_once(
    s3: S3, months: list[Path], form: str, options: dict[str, Any], tmp_path: Path
) -> None:
    url = s3.url(f"append/{form}.zarr")
    nczarr.convert(months[0], url, form, **options)
    for month in months[1:]:
        nczarr.append(month, url, along="time")
    nczarr.refs.combine(months, tmp_path / "all.nc", along="time")
    assert nczarr.diff(url, tmp_path / "all.nc") == []
    again = run_command("append", str(months[1]), url, "--along", "time")
    assert (again.status, "misplaced-records" in again.err) == (1, True)
    replaced = run_command("append", str(months[1]), url, "--along", "time", "--region", "auto")
    assert replaced.status == 0, replaced.err
    assert nczarr.diff(url, tmp_path / "all.nc") == []


@pytest.mark.slow
def test_killed_at_random_moments(s3: S3, months: list[Path], tmp_path: Path) -> None:
    choose, seen = random.Random("append"), {0: 0, 1: 0}
    nczarr.refs.combine(months[:2], tmp_path / "all.nc", along="time")
    whole = 0.0
    for number in range(share(20) + 1):  # the first one is not killed
        url = s3.url(f"append/killed-{number}.zarr")
        nczarr.convert(months[0], url, "nczarr3")
        begun = time.monotonic()
        process = s3.process("append", str(months[1]), url, "--along", "time", "--workers", "2")
        try:
            process.wait(choose.uniform(0.3, whole) if whole else None)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        whole = whole or time.monotonic() - begun
        states = [each for each, path in enumerate((months[0], tmp_path / "all.nc")) if not nczarr.diff(path, url)]
        assert len(states) == 1, number
        seen[states[0]] += 1
        journal = s3.run("check", url).err
        if states == [0] or "unfinished-append" in journal:
            done = s3.run("append", str(months[1]), url, "--along", "time")
            assert done.status == 0, done.err
        assert nczarr.diff(tmp_path / "all.nc", url) == []
        assert "unfinished-append" not in s3.run("check", url).err
    assert seen[0] or share(20) < 10
