"""Parts of arrays: what is read, what is passed on as it is stored, and what vast arrays cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nczarr.arrays.chunks.manifest import ChunkPlace
from nczarr.arrays.regions import Index, Selection
from nczarr.arrays.sources import sliced as module
from nczarr.arrays.sources.memory import ArrayInMemory, GivenValues, Runs
from nczarr.arrays.sources.sliced import Sliced, slice_parts, slice_source
from nczarr.arrays.sources.source import Layout, Stored

CHUNKED = Layout("<i4", (10, 9), (2, 3), fill=None)


class Chunks(ArrayInMemory):
    """An array in memory that claims to lie in chunks, and remembers what was read."""

    reads: list[Selection]

    @property
    def stored(self) -> Stored:
        return Stored("<i4", self.layout.chunks, ())

    def read_encoded(self, chunk: Index) -> bytes:
        return repr(chunk).encode()

    def place(self, chunk: Index) -> ChunkPlace:
        return ChunkPlace("file", chunk[0] * 100 + chunk[1], 1)

    def read(self, selection: Selection) -> NDArray[Any]:
        READS.append(tuple((part.start, part.stop) for part in selection))
        return super().read(selection)


READS: list[tuple[tuple[int, int], ...]] = []
VALUES = np.arange(90, dtype="<i4").reshape(10, 9)


@pytest.fixture(autouse=True)
def fresh() -> None:
    READS.clear()


def test_whole_chunks_are_passed_on() -> None:
    part = Sliced(Chunks(CHUNKED, VALUES), (range(2, 6), range(3, 9)))
    assert part.layout == Layout("<i4", (4, 6), (2, 3))
    assert part.stored == Stored("<i4", (2, 3), ())
    assert part.read_encoded((0, 0)) == b"(1, 1)"
    assert part.place((1, 1)) == ChunkPlace("file", 202, 1)


@pytest.mark.parametrize(
    "ranges",
    [
        (range(1, 5), range(3, 9)),  # begins within a chunk
        (range(2, 5), range(3, 9)),  # ends within one
        (range(2, 6, 2), range(3, 9)),  # makes steps
        (range(2, 3), range(3, 9)),  # is shorter than one
    ],
)
def test_parts_of_chunks_are_not(ranges: tuple[range, ...]) -> None:
    part = Sliced(Chunks(CHUNKED, VALUES), ranges)
    assert part.stored is None
    assert part.read_encoded((0, 0)) is None
    assert part.place((0, 0)) is None
    assert all(1 <= chunk <= length for chunk, length in zip(part.layout.chunks, part.layout.shape, strict=True))
    whole = tuple(slice(0, length) for length in part.layout.shape)
    assert part.read(whole).tolist() == VALUES[np.ix_(*ranges)].tolist()


def test_the_last_chunk_may_be_cut_by_the_end_of_the_array() -> None:
    source = Chunks(Layout("<i4", (10, 9), (4, 9)), VALUES)
    assert Sliced(source, (range(4, 10), range(9))).stored is not None


def test_everything_is_the_source_itself() -> None:
    source = Chunks(CHUNKED, VALUES)
    assert slice_source(source, (range(10), range(9))) is source


def test_nothing_but_the_part_is_read() -> None:
    Sliced(Chunks(CHUNKED, VALUES), (range(1, 5), range(3, 9, 2))).read((slice(1, 3), slice(0, 2)))
    assert READS == [((2, 4), (3, 6))]


def test_what_lies_far_apart_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPAN", 20)
    part = Sliced(Chunks(CHUNKED, VALUES), (range(0, 10, 3), range(9)))
    assert part.read((slice(0, 4), slice(0, 9))).tolist() == VALUES[::3].tolist()
    assert len(READS) == 4
    assert all((high - low) * 9 <= 20 for (low, high), _ in READS)


def test_a_few_values_in_a_vast_array_are_few() -> None:
    vast = 10**12
    layout = Layout("<i4", (vast,), (vast,), fill=b"\7\0\0\0")
    source = Runs(layout, [3, 10**11], [0, 2, 3], GivenValues(layout.dtype, np.array([1, 2, 3], "<i4")))
    part = Sliced(source, (range(1, vast - 1, 3),))
    assert list(part.list_occupied((1000,))) == [(0,), ((10**11 - 1) // 3000,)]
    assert part.read((slice(0, 3),)).tolist() == [7, 2, 7]


def test_ragged_content_follows_its_counts() -> None:
    from nczarr.ast import VlenType

    counts = ArrayInMemory(Layout("<i8", (2, 3), (2, 3)), np.array([[1, 2, 0], [3, 1, 2]]))
    content = ArrayInMemory(Layout("<i4", (9,), (9,)), np.arange(9, dtype="<i4"))
    types = {"/r": VlenType(name="r", base="int")}
    found = slice_parts("/r", (range(2), range(1, 3)), {"counts": counts, "content": content}, types)
    assert found["counts"].read((slice(0, 2), slice(0, 2))).tolist() == [[2, 0], [1, 2]]
    assert found["content"].layout.shape == (5,)
    assert found["content"].read((slice(0, 5),)).tolist() == [1, 2, 6, 7, 8]
    assert found["content"].read((slice(1, 4),)).tolist() == [2, 6, 7]
