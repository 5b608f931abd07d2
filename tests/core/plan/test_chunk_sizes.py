"""Chunk lengths for a size in bytes."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nczarr
from nczarr.options import AUTO, Access
from nczarr.plan.chunk_sizes import LARGEST_STEP, LEAST, lengths_of_size
from tests.conftest import run_command

SHAPES = st.lists(st.integers(0, 10**6), min_size=1, max_size=5).map(tuple)
WAYS = st.sampled_from(["map", "series", "balanced"])


@given(SHAPES, st.sampled_from([1, 2, 4, 8, 16]), WAYS)
def test_automatic_chunks_have_at_least_four_mebibytes(shape: tuple[int, ...], itemsize: int, access: Access) -> None:
    extents = [max(1, length) for length in shape]
    lengths = lengths_of_size(shape, itemsize, AUTO, access)
    assert all(1 <= length <= extent for length, extent in zip(lengths, extents, strict=True))
    size = math.prod(lengths) * itemsize
    assert size >= min(LEAST, math.prod(extents) * itemsize)
    assert size <= 2 * LARGEST_STEP


@given(SHAPES, st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 10**9), WAYS)
def test_chunks_of_a_size_are_no_larger(shape: tuple[int, ...], itemsize: int, size: int, access: Access) -> None:
    lengths = lengths_of_size(shape, itemsize, size, access)
    assert math.prod(lengths) * itemsize <= max(size, itemsize)


@given(SHAPES, st.sampled_from([1, 2, 4, 8]))
def test_steps_stay_whole_where_they_are_small(shape: tuple[int, ...], itemsize: int) -> None:
    lengths = lengths_of_size(shape, itemsize, AUTO)
    step = math.prod(max(1, length) for length in shape[1:]) * itemsize
    assert step > LARGEST_STEP or lengths[1:] == tuple(max(1, length) for length in shape[1:])


def test_a_coordinate_and_its_bounds_are_one_chunk(tmp_path: Path) -> None:
    """Also where they are larger than other chunks: 700,000 times have 5.6 MB."""
    length = 700_000
    text = f"""netcdf t {{ dimensions: time = {length} ; b = 2 ; x = 3 ; variables:
        double time(time) ; time:bounds = "limits" ; double limits(time, b) ; double v(time, x) ; }}"""
    data = nczarr.from_cdl(text)
    for form, name in (("zarr3", "t.zarr"), ("netcdf4", "t.nc")):
        nczarr.write(data, tmp_path / name, form, chunks="auto", codecs="zlib:1", allow_loss="all")
        variables = nczarr.open(tmp_path / name).checked.variables
        assert variables["/time"].storage.chunks == (length,)
        assert variables["/limits"].storage.chunks == (length, 2)
        chunks = variables["/v"].storage.chunks
        assert chunks is not None
        assert chunks[0] < length


def test_chunks_in_shards_for_reading_by_ranges_have_at_most_eight_mebibytes(tmp_path: Path) -> None:
    """A step of 12 MB is whole in a file, and split in a shard, where each chunk is a request of its own."""
    data = nczarr.from_cdl("netcdf t { dimensions: t = 3 ; y = 1500 ; x = 2000 ; variables: float v(t, y, x) ; }")
    sizes = {}
    for form, name in (("zarr3", "t.zarr"), ("netcdf4", "t.nc")):
        nczarr.write(data, tmp_path / name, form, layout="cloud", allow_loss="all")
        chunks = nczarr.open(tmp_path / name).checked.variables["/v"].storage.chunks
        assert chunks is not None
        sizes[form] = math.prod(chunks) * 4
    assert sizes["netcdf4"] == 12_000_000
    assert 1 << 20 <= sizes["zarr3"] <= 8 << 20


def test_convert_says_what_the_layout_would_do_better(tmp_path: Path) -> None:
    header = "netcdf t { dimensions: x = 300 ; variables: int v(x) ; "
    data = nczarr.from_cdl(header + "int w(x) ; data: v = 1 ; }")
    nczarr.write(data, tmp_path / "a.zarr", "zarr3", chunks={"/v": (1,), "/w": (1,)}, allow_loss="all")
    hint = "`--layout cloud` would write"
    assert hint not in run_command("convert", str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")).err
    full = nczarr.from_cdl(header + "data: v = " + ", ".join(map(str, range(300))) + " ; }")
    nczarr.write(full, tmp_path / "c.zarr", "zarr3", chunks={"/v": (1,)}, allow_loss="all")
    source = str(tmp_path / "c.zarr")
    assert f"{hint} 1 chunk instead of 300" in run_command("convert", source, str(tmp_path / "d.zarr")).err
    for options in (["--chunks", "auto"], ["--layout", "cloud"], ["-q"]):
        assert hint not in run_command("convert", source, str(tmp_path / "e.zarr"), "--overwrite", *options).err
    assert hint not in run_command("convert", source, str(tmp_path / "f.json")).err


def test_a_series_touches_fewest_chunks_by_its_own_way() -> None:
    shape = (3650, 720, 1440)
    series, maps = ({}, {})  # type: ignore[var-annotated]
    ways: list[Access] = ["series", "balanced", "map"]
    for access in ways:
        lengths = lengths_of_size(shape, 4, AUTO, access)
        counts = [-(-extent // length) for extent, length in zip(shape, lengths, strict=True)]
        series[access], maps[access] = counts[0], counts[1] * counts[2]
    assert all(series[first] < series[second] for first, second in pairwise(ways))
    assert all(maps[first] > maps[second] for first, second in pairwise(ways))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 9 MB with a time of 600 chunks."""
    path = tmp_path_factory.mktemp("sizes") / "t.nc"
    builder = nczarr.DatasetBuilder("t")
    builder.dimension("time", unlimited=True)
    builder.dimension("y", 50)
    builder.dimension("x", 75)
    builder.variable("time", "double", ["time"])
    builder.variable("v", "float", ["time", "y", "x"])
    values = np.arange(600 * 50 * 75, dtype="f4").reshape(600, 50, 75)
    dataset = builder.finish({"time": np.arange(600.0), "v": values})
    nczarr.write(dataset, path, kind="nc4", chunks={"time": 1, "/time": (1,)})
    return path


def chunks_of(path: Path) -> dict[str, Any]:
    return {name: variable.storage.chunks for name, variable in nczarr.open(path).checked.variables.items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "chunks"),
    [
        (["auto"], {"/time": (600,), "/v": (280, 50, 75)}),
        (["1MB"], {"/time": (600,), "/v": (60, 50, 75)}),
        (["/v=1MB"], {"/time": (1,), "/v": (60, 50, 75)}),
        (["auto", "y=10"], {"/time": (600,), "/v": (280, 10, 75)}),
        (["auto", "/v=7,50,75"], {"/time": (600,), "/v": (7, 50, 75)}),
        (["1MB", "--access", "series"], {"/time": (600,), "/v": (600, 13, 25)}),
    ],
)
@pytest.mark.parametrize("target", ["t.nc", "t.zarr"])
def test_sizes_on_the_command_line(
    source: Path, tmp_path: Path, words: list[str], chunks: dict[str, Any], target: str
) -> None:
    sizes, others = [word for word in words if not word.startswith("--")], []
    if "--access" in words:
        sizes, others = words[:1], words[1:]
    options = [part for size in sizes for part in ("--chunks", size)]
    done = run_command(
        "convert",
        str(source),
        str(tmp_path / target),
        "--to",
        "netcdf4" if target == "t.nc" else "nczarr",
        *options,
        *others,
        "-q",
    )
    assert (done.status, done.err) == (0, "")
    assert chunks_of(tmp_path / target) == chunks
    assert nczarr.diff(source, tmp_path / target) == []


@pytest.mark.parametrize("word", ["100", "0MB", "autos", "10 MB", "time=auto", "/v=", "=auto"])
def test_other_words_are_refused(source: Path, tmp_path: Path, word: str) -> None:
    done = run_command("convert", str(source), str(tmp_path / "t.zarr"), "--chunks", word)
    assert done.status == 2
    assert "--chunks" in done.err
    assert not (tmp_path / "t.zarr").exists()


def test_sizes_in_python(source: Path, tmp_path: Path) -> None:
    nczarr.convert(source, tmp_path / "a.nc", "netcdf4", chunks="auto")
    assert chunks_of(tmp_path / "a.nc")["/v"] == (280, 50, 75)
    nczarr.convert(source, tmp_path / "b.nc", "netcdf4", chunks={"/v": "1MB", "time": 3})
    assert chunks_of(tmp_path / "b.nc") == {"/time": (600,), "/v": (60, 50, 75)}
    with pytest.raises(ValueError, match="is not a chunk size"):
        nczarr.convert(source, tmp_path / "c.nc", "netcdf4", chunks={"/v": "many"})
    with pytest.raises(nczarr.CompileError, match="is not a dimension or variable"):
        nczarr.convert(source, tmp_path / "c.nc", "netcdf4", chunks={"time": "1MB"})


def test_chunks_that_are_large_enough_are_copied(tmp_path: Path, source: Path) -> None:
    nczarr.convert(source, tmp_path / "a.nc", "netcdf4", chunks={"/v": (300, 50, 75)})
    done = run_command("convert", str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), "--chunks", "auto")
    assert done.status == 0
    assert "3 chunks (2 copied, 1 gathered; 2 not decoded)" in done.err, done.err
    assert chunks_of(tmp_path / "b.nc")["/v"] == (300, 50, 75)


def test_classic_files_get_sensible_chunks_with_a_codec(tmp_path: Path, source: Path) -> None:
    nczarr.convert(source, tmp_path / "a.nc3", kind="nc3")
    nczarr.convert(tmp_path / "a.nc3", tmp_path / "b.nc", "netcdf4", codecs="zlib:1")
    assert chunks_of(tmp_path / "b.nc")["/v"] == (280, 50, 75)
    nczarr.convert(tmp_path / "a.nc3", tmp_path / "c.zarr", "zarr2", codecs="zlib:1")
    assert '"<f4"' in (tmp_path / "c.zarr" / "v" / ".zarray").read_text()
    assert [change.kind for change in nczarr.diff(tmp_path / "a.nc3", tmp_path / "c.zarr")] == ["dimension"]


@pytest.mark.parametrize(("target", "kind"), [("t.json", []), ("t.nc", ["-k", "nc3"]), ("t.cdl", []), ("t.ncs", [])])
def test_other_formats_have_no_layout_for_ranges(source: Path, tmp_path: Path, target: str, kind: list[str]) -> None:
    done = run_command("convert", str(source), str(tmp_path / target), "--layout", "cloud", *kind)
    assert done.status != 0
    assert "error[unmatched-chunks]" in done.err
    assert not (tmp_path / target).exists()
