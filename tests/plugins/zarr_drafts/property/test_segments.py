"""Names become segments of keys and come back, whatever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nczarr.arrays.chunks.key_segments import escape, segments
from nczarr.plugins.zarr_drafts.keys import problem, suits
from tests.support.segments import unescape

TRICKY = st.lists(
    st.sampled_from(["_", "x", "2", "E", "e", "A", "a", ".", "_x2E", "_c1", " ", "é", "/", "json", "array"])
)
NAMES = st.one_of(st.text(min_size=1), TRICKY.map("".join).filter(bool)).filter(
    lambda name: not any(0xD800 <= ord(each) < 0xE000 for each in name)
)


@given(NAMES)
def test_the_inverse_is_exact(name: str) -> None:
    assert unescape(escape(name)) == name


@given(NAMES, NAMES)
def test_no_two_names_have_one_segment(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(NAMES)
def test_a_segment_is_a_name_of_a_node_but_for_its_length(name: str) -> None:
    segment = escape(name)
    assert problem(segment[:255]) is None or len(name) > 84
    assert len(segment) > 255 or problem(segment) is None


@given(st.text("abcdefgXYZ0189.-", min_size=1).filter(lambda name: name.strip(".")))
def test_portable_names_stay(name: str) -> None:
    assert escape(name) == name


@given(st.lists(NAMES, unique=True))
def test_siblings_are_kept_apart_and_know_their_names(names: list[str]) -> None:
    found = segments(names)
    assert list(found) == names
    assert len({segment.lower() for segment in found.values()}) == len(names)
    assert all(suits(segment, name) for name, segment in found.items())
