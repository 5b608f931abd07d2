from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.formats.cdl.values.bulk_numbers import LARGEST, decimals

DIGITS = st.text("0123456789", max_size=17)
FRACTIONS = st.tuples(st.sampled_from(["", "-", "+"]), DIGITS, st.sampled_from(["", "."]), DIGITS).map("".join)
NUMBERS = st.one_of(
    FRACTIONS.filter(lambda text: any(letter.isdigit() for letter in text)),
    st.floats(-1e6, 1e6, width=64).map(lambda value: f"{value:.12g}").filter(lambda text: "e" not in text),
    st.floats(-1e9, 1e9, width=32).map(lambda value: f"{value:.3f}"),
)


def bits(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=20), st.sampled_from([",", ", ", " ,\n\t"]))
def test_every_bit_is_that_of_strtod(numbers: list[str], gap: str) -> None:
    found = decimals(gap.join(numbers).encode(), len(numbers))
    if found is None:
        assert any(len(text.replace(".", "").lstrip("+-0")) > 15 or is_zero(text) for text in numbers)
        return
    assert found.tobytes() == bits([float(text) for text in numbers])


def is_zero(text: str) -> bool:
    """Whether the number is zero with a minus and without a digit behind the point."""
    return float(text) == 0 and text.startswith("-") and text.partition(".")[2] == ""


@pytest.mark.parametrize(
    "text",
    ["1.2.3", "5 .", ". 5", ".", "5 .5", "1 2", "-0", "-0.", "", "1,,2", str(LARGEST + 1), "-9007199254740993",
     "99999999999999999999", f"0.{'0' * 22}1"],
)  # fmt: skip
def test_what_it_cannot_vouch_for(text: str) -> None:
    assert decimals(text.encode(), 1 + text.count(",")) is None


def test_the_edges() -> None:
    text = f"{LARGEST}, -{LARGEST}, .5, 5., -.0, 0.0, 0, 0.{'0' * 21}1, 900719925474.0991"
    found = decimals(text.encode(), 9)
    assert found is not None
    assert found.tobytes() == bits([float(item) for item in text.split(",")])
