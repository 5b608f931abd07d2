"""Values of variables by index, from files whose values are views, and from chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.execution import thread_pool
from tests.support.reading_ways import WAYS, ways

VALUES = np.arange(7 * 6 * 5, dtype="f8").reshape(7, 6, 5)
KEYS: list[Any] = [
    ..., 3, (slice(None), 2), (slice(1, 6), slice(2, 3)), (slice(None, None, -1), ..., slice(None, None, 2)),
    (slice(5, 1, -3),), (1, 2, 3), (slice(3, 3),),
]  # fmt: skip


def opened(path: Path, records: bool, target: dict[str, Any] | None = None, **options: Any) -> nczarr.DatasetHandle:
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension("t", 7, unlimited=records), builder.dimension("y", 6), builder.dimension("x", 5)]
    for name in "vw":
        builder.variable(name, "double", axes, **options)
    nczarr.write(builder.finish(data={"/v": VALUES, "/w": -VALUES}), path, **(target or {}))
    return nczarr.open(path)


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("name", ["t.nc", "t.zarr", "t.zip"])
@pytest.mark.parametrize("options", [{}, {"chunks": (2, 4, 5), "codecs": ["shuffle", ("deflate", 1)]}])
def test_every_key_gives_what_numpy_gives(name: str, records: bool, options: dict[str, Any], tmp_path: Path) -> None:
    if name == "t.nc" and not options:
        name = "t.cdf"
    dataset = opened(tmp_path / name, records, **options)
    for workers, least in WAYS:
        with ways(workers, least):
            for key in KEYS:
                found = dataset["w"][key]
                assert np.array_equal(found, -VALUES[key]), (workers, least, key)
                assert found.dtype == np.dtype("<f8")
                if isinstance(found, np.ndarray) and found.ndim:
                    found[...] = 0  # it belongs to the caller


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("codecs", [[], ["shuffle", ("deflate", 1)]])
def test_a_caller_may_change_the_values_of_one_chunk(endian: str, codecs: list[Any], tmp_path: Path) -> None:
    builder = nczarr.DatasetBuilder("")
    builder.variable("v", "float", [builder.dimension("x", 4)], chunks=(4,), endian=endian, codecs=codecs)
    nczarr.write(builder.finish(data={"/v": [1, 2, 3, 4]}), tmp_path / "t.zarr", "zarr2", allow_loss=["all"])
    dataset = nczarr.open(tmp_path / "t.zarr")
    for _ in range(2):
        values = dataset["v"][...]
        assert values.tolist() == [1, 2, 3, 4]
        values[:] = 0


@pytest.mark.parametrize("name", ["t.zarr", "t.zip"])
def test_shards_are_read_in_every_way(name: str, tmp_path: Path) -> None:
    target = {"format": "nczarr3", "shards": {"/v": (4, 4, 5), "/w": (2, 8, 5)}}
    dataset = opened(tmp_path / name, False, target, chunks=(1, 2, 5), codecs=["shuffle", ("deflate", 1)])
    for workers, least in WAYS:
        with ways(workers, least):
            for key in KEYS:
                assert np.array_equal(dataset["v"][key], VALUES[key]), (workers, least, key)
                assert np.array_equal(dataset["w"][key], -VALUES[key]), (workers, least, key)


@pytest.mark.parametrize("limit", [1, None])
def test_the_workers_of_a_run_limit_its_reads(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of classic files reads in its own thread, and so may use others."""
    dataset = opened(tmp_path / "t.zarr", False, chunks=(1, 6, 5), codecs=[("deflate", 1)])
    started = []
    with ways(3):
        take = thread_pool._helpers.take
        monkeypatch.setattr(thread_pool._helpers, "take", lambda most: (started.append(take(most)), started[-1])[1])
        nczarr.write(dataset, tmp_path / "t.nc", "netcdf3", **({} if limit is None else {"workers": limit}))
    assert np.array_equal(nczarr.open(tmp_path / "t.nc")["v"][...], VALUES)
    assert bool(sum(started)) == (limit is None)


def test_a_text_is_made_within_the_limits_of_its_run() -> None:
    seen = []

    def pieces() -> Any:
        for number in range(3):
            seen.append(thread_pool._limits.workers)
            yield number

    found = thread_pool.in_limits(pieces(), 2, 1 << 20)
    assert [next(found), thread_pool._limits.workers, *found] == [0, None, 1, 2]
    assert seen == [2, 2, 2]
