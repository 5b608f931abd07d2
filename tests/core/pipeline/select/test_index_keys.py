"""Index expressions: masks, arrays, new axes and errors, without values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nczarr.pipeline.select.indexing import outer_axis, parse


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (7, IndexError), (-8, IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError), ([0, 7], IndexError),
        ([-8], IndexError), ([True, False], IndexError), (([0, 1], [0, 1, 2]), IndexError), ([[0], [1, 2]], IndexError),
        (np.ones((7, 5), bool), IndexError), (1.0, TypeError),
        ("v", TypeError), (np.array([1.0]), TypeError), (b"v", TypeError), ({1}, TypeError), (object(), TypeError),
        (np.array(["a"]), TypeError), (np.float64(1), TypeError),
    ],
)  # fmt: skip
def test_what_is_no_index_of_the_array(key: Any, error: type[Exception]) -> None:
    with pytest.raises((IndexError, ValueError)):
        np.zeros((7, 6))[key]
    with pytest.raises(error):
        parse(key, (7, 6))


def test_an_index_beyond_64_bits_does_not_wrap() -> None:
    with pytest.raises(IndexError, match="18446744073709551615"):
        parse(np.array([2**64 - 1], "u8"), (7, 6))


def test_a_slice_beyond_the_end_is_cut() -> None:
    assert parse((slice(5, 100), slice(-100, 2)), (7, 6)).axes == (range(5, 7), range(2))


def test_an_advanced_part_stands_where_its_neighbours_stand() -> None:
    assert parse((slice(None), [0, 1], 2), (7, 6, 5)).place == 1
    assert parse(([0, 1], slice(None), 2), (7, 6, 5)).place == 0
    assert parse((None, slice(None), [0]), (7, 6)).place == 2
    assert parse((slice(None), [[0]], None), (7, 6)).new == (3,)


@pytest.mark.parametrize("item", [None, ..., [[0]], np.True_])
def test_an_outer_index_has_one_dimension(item: Any) -> None:
    with pytest.raises(IndexError):
        outer_axis(item, 7, 0)


def test_an_outer_index_may_be_a_mask() -> None:
    found = outer_axis([False, True, True], 3, 1)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1, 2]
    with pytest.raises(IndexError, match="mask"):
        outer_axis([True], 3, 0)
