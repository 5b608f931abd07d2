"""Generated datasets as netCDF-4 files, read back through the C interface: every value and attribute, bit by bit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.decoded_parts import DecodedCells, DecodedContent
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.value_lists import constant_parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.stored_variable import StoredVariable
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.exact_storage import exact_storage
from tests.support.peers.expected import values
from tests.support.peers.read_library import File, bits
from tests.support.proof import share

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def compare(file: File, checked: Checked, parts: dict[str, Parts], lost: list[str]) -> None:
    """Everything that no loss speaks of is there."""
    for fqn in parts:
        told = [f"variable `{fqn}`", *(f"unlimited dimension `{ref}`" for ref in checked.variables[fqn].dimensions)]
        if not any(words in message for words in told for message in lost):
            wanted = values(checked, fqn)
            for part, array in file.variable(fqn).items():
                assert bits(array) == bits(wanted[part]), (fqn, part)
    owners = [(path, group.attributes) for path, group in checked.groups.items()]
    owners += [(path, variable.attributes) for path, variable in checked.variables.items()]
    for owner, attributes in owners:
        for attribute in attributes:
            if any(f"attribute `{attribute.name}` of `{owner}`" in message for message in lost):
                continue
            value = attribute.value
            found = file.attribute(owner, attribute.name, value.type, value.count)
            for part, source in constant_parts(value, (value.count,), checked.types).items():
                whole = source.read(tuple(slice(0, length) for length in source.layout.shape))
                assert bits(found[part]) == bits(whole), (owner, attribute.name, part)


def write(generated: tuple[Dataset, dict[str, Parts]], path: Path, report: Report) -> Checked:
    """Write a generated dataset to a file."""
    dataset, parts = generated
    checked = check(Unchecked(exact_storage(dataset), parts=parts), report, kind="nc4")  # type: ignore[arg-type]
    assert checked is not None, report.list_sorted()
    form = endpoints.target_format("t.nc", None, report)
    assert form is not None
    options = Options.of(kind="nc4", allow_loss=frozenset({"all"}))
    assert phases.write(checked, str(path), form, report, options), report.list_sorted()
    return checked


@pytest.mark.slow
@given(datasets_with_data())
@settings(relaxed, max_examples=share(1000))
def test_every_value_is_where_it_was(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report, path = Report(), Path(folder) / "t.nc"
        checked = write(generated, path, report)
        lost = [
            found.message for found in report.list_sorted() if found.code in ("cut-string", "lost-nil", "lost-length")
        ]
        with File(path, checked) as file:
            compare(file, checked, generated[1], lost)


@pytest.mark.slow
@given(datasets_with_data())
@settings(relaxed, max_examples=share(1000))
def test_lists_and_texts_are_those_that_hdf5_reads(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.nc"
        write(generated, path, Report())
        with nczarr.open(path) as dataset:
            every = [source for parts in dataset.checked.parts.values() for source in parts.values()]
            stored = {
                id(source.sections): source.sections
                for source in every
                if isinstance(source, DecodedCells | DecodedContent)
            }
            for variable in stored.values():
                assert isinstance(variable, StoredVariable)
                assert variable.elements is not None
                if 0 in variable.elements.layout.shape:
                    continue
                region = all_of(variable.elements.layout.shape)
                by_hdf5 = replace(variable, elements=None)._read_within(region)
                for part, array in variable._read_within(region).items():
                    assert bits(array) == bits(by_hdf5[part]), (variable.name, part)


@pytest.fixture(autouse=True)
def libraries(peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
