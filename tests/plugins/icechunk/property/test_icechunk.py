"""Generated datasets come back from repositories; each replaces the one before it on the branch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.registry import find_format
from tests.support.repositories import icechunk
from tests.support.stores import other_values
from tests.support.subsets import checked_of

relaxed = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
PLACE = "icechunk:memory://property"


@pytest.mark.long
@relaxed
@given(datasets_with_data())
def test_datasets_come_back(drawn: Any) -> None:
    icechunk()
    dataset, report, form = checked_of(drawn), Report(), find_format("icechunk")
    assert form is not None
    options = Options.of(allow_loss=frozenset({"all"}), overwrite=True)
    done = phases.write(dataset, PLACE, form, report, options)
    assert done is not None, [each.message for each in report.list_sorted()]
    again = phases.read_path(PLACE, report, Options())
    assert again is not None, [each.message for each in report.list_sorted()]
    assert again.variables.keys() == dataset.variables.keys()
    lossy = {loss.path for loss in done.losses if loss.weight == "value"}
    assert [path for path in other_values(dataset, again) if path not in lossy] == []
