"""Arrays one behind the other: their values, their chunks, and when those make one grid."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest

from nczarr.arrays.chunks.manifest import Affine, ChunkPlace, PlaceColumns
from nczarr.arrays.regions import Index, Region
from nczarr.arrays.sources.memory import ArrayInMemory, GivenValues, Runs
from nczarr.arrays.sources.source import ArraySource, Layout, Stored
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.ast.dataset import Codec
from nczarr.ast.types import VlenType
from nczarr.plugins.combine.arrays import concatenate
from nczarr.plugins.combine.arrays.concatenate import Joined, join_sources, misfit
from nczarr.plugins.combine.arrays.interleave import Raised, join
from nczarr.plugins.combine.arrays.patchwork import align_grids, common_length
from tests.support.reading_ways import read_every_way


class Chunks(ArrayInMemory):
    """An array in memory that claims to lie in chunks of a file."""

    @property
    def stored(self) -> Stored:
        return Stored(self.layout.dtype, self.layout.chunks, self.layout.codecs)

    def read_encoded(self, chunk: Index) -> bytes:
        return repr(chunk).encode()

    def place(self, chunk: Index) -> ChunkPlace:
        return ChunkPlace("file", 100 * chunk[0] + chunk[-1], 1)


def chunks(length: int, chunk: int, *codecs: Codec, first: int = 0) -> Chunks:
    values = np.arange(first, first + length * 3, dtype="<i4").reshape(length, 3)
    return Chunks(Layout("<i4", values.shape, (chunk, 3), codecs), values)


def memory(values: object) -> ArrayInMemory:
    array = np.asarray(values)
    return ArrayInMemory(Layout(array.dtype.str, array.shape, array.shape), array)


def file_array(path: Path, values: np.ndarray, chunk: tuple[int, ...] | None = None) -> AffineArray:
    path.write_bytes(b"head" + values.tobytes())
    row = values[0].nbytes
    layout = Layout(values.dtype.str, values.shape, chunk or values.shape)
    return AffineArray(layout, FileBytes(str(path), path.stat().st_size), 4, row)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_values_are_those_of_all_sources(axis: int) -> None:
    rng = np.random.default_rng(axis)
    arrays = [rng.integers(0, 99, [n if each == axis else 3 for each in range(3)]) for n in (2, 0, 3, 1)]
    whole = np.concatenate(arrays, axis)
    made = pickle.loads(pickle.dumps(join_sources([memory(each) for each in arrays], axis)))
    assert made.layout.shape == whole.shape
    for begin, end in itertools.combinations(range(whole.shape[axis] + 1), 2):
        region = tuple(slice(begin, end) if each == axis else slice(1, 3) for each in range(3))
        assert np.array_equal(read_every_way(made, region, concatenate), whole[region])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (4, 2), (9, 9)])
def test_occupied_chunks_come_in_order_each_once(axis: int, grid: tuple[int, int]) -> None:
    fill = np.zeros(1, "<i4").tobytes()

    def runs(shape: tuple[int, int], start: int) -> Runs:
        return Runs(
            Layout("<i4", shape, shape, fill=fill), [start], [0, 2], GivenValues("<i4", np.array([7, 8], "<i4"))
        )

    shapes = [(2, 3), (3, 3)] if axis == 0 else [(3, 2), (3, 3)]
    sources: list[ArraySource] = [runs(shapes[0], 1), runs(shapes[1], 4)]
    whole = join_sources(sources, axis)
    values = whole.read(tuple(slice(0, length) for length in whole.layout.shape))
    wanted = sorted({(row // grid[0], column // grid[1]) for row, column in np.argwhere(values)})
    found = list(whole.list_occupied(grid))
    assert found == sorted(set(found))
    assert set(wanted) <= set(found)
    if grid == (1, 1):
        assert found == wanted


def test_chunks_of_one_grid_are_passed_on() -> None:
    made = join_sources([chunks(4, 2), chunks(2, 2), chunks(3, 2)], 0)
    assert made.stored == Stored("<i4", (2, 3), ())
    assert made.layout == Layout("<i4", (9, 3), (2, 3))
    assert [made.read_encoded((number, 0)) for number in range(5)] == [
        b"(0, 0)",
        b"(1, 0)",
        b"(0, 0)",
        b"(0, 0)",
        b"(1, 0)",
    ]
    assert made.place((4, 0)) == ChunkPlace("file", 100, 1)


@pytest.mark.parametrize(
    ("sources", "pair", "reason"),
    [
        ([chunks(3, 2), chunks(2, 2)], (0, 1), "a length of 3 is not a multiple of the chunk length 2"),
        ([chunks(4, 2), chunks(4, 4)], (0, 1), "chunks of 2 × 3 and of 4 × 3"),
        ([chunks(2, 2, Codec(id=1, parameters=(1,))), chunks(2, 2)], (0, 1), "different filters, deflate and none"),
        ([chunks(2, 2), memory(np.ones((2, 3)))], (1, None), "its values are not in chunks"),
    ],
)
def test_chunks_that_make_no_grid(sources: list[ArraySource], pair: tuple[int, int | None], reason: str) -> None:
    found = misfit(sources, 0)
    assert found is not None
    assert ((found.source, found.other), found.reason) == (pair, reason)
    made = join_sources(sources, 0)
    assert made.stored is None
    assert made.read_encoded((0, 0)) is made.place((0, 0)) is made.manifest() is None


def test_filters_of_other_levels_do_not_go_together() -> None:
    one, other = (chunks(2, 2, Codec(id=1, parameters=(level,))) for level in (1, 9))
    assert misfit([one, other], 0) is not None


def test_a_source_of_fill_alone_is_in_nobodys_way() -> None:
    hollow = Runs(Layout("<i4", (2, 3), (2, 3)), [], [0], GivenValues("<i4", np.zeros(0, "<i4")))
    made = join_sources([chunks(2, 2), hollow, chunks(2, 2)], 0)
    assert made.stored is not None
    assert [made.read_encoded((number, 0)) for number in range(3)] == [b"(0, 0)", None, b"(0, 0)"]


def test_a_manifest_of_files(tmp_path: Path) -> None:
    values = [np.arange(12, dtype="<i4").reshape(4, 3) + each for each in range(3)]
    files = [file_array(tmp_path / f"{number}", each, (1, 3)) for number, each in enumerate(values)]
    table = join_sources([files[0], files[1], files[0]], 0).manifest()
    assert isinstance(table, PlaceColumns)
    assert table.sources == (str(tmp_path / "0"), str(tmp_path / "1"))
    assert table.chunk.tolist() == list(range(12))
    assert table.source.tolist() == [0] * 4 + [1] * 4 + [0] * 4
    assert table.offset.tolist() == [4, 16, 28, 40] * 3
    assert set(table.length.tolist()) == {12}


def test_a_manifest_along_another_axis_is_in_the_order_of_chunks(tmp_path: Path) -> None:
    sources = []
    for number in range(2):
        array = np.arange(8, dtype="<i2").reshape(4, 2)
        sources.append(file_array(tmp_path / f"{number}", array, (1, 2)))
    made = join_sources(sources, 1)
    table = made.manifest()
    assert isinstance(table, PlaceColumns)
    assert table.chunk.tolist() == list(range(8))
    assert table.source.tolist() == [0, 1] * 4
    assert [made.place((row, column)).path[-1] for row in range(4) for column in range(2)] == ["0", "1"] * 4  # type: ignore[union-attr]


@pytest.mark.parametrize("lengths", [(6, 4, 2), (6, 4, 3), (5, 5), (5, 7), (1, 8)])
def test_contiguous_arrays_are_cut_into_pieces_of_one_length(tmp_path: Path, lengths: tuple[int, ...]) -> None:
    arrays = [np.arange(length * 3, dtype=">i4").reshape(length, 3) + 100 * length for length in lengths]
    sources = [file_array(tmp_path / f"{number}", array) for number, array in enumerate(arrays)]
    cut = align_grids(sources, 0, 1)
    made = join_sources(cut, 0)
    assert made.stored is not None
    length = int(np.gcd.reduce(lengths))
    assert made.stored.chunks == (length, 3)
    whole = np.concatenate(arrays)
    table = made.manifest()
    for number in range(len(whole) // length):
        place = made.place((number, 0))
        assert place is not None
        data = Path(place.path).read_bytes()[place.offset : place.offset + place.length]
        assert data == whole[number * length : (number + 1) * length].tobytes() == made.read_encoded((number, 0))
        assert isinstance(table, PlaceColumns)
        assert (table.sources[table.source[number]], table.offset[number]) == (place.path, place.offset)
    assert np.array_equal(read_every_way(made, (slice(0, len(whole)), slice(0, 3)), concatenate), whole)


def test_pieces_of_chunks_that_are_longer_than_the_array(tmp_path: Path) -> None:
    """As unlimited dimensions have them: 3 and 2 values in chunks of 8."""
    sources: list[ArraySource] = []
    for number, length in enumerate((3, 2)):
        path = tmp_path / f"{number}"
        path.write_bytes(np.arange(8, dtype="<i2").tobytes())

        class Long(Chunks):
            file = str(path)

            def place(self, chunk: Index) -> ChunkPlace:
                return ChunkPlace(self.file, 0, 16)

            def manifest(self, region: Region | None = None) -> Affine:
                return Affine(self.file, 0, 16, 16, 1)

            def read_encoded(self, chunk: Index) -> bytes:
                return Path(self.file).read_bytes()

        sources.append(Long(Layout("<i2", (length,), (8,)), np.arange(length, dtype="<i2")))
    assert common_length(sources, 0) == 3
    made = join_sources(align_grids(sources, 0, 1), 0)
    table = made.manifest()
    assert isinstance(table, PlaceColumns)
    assert (table.offset.tolist(), table.length.tolist(), table.chunk.tolist()) == ([0, 0], [6, 6], [0, 1])
    assert common_length(sources[::-1], 0) == 2
    back = join_sources(align_grids(sources[::-1], 0, 1), 0).manifest()
    assert isinstance(back, PlaceColumns)
    assert (back.offset.tolist(), back.source.tolist()) == ([0, 0, 4], [0, 1, 1])


def test_compressed_chunks_are_not_cut() -> None:
    codec = Codec(id=1, parameters=(1,))
    assert common_length([chunks(3, 2, codec), chunks(2, 2, codec)], 0) is None


def test_pieces_below_the_least_size_are_not_made(tmp_path: Path) -> None:
    sources = [file_array(tmp_path / f"{n}", np.zeros((n, 3), "<i4")) for n in (2, 3)]
    assert align_grids(sources, 0, 13) == sources
    assert join_sources(sources, 0).stored is None


def test_a_raised_array_has_one_more_index(tmp_path: Path) -> None:
    values = np.arange(12, dtype="<i4").reshape(4, 3)
    sources = [Raised(file_array(tmp_path / f"{n}", values + n, (2, 3))) for n in range(3)]
    made = join_sources(sources, 0)
    assert made.layout.shape == (3, 4, 3)
    assert made.stored == Stored("<i4", (1, 2, 3), ())
    assert np.array_equal(
        read_every_way(made, (slice(1, 3), slice(0, 4), slice(1, 2)), concatenate),
        np.stack([values + 1, values + 2])[..., 1:2],
    )
    assert list(made.list_occupied((2, 4, 3))) == [(0, 0, 0), (1, 0, 0)]
    assert np.array_equal(read_every_way(sources[0], (slice(1, 1), slice(0, 4), slice(0, 3))), np.zeros((0, 4, 3)))
    assert np.array_equal(sources[0].read((slice(1, 2), slice(0, 4), slice(0, 3))), np.zeros((0, 4, 3)))


def test_scalars_are_stacked() -> None:
    made = join_sources([Raised(memory(np.float64(each))) for each in (1.5, 2.5)], 0)
    assert made.read((slice(0, 2),)).tolist() == [1.5, 2.5]


def test_byte_orders_meet_in_little_endian() -> None:
    made = join_sources([memory(np.array([1, 2], ">i2")), memory(np.array([3], "<i2"))], 0)
    assert made.layout.dtype == "<i2"
    assert made.read((slice(0, 3),)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lists_are_joined_along_any_axis(axis: int) -> None:
    rng = np.random.default_rng(7)
    types = {"/deep": VlenType(name="deep", base="/row"), "/row": VlenType(name="row", base="int")}
    every, cells = [], []
    for length in (2, 1, 3):
        shape = [length if each == axis else 2 for each in range(3)]
        counts = rng.integers(0, 4, shape)
        inner = rng.integers(0, 3, counts.sum())
        content = rng.integers(0, 99, inner.sum()).astype("<i4")
        rows = np.split(content, np.cumsum(inner))[:-1]
        lists = np.empty(counts.size, object)
        ends = np.cumsum(counts.reshape(-1))
        lists[:] = [
            [row.tolist() for row in rows[end - count : end]] for end, count in zip(ends, counts.flat, strict=True)
        ]
        cells.append(lists.reshape(shape))
        every.append({"counts": memory(counts), "content/counts": memory(inner), "content/content": memory(content)})
    made = join("/deep", every, axis, types, join_sources)
    wanted = list(np.concatenate(cells, axis).reshape(-1))
    shape = made["counts"].layout.shape
    counts = made["counts"].read(tuple(slice(0, length) for length in shape)).reshape(-1)
    inner = made["content/counts"].read((slice(0, sum(counts)),))
    source = pickle.loads(pickle.dumps(made["content/content"]))
    content = np.concatenate([source.read((slice(at, min(at + 5, sum(inner))),)) for at in range(0, sum(inner), 5)])
    assert [len(each) for each in wanted] == counts.tolist()
    assert [len(row) for each in wanted for row in each] == inner.tolist()
    assert [value for each in wanted for row in each for value in row] == content.tolist()


def test_only_what_is_wanted_is_fetched() -> None:
    fetched: list[tuple[str, list[tuple[int, int]]]] = []

    class Far(ArrayInMemory):
        distant = True  # type: ignore[assignment]

        def prefetch(self, regions):  # type: ignore[no-untyped-def]
            fetched.append((self.layout.dtype, [(part.start, part.stop) for (part,) in regions]))  # type: ignore[arg-type]
            return self

    sources = [Far(Layout("<i2", (3,), (3,)), np.arange(3, dtype="<i2")) for _ in range(3)]
    made = join_sources(sources, 0)
    assert isinstance(made, Joined)
    assert made.distant
    assert isinstance(made.prefetch([(slice(1, 5),)]), Joined)
    assert [regions for _, regions in fetched] == [[(1, 3)], [(0, 2)]]
