"""Full names of the Common Data Model: what is written reads back, whatever the names are."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nczarr import names
from nczarr.plugins.ncstream.wire.element_types import cdm_full_name

NAME = st.one_of(
    st.text("ab:[]{}é \\/().,;-0\t\u3000", min_size=1, max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)
_PIECE = re.compile(r"\\.|.", re.DOTALL)


def from_cdm_full_name(text: str) -> tuple[str, tuple[str, ...]]:
    """FQN and members of a full name; the inverse of `cdm_full_name`.

    A leading slash is ignored; a backslash at the end is part of the name.
    """
    pieces, members = [""], 0
    for piece in _PIECE.findall(text.removeprefix("/")):
        if piece == "." or (piece == "/" and not members):
            pieces.append("")
            members += piece == "."
        else:
            pieces[-1] += piece[1:] if len(piece) == 2 else piece
    kept = len(pieces) - members
    return names.fqn(pieces[:kept]) if text else "/", tuple(pieces[kept:])


def test_full_names_are_those_of_answers() -> None:
    assert cdm_full_name("/g1/a\\ b") == "g1/a b"
    assert cdm_full_name("/g1/a.b\\\\c", ["m.n"]) == r"g1/a\.b\\c.m\.n"
    assert from_cdm_full_name("/temperature") == ("/temperature", ())
    assert from_cdm_full_name("g1/obs.wind.u") == ("/g1/obs", ("wind", "u"))
    assert from_cdm_full_name("odd\\") == ("/odd\\\\", ())


@given(st.lists(NAME, min_size=1, max_size=3), st.lists(NAME, max_size=3))
def test_a_full_name_reads_back(path: list[str], members: list[str]) -> None:
    text = cdm_full_name(names.fqn(path), members)
    assert from_cdm_full_name(text) == (names.fqn(path), tuple(members))
    assert from_cdm_full_name("/" + text) == (names.fqn(path), tuple(members))


@given(st.text("ab./\\ ", max_size=12))
def test_any_text_is_a_full_name(text: str) -> None:
    path, members = from_cdm_full_name(text)
    assert isinstance(names.split(path), tuple)
    assert all(isinstance(name, str) for name in members)
