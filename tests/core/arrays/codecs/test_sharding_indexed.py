"""Index of a shard with few stored chunks."""

from __future__ import annotations

import numpy as np

from nczarr.arrays.codecs.sharding_indexed import ABSENT, shard_index


def table(places: dict[int, tuple[int, int]], count: int) -> np.ndarray:
    rows = np.full((count, 2), ABSENT, "<u8")
    for number, place in places.items():
        rows[number] = place
    return rows.reshape(-1)


def test_only_stored_chunks_have_a_row() -> None:
    index = shard_index(table({3: (0, 10), 7: (10, 0), 8: (10, 5)}, 1_000_000))
    assert index.number.tolist() == [3, 7, 8]
    assert index.offset.tolist() == [0, 10, 10]
    assert index.length.tolist() == [10, 0, 5]
    assert index.size == 3 * 24


def test_rows_of_chunks_in_any_order() -> None:
    index = shard_index(table({3: (0, 10), 7: (10, 5)}, 9))
    stored, rows = index.rows(np.array([7, 0, 3, 8]))
    assert stored.tolist() == [True, False, True, False]
    assert rows.tolist() == [1, 0]


def test_an_empty_shard_has_no_row() -> None:
    index = shard_index(table({}, 4))
    stored, rows = index.rows(np.array([0, 3]))
    assert not stored.any()
    assert not len(rows)
