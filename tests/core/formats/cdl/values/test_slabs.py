from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.formats.cdl.values.bulk_numbers import slabs

COMMENT = re.compile(rb"//[^\r\n]*+|/\*(?s:.*?)\*/")
WORDS = st.sampled_from(["1", ",", " ", "/", "*", "//", "/*", "*/", "\n", "\r", "/* 1, 2 */", "// 3, 4\n", "25"])


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(WORDS, max_size=40), st.integers(1, 50))
def test_slabs_are_the_text_without_comments(words: list[str], size: int) -> None:
    text = "".join([*words, "*/"]).encode()  # every comment ends
    found = list(slabs(b"xx" + text + b"yy", 2, 2 + len(text), size))
    assert sum(size for _, size in found) == len(text)
    assert b"".join(text for text, _ in found) == COMMENT.sub(b" ", text)
    assert all(text.endswith(b",") for text, _ in found[:-1])
    assert all(length >= min(size, 1) for _, length in found)


def test_a_slab_grows_until_it_has_a_comma() -> None:
    text = b"1" * 100 + b", /* " + b"," * 100 + b"*/ 2, 3" + b" " * 200
    assert [text.strip() for text, _ in slabs(text, 0, len(text), 8)] == [b"1" * 100 + b",", b"2,", b"3"]
