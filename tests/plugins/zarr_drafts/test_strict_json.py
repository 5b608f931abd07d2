"""JSON to the letter of RFC 8259, and where in a document each value stands."""

from __future__ import annotations

import pytest

from nczarr.ast.plain_json import Real, write_json
from nczarr.plugins.zarr_drafts.strict_json import StrictError, parse, place


@pytest.mark.parametrize(
    ("text", "words", "offset", "pointer"),
    [
        ('{"a": 1,}', "a comma is not allowed before the closing `}`", 7, ""),
        ('{"a": [1 , \n ]}', "a comma is not allowed before the closing `]`", 9, ""),
        ('["é",]', "a comma is not allowed before the closing `]`", 5, ""),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "member `c` occurs twice", 23, "/b/c"),
        ('{"a": 1, "\\u0061": 1}', "member `a` occurs twice", 9, "/a"),
        ('{"x": [1, NaN]}', "`NaN` is not a JSON value", 10, "/x/1"),
        ('[["NaN"], Infinity]', "`Infinity` is not a JSON value", 10, "/1"),
        ("[-Infinity]", "`-Infinity` is not a JSON value", 1, "/0"),
        ('{"a": "\\ud800"}', "a lone surrogate", 7, ""),
        ('{"a": "\\\\\\udc00"}', "a lone surrogate", 9, ""),
        ('{"a": "\x01"}', "control character", 7, ""),
        ("", "expecting value", 0, ""),
        ("[01]", "expecting", 2, ""),
        ("[1.]", "expecting", 2, ""),
        ("[+1]", "expecting", 1, ""),
        ("{'a': 1}", "expecting", 1, ""),
        ('{"a": 1} x', "extra data", 9, ""),
        ('{"a": TRUE}', "expecting value", 6, ""),
        ("\u00a0{}", "expecting value", 0, ""),
        ('{"a": ' + "1" * 5000 + "}", "thousands of digits", 6, "/a"),
        ("[" * 200 + "]" * 200, "it is nested", 0, ""),
        ("[" * 100_000, "it is nested", 0, ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_json_is_said_where_it_is(text: str, words: str, offset: int, pointer: str) -> None:
    with pytest.raises(StrictError) as caught:
        parse(text.encode("utf-8", "surrogatepass"))
    assert words in str(caught.value)
    assert (caught.value.offset, caught.value.pointer) == (offset, pointer)


def test_as_deep_as_may_be() -> None:
    data = b"[" * 128 + b"1" + b"]" * 128
    assert place(data, "/0" * 128, {}) == (128, 129)
    assert parse(data)


def test_bytes_that_are_no_utf8() -> None:
    with pytest.raises(StrictError, match="UTF-8") as caught:
        parse(b'{"a": "\xff"}')
    assert caught.value.offset == 7


def test_a_byte_order_mark_is_a_remark() -> None:
    found = parse(b'\xef\xbb\xbf{"a": 1}')
    assert (found.value, found.remarks) == ({"a": 1}, ("begins with a byte order mark",))
    assert place(b'\xef\xbb\xbf{"a": 1}', "/a", {}) == (9, 10)


def test_pairs_of_surrogates_and_escaped_backslashes_are_right() -> None:
    assert parse(b'["\\ud83d\\ude00", "\\\\ud800"]').value == ["😀", "\\ud800"]


def test_numbers_keep_their_spelling() -> None:
    found = parse(b"[1, 1.0, 1e0, -0]").value
    assert write_json(found) == "[1, 1.0, 1e0, 0]"
    assert [type(each) for each in found] == [int, float, Real, int]


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("", '{"é": [1, {"b/c~": "x"}], "z" : null}'),
        ("/é", '[1, {"b/c~": "x"}]'),
        ("/é/0", "1"),
        ("/é/1/b~1c~0", '"x"'),
        ("/z", "null"),
        ("/é/1/gone", '{"b/c~": "x"}'),
        ("/gone/0", '{"é": [1, {"b/c~": "x"}], "z" : null}'),
    ],
)
def test_a_pointer_leads_to_its_value_or_to_what_is_around_it(pointer: str, text: str) -> None:
    data = '\n {"é": [1, {"b/c~": "x"}], "z" : null}'.encode()
    start, end = place(data, pointer, {})
    assert data[start:end].decode() == text
