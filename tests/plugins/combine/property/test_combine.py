"""Generated datasets that are cut along a dimension and combined again are what they were."""

from __future__ import annotations

import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr import names, refs
from nczarr.api.handle import DatasetHandle
from nczarr.arrays.regions import region_of
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.pipeline.compare.diff import differences
from nczarr.pipeline.select.selection import Extent, Section, Subset
from nczarr.pipeline.select.subset import subset
from nczarr.plugins.combine.join import CombineSpec, combine
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.proof import share
from tests.support.subsets import checked_of, equal, relaxed


def part(checked: Checked, dimension: str, first: int, last: int) -> Checked:
    """The dataset with some indices along a dimension."""
    sections = []
    for fqn, variable in checked.variables.items():
        if dimension in variable.dimensions:
            extents = tuple(Extent(first, last) if each == dimension else None for each in variable.dimensions)
            sections.append(Section(names.split(fqn), absolute=True, extents=extents))
    report = Report()
    made = subset(checked, Subset((), (), tuple(sections)), report)
    assert made is not None
    assert not report.list_sorted()
    return made


def dimensions_to_cut(checked: Checked) -> list[str]:
    """Dimensions with indices that every variable has once at most, and some variable has."""
    counts = {
        path: [variable.dimensions.count(path) for variable in checked.variables.values()]
        for path, dimension in checked.dimensions.items()
        if dimension.size
    }
    return [path for path, found in counts.items() if found and max(found) == 1]


@pytest.mark.slow
@settings(relaxed, max_examples=share(100))
@given(datasets_with_data(), st.data())
def test_what_was_cut_is_put_together(drawn: tuple[Dataset, dict[str, Parts]], data: st.DataObject) -> None:
    checked = checked_of(drawn)
    assume(dimensions_to_cut(checked))
    dimension = data.draw(st.sampled_from(dimensions_to_cut(checked)))
    length = checked.dimensions[dimension].size
    cuts = sorted(data.draw(st.sets(st.integers(1, length - 1), max_size=3))) if length > 1 else []
    bounds = zip([0, *cuts], [*cuts, length], strict=True)
    pieces = [(str(first), part(checked, dimension, first, end - 1)) for first, end in bounds]
    report = Report()
    made = combine(pieces, CombineSpec((dimension,), ordered=False), report)
    assert made is not None, report.list_sorted()
    assert report.list_sorted() == []
    assert list(differences(checked, made)) == []
    again = check(Unchecked(made.dataset, parts=dict(made.parts)), report)
    assert again is not None, report.list_sorted()
    assert again.shapes == made.shapes
    for arrays in made.parts.values():
        for array in arrays.values():
            lengths = array.layout.shape
            everything = tuple(slice(0, each) for each in lengths)
            values = array.read(everything)
            assert values.shape == lengths
            assert equal(pickle.loads(pickle.dumps(array)).read(everything), values)
            block = tuple(data.draw(st.integers(1, max(1, each))) for each in lengths)
            found = list(array.list_occupied(block))
            assert found == sorted(set(found))
            for index in found[:4]:
                region = region_of(index, block, lengths)
                assert equal(array.read(region), values[region] if region else values)


@pytest.mark.slow
@settings(relaxed, max_examples=share(100))
@given(datasets_with_data(), st.integers(1, 3))
def test_equal_datasets_that_are_stacked_are_repeated(drawn: tuple[Dataset, dict[str, Parts]], count: int) -> None:
    checked = checked_of(drawn)
    assume(checked.variables)
    assume("/stack" not in checked.groups and all(names.last(path) != "stack" for path in checked.dimensions))
    report = Report()
    wanted = CombineSpec(tuple(checked.variables), "stack")
    made = combine([(str(number), checked) for number in range(count)], wanted, report)
    assert made is not None, report.list_sorted()
    for fqn, variable in made.variables.items():
        assert variable.dimensions == ("/stack", *checked.variables[fqn].dimensions)
    for fqn, arrays in made.parts.items():
        for path, array in arrays.items():
            one = checked.parts[fqn][path]
            values = one.read(tuple(slice(0, each) for each in one.layout.shape))
            ragged = "content" in path.split("/")
            wanted_values = np.concatenate([values] * count) if ragged else np.stack([values] * count)
            assert equal(array.read(tuple(slice(0, each) for each in array.layout.shape)), wanted_values)


@pytest.mark.slow
@settings(relaxed, max_examples=share(60))
@given(datasets_with_data(), st.sampled_from([".nc", ".zarr"]), st.sampled_from([0, 64]), st.data())
def test_references_to_pieces_in_files_read_as_the_whole(
    drawn: tuple[Dataset, dict[str, Parts]], suffix: str, inline: int, data: st.DataObject
) -> None:
    checked = checked_of(drawn)
    assume(dimensions_to_cut(checked))
    dimension = data.draw(st.sampled_from(dimensions_to_cut(checked)))
    length = checked.dimensions[dimension].size
    cuts = sorted(data.draw(st.sets(st.integers(1, length - 1), max_size=2))) if length > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for first, end in zip([0, *cuts], [*cuts, length], strict=True):
            paths.append(f"{folder}/{first}{suffix}")
            try:
                piece = DatasetHandle(part(checked, dimension, first, end - 1))
                nczarr.write(piece, paths[-1], "nczarr" if suffix == ".zarr" else None)
            except nczarr.CompileError:  # the format cannot hold it
                assume(False)
        whole = refs.combine(paths, along=dimension, unsorted=True)
        document = f"{folder}/all.json"
        refs.combine(paths, document, along=dimension, unsorted=True, writing=refs.Writing(inline=inline))
        assert nczarr.diff(whole, document) == []
        assert refs.verify(document, chunks="all") == ()
