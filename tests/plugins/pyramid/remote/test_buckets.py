"""Pyramids in a bucket: a new target, levels beside a store, and levels after an append."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.support.pyramids import SHAPE, day
from tests.support.s3 import S3

pytestmark = pytest.mark.peer


def test_a_bucket(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files do not stay beside a local source, and no key stays beside the store."""
    monkeypatch.chdir(tmp_path)
    nczarr.write(day(0, 2), "a.zarr", "zarr3", chunks={"time": 1, "lat": 32})
    target, store = s3.url("pyramid/p.zarr"), s3.url("pyramid/s.zarr")
    ran = s3.run("pyramid", "a.zarr", target, "--to", "zarr3", "--levels", "2")
    assert ran.status == 0, ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zarr"]
    nczarr.convert("a.zarr", store, "zarr3")
    nczarr.pyramid(store, levels=2)
    nczarr.append(day(2, 1), store, along="time")
    nczarr.append(day(2, 1), "a.zarr", along="time")
    nczarr.pyramid(store, update=True)
    nczarr.pyramid("a.zarr", target, update=True)
    values = nczarr.open("a.zarr")["t"][:].astype("f8")
    for level in (1, 2):
        rows, columns = (length // 2**level for length in SHAPE)
        means = values.reshape(3, rows, 2**level, columns, 2**level).mean((2, 4)).astype("f4")
        assert np.array_equal(nczarr.open(target)[f"/{level}/t"][:], means)
        assert np.array_equal(nczarr.open(store)[f"/{level}/t"][:], means)
    import fsspec

    keys = fsspec.filesystem("s3", skip_instance_cache=True).find("tests/pyramid")
    assert not [key for key in keys if "journal" in key or "staged" in key or "lock" in key]
