"""Huge declared arrays with little in them: printed in proportion to what they hold, and read back to the same."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import dump
from nczarr.semantics.checked import Checked


def compiled(text: bytes) -> Checked:
    report = Report()
    checked = phases.read(Source("t.cdl", text), report, Options())
    assert checked is not None, [found.message for found in report.list_sorted()]
    return checked


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        ("char v(d)", '"abc"'),
        ("int v(d)", "1, 2, 3"),
        ("int v(e, e)", "1, 2, 3"),
        ("float v(u, e)", "1, 2, 3"),
        ("char v(e, e)", '"abc"'),
    ],
)
def test_a_short_list_of_a_huge_array_stays_short(variable: str, values: str) -> None:
    dimensions = "dimensions: d = 1000000000000 ; e = 5000000 ; u = UNLIMITED ; "
    checked = compiled(f"netcdf t {{ {dimensions} variables: {variable} ; data: v = {values} ; }}".encode())
    pieces = dump(checked, "cdl", Report(), Options())
    assert pieces is not None
    text = b"".join(pieces)
    assert len(text) < 2_000_000
    again = compiled(text)
    assert again.dataset == checked.dataset
    first = tuple(slice(0, min(length, 7)) for length in checked.shapes["/v"])
    assert again.parts["/v"][""].read(first).tolist() == checked.parts["/v"][""].read(first).tolist()
