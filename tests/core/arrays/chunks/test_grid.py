"""Decoded elements become values of the layout: texts in UTF-32."""

from __future__ import annotations

import numpy as np
import pytest

from nczarr.arrays.chunks.grid import convert


@pytest.mark.parametrize("order", "<>")
def test_texts_in_utf_32_become_utf_8(order: str) -> None:
    texts = np.array([["é𝄞", ""], ["\U0010ffff", "a\0b"]], f"{order}U3")
    assert convert(texts, "|O").tolist() == [["é𝄞".encode(), b""], ["\U0010ffff".encode(), b"a\0b"]]
    assert convert(texts.T, "|O").tolist() == [["é𝄞".encode(), "\U0010ffff".encode()], [b"", b"a\0b"]]
    assert convert(texts[:0], "|O").shape == (0, 2)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF])
def test_code_points_that_unicode_lacks_are_errors(code: int, order: str) -> None:
    stored = np.array([0x41, code], f"{order}u4").view(f"{order}U2")
    with pytest.raises(ValueError, match="a code point above 0x10ffff"):
        convert(stored, "|O")
