"""The tree of hashes against its definition in docs/reference/digest.md, with leaves of a few bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr.arrays.regions import every_block, region_of
from nczarr.pipeline.compare import digest_values
from nczarr.pipeline.compare.digest_values import Folding, HashTree, leaf_shape


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    kept = digest_values.LEAF, digest_values.FAN
    digest_values.LEAF, digest_values.FAN = 4, 3
    yield
    digest_values.LEAF, digest_values.FAN = kept


def listed(hashes: list[bytes]) -> bytes:
    while len(hashes) > 1:
        hashes = [sha256(b"".join(hashes[at : at + 3])).digest() for at in range(0, len(hashes), 3)]
    return hashes[0]


def wanted(values: Any) -> bytes:
    if values.size <= 4:
        return sha256(values.tobytes()).digest()
    each = max(1, 4 // values[0].size)
    pieces = [values[at] if values[0].size > 4 else values[at : at + each] for at in range(0, len(values), each)]
    return listed([wanted(piece) for piece in pieces])


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), min_size=1, max_size=6))
def test_a_list_is_the_same_however_it_is_made(runs: list[tuple[int, int]]) -> None:
    hashes = [bytes([number]) * 32 for number in range(3)]
    one, other = HashTree(), HashTree()
    for which, count in runs:
        one.add_same(hashes[which], count)
        for _ in range(count):
            other.add(hashes[which])
    every = [hashes[which] for which, count in runs for _ in range(count)]
    assert one.count == other.count == len(every)
    assert one.root() == other.root() == listed(every)


def test_a_long_list_of_one_hash_takes_no_time() -> None:
    listing = HashTree()
    listing.add_same(bytes(32), 10**15)
    assert len(listing.root()) == 32


@pytest.mark.slow
@given(st.data())
def test_boxes_that_are_left_out_are_fill(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    leaf = leaf_shape(shape, 1)
    folding = Folding(shape, leaf, lambda count: sha256(bytes(count)).digest())
    cut = folding.cut
    lengths = [data.draw(st.integers(1, 4)) * each for each in leaf[: cut + 1]]
    for axis in range(cut + 1):  # boxes are as long as the array, or whole leaves
        lengths[axis] = min(lengths[axis], shape[axis])
    values = np.zeros(shape, "u1")
    for index in every_block(shape[: cut + 1], tuple(lengths)):
        if data.draw(st.booleans()):
            continue
        region = region_of(index, tuple(lengths), shape[: cut + 1])
        values[region] = data.draw(st.integers(0, 1))
        places = [range(part.start // each, -(-part.stop // each)) for part, each in zip(region, leaf, strict=False)]
        hashes = []
        for place in itertools.product(*places):
            inside = region_of(place, leaf[: cut + 1], shape[: cut + 1])
            hashes.append(sha256(values[inside].tobytes()).digest())
        folding.put(tuple(places), b"".join(hashes))
    assert folding.root() == wanted(values)
