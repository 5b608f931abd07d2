"""Lengths that no array has are refused, whichever format tells them."""

from __future__ import annotations

import json

import pytest

from nczarr import pipeline
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.source import Source


@pytest.mark.parametrize("size", [2**63, 2**64, 10**30])
@pytest.mark.parametrize("anonymous", [True, False])
def test_more_than_there_can_be(size: int, anonymous: bool) -> None:
    variable = {"name": "v", "type": "int", "dimensions": [size if anonymous else "/x"]}
    dimensions = [] if anonymous else [{"name": "x", "size": size}]
    document = {"ast": 1, "dataset": {"name": "d", "dimensions": dimensions, "variables": [variable]}}
    report = Report()
    source = Source("d.ast.json", json.dumps(document).encode())
    assert pipeline.read(source, report, Options()) is None
    assert [each.code for each in report.sorted()] == ["bad-dimension-size"]


def test_the_largest_length() -> None:
    text = f"dataset d 2.0.0 {{\n  dimension x {2**63 - 1}\n  variable v byte /x\n}}\n"
    report = Report()
    checked = pipeline.read(Source("d.ncz", text.encode()), report, Options())
    assert checked is not None
    assert checked.shapes == {"/v": (2**63 - 1,)}
