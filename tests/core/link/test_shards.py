from __future__ import annotations

import json
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.crc32c import crc32c
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.ast import Attribute, Constant, Dataset, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.link.target import fill
from nczarr.options import Options
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.stores.memory import MeasuringStore
from tests.conftest import run_command
from tests.support.making import checked
from tests.support.targets import content, store
from tests.support.work import counted

FORM = find_format("zarr3")
assert FORM is not None
ABSENT = (2**64 - 1, 2**64 - 1)


def keys(variable: Variable, values: object, **options: Any) -> dict[str, bytes]:
    dataset = checked(Dataset(name="", variables=(variable,)), {} if values is None else {"/v": values})
    report = Report()
    found = content(dataset, FORM, report, Options.of(allow_loss=frozenset({"all"}), **options))  # type: ignore[arg-type]
    assert found is not None, report.list_sorted()
    return {key.removeprefix("v/c/"): data for key, data in found.items() if not key.endswith("zarr.json")}


def parsed(shard: bytes, count: int) -> list[bytes | None]:
    """The chunks of a shard, by the specification."""
    table = shard[-16 * count - 4 : -4]
    assert struct.unpack("<I", shard[-4:]) == (crc32c(table),)
    places = list(struct.iter_unpack("<QQ", table))
    end = 0
    for offset, length in sorted(place for place in places if place != ABSENT):
        assert offset == end  # one behind the other
        end = offset + length
    assert end + 16 * count + 4 == len(shard)
    return [None if place == ABSENT else shard[place[0] : place[0] + place[1]] for place in places]


NINE = Attribute(name="_FillValue", value=Constant.numbers("short", [-9]))


def test_a_shard_is_chunks_and_an_index() -> None:
    variable = Variable(name="v", type="short", dimensions=(3, 5), attributes=(NINE,), storage=Storage(chunks=(2, 2)))
    values = np.arange(15).reshape(3, 5)
    values[2, :] = -9
    found = keys(variable, values, shards={"/v": (4, 4)})
    assert sorted(found) == ["0/0", "0/1"]
    first = [None if data is None else np.frombuffer(data, "<i2").tolist() for data in parsed(found["0/0"], 4)]
    assert first == [[0, 1, 5, 6], [2, 3, 7, 8], None, None]
    second = [None if data is None else np.frombuffer(data, "<i2").tolist() for data in parsed(found["0/1"], 4)]
    assert second == [[4, -9, 9, -9], None, None, None]  # what lies beyond the edge is absent


def test_a_shard_of_fill_is_a_missing_key() -> None:
    variable = Variable(name="v", type="short", dimensions=(8,), attributes=(NINE,), storage=Storage(chunks=(2,)))
    assert keys(variable, None, shards={"": "auto"}) == {}
    assert list(keys(variable, [-9] * 6 + [1, -9], shards={"/v": (4,)})) == ["1"]


def test_chunks_are_encoded_one_by_one() -> None:
    variable = Variable(name="v", type="int", dimensions=(8,), storage=Storage(chunks=(2,)))
    found = keys(variable, range(8), shards={"": "auto"}, codecs={"": "zlib:9+crc32c"})
    chunks = [data or b"" for data in parsed(found["0"], 4)]
    assert [crc32c(data[:-4]) == struct.unpack("<I", data[-4:])[0] for data in chunks] == [True] * 4
    assert b"".join(zlib.decompress(data[:-4]) for data in chunks) == np.arange(8, dtype="<i4").tobytes()


def test_shards_of_sparse_values_in_a_huge_array() -> None:
    fill_bytes = np.array(-2147483647, "<i4").tobytes()
    layout = Layout("<i4", (10**6, 10**6), (10**6, 10**6), (), fill_bytes)
    source = Runs(layout, [0, 10**12 - 2], [0, 2, 4], GivenValues(layout.dtype, np.array([1, 2, 3, 4], "<i4")))
    found = keys(Variable(name="v", type="int", dimensions=(10**6, 10**6)), source, shards={"": "auto"})
    assert len(found) == 2
    assert sum(map(len, found.values())) < 10 << 20


@dataclass(frozen=True)
class Ramp(ArraySource):
    """An array whose values are made when they are read."""

    layout: Layout

    def read(self, selection: Selection) -> Any:
        axes = np.ogrid[selection]
        return sum(axis.astype("<f8") * 1000**place for place, axis in enumerate(axes))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        shape = self.layout.shape if region is None else tuple(map(len, region))
        return product(*(range(-(-n // c)) for n, c in zip(shape, chunks, strict=True)))


def test_memory_is_bounded_by_a_shard_a_worker() -> None:
    shape = (4096, 4096)  # 128 MiB in shards of 4 MiB
    variable = Variable(name="v", type="double", dimensions=shape, storage=Storage(chunks=(128, 256)))
    dataset = checked(Dataset(name="", variables=(variable,)), {"/v": Ramp(Layout("<f8", shape, shape))})
    options = Options.of(shards={"/v": (512, 1024)}, allow_loss=frozenset({"all"}))
    planned = plan_target(dataset, FORM, options, Report())  # type: ignore[arg-type]
    assert planned is not None
    target = MeasuringStore()
    tracemalloc.start()
    fill(planned._replace(options=options.change(workers=2)), target, Report())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(target.sizes) == 8 * 4
    assert peak < 2 * 3 * (4 << 20)  # a shard as it grows, and once more as it is handed over


@pytest.mark.parametrize("suffix", ["zarr", "zip"])
def test_workers_do_not_change_a_byte(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = Variable(name="v", type="double", dimensions=(300, 400), storage=Storage(chunks=(7, 11)))
    values = np.random.default_rng(1).random((300, 400)).round(1)
    dataset = checked(Dataset(name="", variables=(variable, Variable(name="w", type="int"))), {"/v": values, "/w": 3})
    options = Options.of(shards={"": "auto", "/v": (70, 110)}, codecs={"": "gzip"}, allow_loss=frozenset({"all"}))
    made = []
    for workers in (1, 2, 7):
        monkeypatch.setattr("os.cpu_count", lambda workers=workers: workers)
        path = tmp_path / f"{workers}.{suffix}"
        assert store(dataset, str(path), FORM, Report(), options)  # type: ignore[arg-type]
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        made.append([(str(file.relative_to(path)), file.read_bytes()) for file in files])
    assert made[0] == made[1] == made[2]


@pytest.mark.peer
@pytest.mark.parametrize("shards", [{"": "auto"}, {"/v": (4, 6)}, {"/v": (8, 2)}])
@pytest.mark.parametrize("codec", ["none", "gzip:3", "zstd:1+crc32c", "blosc:zstd:3"])
def test_readers_read_shards(
    shards: dict[str, Any], codec: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    variable = Variable(name="v", type="short", dimensions=(11, 7), attributes=(NINE,), storage=Storage(chunks=(4, 2)))
    values = np.arange(77, dtype="i2").reshape(11, 7)
    values[:, 2:4] = -9
    path = tmp_path / "t.zarr"
    options = Options.of(shards=shards, codecs={"": codec}, allow_loss=frozenset({"all"}))
    assert store(checked(Dataset(name="", variables=(variable,)), {"/v": values}), str(path), FORM, Report(), options)  # type: ignore[arg-type]
    assert peer("zarr").open_group(str(path), mode="r")["v"][...].tolist() == values.tolist()
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path / "v")}}
    assert peer("tensorstore").open(spec).result().read().result().tolist() == values.tolist()


SCHEMA = b"""netcdf t {
types:
  opaque(4) key ;
  int(*) row ;
dimensions:
  x = 100 ;
  y = 60 ;
variables:
  int v(x, y) ;
  int s ;
  key k(x) ;
  row r(x) ;
}
"""


@pytest.mark.parametrize(
    ("arguments", "chunk", "inner"),
    [
        (("--shards", "x=50"), [50, 60], [50, 60]),
        (("--shards", "x=50", "--chunks", "x=10,y=20"), [50, 20], [10, 20]),
        (("--shards", "/v=50,40", "--chunks", "x=10,y=20"), [50, 40], [10, 20]),
        (("--shards", "auto", "--chunks", "x=10,y=20"), [100, 60], [10, 20]),
        (("--shards", "auto", "--shards", "/v=none", "--chunks", "x=10,y=20"), [10, 20], None),
        (("--shards", "none"), [100, 60], None),
    ],
)
def test_shards_on_the_command_line(arguments: tuple[str, ...], chunk: list[int], inner: list[int] | None) -> None:
    import json

    ran = run_command("compile", "-", "--to", "nczarr3", *arguments, stdin=SCHEMA)
    assert ran.status == 0, ran.err
    text = ran.text.split("== v/zarr.json\n")[1].split("\n==")[0]
    document = json.loads(text)
    assert document["chunk_grid"]["configuration"]["chunk_shape"] == chunk
    first = document["codecs"][0]
    assert (first["configuration"]["chunk_shape"] if first["name"] == "sharding_indexed" else None) == inner


@pytest.mark.parametrize("spec", ["x=0", "auto,none", "x=auto", "=5", "/v=", "x=1e3", "/v=auto,2"])
def test_specifications_that_are_none(spec: str) -> None:
    assert run_command("compile", "-", "--to", "zarr3", "--shards", spec, stdin=SCHEMA).status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "zarr2", "--shards", "auto"),
        ("--to", "zarr3", "--shards", "z=5"),
        ("--to", "zarr3", "--shards", "/v=5"),
        ("--to", "zarr3", "--shards", "/w=auto"),
        ("--to", "nczarr3", "--shards", "/k=auto"),
        ("--to", "nczarr3", "--shards", "/r=30", "--chunks", "/r=20"),
        ("--to", "zarr3", "--shards", "x=30", "--chunks", "x=20"),
    ],
)
def test_shards_that_do_not_suit(arguments: tuple[str, ...]) -> None:
    ran = run_command("compile", "-", *arguments, stdin=SCHEMA)
    assert ran.status == 1
    assert "error[unmatched-shards]" in ran.err
    assert not ran.out


SERIES = b"""netcdf s { dimensions: x = UNLIMITED ; y = 4 ; variables: double x(x) ; x:_ChunkSizes = 512 ;
float v(x, y) ; v:_ChunkSizes = 1, 4 ; data: x = %s ; v = %s ; }"""


def listed(count: int) -> bytes:
    return ", ".join(map(str, range(count))).encode()


@pytest.mark.parametrize(
    ("options", "chunks_of_v"),
    [
        (("--shards", "x=10"), (1, 4)),
        (("--shards", "x=12"), (1, 4)),
        (("--shards", "x=10", "--chunks", "x=5"), (5, 4)),
        (("--shards", "x=30", "--chunks", "x=1"), (1, 4)),
    ],
)
def test_shards_by_dimension_need_not_hold_the_source_s_chunks(
    tmp_path: Path, options: tuple[str, ...], chunks_of_v: tuple[int, ...]
) -> None:
    source, target = tmp_path / "s.nc", tmp_path / "s.zarr"
    text = SERIES % (listed(60), listed(240))
    assert run_command("compile", "-", "-o", str(source), stdin=text).status == 0
    ran = run_command("convert", str(source), str(target), "--to", "zarr3", *options)
    assert ran.status == 0, ran.err
    with nczarr.open(source) as old, nczarr.open(target) as new:
        assert new["v"].chunks == chunks_of_v
        for name in ("x", "v"):
            assert np.array_equal(old[name][:], new[name][:])
    length = int(options[1].removeprefix("x="))
    for name in ("x", "v"):
        document = json.loads((target / name / "zarr.json").read_text())
        assert document["chunk_grid"]["configuration"]["chunk_shape"][0] == length


def test_chunks_asked_for_must_divide_shards(tmp_path: Path) -> None:
    source = tmp_path / "s.nc"
    text = SERIES % (listed(60), listed(240))
    assert run_command("compile", "-", "-o", str(source), stdin=text).status == 0
    for chunks in ("x=7", "/v=7,4"):
        ran = run_command(
            "convert", str(source), str(tmp_path / "s.zarr"), "--to", "zarr3", "--shards", "x=10", "--chunks", chunks
        )
        assert "variable `/v`: shards of length 10 are not a multiple of chunk length 7" in ran.err


def test_too_few_lengths_have_an_example() -> None:
    ran = run_command("compile", "-", "--to", "zarr3", "--shards", "/v=5", stdin=SERIES % (listed(2), listed(8)))
    assert "`--shards` gives 1 length for `/v`, which has 2 dimensions" in ran.err
    assert "`--shards /v=5,4`" in ran.err


@pytest.mark.long
def test_the_missing_chunks_of_a_sparse_shard_cost_no_work() -> None:
    shape, fill = (1000, 1000), np.int16(-9).tobytes()
    layout = Layout("<i2", shape, (1000, 1000), fill=fill)
    values = Runs(layout, [5, 999_999], [0, 1, 2], GivenValues(layout.dtype, np.array([1, 2], "<i2")))
    variable = Variable(name="v", type="short", dimensions=shape, attributes=(NINE,), storage=Storage(chunks=(2, 2)))
    with counted(300_000):  # of 250,000 chunks two are stored
        found = keys(variable, values, shards={"/v": shape})
    chunks = parsed(found["0/0"], 250_000)
    assert [number for number, chunk in enumerate(chunks) if chunk is not None] == [2, 249_999]


def test_a_declared_number_of_chunks_takes_no_memory(tmp_path: Path) -> None:
    """A shard of 300 bytes that declares 10⁹ chunks of one byte: its index cannot be there."""
    count = 10**9
    codecs = [{"name": "bytes"}]
    index_codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    shards = {"chunk_shape": [1], "codecs": codecs, "index_codecs": index_codecs, "index_location": "end"}
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [count], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
        "chunk_key_encoding": {"name": "default"}, "dimension_names": ["x"], "attributes": {},
        "codecs": [{"name": "sharding_indexed", "configuration": shards}],
    }  # fmt: skip
    (tmp_path / "s.zarr/a/c").mkdir(parents=True)
    (tmp_path / "s.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (tmp_path / "s.zarr/a/zarr.json").write_text(json.dumps(array))
    (tmp_path / "s.zarr/a/c/0").write_bytes(b"abc" * 100)
    source = str(tmp_path / "s.zarr")
    tracemalloc.start()
    try:
        assert run_command("info", source).status == 0
        for target in ("t.zarr", "t.json"):
            ran = run_command("convert", source, str(tmp_path / target))
            assert (ran.status, "shorter than its index" in ran.err) == (1, True), ran.err
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
