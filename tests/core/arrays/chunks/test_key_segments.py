"""Portable names as segments of keys: the draft of 2019, "Node names"."""

from __future__ import annotations

import pytest

from nczarr.arrays.chunks.key_segments import escape, paths, segments
from tests.support.segments import unescape


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("foo", "foo"),
        ("a-b_c.d9", "a-b_c.d9"),
        ("station id", "station_x20id"),
        ("é", "_xC3_xA9"),
        ("日", "_xE6_x97_xA5"),
        ("a/b", "a_x2Fb"),
        ("50%", "50_x25"),
        ("_x41", "_x5Fx41"),
        ("_x4a", "_x4a"),
        ("_x4", "_x4"),
        ("__x20", "__x5Fx20"),
        (".", "_x2E"),
        ("..", "_x2E_x2E"),
        ("a..b", "a..b"),
        ("t.array.json", "t.array_x2Ejson"),
        ("t.Group.JSON", "t.Group_x2EJSON"),
        ("array.json", "array.json"),
    ],
)
def test_names_and_their_segments(name: str, segment: str) -> None:
    assert escape(name) == segment
    assert unescape(segment) == name


def test_an_escape_that_looks_like_the_name_before_it_is_none() -> None:
    assert escape("_") == "_"
    assert escape("_x") + escape("é") == escape("_xé")


@pytest.mark.parametrize("segment", ["", "_x41", "é", "a b", "..", "_xFF_xZZ_x20_x41", "t.array.json"])
def test_what_no_name_gives_has_no_name(segment: str) -> None:
    with pytest.raises(ValueError, match="is not an escaped name"):
        unescape(segment)


def test_the_empty_name_has_no_segment() -> None:
    with pytest.raises(ValueError, match="empty"):
        escape("")


def test_siblings_differ_by_more_than_the_case_of_letters() -> None:
    assert segments(["foo", "FOO", "Foo", "bar"]) == {"foo": "foo", "FOO": "FOO_c1", "Foo": "Foo_c2", "bar": "bar"}


def test_a_number_is_passed_over_that_another_sibling_has_in_its_name() -> None:
    assert segments(["a", "A", "a_C1"]) == {"a": "a", "A": "A_c2", "a_C1": "a_C1"}


def test_escapes_collide_with_names_that_are_spelled_like_them_in_small_letters() -> None:
    assert segments(["é", "_xc3_xa9"]) == {"é": "_xC3_xA9", "_xc3_xa9": "_xc3_xa9_c1"}


def test_paths_of_parts_and_of_what_is_between() -> None:
    assert paths(["counts", "content/a b", "content/A", "content/a"]) == {
        "counts": "counts",
        "content": "content",
        "content/a b": "content/a_x20b",
        "content/A": "content/A",
        "content/a": "content/a_c1",
    }
