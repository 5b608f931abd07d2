"""Generated datasets through streams: whole with the model, and value by value by the words of the wire alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nczarr import registry
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.ncstream.write import backend
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.ncstream_datasets import plain, without_model
from tests.support.proof import share
from tests.support.stores import other_values

strategies = pytest.importorskip("nczarr.testing.strategies")
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

SIZES = st.sampled_from([(1 << 16, 32 << 20), (1, 1), (3, 16)])
"""How much one message of lists holds: cells, bytes."""


def streamed(drawn: tuple[Dataset, dict[str, Parts]], sizes: tuple[int, int]) -> tuple[Checked, bytes]:
    dataset, parts = drawn
    checked = check(Unchecked(dataset, parts=parts), Report())
    assert checked is not None
    form, report = registry.find_format("ncstream"), Report()
    assert form is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "CELLS", sizes[0])
        patch.setattr(backend, "MESSAGE", sizes[1])
        pieces = phases.text(checked, form, report, Options())
        assert pieces is not None, [each.message for each in report.list_sorted()]
        data = b"".join(pieces)
    assert [each.code for each in report.list_sorted() if each.severity == "error"] == []
    return checked, data


def read(data: bytes, options: Options | None = None) -> tuple[Checked | None, Report]:
    report = Report()
    return phases.read(Source("a.ncs", data), report, options or Options()), report


@pytest.mark.slow
@given(strategies.datasets_with_data(), SIZES)
@settings(relaxed, max_examples=share(1500))
def test_a_dataset_comes_back(drawn: Any, sizes: tuple[int, int]) -> None:
    checked, data = streamed(drawn, sizes)
    seen, report = read(data)
    assert seen is not None, [each.message for each in report.list_sorted()]
    assert not report.errors
    assert seen.dataset == checked.dataset
    assert list(other_values(checked, seen)) == []


@pytest.mark.slow
@given(strategies.datasets_with_data(), SIZES)
@settings(relaxed, max_examples=share(60))
def test_without_the_model_every_value_is_there(drawn: Any, sizes: tuple[int, int]) -> None:
    """Names, shapes and values; what the wire has no words for (NIL, enums wider than four bytes, …) reads plainer."""
    from nczarr.pipeline.select.indexing import read as values_of

    checked, data = streamed(drawn, sizes)
    seen, report = read(without_model(data), Options.of(allow_loss=frozenset({"all"})))
    assert seen is not None, [each.message for each in report.list_sorted()]
    assert set(seen.variables) == set(checked.variables)
    for path, shape in checked.shapes.items():
        assert seen.shapes[path] == shape
        assert similar(plain(values_of(seen, path, ...)), plain(values_of(checked, path, ...))), path


def similar(one: Any, other: Any) -> bool:
    """Whether values are equal, NIL and the empty text being one, and opaque values and lists of their bytes."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(similar(one[name], other[name]) for name in one)
    if isinstance(one, bytes) and isinstance(other, list):
        one = list(one)
    if isinstance(other, bytes) and isinstance(one, list):
        other = list(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(similar, one, other))
    if isinstance(one, int) and isinstance(other, int):
        return any((one - other) % modulus == 0 for modulus in (1 << 8, 1 << 16, 1 << 32))  # enums have no sign
    return (one or "") == (other or "") or one == other
