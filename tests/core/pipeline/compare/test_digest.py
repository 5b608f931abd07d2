"""Digests of arrays of many leaves: that of the definition whatever chunks, memory and threads; and sparse ones."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.source import Layout
from nczarr.ast import CompoundType, Dataset, Field, Storage, Variable, VlenType
from nczarr.options import Options, RunOptions
from nczarr.pipeline.compare import digest_ragged, digest_values
from nczarr.pipeline.compare.digest import digest
from tests.conftest import Ran, run_command
from tests.support.making import checked
from tests.support.peers import digest_reference

SHAPE = (70, 50, 61)
CHUNKS = ((70, 50, 61), (1, 50, 61), (35, 10, 7), (70, 1, 61), (64, 16, 16), (7, 50, 9))


def dataset(kind: str, shape: tuple[int, ...], chunks: tuple[int, ...] | None = None, **options: Any) -> Dataset:
    storage = Storage() if chunks is None else Storage(layout="chunked", chunks=chunks)
    types = options.pop("types", ())
    return Dataset(name="t", types=types, variables=(Variable(name="v", type=kind, dimensions=shape, storage=storage),))


def wanted(kind: str, values: Any, types: dict[str, Any] | None = None) -> str:
    """The digest of the variable as the definition has it."""
    axes = [("", length) for length in values.shape]
    found: bytes = digest_reference.variable(kind, axes, [], np.atleast_1d(values), types or {})
    return found.hex()


@pytest.mark.slow
@pytest.mark.parametrize("chunks", CHUNKS, ids=lambda each: "x".join(map(str, each)))
def test_chunks_memory_and_threads_do_not_count(
    chunks: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).integers(0, 9, SHAPE).astype("f8")
    made = checked(dataset("double", SHAPE, chunks), {"/v": values})
    nczarr.write(DatasetHandle(made), tmp_path / "a.zarr", codecs="zlib:1")
    nczarr.write(DatasetHandle(made), tmp_path / "a.nc", kind="nc4", allow_loss=["all"])
    chunked_store, file = nczarr.open(tmp_path / "a.zarr").checked, nczarr.open(tmp_path / "a.nc").checked
    whole = digest(file, RunOptions()).whole  # there the dimensions have names
    for block, memory, workers in itertools.product((1 << 14, 8 << 20), (4 << 20, 1 << 30), (1, 4)):
        monkeypatch.setattr(digest_values, "BLOCK", block)
        monkeypatch.setattr(digest_values, "SMALL", 0)
        options = Options.of(memory=memory, workers=workers)
        for each in (made, chunked_store):
            assert digest(each, options.run).parts["/v"] == wanted("double", values)
        assert digest(file, options.run).whole == whole


def test_tall_chunks_are_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray

    values = np.arange(60 * 64 * 64, dtype="f4").reshape(60, 64, 64)
    made = checked(dataset("float", values.shape, (30, 16, 16)), {"/v": values})
    nczarr.write(DatasetHandle(made), tmp_path / "a.zarr", codecs="zlib:1")
    decoded: list[None] = []
    real = KeyChunkArray._raw

    def counted(*arguments: Any) -> Any:
        decoded.append(None)
        return real(*arguments)

    monkeypatch.setattr(KeyChunkArray, "_raw", counted)
    monkeypatch.setattr(digest_values, "BLOCK", 1 << 16)
    monkeypatch.setattr("nczarr.arrays.chunks.grid.KEPT", 0)
    found = digest(nczarr.open(tmp_path / "a.zarr").checked, RunOptions(memory=4 << 20, workers=2))
    assert found.parts["/v"] == wanted("float", values)
    assert len(decoded) == 2 * 4 * 4


@pytest.mark.parametrize("type_name", ["byte", "ushort", "int64", "double", "char"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (65536,), (65537,), (2, 1, 40000), (300, 300), (3, 7, 9, 500)])
def test_every_shape(type_name: str, shape: tuple[int, ...]) -> None:
    from nczarr.arrays.values.parts import NUMPY

    count = int(np.prod(shape))
    values = np.random.default_rng(2).integers(0, 99, count).astype("i8").astype("u1").astype("i8")
    values = (values % 100).astype("S1" if type_name == "char" else NUMPY[type_name]).reshape(shape)
    made = checked(dataset(type_name, shape), {"/v": values})
    assert digest(made, RunOptions()).parts["/v"] == wanted(type_name, values)


def test_strings_of_many_leaves() -> None:
    values = np.empty(20000, object)
    values[:] = [None if n % 7 == 0 else b"x" * (n % 40) for n in range(20000)]
    made = checked(dataset("string", (20000,)), {"/v": values})
    assert digest(made, RunOptions()).parts["/v"] == wanted("string", values)


def test_lists_of_many_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_ragged, "CELLS", 5000)
    monkeypatch.setattr(digest_ragged, "BLOCK", 3000)
    counts = np.arange(3 * 7000).reshape(3, 7000) % 5
    content = np.arange(counts.sum(), dtype="<i4")
    made = checked(
        dataset("/l", (3, 7000), types=(VlenType(name="l", base="int"),)),
        {"/v": {"counts": counts.astype("<i8"), "content": content}},
    )
    lists = np.empty(counts.size, object)
    lists[:] = np.split(content, np.cumsum(counts.reshape(-1))[:-1])
    assert digest(made, RunOptions()).parts["/v"] == wanted("/l", lists.reshape(counts.shape), {"/l": ("vlen", "int")})


def test_records_with_strings_of_many_leaves() -> None:
    fields = (Field(name="n", type="short", shape=(2,)), Field(name="s", type="string"))
    types = (CompoundType(name="r", fields=fields),)
    numbers = np.arange(12000, dtype="<i2").reshape(6000, 2)
    texts = np.array([b"%d" % n for n in range(6000)], object)
    made = checked(dataset("/r", (6000,), types=types), {"/v": {"n": numbers, "s": texts}})
    values = np.empty(6000, [("n", "<i2", 2), ("s", object)])
    values["n"], values["s"] = numbers, texts
    definition = ("compound", [("n", "short", (2,)), ("s", "string", ())])
    assert digest(made, RunOptions()).parts["/v"] == wanted("/r", values, {"/r": definition})


def wanted_of_rows(side: int, given: dict[int, tuple[int, list[int]]]) -> str:
    """The digest of a square array of integers, of which some rows hold values at some place, and fill else."""
    from hashlib import sha256

    def folded(found: list[bytes]) -> bytes:
        while len(found) > 1:
            found = [sha256(b"".join(found[at : at + 256])).digest() for at in range(0, len(found), 256)]
        return found[0]

    def row(at: int, values: list[int]) -> bytes:
        whole = np.full(side, -2147483647, "<i4")
        whole[at : at + len(values)] = values
        return folded([sha256(whole[low : low + 16384].tobytes()).digest() for low in range(0, side, 16384)])

    rows = [row(0, [])] * side
    for number, what in given.items():
        rows[number] = row(*what)
    number_of, text = digest_reference.number, digest_reference.text
    axes = (text("") + number_of(side)) * 2
    model = text("nczarr-digest-1") + text("variable") + text("int") + number_of(2) + axes + number_of(0)
    return sha256(model + folded(rows)).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(1000, 1000), (250, 4000), (1, 1000000)])
def test_a_huge_array_takes_what_is_stored(chunks: tuple[int, int], tmp_path: Path) -> None:
    side = 1000000
    layout = Layout("<i4", (side, side), chunks, fill=b"\1\0\0\x80")
    starts = [side * (side // 2) + 77, side * (side - 1) + side - 3]
    source = Runs(layout, starts, [0, 2, 5], GivenValues(layout.dtype, np.arange(5, dtype="<i4")))
    made = checked(dataset("int", (side, side), chunks), {"/v": source})
    nczarr.write(DatasetHandle(made), tmp_path / "a.zarr")
    begin = time.process_time()
    seen = digest(nczarr.open(tmp_path / "a.zarr").checked, RunOptions())
    assert time.process_time() - begin < 20
    assert seen == digest(made, RunOptions())
    assert seen.parts["/v"] == wanted_of_rows(side, {side // 2: (77, [0, 1]), side - 1: (side - 3, [2, 3, 4])})


def test_a_huge_array_of_nothing_takes_no_time() -> None:
    shape = (1000000, 1000, 1000000)
    for kind, types in (("int", ()), ("string", ()), ("/l", (VlenType(name="l", base="int"),))):
        assert digest(checked(dataset(kind, shape, types=types)), RunOptions())


def test_a_chunk_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    values = np.arange(100000, dtype="f8")
    made = checked(dataset("double", (100000,), (100000,)), {"/v": values})
    nczarr.write(DatasetHandle(made), tmp_path / "a.zarr", codecs="zlib:1")
    with pytest.raises(nczarr.CompileError, match="`/v`: a chunk of 800000 bytes"):
        nczarr.digest(tmp_path / "a.zarr", memory=1 << 16)


def test_what_cannot_be_read_has_no_digest(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    nczarr.write(nczarr.from_cdl("netcdf t { variables: int a; int b; }"), tmp_path / "t.zarr")
    (tmp_path / "t.zarr" / "b" / ".zarray").write_text("{")
    with pytest.raises(nczarr.CompileError):
        nczarr.digest(tmp_path / "t.zarr")
    with nczarr.open(tmp_path / "t.zarr") as handle, pytest.raises(nczarr.CompileError):
        nczarr.digest(handle)
    ran = nczarr_command("digest", str(tmp_path / "t.zarr"))
    assert (ran.status, ran.out) == (1, b"")


def test_a_part_of_a_dataset() -> None:
    one = nczarr.from_cdl('netcdf t { dimensions: x = 2; variables: int a(x); int b(x); :n = "1"; }')
    other = nczarr.from_cdl('netcdf t { dimensions: x = 2; variables: int a(x); float b(x); :n = "2"; }')
    assert nczarr.digest(one) != nczarr.digest(other)
    assert nczarr.digest(one, variables=["a"]) == nczarr.digest(other, variables=["a"])
    assert nczarr.digest(one, variables=["a"]) != nczarr.digest(one, variables=["b"])
    with pytest.raises(nczarr.CompileError, match="unmatched-name"):
        nczarr.digest(one, variables=["c"])


def test_a_section_of_a_sparse_array(tmp_path: Path) -> None:
    from nczarr.arrays.sources.sliced import Sliced

    shape, chunks = (100000, 100000), (100, 100)
    layout = Layout("<i4", shape, chunks, fill=b"\1\0\0\x80")
    starts = [100000 * 4567 + 89, 100000 * 70001 + 5]
    nczarr.write(
        DatasetHandle(
            checked(
                dataset("int", shape, chunks),
                {"/v": Runs(layout, starts, [0, 3, 4], GivenValues(layout.dtype, np.arange(4)))},
            )
        ),
        tmp_path / "a.zarr",
    )
    source = nczarr.open(tmp_path / "a.zarr").checked.parts["/v"][""]
    ranges = (range(1, 99999, 2), range(89, 60089))
    part = checked(dataset("int", (49999, 60000)), {"/v": Sliced(source, ranges)})
    copy = checked(dataset("int", (49999, 60000)), {"/v": Runs(
        layout._replace(shape=(49999, 60000)), [60000 * (4566 // 2)], [0, 3],
        GivenValues(layout.dtype, np.arange(3, dtype="<i4")),
    )})  # fmt: skip
    assert digest(part, RunOptions()) == digest(copy, RunOptions())


def test_a_store_far_away_has_the_same_digest() -> None:
    pytest.importorskip("fsspec")
    one = nczarr.from_cdl('netcdf t { dimensions: x = 3; variables: int a(x); string b; data: a = 1, 2, 3; b = "x"; }')
    nczarr.write(one, "memory://digest/a.zarr", format="nczarr3", chunks={"/a": (1,)}, shards="auto", overwrite=True)
    assert nczarr.digest("memory://digest/a.zarr") == nczarr.digest(one)


def test_a_list_with_two_digests_of_one_dataset_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The later line does not hide that the earlier one is not that of the dataset."""
    monkeypatch.chdir(tmp_path)
    Path("a.cdl").write_text("netcdf a { dimensions: x = 1 ; }")
    line = run_command("digest", "a.cdl").text
    for text, status in ((line * 2, 0), ("f" * 64 + "  a.cdl\n" + line, 1), (line + "f" * 64 + "  a.cdl\n", 1)):
        Path("list").write_text(text)
        ran = run_command("digest", "--check", "list")
        assert (ran.status, "has another digest of `a.cdl`" in ran.err) == (status, bool(status))
        assert ran.text.startswith("a.cdl: OK" if text.startswith(line) else "a.cdl: FAILED")
