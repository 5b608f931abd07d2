"""Files in a bucket are read by ranges, and say when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import fsspec
import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.support.s3 import S3

LENGTH, CHUNK = 2_000_000, 20_000


def make(path: Path, netcdf4: ModuleType) -> None:
    """A file of 16 MB in a hundred chunks, which do not compress."""
    with netcdf4.Dataset(path, "w") as file:
        file.createDimension("x", LENGTH)
        file.createVariable("v", "f8", ("x",), chunksizes=(CHUNK,))[:] = np.random.default_rng(5).random(LENGTH)


@pytest.mark.slow
def test_requests_and_bytes_of_a_file(
    s3: S3, tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "a.nc", peer("netCDF4"))
    fsspec.filesystem("s3").put_file(str(tmp_path / "a.nc"), "tests/ranges/a.nc")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.proxy.endpoint)
    near = nczarr.open(tmp_path / "a.nc")
    for work, most, size in (
        (lambda each: each.dataset, 1, 70_000),
        (lambda each: each["v"][70_000:70_010], 4, 300_000),
        (lambda each: each["v"][...], 60, 1.2 * 8 * LENGTH),
    ):
        s3.proxy.clear()
        np.testing.assert_equal(work(nczarr.open(s3.url("ranges/a.nc"))), work(near))
        asked = [each for each in s3.proxy.requests if "ranges" in each.path]
        assert len(asked) <= most
        assert sum(each.size for each in asked) <= size


@pytest.mark.slow
def test_an_object_that_is_replaced_is_an_error(s3: S3, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    make(tmp_path / "b.nc", peer("netCDF4"))
    system = fsspec.filesystem("s3")
    system.put_file(str(tmp_path / "b.nc"), "tests/ranges/b.nc")
    found = nczarr.open(s3.url("ranges/b.nc"))
    with peer("netCDF4").Dataset(tmp_path / "b.nc", "a") as file:
        file["v"][:] = 1
    system.put_file(str(tmp_path / "b.nc"), "tests/ranges/b.nc")
    with pytest.raises((OSError, CompileError), match="has changed since it was opened"):
        found["v"][...]
    assert (nczarr.open(s3.url("ranges/b.nc"))["v"][...] == 1).all()


@pytest.mark.slow
def test_files_are_converted_and_referred_to(s3: S3, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    make(tmp_path / "c.nc", peer("netCDF4"))
    fsspec.filesystem("s3").put_file(str(tmp_path / "c.nc"), "tests/ranges/c.nc")
    for target in ("c.zarr", "c.zip", "c.json", "d.nc"):
        assert s3.run("convert", s3.url("ranges/c.nc"), str(tmp_path / target), "-q").status == 0
        assert s3.run("diff", str(tmp_path / "c.nc"), str(tmp_path / target)).status == 0
    assert s3.same(tmp_path / "c.nc", tmp_path / "d.nc") == ""
