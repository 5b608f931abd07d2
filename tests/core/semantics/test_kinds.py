"""What a kind of netCDF file cannot hold is left out where the run accepts that, and said piece by piece."""

from __future__ import annotations

from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import dump

RICH = """netcdf rich {
types:
  int(*) row ;
dimensions:
  t = UNLIMITED ; u = UNLIMITED ; x = 2 ;
variables:
  int a(t, x) ;
    a:ok = 1 ;
    a:big = 1ull ;
    a:CLASS = "x" ;
  int64 b(x) ;
  string s(x) ;
  row r(x) ;
  double d(u) ;
  row :lists = {1} ;
data:
  a = 1, 2, 3, 4 ;
  d = 1, 2, 3 ;
group: g {
  variables: int q ;
}
}
"""


def left(kind: str, text: str = RICH) -> tuple[str, list[str]]:
    """The dataset that is left as the CDL of its header, and the warnings."""
    report = Report()
    options = Options.of(kind=kind, allow_loss=frozenset({"format-conflict"}))
    checked = phases.read(Source("t.cdl", text.encode()), report, options)
    assert checked is not None, report.list_sorted()
    pieces = dump(checked, "cdl", Report(), Options.of(header_only=True))
    assert pieces is not None
    assert {found.severity for found in report.list_sorted()} == {Severity.WARNING}
    return b"".join(pieces).decode(), [found.message for found in report.list_sorted()]


def test_the_classic_model() -> None:
    header, told = left("nc3")
    wanted = """netcdf rich {
dimensions:
	t = UNLIMITED ; // (2 currently)
	u = 3 ;
	x = 2 ;
variables:
	int a(t, x) ;
		a:ok = 1 ;
		a:CLASS = "x" ;
	double d(u) ;
}
"""
    assert header == wanted
    conflicts = [text for text in told if "; the output format is classic" in text]
    assert len(conflicts) == 8
    for what in ("a vlen type", "of type `/row`", "of type int64", "of type uint64", "of type string", "group `/g`"):
        assert any(what in text and text.endswith("and it is left out") for text in conflicts), what
    assert any(text.endswith("and the dimension keeps its length") for text in conflicts)


def test_cdf5_has_more_types() -> None:
    header, _ = left("nc5")
    assert "int64 b(x) ;" in header
    assert "a:big = 1ULL ;" in header


def test_netcdf4_keeps_some_names_for_itself() -> None:
    header, told = left("nc4")
    assert "CLASS" not in header
    assert "group: g" in header
    assert [text.split("; ")[0] for text in told] == [
        "attribute `CLASS` of `/a` has a name that netCDF-4 files reserve"
    ]


def test_an_unlimited_dimension_behind_others_stops_growing() -> None:
    header, _ = left(
        "nc3", "netcdf t {\ndimensions: u = UNLIMITED ; x = 2 ;\nvariables: int v(x, u) ;\ndata: v = {1, 2}, {3} ;\n}"
    )
    assert "\tu = 2 ;\n" in header
