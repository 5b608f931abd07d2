"""Recovery from syntax errors leaves nothing behind in the parsers' shared tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from nczarr import registry
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases

FAULTY = {
    "cdl": (
        "netcdf t { types: int enum e { a = 1, b = 2 c = 3 } dimensions: d = 2 ; }",
        "netcdf t { types: compound c { int a ; = ; float b ; } variables: int v ; ) ; }",
        "netcdf t { variables: int v(d, e ; int w ; group: g { 3 } }",
    ),
    "notation": (
        "dataset t 2.0.0 { dimension d 3 } }",
        "dataset t 2.0.0 { compound c { a int = b int } variable v int }",
        "dataset t 2.0.0 { enum e int { a 1 } 7 dimension d }",
    ),
}


def messages(form: str, text: str) -> list[str]:
    report = Report()
    phases.read(Source("t", text.encode()), report, Options(), registry.find_format(form))
    return [f"{item.code}: {item.message}" for item in report.list_sorted()]


@pytest.mark.parametrize("form", FAULTY)
def test_what_was_parsed_before_changes_no_message(form: str) -> None:
    from nczarr.syntax._generated.CDLParser import CDLParser
    from nczarr.syntax._generated.NCZarrParser import NCZarrParser

    def tables() -> list[str]:
        parser = CDLParser if form == "cdl" else NCZarrParser
        return [str(parser.atn.nextTokens(state).intervals) for state in parser.atn.states if state is not None]

    before = tables()
    for text in FAULTY[form]:
        assert messages(form, text) == messages(form, text) != []
    assert tables() == before


SAMPLES = sorted((Path(__file__).parents[3] / "samples").glob("*.cdl"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_text_that_is_cut_off_has_one_error(sample: Path) -> None:
    text = sample.read_bytes()[:3000]
    begin, end = text.index(b"netcdf") + 6, text.rstrip().rfind(b"}")
    for length in range(begin, min(end, len(text)), 11):
        cut = text[:length].decode("utf-8", "ignore").encode()
        assert len(messages("cdl", cut.decode())) == 1, cut[-60:]


@pytest.mark.parametrize(
    "text", ["netcdf", "netcdf t", "netcdf t\n", "netcdf t {", "netcdf t {\ntypes:\n  compound c { int a ;\n"]
)
def test_a_text_that_hardly_begins_has_one_error(text: str) -> None:
    assert len(messages("cdl", text)) == 1
