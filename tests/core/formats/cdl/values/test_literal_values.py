"""Plain numbers are what the exact path makes of the same text, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.ast import ATOMIC, Constant
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.values.literal_values import Converter, plain_numbers
from nczarr.formats.cdl.values.literals import ListReader


def exact(text: bytes, declared: str | None = None) -> tuple[Constant | None, list[str]]:
    """What the reader of all literals makes of a text, with the codes of its findings."""
    source, report = Source("t", text), Report()
    literals = ListReader(source, report).read(0, len(text))
    convert = Converter(source, report)
    constant = None
    if literals:
        constant = (
            convert.type_untyped(literals, ":a") if declared is None else convert.atomic(literals, declared, "it")
        )
    return constant, [found.code for found in report.list_sorted()]


NUMERALS = "0 1 9 12 007 255 2147483647 999999999 1234567890 1.5 .25 3e38 1e400 1e39f 3.4028235e38f 3.4028236e38f 0.1f"
PIECES = st.sampled_from(
    [*NUMERALS.split(), *". - + e E e5 e-320 f F d L s b u _ , NaN 0x1".split(), ", ", " ", "\t", "\v"]
)


@pytest.mark.slow
@given(st.lists(PIECES, min_size=1, max_size=8).map("".join), st.sampled_from([None, *ATOMIC]))
@example("-0.", None)
@example("1.5f,2.5", None)
@example("1.,", None)
@example("1e400f", None)
@example("1.1f", "double")
@settings(max_examples=1500, deadline=None)
def test_plain_numbers_are_the_exact_ones(text: str, declared: str | None) -> None:
    found = plain_numbers(text.encode(), declared)
    if found is not None:
        assert (found, []) == exact(text.encode(), declared)


@pytest.mark.parametrize(
    ("text", "type_name"),
    [
        ("5", "int"),
        ("-99, 12 ", "int"),
        ("0", "int"),
        ("1.5, -2e3", "double"),
        (".5f\t, 2.F", "float"),
        ("1e5", "double"),
    ],
)
def test_common_values_are_plain(text: str, type_name: str) -> None:
    found = plain_numbers(text.encode())
    assert found is not None
    assert found.type == type_name
    assert (found, []) == exact(text.encode())


@pytest.mark.parametrize(
    "text", ["010", "1234567890", "5s", "1, 2.5", "1e400", "1e39f", "1e400f", "1 2", "1,", ",1", "", "1_0", "."]
)
def test_what_needs_thought_is_left_alone(text: str) -> None:
    assert plain_numbers(text.encode()) is None


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("v:l = 0x7fffffff ;", "int v:l = 0x7fffffff ;"),
        ("v:l = 0xffffffff ;", "uint v:l = 0xffffffff ;"),
        (":l = 0xffffffffff ;", "int64 :l = 0xffffffffff ;"),
        (":l = NIL ;", "string :l = NIL ;"),
        ("v:a\\ b = {1} ;", "list_t v:a\\ b = {1} ;"),
    ],
)
def test_an_attribute_without_a_type_is_shown_with_one(line: str, remedy: str) -> None:
    """The attribute as the help spells it compiles."""
    text = "netcdf t {{ types: int(*) list_t ; variables: int v ; {} }}"
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.from_cdl(text.format(line))
    assert [each.helps for each in refused.value.diagnostics] == [(f"write the type first, as in `{remedy}`",)]
    nczarr.from_cdl(text.format(remedy))
