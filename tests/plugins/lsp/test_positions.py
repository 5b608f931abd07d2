"""Positions of the protocol: bytes to columns in the client's units, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position

from nczarr.plugins.lsp.documents import Lines

TEXTS = st.text(st.sampled_from("ab;\r\n\té𝒳\u2028\x0c\x85"), max_size=30)
UNITS = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}


@given(TEXTS, st.sampled_from(sorted(UNITS)))
def test_every_character_has_its_place(text: str, encoding: str) -> None:
    lines, count = Lines(text.encode(), encoding), UNITS[encoding]
    line, start = 0, 0
    for at in range(len(text) + 1):
        ended = at > 0 and (text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n"))
        if ended:
            line, start = line + 1, at
        content = text[start:at].rstrip("\r\n")
        place = lines.position(len(text[:at].encode()))
        assert place == Position(line, count(content))
        back = lines.offset(place)
        assert lines.data[:back].decode() == text[: start + len(content)]


@given(TEXTS, st.integers(0, 9), st.integers(0, 40), st.sampled_from(sorted(UNITS)))
def test_any_position_is_a_place_between_characters(text: str, line: int, column: int, encoding: str) -> None:
    lines = Lines(text.encode(), encoding)
    offset = lines.offset(Position(line, column))
    lines.data[:offset].decode()
    assert 0 <= offset <= len(lines.data)


@pytest.mark.parametrize(("after", "column"), [(False, 1), (True, 3)])
def test_a_byte_inside_a_character_is_at_one_of_its_sides(after: bool, column: int) -> None:
    assert Lines("a𝒳b".encode(), "utf-16").position(3, after=after) == Position(0, column)


def test_half_a_pair_of_surrogates_is_a_column() -> None:
    data = "\ud83dx".encode("utf-8", "surrogatepass")
    assert Lines(data, "utf-16").position(len(data) - 1) == Position(0, 1)
