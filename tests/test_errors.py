"""tests/errors/*.cdl: `//! code` on each line that must be reported, and nothing else; `---` splits chunks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nczarr import registry
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases

FOLDER = Path(__file__).parent / "errors"
WANTED = re.compile(r"//! ([a-z -]+)$")


def chunks() -> list[tuple[str, str]]:
    out = []
    for path in sorted(FOLDER.glob("*.cdl")):
        for number, chunk in enumerate(re.split(r"^---\n", path.read_text(), flags=re.MULTILINE), 1):
            out.append((f"{path.name}-{number}", chunk))
    return out


def wanted(chunk: str) -> list[tuple[int, str]]:
    """(line, code) of every expectation of a chunk."""
    out = []
    for number, line in enumerate(chunk.split("\n"), 1):
        found = WANTED.search(line)
        if found:
            out += [(number, code) for code in found.group(1).split()]
    return sorted(out)


@pytest.mark.parametrize(("name", "chunk"), chunks(), ids=[name for name, _ in chunks()])
def test_chunk(name: str, chunk: str) -> None:
    report = Report()
    phases.read(Source(name, chunk.encode()), report, Options(), registry.find_format("cdl"))
    found = []
    for diagnostic in report.list_sorted():
        span = diagnostic.primary.span
        assert span.source is not None, diagnostic
        found.append((span.source.position(span.start)[0], diagnostic.code))
    assert sorted(found) == wanted(chunk)
