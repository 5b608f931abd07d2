"""Which way data take from store to store, and that what arrives is what was there, whatever the way."""

from __future__ import annotations

import math
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.sources import windows
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.ast import Attribute, Codec, Constant, Dataset, Dimension, Storage, Variable
from nczarr.diagnostics.report import CompileError, Report
from nczarr.link.target import fill
from nczarr.link.tasks import arrays
from nczarr.options import Options
from nczarr.pipeline.phases import read
from nczarr.plan.planner import plan_target
from nczarr.plan.plans import Plan
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store, is_metadata
from nczarr.stores.directory import DirectoryStore, DirectoryTarget
from nczarr.stores.memory import MemoryStore
from nczarr.stores.open import open_path
from nczarr.stores.zip import ZipTarget
from tests.support.making import checked
from tests.support.plugins import offered

ZLIB = Codec(id=1, parameters=(5,))
SHUFFLE = Codec(id=2)
FILL = Attribute(name="_FillValue", value=Constant.numbers("int", [-1]))


def dataset(shape: tuple[int, ...], chunks: tuple[int, ...], *codecs: Codec, endian: Any = None) -> Checked:
    """An array of numbers in a row, of which the second half is fill where there is more than one chunk."""
    names = [f"d{axis}" for axis in range(len(shape))]
    dimensions = tuple(Dimension(name=name, size=length) for name, length in zip(names, shape, strict=True))
    storage = Storage(chunks=chunks, codecs=codecs, endian=endian)
    variable = Variable(
        name="v", type="int", dimensions=tuple("/" + n for n in names), attributes=(FILL,), storage=storage
    )
    values = np.arange(math.prod(shape), dtype="<i4").reshape(shape)
    values[shape[0] // 2 + 1 :] = -1
    return checked(Dataset(name="", dimensions=dimensions, variables=(variable,)), {"/v": values})


def planned_for(data: Checked, form: str, options: Options) -> Plan:
    row, report = find_format(form), Report()
    assert row is not None
    made = plan_target(data, row, options, report)
    assert made is not None, report.list_sorted()
    return made


def write(data: Checked, target: Store, form: str = "nczarr", **options: Any) -> Counts:
    report = Report()
    counts = fill(planned_for(data, form, Options.of(**options)), target, report)
    assert not report.errors
    target.finish()
    return counts


def opened(path: Path) -> Checked:
    report = Report()
    found = read(open_path(str(path)), report, Options())
    assert found is not None, report.list_sorted()
    assert not report.list_sorted()
    return found


def stored(path: Path, data: Checked, form: str = "nczarr", **options: Any) -> Checked:
    """A dataset that lies in a store."""
    target = ZipTarget(str(path)) if path.suffix == ".zip" else DirectoryTarget(str(path))
    write(data, target, form, **options)
    return opened(path)


def whole(data: Checked) -> Any:
    source: ArraySource = data.parts["/v"][""]
    return source.read(tuple(slice(0, length) for length in source.layout.shape)).astype("<i4")


def chunks_of(path: Path) -> dict[str, bytes]:
    store = DirectoryStore(str(path))
    keys = [key for each in ("v/", "data/v/") for key in store.keys(each) if not is_metadata(key)]
    return {key: store.get(key) or b"" for key in keys}


@pytest.mark.parametrize("suffix", ["zarr", "zip"])
@pytest.mark.parametrize("form", ["nczarr", "zarr2", "nczarr3", "zarr3", *offered("zarr3-2019")])
def test_equal_chunks_are_copied(form: str, suffix: str, tmp_path: Path) -> None:
    first = stored(tmp_path / f"a.{suffix}", dataset((7, 6), (2, 4), SHUFFLE, ZLIB))
    target = tmp_path / "b.zarr"
    counts = write(first, DirectoryTarget(str(target)), form)
    assert counts._counts.keys() == {"copy"}
    assert counts["copy"].chunks == len(chunks_of(target)) == 4  # the other four hold nothing but fill
    assert counts["copy"].size == sum(map(len, chunks_of(target).values()))
    assert np.array_equal(whole(opened(target)), whole(first))


def test_copied_chunks_are_the_same_bytes(tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((7, 6), (2, 4), ZLIB))
    write(first, DirectoryTarget(str(tmp_path / "b.zarr")))
    assert chunks_of(tmp_path / "a.zarr") == chunks_of(tmp_path / "b.zarr")


@pytest.mark.parametrize("suffix", ["zarr", "zip"])
def test_chunks_move_into_shards_and_out_of_them(suffix: str, tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((7, 6), (2, 3), ZLIB))
    shards = {"/v": (4, 6)}
    second = tmp_path / f"b.{suffix}"
    target = ZipTarget(str(second)) if suffix == "zip" else DirectoryTarget(str(second))
    counts = write(first, target, "nczarr3", shards=shards)
    assert counts._counts.keys() == {"copy"}
    assert counts["copy"].chunks == 4
    again = DirectoryTarget(str(tmp_path / "c.zarr"))
    assert write(opened(second), again, "nczarr")._counts.keys() == {"copy"}
    assert chunks_of(tmp_path / "c.zarr") == chunks_of(tmp_path / "a.zarr")


def test_a_shard_of_ranges_is_that_of_bytes(tmp_path: Path) -> None:
    data = dataset((7, 6), (2, 3), ZLIB)
    first = stored(tmp_path / "a.zarr", data)
    linked, made = MemoryStore(), MemoryStore()
    write(first, linked, "nczarr3", shards={"/v": (8, 6)})
    write(data, made, "nczarr3", shards={"/v": (8, 6)})
    assert linked.content["v/c/0/0"] == made.content["v/c/0/0"]


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({"codecs": {"": "zlib:5"}}, "copy"),
        ({"codecs": {"": "zlib:6"}}, "transcode"),
        ({"codecs": {"": "shuffle+zlib:5"}}, "transcode"),
        ({"codecs": {"": "none"}}, "transcode"),
        ({"chunks": {"/v": (2, 3)}}, "copy"),
        ({"chunks": {"/v": (4, 3)}}, "rechunk"),
    ],
)
def test_what_is_asked_for_decides(options: dict[str, Any], way: str, tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((7, 6), (2, 3), ZLIB))
    counts = write(first, DirectoryTarget(str(tmp_path / "b.zarr")), **options)
    assert counts._counts.keys() == {way}
    assert np.array_equal(whole(opened(tmp_path / "b.zarr")), whole(first))


def test_plain_elements_are_gathered(tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((7, 6), (2, 3)))
    counts = write(first, DirectoryTarget(str(tmp_path / "b.zarr")), chunks={"/v": (3, 6)})
    assert counts._counts.keys() == {"gather"}
    assert np.array_equal(whole(opened(tmp_path / "b.zarr")), whole(first))


def test_values_in_memory_are_encoded(tmp_path: Path) -> None:
    assert write(dataset((7, 6), (2, 3)), MemoryStore())._counts.keys() == {"encode"}


@pytest.mark.parametrize("damage", ["short", "long"])
def test_plain_chunks_of_another_length_are_not_moved(damage: str, tmp_path: Path) -> None:
    stored(tmp_path / "a.zarr", dataset((4, 6), (2, 6)))
    file = tmp_path / "a.zarr" / "v" / "0.0"
    file.write_bytes(file.read_bytes()[:8] if damage == "short" else file.read_bytes() + b"more")
    first = opened(tmp_path / "a.zarr")
    with pytest.raises(CompileError, match=r"there are (8|52) bytes, and a chunk has 48"):
        write(first, DirectoryTarget(str(tmp_path / "b.zarr")))


def test_another_byte_order_is_transcoded(tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((4, 6), (2, 6), endian="big"))
    assert write(first, MemoryStore())._counts.keys() == {"copy"}
    little = first.dataset.variables[0].model_copy(update={"storage": Storage(chunks=(2, 6), endian="little")})
    swapped = checked(first.dataset.model_copy(update={"variables": (little,)}), first.parts)
    target = DirectoryTarget(str(tmp_path / "b.zarr"))
    assert write(swapped, target)._counts.keys() == {"transcode"}
    assert np.array_equal(whole(opened(tmp_path / "b.zarr")), whole(first))


def test_classic_values_stay_big_endian(tmp_path: Path) -> None:
    layout = Layout(">i4", (4, 6), (4, 6))
    from nczarr.arrays.sources.strided import AffineArray, FileBytes

    (tmp_path / "f").write_bytes(b"head" + np.arange(24, dtype=">i4").tobytes())
    source = AffineArray(layout, FileBytes(str(tmp_path / "f"), 100), 4, 24)
    plain = dataset((4, 6), (4, 6))
    variable = plain.dataset.variables[0].model_copy(update={"storage": Storage()})
    data = checked(plain.dataset.model_copy(update={"variables": (variable,)}), {"/v": {"": source}})
    target = DirectoryTarget(str(tmp_path / "b.zarr"))
    assert write(data, target)._counts.keys() == {"copy"}
    assert chunks_of(tmp_path / "b.zarr")["v/0.0"] == np.arange(24, dtype=">i4").tobytes()
    assert b">i4" in (tmp_path / "b.zarr" / "v" / ".zarray").read_bytes()


def test_a_chunk_that_must_be_decoded_fits_the_memory(tmp_path: Path) -> None:
    first = stored(tmp_path / "a.zarr", dataset((64, 64), (64, 64), ZLIB))
    for codec, refused in (("zlib:5", []), ("zlib:6", ["/v"])):
        made = planned_for(first, "nczarr", Options.of(codecs={"": codec}, memory=1 << 13))
        assert [array.path for array in arrays(made) if array.decoded > made.options.run.memory] == refused


LENGTHS = st.integers(1, 12)


@st.composite
def grids(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(LENGTHS) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, length)) for length in shape)
    others = tuple(draw(st.integers(1, length)) for length in shape)
    return shape, chunks, others, draw(st.integers(4, 4 * 12**3))


@pytest.mark.slow
@given(grids())
@settings(max_examples=60)
def test_rechunking_keeps_every_value(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int],
) -> None:
    shape, chunks, others, memory = case
    first = MemoryStore()
    write(dataset(shape, chunks, ZLIB), first)
    data = read(first, Report(), Options())
    assert data is not None
    target = MemoryStore()
    counts = write(data, target, chunks={"/v": others}, memory=memory)
    assert counts._counts.keys() <= {"copy" if chunks == others else "rechunk"}
    again = read(target, Report(), Options())
    assert again is not None
    assert np.array_equal(whole(again), whole(data))


@pytest.mark.long
@given(grids(), st.integers(1, 2000))
def test_blocks_are_whole_keys_and_fit(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int], room: int
) -> None:
    shape, cells, unit, _ = case
    block = windows.block_shape(shape, unit, cells, room)
    if block is None:
        assert math.prod(unit) > room
        return
    assert math.prod(block) <= max(room, math.prod(min(u, s) for u, s in zip(unit, shape, strict=True)))
    assert all(b % u == 0 or b == s for b, u, s in zip(block, unit, shape, strict=True))


def test_blocks_cover_every_key_once() -> None:
    data = dataset((7, 9), (2, 2))
    (array,) = arrays(planned_for(data, "nczarr", Options()))
    blocks = list(windows.blocks((7, 9), array.unit, (4, 6), array.indices()))
    assert sorted(index for _, keys in blocks for index in keys) == sorted(array.indices())
    for region, keys in blocks:
        for index in keys:
            for part, outer in zip(array.region(index), region, strict=True):
                assert outer.start <= part.start
                assert part.stop <= outer.stop


def test_a_shard_may_be_larger_than_the_memory(tmp_path: Path) -> None:
    data = dataset((64, 64), (8, 8), ZLIB)
    first = stored(tmp_path / "a.zarr", data)
    target = MemoryStore()
    write(first, target, "nczarr3", shards={"/v": (64, 64)}, chunks={"/v": (16, 4)}, memory=1 << 12)
    again = read(target, Report(), Options())
    assert again is not None
    assert np.array_equal(whole(again), whole(first))
    (size,) = struct.unpack("<Q", target.content["v/c/0/0"][-4 - 16 * 64 + 8 :][:8])
    assert size > 0


class CountingStore(MemoryStore):
    """A store in memory that counts the reads of each key."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()

    def get(self, key: str) -> bytes | None:
        self.reads[key] += 1
        return super().get(key)


@pytest.mark.parametrize("codecs", ["none", "zlib:1"])
def test_chunks_without_codecs_are_read_once_within_the_memory(codecs: str) -> None:
    first = CountingStore()
    write(dataset((24, 24), (1, 24)), first, "zarr2")
    data = read(first, Report(), Options())
    assert data is not None
    first.reads.clear()
    target = MemoryStore()
    write(data, target, "zarr2", chunks={"/v": (24, 2)}, codecs={"": codecs}, memory=1 << 16)
    assert {key: count for key, count in first.reads.items() if not is_metadata(key) and count > 1} == {}
    again = read(target, Report(), Options())
    assert again is not None
    assert np.array_equal(whole(again), whole(data))


def test_target_chunks_of_whole_source_chunks_need_no_window() -> None:
    first = MemoryStore()
    write(dataset((24, 24), (4, 3), ZLIB), first)
    data = read(first, Report(), Options())
    assert data is not None
    source = data.parts["/v"][""]
    assert not windows.needs_window(source, (8, 6))
    assert not windows.needs_window(source, (24, 12))
    assert windows.needs_window(source, (6, 6))
