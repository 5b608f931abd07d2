"""Which chunks an index reads, and values that belong to the caller."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Selection, every_index
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.pipeline.select import reader
from nczarr.pipeline.select.indexing import read, read_outer, read_points

VALUES = np.arange(40 * 30 * 20, dtype="<i4").reshape(40, 30, 20)


@dataclass(frozen=True, slots=True, eq=False)
class Counted(ArraySource):
    """Array in chunks that counts how often each is read."""

    layout: Layout
    values: NDArray[Any]
    counts: Counter[Index] = field(default_factory=Counter)
    cells: list[int] = field(default_factory=list)

    @property
    def viewed(self) -> bool:
        return False

    def read(self, selection: Selection) -> NDArray[Any]:
        chunks = zip(selection, self.layout.chunks, strict=True)
        self.counts.update(every_index([range(part.start // n, -(-part.stop // n)) for part, n in chunks]))
        values = self.values[selection]
        self.cells.append(values.size)
        return values


def counted() -> tuple[Any, Counted]:
    text = "netcdf d { dimensions: z = 40 ; y = 30 ; x = 20 ; variables: int v(z, y, x) ; }"
    source = Counted(Layout("<i4", VALUES.shape, (4, 7, 5)), VALUES)
    return nczarr.from_cdl(text).checked._replace(parts={"/v": {"": source}}), source


def wanted_chunks(key: Any) -> set[Index]:
    places = [
        np.unravel_index(np.arange(VALUES.size), VALUES.shape)[axis].reshape(VALUES.shape)[key] for axis in range(3)
    ]
    grid = [np.ravel(place) // length for place, length in zip(places, (4, 7, 5), strict=True)]
    return set(zip(*(each.tolist() for each in grid), strict=True))


KEYS: list[Any] = [
    ([0, 39], slice(None), 3), ([39, 0, 39], [29, 0, 3], [0, 19, 0]), np.ix_([1, 30], [0, 29], [2]),
    slice(None, None, 9), (slice(None, None, -1), 4, [0, 19]), VALUES % 1999 == 0, (..., np.arange(20) % 7 == 0),
    [[3, 38], [20, 3]],
    (slice(39, None, -13), slice(2, 9), slice(0, 20, 2)), 5, ([5], [], slice(None)), (slice(3, 3), [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("largest", [1, 100, 1 << 22])
@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_each_chunk_with_a_wanted_cell_is_read_once_and_no_other(
    key: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LARGEST_SPAN", largest)
    checked, source = counted()
    assert np.array_equal(read(checked, "/v", key), VALUES[key])
    assert set(source.counts) == wanted_chunks(key)
    assert set(source.counts.values()) <= {1}


def test_a_box_with_many_unwanted_cells_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGEST_SPAN", 4 * 7 * 5)
    checked, source = counted()
    read(checked, "/v", (slice(None, None, 2), slice(None, None, 2), slice(None, None, 2)))
    assert max(source.cells) <= 4 * 7 * 5


def test_two_rows_of_a_vast_array_are_two_reads() -> None:
    text = "netcdf d { dimensions: y = 4000000000 ; x = 3 ; variables: int v(y, x) ; v:_FillValue = 7 ; }"
    checked = nczarr.from_cdl(text).checked
    assert read(checked, "/v", ([0, 3999999999], 1)).tolist() == [7, 7]
    assert read(checked, "/v", (slice(None, None, 1 << 30), [2, 0, 2])).shape == (4, 3)
    assert read(checked, "/v", ([0, 3999999999], [2, 0])).tolist() == [7, 7]


def test_outer_indices_meet() -> None:
    checked, _ = counted()
    found = read_outer(checked, "/v", ([3, 1], slice(-5, 100), 2))
    assert np.array_equal(found, VALUES[[3, 1], -5:, 2])
    assert np.array_equal(read_outer(checked, "/v", ([3, 1], [9, 0, 9], [1])), VALUES[np.ix_([3, 1], [9, 0, 9], [1])])
    assert read_outer(checked, "/v", (1, 2, 3)).shape == ()
    with pytest.raises(IndexError):
        read_outer(checked, "/v", (1, 2))


def test_points_come_first() -> None:
    checked, _ = counted()
    rows, columns = np.array([[3], [1]]), np.array([2, 0, 2])
    assert np.array_equal(
        read_points(checked, "/v", (slice(5), rows, columns)), np.moveaxis(VALUES[:5, rows, columns], 0, 2)
    )
    assert np.array_equal(read_points(checked, "/v", (rows, slice(5), columns)), VALUES[rows, :5, columns])
    assert np.array_equal(
        read_points(checked, "/v", (slice(5), None, columns)), VALUES[:5, None, columns].transpose(2, 0, 1, 3)
    )
    assert read_points(checked, "/v", (1, 2, 3)).shape == ()


def test_values_belong_to_the_caller() -> None:
    dataset = nczarr.from_cdl("netcdf d { dimensions: x = 4 ; variables: int v(x) ; data: v = 1, 2, 3, 4 ; }")
    for key in (..., slice(1, 3), [0, 1], slice(None, None, -1)):
        found = dataset["v"][key]
        found[...] = 0
    assert dataset["v"][...].tolist() == [1, 2, 3, 4]


def test_values_of_the_builder_belong_to_the_dataset() -> None:
    builder = nczarr.DatasetBuilder("")
    builder.variable("v", "int", [builder.dimension("x", 4)])
    dataset = builder.finish(data={"/v": np.array([1, 2, 3, 4], "i4")})
    dataset["v"][...][:] = 0
    assert dataset["v"][...].tolist() == [1, 2, 3, 4]


def test_lists_and_records_take_every_index() -> None:
    text = """netcdf d { types: int(*) l ; compound r { int a ; string s ; } ; dimensions: x = 3 ; y = 2 ;
    variables: l v(x, y) ; r w(x) ; l z ;
    data: v = {1}, {2, 3}, {}, {4}, {5, 6, 7}, {8} ; w = {1, "a"}, {2, "b"}, {3, "c"} ; z = {4, 5} ; }"""
    dataset = nczarr.from_cdl(text)
    assert [each.tolist() for each in dataset["v"][[2, 0], 0]] == [[5, 6, 7], [1]]
    assert [each.tolist() for each in dataset["v"][[2, 0], [1, 1]]] == [[8], [2, 3]]
    assert dataset["w"][np.array([True, False, True])]["s"].tolist() == ["a", "c"]
    assert dataset["z"][()].tolist() == [4, 5]
    assert dataset["z"][None].shape == (1,)
    assert read_points(dataset.checked, "/z", ()).shape == ()


def test_array_in_memory_is_read_by_index() -> None:
    source = ArrayInMemory(Layout("<i4", VALUES.shape, VALUES.shape), VALUES)
    checked = counted()[0]._replace(parts={"/v": {"": source}})
    for key in KEYS:
        assert np.array_equal(read(checked, "/v", key), VALUES[key])
