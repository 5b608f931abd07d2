"""Conversion: one plain number is the same whether it is read at a glance or as a list."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.ast import ATOMIC
from nczarr.diagnostics import Report
from nczarr.passes.convert import Converter, plain_number
from nczarr.passes.literals import ListReader
from nczarr.source import Source

TEXTS = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.6f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.9e}f"),
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{0,3})?(e-?[0-9]{1,3})?[fFbs]?", fullmatch=True),
)


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.sampled_from([None, *(name for name, atomic in ATOMIC.items() if atomic.size)]))
def test_plain_numbers_agree_with_lists(text: str, declared: str | None) -> None:
    data = text.encode()
    quick = plain_number(data, declared)
    if quick is None:
        return
    report = Report()
    literals = ListReader(Source("t", data), report).read(0, len(data))
    assert literals is not None
    convert = Converter(Source("t", data), report)
    slow = convert.untyped(literals) if declared is None else convert.atomic(literals, declared, "an attribute")
    assert quick == slow
    assert report.sorted() == []
