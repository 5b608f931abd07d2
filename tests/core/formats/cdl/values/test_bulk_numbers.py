"""Numbers in bulk: the same values as literal by literal, or a refusal, never a third thing."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.ast import ATOMIC, Constant
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.values import bulk_numbers
from nczarr.formats.cdl.values.literal_values import Converter
from nczarr.formats.cdl.values.literals import ListReader
from nczarr.semantics.check_types import DEFAULT

NUMBERS = [name for name in ATOMIC if name in DEFAULT]
TOKENS = st.one_of(
    st.integers(-(2**63), 2**64 - 1).map(str),
    st.integers(-130, 300).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=64).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda value: f"{value:.9g}"),
    st.sampled_from(
        [
            "_",
            "NaN",
            "NaNf",
            "-Infinity",
            "Infinityf",
            "1.5f",
            "0.1f",
            "3b",
            "255b",
            "300b",
            "7LL",
            "1us",
            "010",
            "08",
            "-0",
            "-0.",
            "+5",
            "1e400",
            ".5",
            "5.",
            "1e-400",
            "0x1F",
            "'a'",
            '"2"',
            "- 1",
            "1_0",
            "nan",
            "inf",
            "e",
            ".",
            "5 .",
            ". 5",
            "5 .5",
            "1.2.3",
            "-.5",
            "-.",
            "+.5",
            "1e5",
            "1.5e-05",
            ".5E+3",
            "-0.0",
            "-.0",
            "0.0",
            "00.5",
            "12345678901234567.5",
            "0.00000000000000000000001",
            "99999999999999999999.5",
            "\v1",
            "1\v",
            "1\0",
            "\x1f2",
            "1!",
            "1/2",
            "1/",
            "{1}",
            "1:",
            "\x7f",
        ]
    ),
)
GAPS = st.sampled_from([",", ", ", " ,\n", ", // 1, 2\n", ", /* 3, */ ", ", /*/ 3, */ ", "//*\n,", ",\t", ",,"])


def slowly(text: bytes, type_name: str, fill: Constant) -> bytes | None:
    """The values literal by literal, as bytes; None if anything is a fault."""
    report = Report()
    literals = ListReader(Source("t", text), report).read(0, len(text))
    if literals is None:
        return None
    convert = Converter(Source("t", text), report, lambda: None)
    data = b""
    for literal in literals:
        if literal.kind == "fill":
            assert isinstance(fill.data, bytes)
            data += fill.data
            continue
        number = convert.number(literal, type_name, "a variable")
        if number is None:
            return None
        data += struct.pack(f"<{ATOMIC[type_name].code}", number)
    return data


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NUMBERS), st.lists(st.tuples(TOKENS, GAPS), min_size=1, max_size=30), st.integers(1, 60))
def test_bulk_and_slow_agree(type_name: str, items: list[tuple[str, str]], slab: int) -> None:
    text = "".join(token + gap for token, gap in items).rstrip(" \n\t").rstrip(",").encode()
    fill = Constant.numbers(type_name, [DEFAULT[type_name] if type_name != "float" else 9.969209968386869e36])
    before, bulk_numbers.SLAB = bulk_numbers.SLAB, slab
    try:
        quick = bulk_numbers.read_numbers(Source("t", text), 0, len(text), type_name, fill)
    finally:
        bulk_numbers.SLAB = before
    if quick is None:
        return
    wanted = slowly(text, type_name, fill)
    assert wanted is not None, text
    nan = ATOMIC[type_name].is_float
    got = quick.tobytes()
    if nan:
        code = f"<{len(quick)}{ATOMIC[type_name].code}"
        assert repr(struct.unpack(code, got)) == repr(struct.unpack(code, wanted)), text
    else:
        assert got == wanted, text


@pytest.mark.parametrize(
    ("type_name", "text", "expected"),
    [
        ("int", "1, 2, // 3, 4\n 5, _, 6", [1, 2, 5, -2147483647, 6]),
        ("double", "1., NaN, 1.5f, 0.1f, 7b, -Infinity", None),
        ("short", "1, -2, 3s, 010", None),
        ("float", "1.5, 2, 3e5, .25", [1.5, 2.0, 3e5, 0.25]),
    ],
)
def test_what_bulk_takes(type_name: str, text: str, expected: list[float] | None) -> None:
    data = f"{text}, {text}".encode()
    fill = Constant.numbers(type_name, [DEFAULT[type_name]]) if type_name != "float" else None
    found = bulk_numbers.read_numbers(Source("t", data), 0, len(data), type_name, fill)
    if expected is None:
        assert found is None or len(found) == 12
    else:
        assert found is not None
        assert found.tolist() == expected * 2
