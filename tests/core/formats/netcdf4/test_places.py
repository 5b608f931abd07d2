"""Locations of many chunks at once: those that `place` and `found` return one by one, and shards made of them."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.manifest import ChunkPlace
from nczarr.arrays.codecs.crc32c import crc32c
from nczarr.arrays.regions import grid_of, table_of
from nczarr.arrays.sources.sliced import Sliced
from nczarr.arrays.sources.source import ArraySource
from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.netcdf4 import write_chunks
from nczarr.link import run as link_run
from nczarr.link.chunk_pieces import make_chunk
from nczarr.link.run import perform
from nczarr.link.tasks import Keys, WrittenPart, arrays
from nczarr.options import Options
from nczarr.pipeline.phases import plan_store
from nczarr.registry import find_format
from nczarr.stores import ranges
from nczarr.stores.memory import MemoryStore
from nczarr.stores.ranges import Range
from tests.conftest import run_command
from tests.support import chunked_file

ABSENT = b"\xff" * 16


@pytest.fixture
def file(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    """A file of chunked variables."""
    peer("h5py")
    peer("netCDF4")
    chunked_file.write(tmp_path / "t.nc")
    return tmp_path / "t.nc"


def sources(path: Path) -> dict[str, ArraySource]:
    checked = nczarr.open(path).checked
    return {fqn.strip("/"): parts[""] for fqn, parts in checked.parts.items() if "" in parts}


def one_by_one(source: ArraySource, *, cut: bool) -> dict[tuple[int, ...], ChunkPlace]:
    chunks = source.layout.chunks if source.stored is None else source.stored.chunks
    indices = product(*map(range, grid_of(source.layout.shape, chunks)))
    found = {index: source.find_place(index) if cut else source.place(index) for index in indices}
    return {index: place for index, place in found.items() if place is not None}


def together(source: ArraySource, *, cut: bool) -> dict[tuple[int, ...], ChunkPlace]:
    chunks = source.layout.chunks if source.stored is None else source.stored.chunks
    indices = list(product(*map(range, grid_of(source.layout.shape, chunks))))
    found = source.places(table_of(indices, len(chunks)), cut=cut)
    assert (np.diff(found.chunk) > 0).all()
    rows = zip(*(column.tolist() for column in found[1:]), strict=True)
    return {indices[row]: ChunkPlace(found.sources[file], *place) for row, file, *place in rows}  # type: ignore[misc]


@pytest.mark.parametrize("cut", [False, True])
def test_many_places_are_those_of_single_chunks(file: Path, cut: bool) -> None:
    made = sources(file)
    assert set(made) >= {"usual", "plain", "missing", "none", "masked", "long", "short", "contiguous", "compact"}
    for name, source in made.items():
        assert together(source, cut=cut) == one_by_one(source, cut=cut), name
    assert len(together(made["usual"], cut=cut)) == 6 * 7
    assert len(together(made["missing"], cut=cut)) == 2
    assert {place.mask for place in together(made["masked"], cut=cut).values()} == {0, 3}
    assert len(together(made["short"], cut=cut)) == (3 if cut else 2) * 7


def raised(made: dict[str, ArraySource]) -> ArraySource:
    from nczarr.plugins.combine.arrays.interleave import Raised

    return Raised(made["plain"])


def joined(made: dict[str, ArraySource]) -> ArraySource:
    from nczarr.plugins.combine.arrays.concatenate import join_sources

    return join_sources([Sliced(made["usual"], (range(20), range(31))), made["usual"]], 0)


@pytest.mark.parametrize(
    ("derive", "count"),
    [
        (lambda made: Sliced(made["usual"], (range(4, 23), range(5, 31))), 5 * 6),
        (lambda made: Sliced(made["usual"], (range(3, 23), range(5, 31))), 0),
        (raised, 6 * 7),
        (joined, 11 * 7),
    ],
    ids=["cut at chunks", "cut in chunks", "raised", "joined"],
)
def test_places_of_derived_arrays(
    derive: Callable[[dict[str, ArraySource]], ArraySource], count: int, file: Path
) -> None:
    source = derive(sources(file))
    assert len(together(source, cut=False)) == count
    assert together(source, cut=False) == one_by_one(source, cut=False)


@pytest.mark.parametrize("shards", ["", "8,10", "8,35", "24,35", "40,40"])
def test_places_in_shards(file: Path, tmp_path: Path, shards: str) -> None:
    more = [f"--shards=/{name}={shards}" for name in ("usual", "missing", "plain")] if shards else []
    target = tmp_path / "t.zarr"
    assert (
        run_command("convert", str(file), str(target), "--to", "zarr3", "--var=usual,missing,plain", *more).status == 0
    )
    for name, source in sources(target).items():
        found = together(source, cut=False)
        assert found == one_by_one(source, cut=False), name
        assert len(found) == (2 if name == "missing" else 6 * 7)
        manifest = source.manifest()
        assert manifest is not None
        assert [place[1:] for place in found.values()] == list(
            zip(manifest.offset.tolist(), manifest.length.tolist(), manifest.mask.tolist(), strict=True)  # type: ignore[union-attr]
        )


def planned(path: Path, shards: str | None) -> dict[str, WrittenPart]:
    form = find_format("zarr3")
    assert form is not None
    given = {} if shards is None else {"": tuple(map(int, shards.split(","))) if shards[0].isdigit() else shards}
    checked = nczarr.open(path).checked
    report = Report()
    plan = plan_store(checked, form, report, Options.of(allow_loss=frozenset({"all"}), shards=given))
    assert plan is not None, report.list_sorted()
    return {array.path.strip("/"): array for array in arrays(plan)}


def content(piece: bytes | Range) -> bytes:
    return ranges.read(piece) if isinstance(piece, Range) else piece


def expected(array: WrittenPart) -> dict[str, bytes]:
    """Keys made of single chunks by the specification."""
    layout, found = array.target.layout, {}
    counts = grid_of(layout.shape, layout.chunks)
    for index in array.indices():
        per = grid_of(array.unit, layout.chunks)
        data, table = b"", b""
        for inner in product(*map(range, per)):
            chunk = tuple(number * each + place for number, each, place in zip(index, per, inner, strict=True))
            inside = all(number < count for number, count in zip(chunk, counts, strict=True))
            one = make_chunk(array, chunk) if inside else None
            if one is None:
                table += ABSENT
                continue
            table += struct.pack("<QQ", len(data), one.size)
            data += content(one.piece)
        if data:
            index_of_shard = b"" if layout.shards is None else table + crc32c(table).to_bytes(4, "little")
            found[array.key(index)] = data + index_of_shard
    return found


@pytest.mark.parametrize("shards", [None, "auto"])
def test_keys_are_those_of_single_chunks(file: Path, shards: str | None) -> None:
    """Shards and chunk files of every variable, by one thread, by tasks, and in an archive."""
    compared = 0
    for name, array in planned(file, shards).items():
        wanted = expected(array)
        for sequential in (False, True):
            store = MemoryStore()
            store.sequential = sequential
            counts = perform(array, Keys(0, tuple(array.indices())), store, 1 << 28)
            assert store.content == wanted, name
            decoded = array.chunk_size * array.element
            size = counts.total.size
            assert counts.total.decoded == counts.total.chunks * decoded
            if array.target.layout.shards is None:
                assert (counts.total.chunks, size) == (len(wanted), sum(map(len, wanted.values())))
            else:
                index = math.prod(grid_of(array.unit, array.target.layout.chunks)) * 16 + 4
                assert size == sum(len(data) - index for data in wanted.values())
        compared += len(wanted)
    assert compared > 5


def test_small_batches_make_the_same_shards(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_run, "MOST_CHUNKS", 5)
    test_keys_are_those_of_single_chunks(file, "auto")


def test_scattered_chunks_are_read_together(file: Path) -> None:
    array = planned(file, "auto")["usual"]
    (index,) = array.indices()
    found = link_run.batch(array, index, link_run.ChunkSpan(range(6 * 7)))
    assert len(found.pieces) < 6 * 7
    assert found.counts["copy"].chunks == 6 * 7


def test_a_changed_file_is_refused_for_each_batch(file: Path) -> None:
    array = planned(file, "auto")["usual"]
    (index,) = array.indices()
    batches = link_run.chunk_batches(array, index)
    os.utime(file, ns=(1, 1))
    with pytest.raises(OSError, match="changed since it was opened"):
        next(batches)


def test_a_truncated_file_is_refused(file: Path, tmp_path: Path) -> None:
    """Without a note of the time, as for a map: the file system says where the file ends."""
    array = planned(file, "auto")["plain"]
    assert array.source is not None
    last = max(place.offset for place in one_by_one(array.source, cut=False).values())
    store = MemoryStore()
    batch = link_run.batch(array, (0, 0), link_run.ChunkSpan(range(6 * 7)))
    assert batch.counts["copy"].chunks == 6 * 7
    status = os.stat(file)
    os.truncate(file, last + 3)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(OSError, match="has changed since it was opened"):
        perform(array, Keys(0, ((0, 0),)), store, 1 << 28)
    with pytest.raises(OSError, match="the file ends before byte"):
        ranges.read_places(str(file), [(last, 2), (last, 80)])
    assert not store.content


@pytest.mark.parametrize(
    ("at", "value", "text"), [(0, 2**62, "beyond the end"), (8, 3, "there are 3 bytes"), (8, 0, "there are 0 bytes")]
)
def test_a_damaged_index_is_reported(file: Path, tmp_path: Path, at: int, value: int, text: str) -> None:
    """Many chunks raise what one raises."""
    target = tmp_path / "t.zarr"
    run_command("convert", str(file), str(target), "--to", "zarr3", "--var=plain", "--shards=/plain=24,35")
    (shard,) = (each for each in target.rglob("*") if each.is_file() and "c" in each.parts)
    data = bytearray(shard.read_bytes())
    begin = len(data) - 4 - 16 * 42 + 16 * 11 + at
    data[begin : begin + 8] = value.to_bytes(8, "little")
    data[-4:] = crc32c(bytes(data[-4 - 16 * 42 : -4])).to_bytes(4, "little")
    shard.write_bytes(data)
    source = sources(target)["plain"]
    with pytest.raises(CompileError, match=text) as many:
        together(source, cut=False)
    with pytest.raises(CompileError, match=text) as single:
        one_by_one(source, cut=False)
    assert str(many.value) == str(single.value)
    if "beyond" in text:
        with pytest.raises(CompileError, match=text):
            _ = source.manifest()


@pytest.mark.parametrize("way", ["file", "shards"])
def test_files_do_not_depend_on_batches(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    source = file
    if way == "shards":
        source = tmp_path / "t.zarr"
        assert run_command("convert", str(file), str(source), "--to", "zarr3", "--shards", "auto").status == 0
    made = []
    for count in (1, 5, write_chunks.LOCATED):
        monkeypatch.setattr(write_chunks, "LOCATED", count)
        target = tmp_path / f"{count}.nc"
        assert run_command("convert", str(source), str(target)).status == 0
        made.append(target.read_bytes())
    assert made[0] == made[1] == made[2]
    found = run_command("diff", str(source), str(target))
    assert (found.status, found.text) == (0, "")
    assert {name for name, source in sources(target).items() if source.stored is not None} >= {"usual", "masked"}
