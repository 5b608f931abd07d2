"""Sections of generated datasets have the values that numpy takes out of those read whole."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nczarr import names
from nczarr.api.handle import DatasetHandle
from nczarr.arrays.regions import region_of
from nczarr.arrays.sources import ragged, sliced
from nczarr.arrays.sources.memory import fill_array
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import Extent, Section, Subset
from nczarr.pipeline.select.selection_syntax import sections
from nczarr.pipeline.select.subset import subset
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.subsets import checked_of, equal, relaxed


@st.composite
def extents(draw: st.DrawFn, length: int) -> Extent | None:
    if not length or draw(st.booleans()):
        return None
    first = draw(st.integers(0, length - 1))
    return Extent(first, draw(st.integers(first, length - 1)), draw(st.integers(1, length + 1)))


@st.composite
def wanted(draw: st.DrawFn, checked: Checked) -> Subset:
    """Sections of some variables, and perhaps a choice of variables and groups."""
    known = list(checked.variables)
    found = []
    for fqn in draw(st.lists(st.sampled_from(known), unique=True, max_size=3)):
        given_ = tuple(draw(extents(length)) for length in checked.shapes[fqn])
        found.append(Section(names.split(fqn), absolute=True, extents=given_))
    variables = draw(st.lists(st.sampled_from(known), max_size=2)) if draw(st.booleans()) else []
    groups = draw(st.lists(st.sampled_from(list(checked.groups)), max_size=1)) if draw(st.booleans()) else []
    return Subset(tuple(variables), tuple(groups), tuple(found))


def index_of(extent: Extent | None) -> slice:
    return slice(None) if extent is None else slice(extent.first, extent.last + 1, extent.stride)


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_sections_are_numpy_slices(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject) -> None:
    checked = checked_of(drawn)
    assume(checked.variables)
    asked = data.draw(wanted(checked))
    report = Report()
    made = subset(checked, asked, report)
    assert made is not None
    assert not report.errors
    whole, part = DatasetHandle(checked), DatasetHandle(made)
    cut = {names.fqn(section.path): section.extents for section in asked.sections}
    for fqn in made.variables:
        if fqn in cut:
            key = tuple(map(index_of, cut[fqn] or ()))
            assert equal(part[fqn][...], whole[fqn][key]), fqn
        elif made.shapes[fqn] == checked.shapes[fqn]:
            assert equal(part[fqn][...], whole[fqn][...]), fqn
        source = made.parts.get(fqn, {})
        for array in source.values():
            again = pickle.loads(pickle.dumps(array))
            everything = tuple(slice(0, length) for length in array.layout.shape)
            assert equal(again.read(everything), array.read(everything))


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_a_part_keeps_every_rule(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject) -> None:
    """The passes find nothing wrong with a part, and find the same shapes and values."""
    checked = checked_of(drawn)
    assume(checked.variables)
    made = subset(checked, data.draw(wanted(checked)), Report())
    assert made is not None
    report = Report()
    again = check(Unchecked(made.dataset, parts=dict(made.parts)), report)
    assert again is not None, report.list_sorted()
    assert again.dataset == made.dataset
    assert again.shapes == made.shapes
    for fqn, arrays in made.parts.items():
        for path, array in arrays.items():
            lead = made.shapes[fqn] if "content" not in path.split("/") else ()
            assert array.layout.shape[: len(lead)] == lead
            assert len(array.layout.chunks) == len(array.layout.shape)


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_small_blocks_and_boxes_give_the_same(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject) -> None:
    checked = checked_of(drawn)
    assume(checked.variables)
    made = subset(checked, data.draw(wanted(checked)), Report())
    assert made is not None
    wholes = {fqn: DatasetHandle(made)[fqn][...] for fqn in made.variables}
    kept = ragged.BLOCK, ragged.SPAN, sliced.SPAN
    ragged.BLOCK, ragged.SPAN, sliced.SPAN = 2, 2, 2
    try:
        for fqn, arrays in made.parts.items():
            copies = {path: pickle.loads(pickle.dumps(array)) for path, array in arrays.items()}
            small = DatasetHandle(made._replace(parts={**made.parts, fqn: copies}))
            assert equal(small[fqn][...], wholes[fqn]), fqn
    finally:
        ragged.BLOCK, ragged.SPAN, sliced.SPAN = kept


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_chunks_that_are_left_out_hold_fill(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject) -> None:
    """`occupied` names every chunk of a part that holds anything but fill, in order, each once."""
    checked = checked_of(drawn)
    assume(checked.variables)
    made = subset(checked, data.draw(wanted(checked)), Report())
    assert made is not None
    for arrays in made.parts.values():
        for array in arrays.values():
            shape = array.layout.shape
            chunks = tuple(data.draw(st.integers(1, max(1, length))) for length in shape)
            found = list(array.list_occupied(chunks))
            assert found == sorted(set(found))
            grid = [-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True)]
            assert all(0 <= number < end for index in found for number, end in zip(index, grid, strict=True))
            for index in set(itertools.product(*map(range, grid))).difference(found):
                values = array.read(region_of(index, chunks, shape))
                assert equal(values, fill_array(array.layout, values.shape))


SAFE = st.text("ab:[]{}é \\/().,;-0", min_size=1, max_size=8)


@given(st.lists(SAFE, min_size=1, max_size=3), st.booleans())
def test_escaped_names_come_back(path: list[str], absolute: bool) -> None:
    def escaped(name: str) -> str:
        return "".join("\\" + each if each in "\\/(); .," else each for each in name)

    report = Report()
    text = ("/" if absolute else "") + "/".join(map(escaped, path)) + " ( 1 : 5 : 2 , : ) "
    found = sections(text, report)
    assert not report.errors, (text, report.list_sorted())
    assert found == (Section(tuple(path), absolute, (Extent(1, 5, 2), None)),)


@given(st.text("t(:,)0129.; \\-x", max_size=12))
def test_any_text_is_a_section_or_one_error(text: str) -> None:
    report = Report()
    found = sections(text, report)
    assert bool(found) != bool(report.errors)
