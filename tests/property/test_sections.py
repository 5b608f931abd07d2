"""Sections: what is written reads back, whatever the names are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import Extent, Section
from nczarr.pipeline.select.selection_syntax import sections
from nczarr.plugins.common.section_text import write_section

NAME = st.one_of(
    st.text("ab:[]{}é \\/().,;-0\t\u3000", min_size=1, max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)
RANGE = st.none() | st.builds(
    lambda first, count, stride: range(first, first + (count - 1) * stride + 1, stride),
    st.integers(0, 10**6), st.integers(1, 1000), st.integers(1, 50),
)  # fmt: skip
RANGES = st.none() | st.lists(RANGE, min_size=1, max_size=4)


def extents(ranges: list[range | None] | None) -> tuple[Extent | None, ...] | None:
    if ranges is None:
        return None
    return tuple(None if each is None else Extent(each.start, each[-1], each.step) for each in ranges)


@given(st.lists(NAME, min_size=1, max_size=3), RANGES, st.lists(st.tuples(NAME, RANGES), max_size=3))
def test_a_written_section_reads_back(
    path: list[str], ranges: list[range | None] | None, members: list[tuple[str, list[range | None] | None]]
) -> None:
    report = Report()
    text = write_section(path, ranges, members)
    found = sections(f"{text};{text}", report, members=True)
    assert not report.errors, (text, report.list_sorted())
    one = Section(tuple(path), True, extents(ranges), members=tuple((name, extents(given)) for name, given in members))
    assert found == (one, one)


@given(st.text("t(:,)0129.; \\-x/", max_size=16))
def test_any_text_is_sections_or_errors(text: str) -> None:
    report = Report()
    found = sections(text, report, members=True)
    assert bool(found) != bool(report.errors)
    for section in found:
        assert section.path
        assert all((*section.path, *(name for name, _ in section.members)))


@pytest.mark.parametrize("indices", [range(0), range(3, 1), range(5, 1, -1), range(-1, 2)])
def test_indices_that_no_section_takes(indices: range) -> None:
    with pytest.raises(ValueError, match="a section cannot have"):
        write_section(["v"], [indices])


@pytest.mark.parametrize("path", [[], [""], ["g", ""]])
def test_names_that_no_section_holds(path: list[str]) -> None:
    with pytest.raises(ValueError, match="section"):
        write_section(path)
