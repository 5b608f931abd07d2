"""Segments that nodes can have, and names that segments allow: the draft of 2019, "Node names"."""

from __future__ import annotations

import pytest

from nczarr.plugins.zarr_drafts.keys import problem, suits


@pytest.mark.parametrize(
    ("segment", "name", "right"),
    [
        ("a_x20b", "a b", True),
        ("a_x20b_c1", "a b", True),
        ("a_x20b_c0", "a b", False),
        ("a_x20b_c", "a b", False),
        ("other", "a b", False),
        ("a", "", False),
    ],
)
def test_a_name_suits_the_segments_that_it_can_get(segment: str, name: str, right: bool) -> None:
    assert suits(segment, name) is right


@pytest.mark.parametrize(
    ("segment", "words"),
    [("", "empty"), ("a b", "characters other"), ("é", "characters other"), ("...", "periods"), ("n" * 256, "256")],
)
def test_what_is_no_name_of_a_node(segment: str, words: str) -> None:
    assert words in str(problem(segment))


def test_names_of_255_characters_are_names_of_nodes() -> None:
    assert problem("n" * 255) is None
