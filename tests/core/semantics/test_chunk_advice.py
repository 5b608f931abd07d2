"""Advice on chunks: which are reported, and that the remedy ends the report."""

import shlex
from pathlib import Path

import netCDF4
import pytest

from tests.conftest import run_command


def made(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> str:
    with netCDF4.Dataset(path, "w") as file:
        names = tuple(f"d{axis}" for axis in range(len(shape)))
        for name, length in zip(names, shape, strict=True):
            file.createDimension(name, length)
        file.createVariable("v", "f8", names, chunksizes=chunks)[:] = 1
    return str(path)


def test_many_tiny_chunks_are_reported_with_a_remedy(tmp_path: Path) -> None:
    ran = run_command("check", made(tmp_path / "a.nc", (780, 2), (1, 2)))
    assert ran.status == 0
    assert "warning[tiny-chunks]: `/v` has 780 chunks of 1 × 2" in ran.err
    command = ran.err.partition("`nczarr convert SRC DST ")[2].partition("`")[0]
    target = str(tmp_path / "b.zarr")
    done = run_command("convert", str(tmp_path / "a.nc"), target, *shlex.split(command))
    assert done.status == 0, done.err
    assert "tiny-chunks" not in run_command("check", target).err


@pytest.mark.parametrize(
    ("shape", "chunks"), [((255, 2), (1, 2)), ((300, 600), (1, 600)), ((780, 2), (780, 2)), ((512,), (512,))]
)
def test_few_or_large_chunks_are_not_reported(shape: tuple[int, ...], chunks: tuple[int, ...], tmp_path: Path) -> None:
    assert "tiny-chunks" not in run_command("check", made(tmp_path / "a.nc", shape, chunks)).err
