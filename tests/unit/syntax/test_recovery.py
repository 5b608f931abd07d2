"""Recovery: what one faulty text does to the parser must not reach the next."""

from __future__ import annotations

from pathlib import Path

from nczarr import pipeline
from nczarr.diagnostics import Report
from nczarr.options import Options
from nczarr.source import Source

TEXTS = [
    b"netcdf t { dimensions: d = 2 \n variables: int v( ; } }",
    b"netcdf t { variables: int v \n\n 5 ; float w ; group g { variables: int x ; } }",
    b"netcdf t { types: compound c { int a b ; } ; dimensions: ; = 3 ; ) }",
    b"netcdf t { group: g { ] } data: v = 1 } x",
]


def codes(data: bytes) -> list[tuple[int, str]]:
    report = Report()
    pipeline.read(Source("t.cdl", data), report, Options())
    return [(found.primary.span.start, found.code) for found in report.sorted()]


def test_the_same_text_gives_the_same_findings_whatever_came_before() -> None:
    errors = Path(__file__).resolve().parents[2] / "errors"
    chunks = [
        chunk.encode() for path in sorted(errors.glob("*.cdl")) for chunk in path.read_text("utf-8").split("---\n")
    ]
    texts = TEXTS + chunks
    first = [codes(text) for text in texts]
    again = [codes(text) for text in reversed(texts)]
    assert first == again[::-1]
    assert first == [codes(text) for text in texts]
