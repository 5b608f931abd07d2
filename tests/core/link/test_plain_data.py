"""Variables in one piece that are larger than the memory of the run: they have no chunks to decode, and go in slabs."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.arrays.sources.memory import Window
from nczarr.arrays.sources.source import ArraySource
from tests.conftest import Ran

SHAPE = (24, 1024, 1024)
"""96 MiB of floats, of which the file system holds a few pages."""


def classic(path: Path, netcdf: ModuleType, shape: tuple[int, ...], *, growing: int = 0) -> None:
    """A classic file with holes; `growing`: how many variables have records."""
    with netcdf.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.set_fill_off()
        for name, length in zip("tyx", shape, strict=True):
            file.createDimension(name, None if growing and name == "t" else length)
        for name in ("v", "w")[: max(1, growing)]:
            made = file.createVariable(name, "f4", ("t", "y", "x"))
            made[shape[0] - 1, shape[1] - 1, :] = np.arange(shape[-1])
            made[2, 5, :] = np.arange(shape[-1])


def hdf5(path: Path, h5py: ModuleType, shape: tuple[int, ...], chunks: Any = None) -> None:
    """An HDF5 file with holes, in one piece or in a few large chunks without codecs."""
    with h5py.File(path, "w") as file:
        made = file.create_dataset("v", shape, "<f4", chunks=chunks)
        made[-1, -1, :] = np.arange(shape[-1])
        made[2, 5, :] = np.arange(shape[-1])


@pytest.fixture
def make(peer: Callable[[str], ModuleType], tmp_path: Path) -> Callable[[str], Path]:
    def of(kind: str, shape: tuple[int, ...] = SHAPE) -> Path:
        path = tmp_path / f"{kind}.nc"
        if kind in ("fixed", "records", "interleaved"):
            growing = ("fixed", "records", "interleaved").index(kind)
            classic(path, peer("netCDF4"), shape, growing=growing)
        else:
            peer("netCDF4")
            hdf5(path, peer("h5py"), shape, None if kind == "contiguous" else (shape[0], 1024, 512))
        return path

    return of


@pytest.mark.slow
@pytest.mark.parametrize("target", ["b.nc", "b.zarr", "b3.zarr"])
@pytest.mark.parametrize("kind", ["fixed", "records", "interleaved", "contiguous", "chunked"])
@pytest.mark.parametrize("codec", ["zstd:1"])
def test_it_is_encoded(
    make: Callable[[str], Path], tmp_path: Path, nczarr_command: Callable[..., Ran], target: str, kind: str, codec: str
) -> None:
    source, made = make(kind), tmp_path / target
    options = ["--codec", codec, "--memory", "16MiB", *(["--to", "nczarr3"] if target == "b3.zarr" else [])]
    if kind == "chunked":
        options += ["--chunks", "/v=1,256,1024"]
    done = nczarr_command("convert", str(source), str(made), *options)
    assert done.status == 0, done.err
    with nczarr.open(made) as file:
        assert file["/v"].variable.storage.codecs
        assert file["/v"][-1, -1].tolist() == file["/v"][2, 5].tolist() == list(range(SHAPE[2]))
        assert not file["/v"][3].any()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["fixed", "records", "contiguous"])
def test_a_section_of_it_is_encoded(
    make: Callable[[str], Path], tmp_path: Path, nczarr_command: Callable[..., Ran], kind: str
) -> None:
    options = ["--section", "v(1:23,:,0:1023:1)", "--codec", "zlib:1", "--memory", "16MiB"]
    done = nczarr_command("convert", str(make(kind)), str(tmp_path / "b.zarr"), *options)
    assert done.status == 0, done.err
    with nczarr.open(tmp_path / "b.zarr") as file:
        assert file["/v"].shape == (23, 1024, 1024)
        assert file["/v"][-1, -1].tolist() == file["/v"][1, 5].tolist() == list(range(SHAPE[2]))


def test_a_chunk_asked_for_that_is_too_large_is_refused(
    make: Callable[[str], Path], tmp_path: Path, nczarr_command: Callable[..., Ran]
) -> None:
    options = ["--chunks", "/v=24,1024,1024", "--codec", "zlib:1", "--memory", "16MiB"]
    done = nczarr_command("convert", str(make("fixed")), str(tmp_path / "b.zarr"), *options)
    assert done.status != 0
    assert "oversized-chunk" in done.err


PEAK = """
import re, sys
from nczarr.__main__ import main
assert main(sys.argv[1:]) == 0
with open("/proc/self/status") as status:  # ru_maxrss counts the process that started this one as well
    print(int(re.search(r"VmHWM:\\s*(\\d+)", status.read())[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["b.nc", "b.zarr"])
@pytest.mark.parametrize("kind", ["fixed", "contiguous"])
def test_memory_is_bounded(make: Callable[..., Path], tmp_path: Path, kind: str, target: str) -> None:
    source = make(kind, (128, 1024, 1024))
    options = ["--codec", "zlib:1", "--memory", "64MiB", "--workers", "2", "-q"]
    command = [sys.executable, "-c", PEAK, "convert", str(source), str(tmp_path / target), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout.split()[-1]) < 300  # of 512 MiB


@pytest.mark.parametrize("kind", ["nc3", "nc4"])
@pytest.mark.parametrize("target", ["a.zarr", "a.nc"])
def test_series_are_read_by_rows(kind: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Series of a contiguous variable touch every page of its file: they are made from windows, read row by row."""
    built = nczarr.DatasetBuilder("t")
    dimensions = [built.dimension(name, length) for name, length in (("t", 40), ("y", 32), ("x", 32))]
    built.variable("v", "int", dimensions)
    values = np.arange(40 * 32 * 32, dtype="i4").reshape(40, 32, 32)
    nczarr.write(built.finish(data={"/v": values}), tmp_path / "s.nc", kind=kind)
    monkeypatch.setattr("nczarr.arrays.sources.windows.PAGES", 512)
    filled: list[tuple[int, ...]] = []
    fill = Window.fill

    def note(window: Window, source: ArraySource, selections: list[Selection]) -> None:
        filled.extend(map(lengths_of, selections))
        fill(window, source, selections)

    monkeypatch.setattr(Window, "fill", note)
    options = {"codecs": "zlib:1", "memory": 1 << 17, "workers": 1, "kind": None if target.endswith("zarr") else "nc4"}
    nczarr.convert(tmp_path / "s.nc", tmp_path / target, chunks={"t": 40, "y": 4, "x": 4}, **options)
    assert nczarr.diff(tmp_path / "s.nc", tmp_path / target) == []
    assert sum(math.prod(lengths) for lengths in filled) == values.size
    assert all(lengths[-1] >= 16 for lengths in filled), "rows are cut"
    filled.clear()
    nczarr.convert(tmp_path / "s.nc", tmp_path / f"maps-{target}", chunks={"t": 1, "y": 32, "x": 32}, **options)
    assert filled == []
