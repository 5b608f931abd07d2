from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

import nczarr
from nczarr.ast import Dataset
from nczarr.ast import dataset as walk
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.ast_json import backend as json_backend
from nczarr.formats.ast_json import frontend as json_frontend
from nczarr.formats.notation import backend, frontend
from nczarr.plugins.testing.strategies import datasets

relaxed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def read_notation(text: str) -> Dataset:
    report = Report()
    unchecked = frontend.read(Source("generated.ncz", text.encode("utf-8")), report)
    assert [found.message for found in report.list_sorted()] == []
    assert unchecked is not None
    return unchecked.dataset


@pytest.mark.slow
@given(datasets(elements=True))
@relaxed
def test_every_tree_is_the_notation_s_to_keep(dataset: Dataset) -> None:
    text = backend.text(dataset)
    assert read_notation(text) == dataset
    assert backend.text(read_notation(text)) == text


@pytest.mark.slow
@given(datasets(elements=True))
@relaxed
def test_every_tree_is_json_s_to_keep(dataset: Dataset) -> None:
    report = Report()
    unchecked = json_frontend.read(Source("generated.ast.json", json_backend.text(dataset).encode("utf-8")), report)
    assert [found.message for found in report.list_sorted()] == []
    assert unchecked is not None
    assert unchecked.dataset == dataset


@pytest.mark.long
@given(datasets(elements=True))
@settings(relaxed, max_examples=20)
def test_elements_suit_their_variables(dataset: Dataset) -> None:
    """The checks of the model accept every tree."""
    handle = nczarr.from_notation(backend.text(dataset))
    assert handle.dataset == dataset


@pytest.mark.long
def test_elements_are_drawn() -> None:
    def has_element(dataset: Dataset) -> bool:
        return any(each.storage.element for _, group in walk.groups(dataset) for each in group.variables)

    generating = settings(relaxed, max_examples=500, database=None, phases=[Phase.generate])
    assert has_element(find(datasets(elements=True), has_element, settings=generating))
