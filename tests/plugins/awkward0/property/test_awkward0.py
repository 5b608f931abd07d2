"""What is written of any column is read back; numbers that make no array are refused, and no others."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import Column
from tests.support import columns as marked
from tests.support.columns import columns
from tests.support.proof import WHOLE
from tests.support.ragged import call, document, numbers

quick = settings(max_examples=150 if WHOLE else 40, deadline=None, suppress_health_check=list(HealthCheck))
small = st.lists(st.integers(-1, 4), max_size=5)
CONTENT = [10, 11, 12]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nczarr.plugins.awkward0.write.serialize.LostPartsWarning")
@quick
@given(columns(), st.sampled_from([None, True, "default"]), st.sampled_from(["", "a", "é/b"]))
def test_what_is_written_is_read(column: Column, compression: Any, name: str) -> None:
    storage: dict[str, bytes] = {}
    options = {} if compression == "default" else {"compression": compression}
    nczarr.awkward0.serialize(column, storage, name, suffix=".raw", schemasuffix=".json", **options)
    found = nczarr.awkward0.columns(storage, name + ".json")
    assert json.dumps(marked.items(found)) == json.dumps(marked.items(column))
    assert len(found) == len(column)


def read(schema: Any) -> list[Any] | None:
    """The items of an array; None if it is refused."""
    try:
        return nczarr.awkward0.items(nczarr.awkward0.columns({"": document(schema)}))
    except CompileError:
        return None


@pytest.mark.long
@quick
@given(small)
def test_counts(counts: list[int]) -> None:
    good = min(counts, default=0) >= 0 and sum(counts) <= len(CONTENT)
    ends = [sum(counts[: n + 1]) for n in range(len(counts))]
    wanted = [CONTENT[end - count : end] for count, end in zip(counts, ends, strict=True)]
    found = read(call("JaggedArray", "fromcounts", counts=numbers(*counts), content=numbers(*CONTENT)))
    assert found == (wanted if good else None)


@quick
@given(small)
def test_offsets(offsets: list[int]) -> None:
    good = bool(offsets) and offsets == sorted(offsets) and offsets[0] >= 0 and offsets[-1] <= len(CONTENT)
    wanted = [CONTENT[start:stop] for start, stop in itertools.pairwise(offsets)]
    found = read(call("JaggedArray", "fromoffsets", offsets=numbers(*offsets), content=numbers(*CONTENT)))
    assert found == (wanted if good else None)


@quick
@given(small, small)
def test_starts_and_stops(starts: list[int], stops: list[int]) -> None:
    pairs = list(zip(starts, stops, strict=False))
    good = len(stops) >= len(starts) and all(
        0 <= start <= stop and (start == stop or stop <= len(CONTENT)) for start, stop in pairs
    )
    found = read(call("JaggedArray", starts=numbers(*starts), stops=numbers(*stops), content=numbers(*CONTENT)))
    assert found == ([CONTENT[start:stop] for start, stop in pairs] if good else None)


@pytest.mark.long
@quick
@given(small, st.integers(-2, 4))
def test_indices(index: list[int], masked: int) -> None:
    good = all(0 <= each < len(CONTENT) for each in index)
    found = read(call("IndexedArray", index=numbers(*index), content=numbers(*CONTENT)))
    assert found == ([CONTENT[each] for each in index] if good else None)
    good = all(0 <= each < len(CONTENT) for each in index if each != masked)
    schema = call("IndexedMaskedArray", mask=numbers(*index), content=numbers(*CONTENT), maskedwhen={"json": masked})
    assert read(schema) == ([None if each == masked else CONTENT[each] for each in index] if good else None)


@pytest.mark.slow
@quick
@given(small, small)
def test_unions(tags: list[int], index: list[int]) -> None:
    contents = [CONTENT, ["a"], [True, False]]
    pairs = list(zip(tags, index, strict=False))
    good = len(index) >= len(tags) and all(
        0 <= tag < len(contents) and 0 <= each < len(contents[tag]) for tag, each in pairs
    )
    lists = {"list": [numbers(*each) for each in contents]}
    found = read(call("UnionArray", tags=numbers(*tags), index=numbers(*index), contents=lists))
    assert found == ([contents[tag][each] for tag, each in pairs] if good else None)
    index = [tags[:place].count(tag) for place, tag in enumerate(tags)]
    good = all(0 <= tag < len(contents) and each < len(contents[tag]) for tag, each in zip(tags, index, strict=True))
    found = read(call("UnionArray", "fromtags", tags=numbers(*tags), contents=lists))
    assert found == ([contents[tag][each] for tag, each in zip(tags, index, strict=True)] if good else None)


@quick
@given(st.integers(-1, 5), small)
def test_sparse(length: int, index: list[int]) -> None:
    good = (
        length >= 0
        and len(index) <= len(CONTENT)
        and all(0 <= each < length for each in index)
        and sorted(set(index)) == index
    )
    found = read(call("SparseArray", length={"json": length}, index=numbers(*index), content=numbers(*CONTENT)))
    places = dict(zip(index, CONTENT, strict=False))
    assert found == ([places.get(each, 0) for each in range(length)] if good else None)


@quick
@given(st.integers(-1, 4) | st.just(2**70), st.integers(-2, 2) | st.just(2**70), st.integers(-1, 4))
def test_views(start: int, step: int, length: int) -> None:
    rows = [start + step * each for each in range(length)]
    good = length >= 0 and all(0 <= each < len(CONTENT) for each in rows) and (step != 0 or length < 2)
    base = call("Table", "frompairs", pairs={"pairs": [["x", numbers(*CONTENT)]]})
    view = {"tuple": [{"json": start}, {"json": step}, {"json": length}]}
    found = read(call("Table", "fromview", view=view, base=base))
    assert found == ([{"x": CONTENT[each]} for each in rows] if good else None)


@quick
@given(st.lists(st.booleans(), max_size=10), st.booleans(), st.booleans())
def test_masks(mask: list[bool], masked: bool, lowest: bool) -> None:
    content = list(range(10, 10 + len(mask)))
    wanted = [None if each == masked else item for each, item in zip(mask, content, strict=True)]
    assert (
        read(call("MaskedArray", mask=numbers(*mask), content=numbers(*content), maskedwhen={"json": masked})) == wanted
    )
    bits = [mask[at : at + 8] for at in range(0, len(mask), 8)]
    codes = [sum(bit << (place if lowest else 7 - place) for place, bit in enumerate(each)) for each in bits]
    data = {"call": ["numpy", "frombuffer"], "args": [{"read": "1"}, {"dtype": "|u1"}, {"json": len(codes)}]}
    schema = call(
        "BitMaskedArray", mask=data, content=numbers(*content), maskedwhen={"json": masked}, lsborder={"json": lowest}
    )
    assert nczarr.awkward0.items(nczarr.awkward0.columns({"": document(schema), "1": bytes(codes)})) == wanted
