"""Regions of many small chunks that are decoded together: equal to those of chunks decoded one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks import small_chunks
from nczarr.arrays.regions import Selection
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.diagnostics.report import CompileError
from tests.conftest import run_command
from tests.support import chunked_file


def sources(path: Path) -> dict[str, ArraySource]:
    checked = nczarr.open(path).checked
    return {fqn.strip("/"): parts[""] for fqn, parts in checked.parts.items() if "" in parts}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each region was read together, from two chunks on."""
    found: list[bool] = []
    real = small_chunks.region

    def region(*arguments: Any) -> Any:
        made = real(*arguments)
        found.append(made is not None)
        return made

    monkeypatch.setattr(small_chunks, "region", region)
    monkeypatch.setattr(small_chunks, "MANY", 2)
    return found


def one_by_one(monkeypatch: pytest.MonkeyPatch, source: ArraySource, selection: Selection) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(small_chunks, "SMALL", 0)
        return source.read(selection)


def compare(monkeypatch: pytest.MonkeyPatch, source: ArraySource, seed: int, count: int = 30) -> None:
    pick, shape = random.Random(seed), source.layout.shape
    regions: list[Selection] = [tuple(slice(0, length) for length in shape)]
    for _ in range(count):
        bounds = [sorted((pick.randint(0, length), pick.randint(0, length))) for length in shape]
        regions.append(tuple(slice(*bound) for bound in bounds))
    for region in regions:
        wanted, found = one_by_one(monkeypatch, source, region), source.read(region)
        assert found.dtype.newbyteorder("<") == wanted.dtype.newbyteorder("<")
        assert found.shape == wanted.shape
        assert little(np.asarray(found)).tobytes() == little(np.asarray(wanted)).tobytes(), region


@pytest.mark.parametrize("together", [1, 400, 1 << 20])
def test_regions_of_a_netcdf_file(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, calls: list[bool], together: int
) -> None:
    """Edges, missing chunks, filter masks, byte orders, and a dataset that ends before its dimension."""
    peer("h5py")
    peer("netCDF4")
    chunked_file.write(tmp_path / "t.nc")
    monkeypatch.setattr(small_chunks, "TOGETHER", together)
    made = sources(tmp_path / "t.nc")
    for seed, name in enumerate(["usual", "plain", "missing", "none", "masked", "long", "short"]):
        calls.clear()
        compare(monkeypatch, made[name], seed)
        assert True in calls, name


FORMS: list[tuple[str, tuple[str, ...]]] = [
    ("zarr2", ("--codec", "none")),
    ("zarr2", ("--codec", "shuffle+zlib:1")),
    ("zarr2", ("--codec", "zstd:3")),
    ("zarr3", ("--codec", "zlib:1+crc32c")),
    ("zarr3", ("--codec", "shuffle+zlib:9", "--shards", "/usual=8,10")),
    ("zarr3", ("--codec", "none", "--shards", "/usual=24,35")),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("archive", [False, True])
@pytest.mark.parametrize(("form", "options"), FORMS)
def test_regions_of_stores(
    tmp_path: Path,
    peer: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    calls: list[bool],
    form: str,
    options: tuple[str, ...],
    archive: bool,
) -> None:
    peer("h5py")
    peer("netCDF4")
    chunked_file.write(tmp_path / "t.nc")
    target = tmp_path / ("t.zip" if archive else "t.zarr")
    chosen = "--var=usual,plain,missing,masked"
    done = run_command("convert", str(tmp_path / "t.nc"), str(target), "--to", form, chosen, *options)
    assert done.status == 0, done.err
    for seed, (name, source) in enumerate(sources(target).items()):
        calls.clear()
        compare(monkeypatch, source, seed, 12)
        assert True in calls, name


@pytest.mark.parametrize("dtype", ["<i2", ">f8", "?", "<c16", "<f2", "<M8[D]", "|S3", [("a", ">i2"), ("b", "<f4")]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_regions_of_zarr_arrays(
    tmp_path: Path,
    peer: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    calls: list[bool],
    dtype: Any,
    order: str,
) -> None:
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "t.zarr", mode="w", zarr_format=2)
    values = np.frombuffer(np.random.default_rng(3).bytes(7 * 11 * 32), np.uint8)[: 7 * 11 * np.dtype(dtype).itemsize]
    values = (values % 2 if dtype == "?" else values).copy().view(dtype).reshape(7, 11)
    made = group.create_array("v", shape=(7, 11), chunks=(2, 3), dtype=values.dtype, order=order)
    made[:4] = values[:4]
    source = sources(tmp_path / "t.zarr")["v"]
    compare(monkeypatch, source, 1)
    assert (True in calls) == (source.layout.dtype != "|O")


def test_few_large_or_distant_chunks_are_read_one_by_one(
    tmp_path: Path, peer: Callable[[str], ModuleType], calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    peer("h5py")
    peer("netCDF4")
    chunked_file.write(tmp_path / "t.nc")
    source = sources(tmp_path / "t.nc")["usual"]
    for region in [
        (slice(0, 4), slice(0, 5)),  # one chunk
        (slice(0, 23), slice(0, 1)),  # a fifth of each chunk
        (slice(3, 3), slice(0, 31)),
    ]:
        source.read(region)
    monkeypatch.setattr(small_chunks, "SMALL", 4 * 5 * 4 - 1)
    source.read((slice(0, 23), slice(0, 31)))
    assert not any(calls)


def damage(source: ArraySource, numbers: tuple[int, ...]) -> None:
    """Change a byte of some chunks in their file."""
    places = [source.place((number // 7, number % 7)) for number in numbers]
    for place in places:
        assert place is not None
        data = bytearray(Path(place.path).read_bytes())
        data[place.offset + 3] ^= 0xFF
        Path(place.path).write_bytes(data)


@pytest.mark.parametrize("form", ["netcdf4", "zarr3"])
def test_the_first_unreadable_chunk_is_reported(
    tmp_path: Path, peer: Callable[[str], ModuleType], calls: list[bool], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer("h5py")
    peer("netCDF4")
    path = tmp_path / "t.nc"
    chunked_file.write(path)
    if form == "zarr3":
        path = tmp_path / "t.zarr"
        options = ("--var=usual", "--shards", "auto")
        assert run_command("convert", str(tmp_path / "t.nc"), str(path), "--to", form, *options).status == 0
    damage(sources(path)["usual"], (30, 9))
    source = sources(path)["usual"]
    whole = (slice(0, 23), slice(0, 31))
    with pytest.raises(CompileError) as many:
        source.read(whole)
    with pytest.raises(CompileError) as single:
        one_by_one(monkeypatch, source, whole)
    assert calls[0] is False
    assert str(many.value) == str(single.value)
    place = source.place((9 // 7, 9 % 7))
    assert place is not None
    if form == "netcdf4":
        assert many.value.diagnostics[0].primary.offset == place.offset
    else:
        assert "[1, 2] of the array" in str(many.value)


def test_a_listing_saves_requests_for_missing_chunks(
    tmp_path: Path, peer: Callable[[str], ModuleType], calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stored chunks among a million take two requests."""
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "t.zarr", mode="w", zarr_format=2)
    made = group.create_array("v", shape=(1 << 20, 2), chunks=(1, 2), dtype="u1", fill_value=7)
    made[5:6] = 1
    made[1 << 19 : (1 << 19) + 1] = 2
    source = sources(tmp_path / "t.zarr")["v"]
    found = source.read((slice(0, 1 << 20), slice(0, 2)))
    assert calls == []
    assert np.unique(found, return_counts=True)[1].tolist() == [2, 2, (1 << 21) - 4]
    monkeypatch.setattr("nczarr.arrays.chunks.key_chunk_array.MANY", 2)
    assert source.read((slice(4, 8), slice(0, 2))).tolist() == [[7, 7], [1, 1], [7, 7], [7, 7]]
    assert calls == []
    assert source.read((slice(4, 6), slice(0, 2))).tolist() == [[7, 7], [1, 1]]
    assert calls == [True]
