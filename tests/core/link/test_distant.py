"""Stores that every call travels to: many calls under way at once, and what is put last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.execution.counts import Counts
from nczarr.ast import Attribute, Codec, Constant, Dataset, Group, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.backend import build
from nczarr.link.target import fill
from nczarr.options import Options
from nczarr.pipeline.phases import read, select
from nczarr.pipeline.select.selection import Extent, Section, Subset
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from nczarr.stores import ranges
from nczarr.stores.base import cut, is_metadata
from nczarr.stores.memory import MemoryStore
from nczarr.stores.ranges import Range
from tests.support.making import checked

ZLIB = Codec(id=1, parameters=(5,))


class Distant(MemoryStore):
    """A store in memory whose calls take some time, and are counted."""

    distant = True

    def __init__(self, *arguments: Any, delay: float = 0.0) -> None:
        super().__init__(*arguments)
        self.delay = delay
        self.calls: list[tuple[str, str]] = []
        self.now = self.most = 0
        self.lock = threading.Lock()

    def _travel(self, what: str, key: str) -> None:
        with self.lock:
            self.calls.append((what, key))
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.delay)
        with self.lock:
            self.now -= 1

    def get(self, key: str) -> bytes | None:
        self._travel("get", key)
        return super().get(key)

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        self._travel("part", key)
        data = self.content.get(key)
        return None if data is None else cut(data, key, offset, length)

    def put(self, key: str, data: bytes) -> None:
        self._travel("put", key)
        super().put(key, data)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        super().put(key, b"".join(piece for piece in pieces if isinstance(piece, bytes)))
        self._travel("put", key)


def dataset(side: int, chunk: int, *codecs: Codec) -> Checked:
    """Two arrays of numbers in a row, one in a group."""
    fill_value = Attribute(name="_FillValue", value=Constant.numbers("int", [-1]))
    storage = Storage(chunks=(chunk, chunk), codecs=codecs)
    variable = Variable(name="v", type="int", dimensions=(side, side), attributes=(fill_value,), storage=storage)
    values = np.arange(side * side, dtype="<i4").reshape(side, side)
    deep = Group(name="g", groups=(Group(name="h", variables=(variable,)),))
    tree = Dataset(name="", variables=(variable,), groups=(deep,))
    return checked(tree, {"/v": values, "/g/h/v": values})


def write(data: Checked, store: MemoryStore, form: str = "nczarr", **options: Any) -> None:
    row, report = find_format(form), Report()
    assert row is not None
    planned = plan_target(data, row, Options.of(**options), report)
    assert planned is not None, report.list_sorted()
    fill(planned, store, report)
    assert not report.errors


def test_sixteen_puts_or_more_are_under_way() -> None:
    near, far = MemoryStore(), Distant(delay=0.01)
    write(dataset(32, 4, ZLIB), near)
    write(dataset(32, 4, ZLIB), far)
    assert far.content == near.content
    assert 16 <= far.most <= 64


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"codecs": {"": "zlib:1"}}, {"chunks": {"/v": (8, 2)}}])
def test_sixteen_gets_or_more_are_under_way(options: dict[str, Any]) -> None:
    far = Distant(delay=0.01)
    write(dataset(32, 4, ZLIB), far)
    data = read(far, Report(), Options())
    assert data is not None
    again, far.most = MemoryStore(), 0
    write(data, again, **options)
    assert 16 <= far.most <= 64


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["zlib:5", "zlib:1"])
def test_sixteen_gets_or_more_are_under_way_for_a_netcdf_file(
    peer: Callable[[str], ModuleType], tmp_path: Path, codec: str
) -> None:
    """Chunks that move, and chunks that are made anew."""
    peer("netCDF4")
    far = Distant(delay=0.01)
    write(dataset(32, 4, ZLIB), far)
    data, row, report = read(far, Report(), Options()), find_format("netcdf4"), Report()
    assert data is not None
    assert row is not None
    planned = plan_target(data, row, Options.of(kind="nc4", codecs={"": codec}), report)
    assert planned is not None
    far.most = 0
    assert build(planned, str(tmp_path / "a.nc"), report, Counts())
    assert 16 <= far.most <= 64
    with nczarr.open(tmp_path / "a.nc") as made:
        assert made["/g/h/v"][...].tolist() == np.arange(32 * 32).reshape(32, 32).tolist()


def test_a_number_of_workers_wins() -> None:
    far = Distant(delay=0.005)
    write(dataset(16, 4), far, workers=3)
    assert far.most == 3


@pytest.mark.slow
def test_shards_are_put_side_by_side() -> None:
    near, far = MemoryStore(), Distant(delay=0.01)
    for store in (near, far):
        write(dataset(32, 2, ZLIB), store, "nczarr3", shards={"/v": (8, 8)})
    assert far.content == near.content
    assert 16 <= far.most <= 64


@pytest.mark.parametrize(
    ("form", "entrance"),
    [
        ("nczarr", ".zgroup"),
        ("nczarr3", "zarr.json"),
        ("zarr2", ".zgroup"),
        pytest.param("zarr3-2019", "root.group.json", marks=pytest.mark.plugin("zarr_drafts")),
    ],
)
def test_metadata_come_after_data_and_the_entrance_last(form: str, entrance: str) -> None:
    far = Distant(delay=0.002)
    write(dataset(8, 4), far, form, consolidated=form != "nczarr3", allow_loss=frozenset({"all"}))
    keys = [key for what, key in far.calls if what == "put"]
    documents = list(filter(is_metadata, keys))
    assert keys[-len(documents) :] == documents
    depths = [key.count("/") for key in documents]
    assert depths == sorted(depths, reverse=True)
    assert keys[-1] == entrance


def test_a_failing_put_leaves_no_entrance() -> None:
    class Failing(Distant):
        def put(self, key: str, data: bytes) -> None:
            if key == "g/h/v/1.1":
                raise OSError("no space left")
            super().put(key, data)

    far = Failing(delay=0.002)
    with pytest.raises(OSError, match="no space left"):
        write(dataset(8, 4), far)
    assert not any(key.rpartition("/")[2].startswith(".z") for key in far.content)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 9),  # the index and the chunks of a shard
        ({"codecs": {"": "zlib:1"}}, 9),
        ({"chunks": {"/v": (8, 2)}}, 9),
        ({"shards": {"/v": (16, 16)}, "form": "nczarr3"}, 9),
        ({"sections": True}, 9),
    ],
)
def test_chunks_side_by_side_in_a_shard_are_one_request(options: dict[str, Any], most: int) -> None:
    far, near = Distant(), MemoryStore()
    for store in (far, near):
        write(dataset(32, 2, ZLIB), store, "nczarr3", shards={"/v": (16, 16)})
    cut_off = "sections" in options
    outcome = []
    for store in (far, near):
        data = read(store, Report(), Options())
        assert data is not None
        wanted = Subset(variables=("/v",), sections=(Section(("v",), True, (Extent(3, 30), None)),) if cut_off else ())
        part = select(data, wanted, Report())
        assert part is not None
        far.calls.clear()
        target = MemoryStore()
        write(part, target, **{name: options[name] for name in options if name != "sections"})
        outcome.append(target.content)
        if store is far:
            asked = [key for what, key in far.calls if what == "part"]
            assert 4 < len(asked) <= 4 * most  # of 256 chunks
            assert not [key for what, key in far.calls if what == "get" and "/c/" in key]
    assert outcome[0] == outcome[1]


def test_places_near_one_another_are_asked_for_at_once() -> None:
    places = [(0, 10, "a"), (10, 5, "b"), (ranges.GAP + 16, 4, "d"), (15, 1, "c"), (3 * ranges.GAP, 1, "e")]
    groups = list(ranges.neighbours(places))
    assert [(begin, end, [name for *_, name in group]) for begin, end, group in groups] == [
        (0, ranges.GAP + 20, ["a", "b", "c", "d"]),
        (3 * ranges.GAP, 3 * ranges.GAP + 1, ["e"]),
    ]
    large = list(ranges.neighbours([(0, ranges.REQUEST, "a"), (ranges.REQUEST, 1, "b")]))
    assert [(begin, end) for begin, end, _ in large] == [(0, ranges.REQUEST), (ranges.REQUEST, ranges.REQUEST + 1)]
