"""Section specifications one by one."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import Extent, Section
from nczarr.pipeline.select.selection_syntax import sections

EXAMPLES = {
    "temp": Section(("temp",)),
    "/g/temp(0:9:2, :, 5)": Section(("g", "temp"), True, (Extent(0, 9, 2), None, Extent(5, 5))),
    "obs.day": Section(("obs",), members=(("day", None),)),
    "/g/obs(0:4).wind(1).u ": Section(
        ("g", "obs"), True, (Extent(0, 4),), members=(("wind", (Extent(1, 1),)), ("u", None))
    ),
    r"a\.b": Section(("a.b",)),
    r"a\\.b": Section(("a\\",), members=(("b", None),)),
    r"a\\(3)": Section(("a\\",), extents=(Extent(3, 3),)),
    r"a\\\(3\)": Section((r"a\(3)",)),
    r"\ a\ .\ b\ ": Section((" a ",), members=((" b ", None),)),
    "station name (1)": Section(("station name",), extents=(Extent(1, 1),)),
    "1st(0)": Section(("1st",), extents=(Extent(0, 0),)),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_sections_are_read(text: str) -> None:
    report = Report()
    found = sections(text, report, members=True)
    assert not report.errors
    assert found == (EXAMPLES[text],)


def test_several_sections_are_read_in_their_order() -> None:
    found = sections("/g/b(0);a.m;c(:)", Report(), members=True)
    assert [section.path for section in found] == [("g", "b"), ("a",), ("c",)]


def test_members_are_refused_where_nothing_is_cut_out_of_records() -> None:
    report = Report()
    assert not sections("obs.day", report)
    [found] = report.list_sorted()
    assert found.code == "bad-section"
    assert "members cannot be selected" in found.message


def test_a_fault_in_a_member_is_found_where_it_is() -> None:
    report = Report()
    assert not sections("obs(1).day(5:2)", report, members=True)
    [found] = report.list_sorted()
    assert (found.code, found.primary.span.start) == ("bad-section", 11)  # type: ignore[union-attr]
