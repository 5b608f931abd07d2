"""Chunks of different lengths: arithmetic of grids, regions, shards and encoded lengths, beside NumPy."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.arrays.regions import (
    covering_regions,
    cut_along,
    every_block,
    grid_of,
    region_of,
)
from nczarr.ast import Storage
from nczarr.ast.rectilinear import Lengths, chunk_length, read_lengths, runs_of, shape_of, varies, volume
from tests.support.rectilinear import store, written

RUNS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=6)


def edges(length: int, extent: int) -> list[int]:
    """The bounds of the chunks of a dimension."""
    if isinstance(length, Lengths):
        return [0, *itertools.accumulate(length.expand())]
    return [*range(0, max(extent, 1) + length, length)]


@given(RUNS)
def test_the_arithmetic_is_that_of_the_listed_lengths(runs: list[tuple[int, int]]) -> None:
    length = chunk_length(runs)
    listed = [each for each, count in runs for _ in range(count)]
    bounds = [0, *itertools.accumulate(listed)]
    numbers, positions = np.arange(len(bounds)), np.arange(bounds[-1])
    home = np.searchsorted(bounds, positions, side="right") - 1
    assert [number * length for number in range(len(bounds))] == bounds
    assert [position // length for position in range(bounds[-1])] == home.tolist()
    assert [-(-end // length) for end in range(1, bounds[-1] + 1)] == (home + 1).tolist()
    assert -(0 // length) == 0
    assert [position % length for position in range(bounds[-1])] == (positions - np.array(bounds)[home]).tolist()
    if isinstance(length, Lengths):
        assert (numbers * length).tolist() == bounds
        assert (positions // length).tolist() == home.tolist()
        assert (positions % length).tolist() == (positions - np.array(bounds)[home]).tolist()
        assert [length.of(number) for number in range(len(listed))] == listed
        assert (length.count, length.total, int(length)) == (len(listed), sum(listed), max(listed))
        assert pickle.loads(pickle.dumps(length)) == length == read_lengths(length.written)
        assert length.expand() == tuple(listed)


@given(RUNS, st.integers(0, 60), st.integers(0, 60))
def test_a_part_of_the_chunks_has_their_lengths(runs: list[tuple[int, int]], first: int, end: int) -> None:
    length = chunk_length(runs)
    listed = [each for each, count in runs for _ in range(count)]
    first, end = min(first, len(listed) - 1), min(max(end, first + 1), len(listed))
    if isinstance(length, Lengths) and first < end:
        found = length.between(first, end)
        assert found == chunk_length((each, 1) for each in listed[first:end])


@given(RUNS, st.integers(0, 90))
def test_lengths_fit_another_extent(runs: list[tuple[int, int]], extent: int) -> None:
    length = chunk_length(runs)
    if isinstance(length, Lengths):
        found = length.fit(extent)
        bounds = edges(found, extent)
        assert bounds[-1] >= extent
        assert len(bounds) < 3 or bounds[-2] < extent
        assert runs_of(length, min(extent, length.total)) == runs_of(found, min(extent, length.total))


def test_equal_lengths_are_one_length() -> None:
    assert read_lengths([[3, 2], 3]) == 3
    assert type(read_lengths([[3, 2], 3])) is int
    assert read_lengths([3, 4]) != 4
    assert read_lengths([3, 4]) != read_lengths([4, 3])
    assert (read_lengths([3, 4]), 2) != (4, 2)
    assert {read_lengths([3, 4]): 1} == {read_lengths([3, [4, 1]]): 1}
    assert varies((1, read_lengths([3, 4])))
    assert volume((2, read_lengths([3, 4]))) == 8
    assert shape_of((5, 0), (2, read_lengths([3, 4]))) == (2, 3)


@pytest.mark.parametrize(
    "wrong",
    [[], 0, -1, True, "3", [2**63], [[2**40, 2**40]], [0], [3, -1], [[3]], [[3, 0]], [[3, 2, 1]], [[[3, 1], 2]], [2.0]],
)
def test_wrong_lengths_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="chunk length"):
        read_lengths(wrong)


def test_other_arithmetic_is_refused() -> None:
    """A formula for one length must not silently take the largest one."""
    length = read_lengths([3, 4])
    for wrong in (
        lambda: 1 + length,
        lambda: length - 1,
        lambda: length * 2,
        lambda: length // 2,
        lambda: divmod(7, length),
    ):
        with pytest.raises(TypeError, match="different lengths"):
            wrong()
    with pytest.raises(TypeError):
        np.arange(3) + length


def test_many_chunks_take_no_memory() -> None:
    length = read_lengths([[1, 10**15], 5])
    assert 10**15 * length == 10**15
    assert (10**15 + 3) // length == 10**15
    assert grid_of((10**15 + 5,), (length,)) == (10**15 + 1,)
    with pytest.raises(ValueError, match="chunks"):
        length.expand()


@pytest.mark.long
@given(st.lists(RUNS, min_size=1, max_size=3), st.data())
def test_regions_of_chunks_divide_the_array(dimensions: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    shape = tuple(sum(length * count for length, count in runs) for runs in dimensions)
    chunks = tuple(map(chunk_length, dimensions))
    seen = np.zeros(shape, int)
    for index in every_block(shape, chunks):
        region = region_of(index, chunks, shape)
        seen[region] += 1
        assert seen[region].shape == tuple(part.stop - part.start for part in region)
    assert (seen == 1).all()
    ends = [sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
    region = tuple(slice(*each) for each in ends)
    cells = [cell for cell in cut_along(region, chunks) if all(part.start < part.stop for part in cell)]
    marked = np.zeros(shape, int)
    for cell in cells:
        marked[cell] += 1
    assert (marked[region] == 1).all()
    assert marked.sum() == marked[region].sum()
    if all(start < stop for start, stop in ends):
        met = {index for index in every_block(shape, chunks) if marked[region_of(index, chunks, shape)].any()}
        assert covering_regions([region], chunks) == met


def test_the_model_takes_lengths() -> None:
    storage = Storage(chunks=(read_lengths([3, [4, 2]]), 2))
    assert storage.model_dump(mode="json")["chunks"] == [[3, [4, 2]], 2]
    assert Storage.model_validate_json(storage.model_dump_json()) == storage
    assert Storage.model_validate({"chunks": ([3, [4, 2]], 2)}) == storage
    assert Storage.model_validate({"chunks": ([[4, 2]], 2)}) == Storage(chunks=(4, 2))
    for wrong in ([[], 2], [[0], 2], [[[1, 2, 3]], 2], [[1.5], 2], ["3", 2]):
        with pytest.raises(ValueError, match="chunks"):
            Storage.model_validate_json(json.dumps({"chunks": wrong}))


@pytest.mark.long
@settings(max_examples=40)
@given(data=st.data())
def test_regions_and_indices_are_those_of_numpy(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    runs = data.draw(st.lists(RUNS, min_size=1, max_size=2))
    values, path = store(
        tmp_path_factory.mktemp("s") / "t.zarr", runs, data.draw(st.sampled_from(["bytes", "zlib", "shard"]))
    )
    with nczarr.open(path) as found:
        variable = found["v"]
        for _ in range(4):
            key = tuple(
                data.draw(
                    st.one_of(
                        st.slices(n), st.integers(-n, n - 1), st.lists(st.integers(-n, n - 1), min_size=1, max_size=4)
                    )
                )
                for n in values.shape
            )
            if sum(isinstance(each, list) for each in key) < 2:
                assert np.array_equal(variable[key], values[key])
        assert np.array_equal(variable[...], values)


@pytest.mark.parametrize("kind", ["bytes", "zlib", "shard"])
def test_a_store_of_another_grid_has_the_same_values(kind: str, tmp_path: Path) -> None:
    values, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2), (2, 1)], [(4, 1), (1, 3)]], kind)
    for form in ("zarr3", "zarr2", "nczarr", "nczarr3"):
        for grid in ("regular", "rectilinear") if form.endswith("3") else ("regular",):
            out = tmp_path / f"{form}{grid}.zarr"
            nczarr.convert(path, out, form, grid=grid)
            assert np.array_equal(nczarr.open(out)["v"][...], values)
            assert not nczarr.diff(path, out)
            assert nczarr.digest(path) == nczarr.digest(out)


def test_a_copy_in_the_same_grid_moves_chunks(tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2), (2, 1)], [(4, 1), (1, 3)]], "zlib")
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear")
    assert (done.copied_chunks, done.transcoded_chunks, done.rechunked_chunks) == (16, 0, 0)
    shapes = written(tmp_path / "b.zarr")["chunk_grid"]["configuration"]["chunk_shapes"]
    assert shapes == [[3, [7, 2], 2], [4, [1, 3]]]
    assert nczarr.open(tmp_path / "b.zarr")["v"].chunks == ((3, 7, 7, 2), (4, 1, 1, 1))
    assert not nczarr.diff(path, tmp_path / "b.zarr", storage=True)


def test_without_the_grid_the_largest_lengths_are_a_regular_grid(tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2), (2, 1)], [(4, 1), (1, 3)]], "zlib")
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr3")
    assert written(tmp_path / "b.zarr")["chunk_grid"]["configuration"] == {"chunk_shape": [7, 4]}
    assert "variable `/v`, the different lengths of its chunks" in [loss.message for loss in done.losses]


@pytest.mark.parametrize(
    ("section", "lengths"), [("v(3:16, :)", ((7, 7), 4)), ("v(10:18, 4:6)", ((7, 2), 1)), ("v(1:5, :)", None)]
)
def test_a_section_of_whole_chunks_moves_them(section: str, lengths: object, tmp_path: Path) -> None:
    values, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2), (2, 1)], [(4, 1), (1, 3)]], "zlib")
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear", sections=[section])
    rows, columns = (
        (int(a), int(b) + 1)
        for a, b in (part.split(":") if part != ":" else (0, 6) for part in section[2:-1].split(", "))
    )
    found = nczarr.open(tmp_path / "b.zarr")["v"]
    assert np.array_equal(found[...], values[slice(*rows), slice(*columns)])
    assert (done.copied_chunks > 0) is (lengths is not None)
    if lengths is not None:
        assert done.rechunked_chunks == done.transcoded_chunks == 0


DOCUMENTS = {
    "not `inline`": {"kind": "outside", "chunk_shapes": [[3, 7], 2]},
    "is not `inline`": {"chunk_shapes": [[3, 7], 2]},
    "lengths for each": {"kind": "inline", "chunk_shapes": [[3, 7]]},
    "lengths for each dimension": {"kind": "inline"},
    "9 elements": {"kind": "inline", "chunk_shapes": [[3, 6], 2]},
    "dimension 1": {"kind": "inline", "chunk_shapes": [[3, 7], [0, 6]]},
    "dimension 0": {"kind": "inline", "chunk_shapes": [[3, -7, 14], 2]},
    "above 0": {"kind": "inline", "chunk_shapes": [[[3, 2.5], 7], 2]},
    "sum of at most": {"kind": "inline", "chunk_shapes": [[3, [7, 2**62]], 2]},
}


@pytest.mark.parametrize("message", DOCUMENTS)
def test_wrong_documents_are_reported(message: str, tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 1)], [(2, 3)]], "zlib")
    document = written(path)
    document["chunk_grid"] = {"name": "rectilinear", "configuration": DOCUMENTS[message]}
    (path / "v" / "zarr.json").write_text(json.dumps(document))
    with pytest.warns(nczarr.DataWarning, match=message):
        assert "v" not in nczarr.open(path)


def test_a_huge_number_of_chunks_is_read_in_little_memory(tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 1)], [(2, 3)]], "zlib")
    document = written(path)
    document["shape"] = [10**15 + 3, 6]
    shapes = [[3, 7, [1, 10**15 - 7]], 2]
    document["chunk_grid"] = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}
    (path / "v" / "zarr.json").write_text(json.dumps(document))
    found = nczarr.open(path)["v"]
    assert found[9, 5] == 59
    assert found[10**15 + 2, 5] == 0
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear")
    assert done.copied_chunks == 6


def test_a_last_chunk_may_end_beyond_the_array(tmp_path: Path) -> None:
    """zarr-python leaves the lengths as they are where an array is made shorter."""
    values, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2)], [(2, 3)]], "zlib")
    document = written(path)
    document["shape"] = [12, 6]
    document["chunk_grid"]["configuration"]["chunk_shapes"][0] += [5, 5]
    (path / "v" / "zarr.json").write_text(json.dumps(document))
    assert np.array_equal(nczarr.open(path)["v"][...], values[:12])
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear")
    assert done.copied_chunks == 9
    assert np.array_equal(nczarr.open(tmp_path / "b.zarr")["v"][...], values[:12])


@pytest.mark.parametrize("cut", [1, -1])
def test_a_chunk_of_a_wrong_length_is_unreadable(cut: int, tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 1)], [(2, 3)]], "bytes")
    key = path / "v" / "c" / "1" / "2"
    key.write_bytes(key.read_bytes()[:cut] if cut < 0 else key.read_bytes() + b"\0")
    with pytest.raises(nczarr.CompileError, match="a chunk has 56"):
        nczarr.open(path)["v"][...]
    with pytest.raises(nczarr.CompileError, match="a chunk has 56"):
        nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear")


def test_shards_and_targets_that_have_one_length_are_refused(tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 1)], [(2, 3)]], "zlib")
    with pytest.raises(nczarr.CompileError, match="one length along each dimension"):
        nczarr.convert(path, tmp_path / "b.nc", grid="rectilinear")
    with pytest.raises(nczarr.CompileError, match="not written in shards"):
        nczarr.convert(path, tmp_path / "b.zarr", "zarr3", grid="rectilinear", shards={"/v": (3, 6)})


def test_the_builder_takes_lengths(tmp_path: Path) -> None:
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension("y", 10), builder.dimension("x", 6)]
    builder.variable("v", "int", axes, chunks=([3, 7], 2))
    nczarr.write(
        builder.finish(data={"/v": np.arange(60).reshape(10, 6)}), tmp_path / "a.zarr", "zarr3", grid="rectilinear"
    )
    assert nczarr.open(tmp_path / "a.zarr")["v"].chunks == ((3, 7), 2)
    assert nczarr.open(tmp_path / "a.zarr")["v"][...].tolist() == np.arange(60).reshape(10, 6).tolist()


def test_texts_of_the_model_have_the_lengths(tmp_path: Path) -> None:
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2)], [(2, 3)]], "zlib")
    with nczarr.open(path) as found:
        for form, suffix in (("cdl", "cdl"), ("notation", "ncn"), ("ast", "json")):
            text = tmp_path / f"t.{suffix}"
            nczarr.write(found, text, form)
            assert nczarr.open(text)["v"].chunks == ((3, 7, 7), 2)


EVERY_KIND = """netcdf t {
types: int(*) list ; compound pair { int a ; float b ; } ;
dimensions: y = 10 ; x = 6 ;
variables:
  string s(y, x) ; s:_ChunkLengths = "[3, 7]", "[1, [2, 2], 1]" ;
  list l(y) ; l:_ChunkLengths = "[3, 7]" ;
  pair c(y) ; c:_ChunkLengths = "[1, 2, 7]" ; c:_DeflateLevel = 3 ;
  int e(y, x) ; e:_FillValue = 5 ; e:_ChunkLengths = "[3, 7]", "3" ;
  short u(y) ; u:_ChunkLengths = "[3, 3, 4]" ; u:_Endianness = "big" ;
  char h(y, x) ; h:_ChunkLengths = "[4, 6]", "[2, 4]" ;
data:
  s = "a", NIL, "ccc", "", _, "f", "gg", NIL, "", "last" ; l = {1, 2}, {}, {3}, {}, {4, 5, 6}, {7}, {}, {}, {8}, {9} ;
  c = {1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {1, 1} ;
  e = _, _, _, _, _, _, _, 1 ; u = 1, 2, 3, 4, 5, 6, 7, 8, 9, 300 ; h = "abcdef", "ghijkl" ;
}"""


@pytest.mark.parametrize("form", ["nczarr3", "nczarr", "netcdf4"])
def test_every_kind_of_variable(form: str, tmp_path: Path) -> None:
    source, target = nczarr.from_cdl(EVERY_KIND), tmp_path / "t"
    grid = "rectilinear" if form == "nczarr3" else "regular"
    nczarr.write(source, target, form, grid=grid)
    assert not nczarr.diff(source, target)
    chunks = {name: variable.chunks for name, variable in nczarr.open(target).variables.items()}
    if form == "nczarr3":
        assert chunks == {name: variable.chunks for name, variable in source.variables.items()}
        assert not nczarr.diff(source, target, storage=True)
    else:
        assert chunks == {"s": (7, 2), "l": (7,), "c": (7,), "e": (7, 3), "u": (4,), "h": (6, 4)}


@pytest.mark.parametrize(
    "lengths",
    ['"[3, 6]", "2"', '"[3, 0, 7]", "2"', '"[3, 7]"', '"[3, 7", "2"', '"[3, 99999999999999999999]", "2"', "3.5, 2"],
)
def test_wrong_lengths_in_cdl_are_reported(lengths: str) -> None:
    text = f"netcdf t {{ dimensions: y = 10 ; x = 6 ; variables: int v(y, x) ; v:_ChunkLengths = {lengths} ; }}"
    with pytest.raises(nczarr.CompileError) as found:
        nczarr.from_cdl(text)
    assert {each.code for each in found.value.diagnostics} == {"bad-chunk-size"}


@pytest.mark.parametrize("lengths", ["{3 6} 2", "{3 0 7} 2", "{3 {7 0}} 2", "{3 7}", "{3 99999999999999999999} 2"])
def test_wrong_lengths_in_notation_are_reported(lengths: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ncn"
    path.write_text(f"dataset t 2.0.0 {{ dimension y 10 dimension x 6 variable v int /y /x {{ chunks {lengths} }} }}")
    with pytest.raises(nczarr.CompileError) as found:
        nczarr.open(path)
    assert {each.code for each in found.value.diagnostics} == {"bad-chunk-size"}


def test_a_document_that_has_one_length_holds_values_or_refuses(tmp_path: Path) -> None:
    """DMR++ and references of Zarr v2 cannot name chunks of different lengths."""
    values, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2)], [(2, 3)]], "zlib")
    for name in ("t.dmrpp", "t.json"):
        nczarr.convert(path, tmp_path / name, allow_loss=["all"])
        assert np.array_equal(nczarr.open(tmp_path / name)["v"][...], values)
        with pytest.raises(nczarr.CompileError):
            nczarr.convert(path, tmp_path / name, overwrite=True, writing=nczarr.refs.Writing(embed=0))


def test_lengths_of_sources_without_the_grid_are_no_pieces(tmp_path: Path) -> None:
    """Plain chunks of different lengths are not cut into pieces of one length."""
    values, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 2)], [(6, 1)]], "bytes")
    nczarr.refs.combine([path, path], tmp_path / "t.json", along="d0")
    assert np.array_equal(nczarr.open(tmp_path / "t.json")["v"][...], np.concatenate([values, values]))
    writing = nczarr.refs.Writing(embed=0)
    with pytest.raises(nczarr.CompileError):
        nczarr.refs.combine([path, path], tmp_path / "u.json", along="d0", writing=writing)
    done = nczarr.refs.combine([path, path], tmp_path / "b.zarr", "zarr3", along="d0", grid="rectilinear")
    assert done.copied_chunks == 6
    assert nczarr.open(tmp_path / "b.zarr")["v"].chunks == ((3, 7, 7, 3, 7, 7), 6)


@pytest.mark.long
def test_many_short_chunks_of_different_lengths_are_read_together(tmp_path: Path) -> None:
    """A region of chunks that are mostly missing is no task for each of them."""
    _, path = store(tmp_path / "a.zarr", [[(3, 1), (7, 1)], [(2, 3)]], "zlib")
    document = written(path)
    shapes: list[Any] = [[3, 7, *([1, 2] * 100_000)], 2]
    document["shape"] = [300_010, 6]
    document["chunk_grid"]["configuration"]["chunk_shapes"] = shapes
    document["attributes"] = {"_FillValue": document["fill_value"]}  # or all chunks are written
    (path / "v" / "zarr.json").write_text(json.dumps(document))
    done = nczarr.convert(path, tmp_path / "b.zarr", "zarr2", chunks={"d0": 1000, "d1": 6})
    assert done.rechunked_chunks == 1
    assert not nczarr.diff(path, tmp_path / "b.zarr")
    part = nczarr.convert(path, tmp_path / "c.zarr", "zarr3", grid="rectilinear", sections=["v(3:12, :)"])
    assert part.copied_chunks == 3
    assert nczarr.open(tmp_path / "c.zarr")["v"].chunks == ((7, 1, 2), 2)
