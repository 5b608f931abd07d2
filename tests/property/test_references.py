"""Compaction loses nothing: whatever version 0 holds, the expansion of its version 1 equals it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
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


@given(st.dictionaries(KEYS, VALUES, max_size=40))
def test_anything(document: dict[str, Any]) -> None:
    assert refs.expand(refs.compact(document)) == document


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
