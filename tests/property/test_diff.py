"""`diff` against values compared cell by cell, for generated datasets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nczarr.api.handle import DatasetHandle
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.pipeline.compare import values as comparing
from nczarr.pipeline.compare import values as ragged
from nczarr.pipeline.compare.diff import differences
from nczarr.pipeline.compare.difference import Tolerance, json_lines, text_lines
from nczarr.plugins.testing.arrays import parts_of
from nczarr.plugins.testing.strategies import constants, datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def checked_of(dataset: Dataset, parts: dict[str, Parts]) -> Checked:
    report = Report()
    checked = check(Unchecked(dataset, parts=parts), report)
    assert checked is not None, report.list_sorted()
    return checked


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Blocks of a few elements, so that small datasets have many."""
    kept = comparing.BLOCK, comparing.LARGEST, ragged.CELLS, ragged.ELEMENTS
    comparing.BLOCK = comparing.LARGEST = size
    ragged.CELLS = ragged.ELEMENTS = max(1, size // 8)
    try:
        yield
    finally:
        comparing.BLOCK, comparing.LARGEST, ragged.CELLS, ragged.ELEMENTS = kept


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal: bit by bit, and any NaN to any other."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one.shape == other.shape and all(map(same, one.reshape(-1), other.reshape(-1)))
    if isinstance(one, np.void) and one.dtype.names:
        return all(same(one[name], other[name]) for name in one.dtype.names)
    if isinstance(one, np.generic):
        return one.tobytes() == other.tobytes() or (one.dtype.kind == "f" and bool(np.isnan(one) and np.isnan(other)))
    return bool(one == other) and type(one) is type(other)


def cells(checked: Checked, fqn: str) -> list[Any]:
    """All values of a variable in C order, each by its own index."""
    variable = DatasetHandle(checked)[fqn]
    return [variable[index] for index in np.ndindex(variable.shape)]


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.sampled_from((1, 64, 1 << 20)))
def test_a_dataset_does_not_differ_from_itself(drawn: tuple[Dataset, dict[str, Parts]], size: int) -> None:
    one, other = checked_of(*drawn), checked_of(*drawn)
    with small_blocks(size):
        assert not list(differences(one, other, storage=True))


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data(), st.sampled_from((1, 64, 1 << 20)))
def test_values_differ_where_they_do(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject, size: int) -> None:
    one = checked_of(*drawn)
    known = [fqn for fqn in one.variables if 0 < math.prod(one.shapes[fqn]) <= 12]
    assume(known)
    fqn = data.draw(st.sampled_from(known))
    variable, shape = one.variables[fqn], one.shapes[fqn]
    new = data.draw(constants(variable.type, dict(one.types), math.prod(shape)))
    other = checked_of(drawn[0], {**drawn[1], fqn: parts_of(new, shape, one.types)})
    differ = [not same(*pair) for pair in zip(cells(one, fqn), cells(other, fqn), strict=True)]
    with small_blocks(size):
        found = list(differences(one, other))
        assert list(differences(other, one)) or not found
    undefined = variable.storage.no_fill and fqn not in drawn[1]
    assert bool(found) == (any(differ) and not undefined)
    for each in found:
        assert (each.kind, each.path) == ("values", fqn)
        assert each.values is not None
        assert (each.values.different, each.values.total) == (sum(differ), len(differ))
        assert each.values.place == np.unravel_index(differ.index(True), shape) if shape else each.values.place == ()
    list(text_lines(found))
    list(json_lines(found, "b"))


@given(
    st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=8),
    st.floats(0, 1e30),
    st.booleans(),
)
def test_tolerances(pairs: list[tuple[float, float]], size: float, relative: bool) -> None:
    from nczarr.pipeline.compare.difference import unequal

    one, other = (np.array([pair[side] for pair in pairs], "<f4") for side in (0, 1))
    found = unequal(one, other, "float", {}, Tolerance(size, relative)).tolist()
    for differs, (a, b) in zip(found, pairs, strict=True):
        if math.isnan(a) or math.isnan(b):
            assert differs == (math.isnan(a) != math.isnan(b))
        elif math.isinf(a) or math.isinf(b):
            assert differs == (a != b)
        else:
            limit = size * max(abs(a), abs(b)) if relative else size
            assert differs == (abs(a - b) > limit)


@given(st.sampled_from(("byte", "ubyte", "int64", "uint64")), st.data())
def test_distances_of_integers_are_exact(type_name: str, data: st.DataObject) -> None:
    from nczarr.arrays.values.parts import NUMPY
    from nczarr.ast import ATOMIC
    from nczarr.pipeline.compare.difference import distances

    atomic = ATOMIC[type_name]
    a, b = (data.draw(st.integers(atomic.low, atomic.high)) for _ in range(2))
    dtype = NUMPY[type_name]
    assert distances(np.array([a], dtype), np.array([b], dtype)).tolist() == [abs(a - b)]
