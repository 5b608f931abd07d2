"""Two passes with a scratch array: equal values, each source chunk read once, bounded memory, and runs that go on."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nczarr
from nczarr.arrays.chunks.chunk_grid_array import FetchedChunk
from nczarr.arrays.chunks.grid import ChunkCache
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.regions import Index, Selection, grid_of, lengths_of
from nczarr.arrays.sources import memory as memory_sources
from nczarr.arrays.sources.passes import LEAST, Budget, plan_passes, shape_scratch
from nczarr.diagnostics.report import Report
from nczarr.link import stages
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import input_at, prepare
from nczarr.pipeline.rechunk import prepare_rechunk
from nczarr.pipeline.select.selection import Subset
from nczarr.plan.plans import Conversion
from nczarr.semantics.checked import Checked
from nczarr.stores.directory import DirectoryTarget
from tests.conftest import ROOT, run_command

SHAPE, CHUNKS = (40, 60, 60), (1, 60, 60)
SERIES = (40, 3, 5)
MEMORY = 96 << 10
"""Bytes that hold a few of the 40 source chunks of 14.4 kB."""

WRITTEN = 21
"""Chunks that the source has; the others are fill."""

BLOCK = 3
"""Source chunks of a block."""


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    built = nczarr.DatasetBuilder("t")
    dimensions = [built.dimension(name, length) for name, length in zip("tyx", SHAPE, strict=True)]
    built.variable("v", "int", dimensions, fill_value=-1, chunks=CHUNKS)
    values = np.arange(math.prod(SHAPE), dtype="i4").reshape(SHAPE)
    values[WRITTEN:] = -1
    nczarr.write(built.finish(data={"/v": values}), tmp_path / "maps.zarr", codecs="zlib:5")
    return tmp_path / "maps.zarr"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, Index]]:
    """Stored chunks that are read, by the name of their store."""
    reads: Counter[tuple[str, Index]] = Counter()
    fetch = KeyChunkArray.fetch

    def count(array: KeyChunkArray, index: Index) -> FetchedChunk | None:
        chunk = fetch(array, index)
        if chunk is not None:
            reads[Path(array.store.path).name, index] += 1
        return chunk

    monkeypatch.setattr(ChunkCache, "put", lambda *arguments: None)  # these chunks are small enough for the cache
    monkeypatch.setattr(KeyChunkArray, "fetch", count)
    monkeypatch.setattr(KeyChunkArray, "_small", lambda array, selection: None)
    return reads


def rechunk(source: Path, target: Path, report: Report | None = None, **options: Any) -> Conversion | None:
    settings = Options.of(**{"memory": MEMORY, "workers": 1, "chunks": {"/v": SERIES}, **options})
    report = Report() if report is None else report
    ready = prepare_rechunk(input_at(str(source), settings), Subset(), str(target), None, report, settings)
    return None if ready is None else ready.write(report)


def opened(path: Path) -> Checked:
    report = Report()
    content = phases.read_path(str(path), report, Options())
    assert content is not None, report.list_sorted()
    return content


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["a.zarr", "a.zip", "a.nc"])
@pytest.mark.parametrize(("codec", "least"), [("none", LEAST), ("zlib:1", LEAST), ("zlib:1", 64)])
def test_two_passes_read_each_chunk_once(
    name: str,
    codec: str,
    least: int,
    maps: Path,
    fetched: Counter[tuple[str, Index]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nczarr.arrays.sources.passes.LEAST", least)
    done = rechunk(maps, tmp_path / name, codecs={"": codec})
    assert done is not None
    of_source = {index: count for (store, index), count in fetched.items() if store == maps.name}
    assert of_source == {(number, 0, 0): 1 for number in range(WRITTEN)}
    assert nczarr.diff(maps, tmp_path / name) == []
    assert sorted(os.listdir(tmp_path)) == sorted([maps.name, name])


def test_one_pass_would_read_them_often(maps: Path, fetched: Counter[tuple[str, Index]], tmp_path: Path) -> None:
    settings = Options.of(memory=MEMORY, workers=1, chunks={"/v": SERIES})
    ready = prepare(input_at(str(maps), settings), Subset(), str(tmp_path / "a.zarr"), None, Report(), settings)
    assert ready is not None
    assert ready.write(Report()) is not None
    assert fetched[maps.name, (0, 0, 0)] > 4


def test_shards_and_other_formats(maps: Path, tmp_path: Path) -> None:
    for form, more in (("zarr2", {}), ("nczarr3", {}), ("zarr3", {"shards": {"/v": (40, 15, 30)}})):
        settings = Options.of(memory=MEMORY, workers=2, chunks={"/v": SERIES}, **more)
        report, target = Report(), tmp_path / f"{form}.zarr"
        ready = prepare_rechunk(input_at(str(maps), settings), Subset(), str(target), form, report, settings)
        assert ready is not None
        plan = ready.plan(report)
        assert plan is not None
        assert plan.parts[0].passes.number == 2
        assert ready.write(report) is not None, report.list_sorted()
        assert nczarr.diff(maps, target) == []


def test_memory_is_bounded(maps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of both passes, with the chunks beside them, fit the memory that the plan states."""
    windows: list[int] = []

    def note(layout: Any, region: Selection) -> Any:
        windows.append(math.prod(lengths_of(region)) * 4)
        return memory_sources.Window(layout, region, np.empty(lengths_of(region), layout.dtype))

    monkeypatch.setattr("nczarr.link.run.window", note)
    settings = Options.of(memory=MEMORY, workers=1, chunks={"/v": SERIES})
    ready = prepare_rechunk(input_at(str(maps), settings), Subset(), str(tmp_path / "a.zarr"), None, Report(), settings)
    assert ready is not None
    plan = ready.plan(Report())
    assert plan is not None
    assert ready.write(Report()) is not None
    assert MEMORY // 4 < max(windows) <= plan.memory <= MEMORY
    assert plan.scratch == math.prod(SHAPE) * 4


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Folders that fail after so many files have been put."""
    left: list[int] = []
    write = DirectoryTarget._write

    def fail(store: DirectoryTarget, key: str, pieces: Any) -> None:
        if left and not store.path.endswith("journal"):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(5, "input/output error")
        write(store, key, pieces)

    monkeypatch.setattr(DirectoryTarget, "_write", fail)
    return left


@pytest.mark.long
@pytest.mark.parametrize("puts", [3, 6, 40, 200])
def test_a_failed_run_goes_on(
    puts: int, maps: Path, failing: list[int], fetched: Counter[tuple[str, Index]], tmp_path: Path
) -> None:
    failing.append(puts)
    with pytest.raises(OSError, match="input/output error"):
        rechunk(maps, tmp_path / "a.zarr", resume=True)
    before = sum(count for (store, _), count in fetched.items() if store == maps.name)
    assert [name for name in os.listdir(tmp_path) if ".scratch" in name]
    failing.clear()
    done = rechunk(maps, tmp_path / "a.zarr", resume=True)
    assert done is not None
    both = sum(count for (store, _), count in fetched.items() if store == maps.name)
    assert before <= both <= WRITTEN + BLOCK  # what was read for a block that was not finished is read again
    if puts >= 40:
        assert both == before == WRITTEN
        assert done.skipped_keys > 0
    assert nczarr.diff(maps, tmp_path / "a.zarr") == []
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", maps.name]


def test_without_resume_nothing_stays(maps: Path, failing: list[int], tmp_path: Path) -> None:
    failing.append(40)
    with pytest.raises(OSError, match="input/output error"):
        rechunk(maps, tmp_path / "a.zarr")
    assert os.listdir(tmp_path) == [maps.name]


def test_scratch_of_another_run_is_removed(maps: Path, failing: list[int], tmp_path: Path) -> None:
    failing.append(40)
    with pytest.raises(OSError, match="input/output error"):
        rechunk(maps, tmp_path / "a.zarr", resume=True)
    failing.clear()
    assert rechunk(maps, tmp_path / "a.zarr", memory=2 * MEMORY, chunks={"/v": (40, 2, 2)}) is not None
    assert not [name for name in os.listdir(tmp_path) if ".scratch" in name]


def test_a_folder_for_scratch(maps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    names: list[str] = []
    make = os.mkdir
    monkeypatch.setattr(os, "mkdir", lambda path, *mode: (names.append(str(path)), make(path, *mode))[1])
    assert rechunk(maps, tmp_path / "a.zarr", scratch=str(tmp_path / "elsewhere")) is not None
    assert any(name.startswith(str(tmp_path / "elsewhere" / "a.zarr")) for name in names)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_full_disk_is_seen_before_the_work(maps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)
    with pytest.raises(OSError, match="need 576000 bytes, and 1000 are free"):
        rechunk(maps, tmp_path / "a.zarr")
    assert os.listdir(tmp_path) == [maps.name]


@pytest.mark.long
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=4),
    st.sampled_from([1, 4, 8]),
    st.integers(1, 5000),
)
def test_blocks_have_whole_chunks_and_fit(axes: list[tuple[int, int, int]], element: int, room: int) -> None:
    shape, cells, chunks = zip(*axes, strict=True)
    scratch = shape_scratch(shape, cells, chunks, element, room)
    if scratch is None:
        assert math.prod(map(min, cells, shape)) > room
        return
    assert math.prod(map(min, scratch.block, shape)) <= room
    assert all(block % chunk == 0 for block, chunk in zip(scratch.block, scratch.chunks, strict=True))
    counts = grid_of(scratch.block, scratch.chunks)
    small = math.prod(scratch.chunks) * element < LEAST
    assert (
        small
        or math.prod(counts) == 1
        or all(
            chunk <= max(target, 1) * -(-LEAST // element) for chunk, target in zip(scratch.chunks, chunks, strict=True)
        )
    )


def test_a_pass_is_not_worth_a_scratch_array_for_few_decodings(maps: Path) -> None:
    source = opened(maps).parts["/v"][""]
    cheap = plan_passes(source, (2, 30, 30), (2, 30, 30), Budget(MEMORY, 1, ordered=False))
    assert (cheap.number, cheap.decodings, cheap.scratch_size) == (1, 1.0, 0)
    roomy = plan_passes(source, SERIES, SERIES, Budget(1 << 20, 1, ordered=False))
    assert (roomy.number, roomy.decodings) == (1, 1.0)
    tight = plan_passes(source, SERIES, SERIES, Budget(MEMORY, 1, ordered=False))
    assert (tight.number, tight.decodings, tight.read, tight.written) == (2, 1.0, 2 * 576000, 2 * 576000)
    assert tight.one_pass > 1.5


TYPES = """
netcdf t {
types:
  compound pair { short a ; double b ; } ;
  int(*) list ;
dimensions: t = 40 ; x = 6 ; y = 6 ;
variables:
  short big(t, x, y) ; big:_Endianness = "big" ; big:_FillValue = -5s ;
    big:_ChunkSizes = 1, 6, 6 ; big:_DeflateLevel = 1 ;
  double plain(t, x, y) ; plain:_ChunkSizes = 1, 6, 6 ; plain:_DeflateLevel = 1 ;
  pair records(t, x, y) ; records:_ChunkSizes = 1, 6, 6 ; records:_DeflateLevel = 1 ;
  char letters(t, x, y) ; letters:_ChunkSizes = 1, 6, 6 ; letters:_DeflateLevel = 1 ;
  string words(t, x) ; words:_ChunkSizes = 1, 6 ;
  list lists(t, x) ; lists:_ChunkSizes = 1, 6 ;
  double empty(t, x, y) ; empty:_ChunkSizes = 1, 6, 6 ; empty:_DeflateLevel = 1 ;
data:
  big = %s ; plain = %s ; records = %s ; letters = "%s" ; words = %s ; lists = %s ;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["a.zarr", "a.nc"])
@pytest.mark.parametrize("source", ["s.nc", "s.zarr"])
def test_every_type_arrives(source: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.arrays.sources.passes.LEAST", 16)
    numbers = [number if 36 * 3 <= number < 36 * 30 else -5 for number in range(1440)]
    text = TYPES % (
        ", ".join(map(str, numbers)),
        ", ".join(f"{number}.5" for number in numbers),
        ", ".join(f"{{{number}, {number}.25}}" for number in numbers),
        "".join(chr(97 + number % 26) for number in range(1440)),
        ", ".join(f'"w{number}"' for number in range(240)),
        ", ".join("{" + ", ".join(map(str, range(number % 4))) + "}" for number in range(240)),
    )
    nczarr.convert(nczarr.from_cdl(text), tmp_path / source, kind=None if source.endswith("zarr") else "nc4")
    staged: list[str] = []
    lend = stages.lend_scratch

    def note(part: stages.PartPasses, *arguments: Any) -> Any:
        staged.append(part.path)
        return lend(part, *arguments)

    monkeypatch.setattr(stages, "lend_scratch", note)
    done = nczarr.rechunk(
        tmp_path / source, tmp_path / target, chunks={"t": 40, "x": 2, "y": 1}, codecs="zlib:1", memory=2000, workers=1,
        kind=None if target.endswith("zarr") else "nc4",
    )  # fmt: skip
    assert {"/big", "/plain"} <= set(staged)
    assert "/records" in staged or target.endswith("nc") or source.endswith("nc")  # HDF5 reads and writes those
    assert done.losses == ()
    assert nczarr.diff(tmp_path / source, tmp_path / target) == []
    assert sorted(os.listdir(tmp_path)) == sorted([source, target])


@pytest.mark.slow
@pytest.mark.parametrize("in_second", [False, True])
@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_a_killed_run_goes_on(name: str, in_second: bool, tmp_path: Path) -> None:
    built = nczarr.DatasetBuilder("t")
    dimensions = [built.dimension(name, length) for name, length in (("t", 200), ("y", 300), ("x", 300))]
    built.variable("v", "int", dimensions, chunks=(1, 300, 300))
    values = np.random.default_rng(1).integers(0, 1000, (200, 300, 300), dtype="i4")
    nczarr.write(built.finish(data={"/v": values}), tmp_path / "maps.zarr", codecs="zlib:1")
    command = ["rechunk", str(tmp_path / "maps.zarr"), str(tmp_path / name), "--chunks", "t=200,y=20,x=20"]
    command += ["--codec", "zlib:6", "--memory", "8MB", "--kind", "nc4", "--resume"]
    process = subprocess.Popen([sys.executable, "-m", "nczarr", *command], env={**os.environ, "PYTHONPATH": str(ROOT)})

    def is_reached() -> bool:
        blocks = [path for path in tmp_path.glob("a.*.scratch.partial-*/c/*/*/*") if not path.name.startswith(".")]
        if not in_second:
            return len(blocks) > 5
        chunks = list(tmp_path.glob("a.zarr.partial-*/v/[0-9]*"))
        return len(chunks) > 20 or any(path.stat().st_size > 10_000_000 for path in tmp_path.glob("a.nc.partial-*"))

    while process.poll() is None and not is_reached():
        time.sleep(0.001)
    assert process.poll() is None
    process.kill()
    process.wait()
    blocks = {path.name: path.stat().st_ino for path in tmp_path.glob("a.*.scratch.partial-*/c/*/*/*")}
    assert blocks
    assert not (tmp_path / name).exists()
    done = run_command(*command)
    assert done.status == 0, done.err
    assert "2 passes" in done.err
    assert nczarr.diff(tmp_path / "maps.zarr", tmp_path / name) == []
    left = [path.name for path in tmp_path.iterdir() if ".scratch" in path.name]
    assert left == []
