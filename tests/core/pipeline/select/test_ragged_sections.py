"""Sections of variables of lists: the ragged dimension may be counted, and takes `:` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.sections import ranges_of
from nczarr.pipeline.select.selection_syntax import sections
from tests.conftest import run_command

CDL = """netcdf t {
types: int(*) row ; row(*) rows ;
dimensions: x = 4 ;
variables: row r(x) ; rows rr(x) ; int v(x) ; row one ;
data: r = {1}, {2, 3}, {}, {4} ; rr = {{1}}, {}, {{2}, {3}}, {} ; v = 1, 2, 3, 4 ; one = {1, 2} ;
}
"""

WHOLE = [("r(1:2)", range(1, 3)), ("r(1:2,:)", range(1, 3)), ("rr(3,:,:)", range(3, 4)), ("rr(:,:)", range(4))]


def found(text: str) -> tuple[dict[str, tuple[range, ...]], list[str]]:
    report = Report()
    checked = phases.read(Source("t.cdl", CDL.encode()), report, Options())
    assert checked is not None, report.list_sorted()
    [section] = sections(text, report)
    ranges = ranges_of([("/" + section.path[0], section)], checked, report)
    return ranges, [each.code for each in report.list_sorted()]


@pytest.mark.parametrize(("text", "wanted"), WHOLE)
def test_the_ragged_dimension_is_whole(text: str, wanted: range) -> None:
    ranges, codes = found(text)
    assert codes == []
    assert list(ranges.values()) == [(wanted,)]


def test_of_a_single_list_there_is_nothing_to_cut() -> None:
    assert found("one(:)") == ({"/one": ()}, [])


@pytest.mark.parametrize("text", ["r(1:2,0:1)", "r(1,:,:)", "v(1,:)", "rr(1,0,:)"])
def test_nothing_else_stands_there(text: str) -> None:
    assert found(text)[1] == ["unmatched-section"]


def test_convert_takes_such_sections(tmp_path: Path) -> None:
    (tmp_path / "t.cdl").write_text(CDL, "utf-8")
    ran = run_command("convert", str(tmp_path / "t.cdl"), str(tmp_path / "t.nc"), "--var", "r", "--section", "r(0:1,:)")
    assert ran.status == 0, ran.err
    assert [each.tolist() for each in nczarr.open(tmp_path / "t.nc")["/r"][:]] == [[1], [2, 3]]
