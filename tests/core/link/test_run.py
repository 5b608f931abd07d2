from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.source import Layout
from nczarr.ast import Attribute, Codec, Constant, Dataset, Dimension, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.link.target import fill
from nczarr.options import Options
from nczarr.pipeline.phases import read
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.stores.memory import MemoryStore
from tests.support.making import checked
from tests.support.plugins import offered
from tests.support.targets import content, store
from tests.support.work import counted

NCZARR = find_format("nczarr")
assert NCZARR is not None


def one(variable: Variable, values: object, *dimensions: Dimension) -> dict[str, bytes]:
    dataset = checked(
        Dataset(name="", dimensions=dimensions, variables=(variable,)), {} if values is None else {"/v": values}
    )
    report = Report()
    found = content(dataset, NCZARR, report, Options())  # type: ignore[arg-type]
    assert found is not None, report.list_sorted()
    return dict(found)


def chunks(found: dict[str, bytes]) -> list[str]:
    return sorted(key for key in found if key.startswith("v/") and "/." not in key)


def test_edge_chunks_are_full_and_padded_with_fill() -> None:
    fill_value = Attribute(name="_FillValue", value=Constant.numbers("short", [-9]))
    variable = Variable(
        name="v", type="short", dimensions=(3, 5), attributes=(fill_value,), storage=Storage(chunks=(2, 4))
    )
    found = one(variable, np.arange(15).reshape(3, 5))
    assert chunks(found) == ["v/0.0", "v/0.1", "v/1.0", "v/1.1"]
    assert np.frombuffer(found["v/1.1"], "<i2").tolist() == [14, -9, -9, -9, -9, -9, -9, -9]


def test_chunks_of_fill_are_not_written() -> None:
    values = np.full((4, 4), -2147483647, "i4")
    values[3, 3] = 5
    fill_value = Attribute(name="_FillValue", value=Constant.numbers("int", [-2147483647]))
    variable = Variable(name="v", type="int", dimensions=(4, 4), storage=Storage(chunks=(2, 2)))
    filled = variable.model_copy(update={"attributes": (fill_value,)})
    assert chunks(one(filled, values)) == ["v/1.1"]
    whole = one(variable, values)  # xarray would mask the values that equal a declared fill value
    assert json.loads(whole["v/.zarray"])["fill_value"] is None
    assert chunks(whole) == ["v/0.0", "v/0.1", "v/1.0", "v/1.1"]


def test_fill_is_compared_bit_by_bit() -> None:
    fill_value = Attribute(name="_FillValue", value=Constant.numbers("double", [0.0]))
    variable = Variable(
        name="v", type="double", dimensions=(2,), attributes=(fill_value,), storage=Storage(chunks=(1,))
    )
    assert chunks(one(variable, np.array([0.0, -0.0]))) == ["v/1"]


def test_char_chunks_are_all_written() -> None:
    variable = Variable(name="v", type="char", dimensions=(4,), storage=Storage(chunks=(2,)))
    found = one(variable, np.array([b"a", b"", b"", b""], "S1"))
    assert json.loads(found["v/.zarray"])["fill_value"] is None
    assert (found["v/0"], found["v/1"]) == (b"a\0", b"\0\0")
    spaces = variable.model_copy(update={"attributes": (Attribute(name="_FillValue", value=Constant.text(b" ")),)})
    assert one(spaces, None)["v/1"] == b"  "


def test_big_endian_and_codecs() -> None:
    storage = Storage(chunks=(4,), endian="big", codecs=(Codec(id=2), Codec(id=1, parameters=(6,))))
    found = one(Variable(name="v", type="int", dimensions=(4,), storage=storage), np.arange(4))
    assert json.loads(found["v/.zarray"])["compressor"] == {"id": "zlib", "level": 6}
    assert zlib.decompress(found["v/0"]) == bytes(12) + bytes(range(4))


def test_a_scalar_has_chunk_0() -> None:
    assert chunks(one(Variable(name="v", type="int"), np.array(3))) == ["v/0"]
    assert chunks(one(Variable(name="v", type="string"), np.array(b"abc", object))) == ["v/0"]


@pytest.mark.parametrize("type_name", ["double", "char", "string", "byte"])
@pytest.mark.parametrize("no_fill", [True, False])
def test_declared_sizes_cost_nothing(type_name: str, no_fill: bool, tmp_path: Path) -> None:
    variable = Variable(name="v", type=type_name, dimensions=("/x", "/x"), storage=Storage(no_fill=no_fill))
    dataset = Dataset(name="", dimensions=(Dimension(name="x", size=10**6),), variables=(variable,))
    for form in ("nczarr", "zarr2", "nczarr3", "zarr3", *offered("zarr3-2019")):
        files = 5 if form in ("nczarr", "zarr2") else 2
        shards = {"": "auto"} if form.endswith("3") else {}
        with counted(500_000):
            assert store(checked(dataset), str(tmp_path / form), find_format(form), Report(), Options.of(shards=shards))  # type: ignore[arg-type]
        assert len([path for path in (tmp_path / form).rglob("*") if path.is_file()]) == files


def test_sparse_values_of_a_huge_array() -> None:
    fill_bytes = np.array(-2147483647, "<i4").tobytes()
    layout = Layout("<i4", (10**6, 10**6), (10**6, 10**6), (), fill_bytes)
    source = Runs(layout, [0, 10**12 - 2], [0, 2, 4], GivenValues(layout.dtype, np.array([1, 2, 3, 4], "<i4")))
    found = one(Variable(name="v", type="int", dimensions=(10**6, 10**6)), source)
    assert len(chunks(found)) == 2


def test_workers_do_not_change_a_byte() -> None:
    variable = Variable(
        name="v", type="double", dimensions=(300, 400), storage=Storage(chunks=(7, 11), codecs=(Codec(id=1),))
    )
    values = np.random.default_rng(1).random((300, 400)).round(1)
    dataset = checked(Dataset(name="", variables=(variable,)), {"/v": values})
    planned = plan_target(dataset, NCZARR, Options(), Report())  # type: ignore[arg-type]
    assert planned is not None
    contents = []
    for workers in (1, 2, 7):
        target = MemoryStore()
        fill(planned._replace(options=planned.options.change(workers=workers)), target, Report())
        contents.append({key: target.content[key] for key in sorted(target.content)})
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) == 5 + 43 * 37


class FailingStore(MemoryStore):
    """Fails at the n-th call."""

    def __init__(self, calls: int, *, sequential: bool = False) -> None:
        super().__init__()
        self.calls = calls
        self.sequential = sequential

    def put(self, key: str, data: bytes) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise OSError("no space left")
        super().put(key, data)


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 5, 200, 1592])
def test_a_failing_store_is_an_error_and_never_a_hang(calls: int, sequential: bool) -> None:
    variable = Variable(name="v", type="double", dimensions=(300, 400), storage=Storage(chunks=(7, 11)))
    dataset = checked(Dataset(name="", variables=(variable,)), {"/v": np.ones((300, 400))})
    planned = plan_target(dataset, NCZARR, Options(), Report())  # type: ignore[arg-type]
    assert planned is not None
    with pytest.raises(OSError, match="no space left"):
        fill(planned, FailingStore(calls, sequential=sequential), Report())


def test_a_failing_write_leaves_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.stores.directory import DirectoryTarget

    def failing(self: object, key: str, data: bytes) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(DirectoryTarget, "put", failing)
    dataset = checked(Dataset(name="", variables=(Variable(name="v", type="int"),)), {"/v": np.array(3)})
    with pytest.raises(OSError, match="no space left"):
        store(dataset, str(tmp_path / "t.zarr"), NCZARR, Report(), Options())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


class Resumed(MemoryStore):
    """A store into which an earlier run has put some keys."""

    def __init__(self, done: dict[str, bytes]) -> None:
        super().__init__(done)
        self.done = set(done)
        self.read: list[object] = []

    def is_done(self, key: str) -> bool:
        return key in self.done

    def put(self, key: str, data: bytes) -> None:
        assert key not in self.done
        super().put(key, data)


@pytest.mark.parametrize(
    "options",
    [{}, {"shards": {"/v": (4, 8)}}, {"chunks": {"/v": (4, 3)}, "memory": 1 << 10}, {"codecs": {"": "zlib:9"}}],
)
def test_keys_of_an_earlier_run_are_neither_read_nor_made_nor_put(options: dict[str, Any]) -> None:
    source = MemoryStore()
    storage = Storage(chunks=(2, 2), codecs=(Codec(id=1, parameters=(5,)),))
    variable = Variable(name="v", type="int", dimensions=(16, 16), storage=storage)
    data = checked(Dataset(name="", variables=(variable,)), {"/v": np.arange(256).reshape(16, 16)})
    report, form = Report(), find_format("nczarr3")
    assert form is not None
    fill(plan_target(data, form, Options(), report), source, report)  # type: ignore[arg-type]

    def link_into(target: MemoryStore) -> tuple[Counts, set[str]]:
        asked: set[str] = set()
        first = MemoryStore(source.content)
        get = first.get
        first.get = lambda key: (asked.add(key), get(key))[1]  # type: ignore[method-assign,assignment,func-returns-value]
        again = read(first, report, Options())
        assert again is not None
        planned = plan_target(again, form, Options.of(**options), report)
        assert planned is not None
        asked.clear()
        return fill(planned, target, report), asked

    whole = MemoryStore()
    counts, _ = link_into(whole)
    assert not counts.skipped
    keys = [key for key in whole.content if key.startswith("v/c/")]
    done = set(keys[: len(keys) // 2])
    resumed = Resumed({key: whole.content[key] for key in done})
    counts, asked = link_into(resumed)
    assert resumed.content == whole.content
    assert counts.skipped == len(done)
    assert len(asked) < 64  # source chunks
    assert link_into(Resumed({key: whole.content[key] for key in keys}))[1] == set()
