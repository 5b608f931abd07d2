"""Notes of `combine` before it writes: size, estimated time, and bytes of shards that an append rewrites."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.cli import progress as bars
from nczarr.plugins.combine.join import target
from tests.conftest import run_command


@pytest.fixture
def months(tmp_path: Path) -> list[str]:
    paths = []
    for month in range(2):
        builder = nczarr.DatasetBuilder("m")
        builder.dimension("time", unlimited=True)
        for name, length in (("lat", 30), ("lon", 60)):
            builder.dimension(name, length)
            builder.variable(name, "double", [name])
        builder.variable("time", "double", ["time"])
        builder.variable("v", "float", ["time", "lat", "lon"])
        values = np.arange(31 * 30 * 60, dtype="f4").reshape(31, 30, 60)
        data = {"time": np.arange(31.0) + 31 * month, "lat": np.arange(30.0), "lon": np.arange(60.0), "v": values}
        paths.append(str(tmp_path / f"{month}.nc"))
        nczarr.write(builder.finish(data), paths[-1], kind="nc4", chunks={"time": 1})
    return paths


def test_shards_say_what_an_append_rewrites(months: list[str], tmp_path: Path) -> None:
    target = tmp_path / "auto.zarr"
    ran = run_command("combine", *months, str(target), "--along", "time", "--to", "nczarr3", "--shards", "auto")
    assert "note[rewritten-shards]: an append along `/time` rewrites up to 447 kB of values in shards" in ran.err
    target = tmp_path / "append.zarr"
    ran = run_command("combine", *months, str(target), "--along", "time", "--to", "nczarr3", "--chunks", "lat=15",
                      "--shards", "append")  # fmt: skip
    assert (ran.status, "rewritten-shards" in ran.err) == (0, False)
    names = {path.relative_to(target / "v").as_posix() for path in (target / "v" / "c").rglob("*") if path.is_file()}
    assert names == {f"c/{time}/0/0" for time in range(62)}


def test_coordinates_stay_whole(months: list[str], tmp_path: Path) -> None:
    nczarr.combine(months, tmp_path / "a.zarr", along="time", chunks={"time": 1, "lat": 10, "lon": 30})
    with nczarr.open(tmp_path / "a.zarr") as joined:
        chunks = {path: joined.checked.variables[path].storage.chunks for path in joined.checked.variables}
    assert chunks == {"/lat": (30,), "/lon": (60,), "/time": (62,), "/v": (1, 10, 30)}


def test_large_series_are_announced(months: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "LARGE", 1)
    ran = run_command("combine", *months, str(tmp_path / "a.zarr"), "--along", "time")
    first, *_ = ran.err.splitlines()
    assert first.startswith("2 sources with 448 kB of values are read and written: about 1 s, if all are read as")
    ran = run_command("combine", *months, str(tmp_path / "a.json"), "--along", "time")
    assert "about" not in ran.err


def test_progress_never_exceeds_all_and_ends_there(monkeypatch: pytest.MonkeyPatch, months: list[str]) -> None:
    updates: list[dict[str, Any]] = []

    @contextmanager
    def bar(shown: bool, *_: Any) -> Any:
        yield lambda **update: updates.append(update)

    monkeypatch.setattr(bars, "_bar", bar)
    with nczarr.open(months[0]) as handle:
        total = bars.values_size(handle.checked)
        with bars.progress(argparse.Namespace(progress=True), "t", handle.checked) as watch:
            assert watch is not None
            for _ in range(3):
                watch(total // 2)
    assert [update["completed"] for update in updates] == [total // 2, 2 * (total // 2), total, total]
