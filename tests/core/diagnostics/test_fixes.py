"""Remedies that a program can apply: texts like all others, with the change of the source."""

from __future__ import annotations

import pickle

from nczarr.diagnostics.report import Fix, Report, Source, suggest
from nczarr.options import Options
from nczarr.pipeline import phases


def fixes(text: str) -> list[tuple[str, str, str | None, tuple[int, int] | None]]:
    report = Report()
    phases.read(Source("a.cdl", text.encode()), report, Options())
    helps = (text for diagnostic in report.list_sorted() for text in diagnostic.helps)
    return [(str(fix), fix.new, fix.wrong, fix.extent) for fix in helps if isinstance(fix, Fix)]


def test_fixes_say_what_they_replace() -> None:
    head = "netcdf t { dimensions: lat = 2 ; variables: "
    assert fixes(head + "float v(latt) ; }") == [("did you mean `lat`?", "lat", "latt", None)]
    assert fixes(head + "float v() ; }") == [("remove `()`", "", None, (len(head) + 7, len(head) + 9))]
    assert fixes(head + ':_Format = "netCDF-44" ; }') == [("did you mean `netCDF-4`?", '"netCDF-4"', None, None)]
    assert fixes(head + "int n(lat) ; data: n = 1, -08 ; }") == [("write -8 for a decimal number", "-8", None, None)]


def test_a_suggestion_replaces_the_name() -> None:
    (fix,) = suggest("latt", ["time", "lat"])
    assert isinstance(fix, Fix)
    assert (fix, fix.new, fix.wrong) == ("did you mean `lat`?", "lat", "latt")
    assert suggest("x", ["time", "lat"]) == []


def test_a_missing_text_stands_at_its_place() -> None:
    report = Report()
    text = "netcdf t { variables: float v }"
    phases.read(Source("a.cdl", text.encode()), report, Options())
    (diagnostic,) = report.list_sorted()
    assert (diagnostic.primary.missing, diagnostic.primary.span.start) == (";", text.index(" }"))


def test_fixes_come_back_from_other_processes() -> None:
    fix = Fix("change it", "new", "wrong", (1, 2))
    again = pickle.loads(pickle.dumps(fix))
    assert (again, again.new, again.wrong, again.extent) == ("change it", "new", "wrong", (1, 2))
