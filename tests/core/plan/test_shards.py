from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr.plan.chunk_lengths import INDEX_BYTES, SHARD_BYTES, can_shard, inner_chunks, problem, shard_shape
from tests.support.work import counted

AXES = st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**5)), min_size=1, max_size=4)


@given(AXES, st.sampled_from([1, 2, 4, 8, 16]))
def test_automatic_shards_are_whole_chunks_of_bounded_size(axes: list[tuple[int, int]], itemsize: int) -> None:
    shape, chunks = tuple(length for length, _ in axes), tuple(chunk for _, chunk in axes)
    shards = shard_shape("auto", chunks, shape, itemsize)
    counts = [max(1, -(-length // chunk)) for length, chunk in axes]
    if math.prod(counts) == 1:
        assert shards is None
        return
    assert shards is not None
    inside = [shard // chunk for shard, chunk in zip(shards, chunks, strict=True)]
    assert [number * chunk for number, chunk in zip(inside, chunks, strict=True)] == list(shards)
    assert all(number <= count for number, count in zip(inside, counts, strict=True))
    size = math.prod(inside) * (math.prod(chunks) * itemsize + INDEX_BYTES)
    assert size <= SHARD_BYTES or math.prod(inside) == 1
    cut = [axis for axis, number in enumerate(inside) if number < counts[axis]]
    assert all(number == 1 for number in inside[: cut[-1]]) if cut else True  # C order: outer dimensions come last


def test_shards_are_shared_out_evenly() -> None:
    one_mib = (512, 512)
    assert shard_shape("auto", one_mib, (512 * 3, 512 * 3), 4) == (1536, 1536)
    assert shard_shape("auto", one_mib, (512 * 100, 512 * 10), 4) == (512 * 6, 5120)
    assert shard_shape("auto", one_mib, (512, 512 * 100), 4) == (512, 512 * 50)
    assert shard_shape("auto", (4096, 4096), (8192, 8192), 8) == (4096, 4096)


@pytest.mark.parametrize(
    ("wish", "chunks", "shape", "shards"),
    [
        ((4, 4), (2, 2), (10, 10), (4, 4)),
        ((4, None), (2, 2), (10, 10), (4, 2)),
        ((100, 4), (3, 2), (10, 10), (12, 4)),  # as long as the array: all of it
        ((10, 4), (3, 2), (10, 10), (12, 4)),
        ((5,), (5,), (0,), (5,)),
        ("none", (2, 2), (10, 10), None),
        ("auto", (), (), None),
        ((), (), (), None),
    ],
)
def test_shards_that_were_asked_for(wish, chunks, shape, shards) -> None:  # type: ignore[no-untyped-def]
    assert problem(wish, chunks, shape, 4) is None
    assert shard_shape(wish, chunks, shape, 4) == shards


@pytest.mark.parametrize(
    ("wish", "chunks", "shape", "said"),
    [
        ((5,), (2,), (10,), "are not a multiple of chunk length"),
        ((1,), (2,), (10,), "are not a multiple of chunk length"),
        ((2**40,), (2**10,), (2**41,), "larger than"),
        ((2**27,), (1,), (2**28,), "larger than"),
    ],
)
def test_shards_that_cannot_be(wish, chunks, shape, said) -> None:  # type: ignore[no-untyped-def]
    assert said in str(problem(wish, chunks, shape, 1))


@given(st.integers(1, 10**4), st.integers(1, 10**4), st.integers(1, 10**4))
def test_chunks_of_our_own_choice_fit_the_shards(wish: int, chunk: int, length: int) -> None:
    chunk = min(chunk, length)
    chosen = inner_chunks((wish,), (chunk,), (length,))
    assert problem((wish,), chosen, (length,), 1) is None


def test_huge_wishes_take_no_time() -> None:
    with counted(10_000):
        for wish in (10**9 + 7, 10**18 + 9, 2**63):
            inner_chunks((wish,), (1000,), (2**62,))
            problem((wish,), (1000,), (2**62,), 8)
            shard_shape((wish,), (1000,), (2**62,), 8)
        shard_shape("auto", (1, 1), (2**62, 2**62), 8)


def test_records_and_opaques_stay_without() -> None:
    assert [can_shard(descr) for descr in ("<i4", "|S1", "|O", "|V4", (("a", "<i4", ()),))] == [True] * 3 + [False] * 2
