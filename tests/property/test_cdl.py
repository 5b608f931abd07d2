from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.cli.compile import text as tree_text
from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.formats.cdl.read import frontend
from nczarr.formats.cdl.write import backend
from nczarr.options import TextOptions
from nczarr.plugins.testing.arrays import differences
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.proof import share

relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def checked_tree(dataset: Dataset, parts: dict[str, Parts]) -> Checked:
    """A generated dataset is valid by construction: the passes must find nothing in it."""
    report = Report()
    checked = check(Unchecked(dataset, parts=parts), report)
    assert [found.message for found in report.list_sorted() if found.severity is Severity.ERROR] == []
    assert checked is not None
    return checked


def read_cdl(text: str) -> Checked:
    report = Report()
    unchecked = frontend.read(Source("generated.cdl", text.encode("utf-8", "surrogateescape")), report)
    checked = None if unchecked is None else check(unchecked, report)
    errors = [(found.code, found.message) for found in report.list_sorted() if found.severity is Severity.ERROR]
    assert errors == [], text
    assert checked is not None
    return checked


def assert_text_is_exact(dataset: Dataset, parts: dict[str, Parts]) -> None:
    before = checked_tree(dataset, parts)
    text = "".join(backend.pieces(before, TextOptions(special=True)))
    after = read_cdl(text)
    assert tree_text(after.dataset) == tree_text(before.dataset), text
    assert after.dataset == before.dataset
    for fqn, arrays in before.parts.items():
        if 0 in before.shapes[fqn]:
            continue  # a variable without elements is not printed
        assert differences(arrays, after.parts[fqn]) == [], (fqn, text)


@pytest.mark.slow
@given(datasets_with_data(cdl=True))
@settings(relaxed, max_examples=share(500))
def test_cdl_reads_back_to_the_same_tree_and_values(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    assert_text_is_exact(*generated)


@pytest.mark.slow
@given(datasets_with_data(classic=True))
@settings(relaxed, max_examples=share(500))
def test_classic_cdl_reads_back_to_the_same_tree_and_values(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    assert_text_is_exact(*generated)
