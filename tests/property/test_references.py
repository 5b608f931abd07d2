"""Compaction loses nothing: whatever version 0 holds, the expansion of its version 1 equals it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nczarr import refs

URLS = st.one_of(
    st.sampled_from(["s3://bucket/some/file_0001.nc", "a{{u}}", "{{", "x\n", "y\r\n{%", "s3://b/007/10.nc", "%s%d{#"]),
    st.builds("s3://b/run{:03d}/f{}.nc".format, st.integers(0, 12), st.integers(0, 3)),
)
KEYS = st.one_of(
    st.builds("v{}/{}.{}".format, st.integers(0, 2), st.integers(0, 12), st.integers(0, 3)),
    st.builds("{{g}}/c/{}/{}".format, st.integers(0, 12), st.integers(0, 3)),
    st.sampled_from(
        ["", "7", "007", "a/07", "x/1.2.3", "a//0", ".zattrs", "{{u0}}", "i", "99999999999999999999", "%s"]
    ),
)
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 2**62 - 1))
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.text('a:{}%\n"é😀', max_size=4),
    st.builds(lambda url: [url], URLS),
    st.builds(lambda url, offset, length: [url, offset, length], st.one_of(URLS, st.none()), NUMBERS, NUMBERS),
)


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=40))
def test_anything(document: dict[str, Any]) -> None:
    assert refs.expand(refs.compact(document)) == document


@pytest.mark.slow
@example(shape=(4, 3), factors=(-2, 2, 4), changed={}, zeros=False)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 6)),
    factors=st.tuples(st.integers(-3, 900), st.integers(-3, 900), st.integers(0, 2000)),
    changed=st.dictionaries(st.integers(0, 60), st.one_of(st.none(), st.integers(0, 5000)), max_size=4),
    zeros=st.booleans(),
)
def test_arrays_with_exceptions(
    shape: tuple[int, int],
    factors: tuple[int, int, int],
    changed: dict[int, int | None],
    zeros: bool,
) -> None:
    document: dict[str, Any] = {".zgroup": "{}"}
    for place in range(shape[0] * shape[1]):
        i, j = divmod(place, shape[1])
        offset = changed.get(place, max(0, i * factors[0] + j * factors[1] + factors[2]))
        if offset is not None:
            document[f"t/{i}.{j * 2}"] = [f"s3://b/{i * 7:04d}.nc" if zeros else f"s3://b/{i * 7}.nc", offset, 100]
    compacted = refs.compact(document)
    assert refs.expand(json.dumps(compacted)) == document


@pytest.mark.slow
def test_a_large_regular_array_is_one_generator() -> None:
    document = {
        f"t/{i}.{j}": ["s3://bucket/a.nc", (i * 300 + j) * 4096 + 512, 4096] for i in range(300) for j in range(300)
    }
    document["t/17.3"] = ["s3://bucket/a.nc", 5, 4096]
    compacted = refs.compact(document)
    assert [len(item["dimensions"]) for item in compacted["gen"]] == [2, 1]
    assert len(json.dumps(compacted)) < 600
    assert refs.expand(compacted) == document


def test_urls_that_come_again_are_templates() -> None:
    document = {name: ["s3://bucket/long/name.nc", place**3, 9] for place, name in enumerate("abcd")}
    assert refs.compact(document)["templates"] == {"u0": "s3://bucket/long/name.nc"}
    assert refs.expand(refs.compact(document)) == document


@pytest.mark.slow
@given(
    files=st.integers(3, 12),
    sizes=st.lists(st.one_of(st.just(0), st.integers(1, 5000)), min_size=2, max_size=4),
    gap=st.integers(0, 1),
    seed=st.randoms(use_true_random=False),
    names=st.sampled_from(["abcd", ["'", "}}", "{{v}}", "\\\n"], ["g/x", "g/y", "z", "c"]]),
)
def test_series_of_files(files: int, sizes: list[int], gap: int, seed: Random, names: Sequence[str]) -> None:
    document = series(files, dict(zip(names, sizes, strict=False)), gap, seed)
    assert refs.expand(refs.compact(document)) == document


def series(files: int, sizes: Mapping[str, int], gap: int, seed: Random) -> dict[str, Any]:
    """Arrays in files that begin anywhere: chunks of one length, or of up to 40,000 bytes more than the size."""
    document: dict[str, Any] = {".zgroup": '{"zarr_format": 2}'}
    for number in range(files):
        offset = seed.randrange(8000, 60000)
        for name, size in sizes.items():
            length = size + seed.randrange(40000) if size else 221184
            url = f"s3://bucket/model/historical/day/file_{1850 + number}0101-{1850 + number}1231.nc"
            document[f"{name}/{number}.0.0"] = [url, offset, length]
            offset += length + gap * seed.randrange(2)
    return document


@pytest.mark.parametrize("size", [0, 90_000])
def test_a_series_with_irregular_offsets_becomes_a_tenth(size: int) -> None:
    document = series(500, {"tas": size, "pr": size, "huss": size}, 0, Random(1))
    compacted = refs.compact(document)
    assert len(json.dumps(compacted)) < len(json.dumps(document)) / 10
    assert refs.expand(compacted) == document
