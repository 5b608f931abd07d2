"""A schema without data means the same in every format: its digest is that of each target made of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import nczarr
from nczarr import registry
from nczarr.api.handle import DatasetHandle
from nczarr.ast import CompoundType, Dataset, Group
from nczarr.ast.dataset import groups, map_groups
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.testing.strategies import datasets
from nczarr.registry import Format
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from tests.support.proof import WHOLE

TARGETS = {
    "t.nc": "netcdf",
    "nczarr.zarr": "nczarr",
    "nczarr3.zarr": "nczarr3",
    "draft.zarr": "zarr3-2019",
    "t.ncs": "ncstream",
    "t.cdl": "cdl",
}


def find(name: str) -> Format:
    form = registry.find_format(name)
    assert form is not None
    return form


def is_comparable(dataset: Dataset) -> bool:
    """Return whether netCDF-4 files and CDL show all cells and attributes as other formats do.

    A text without memory is NIL there and empty elsewhere: in records, and as `_FillValue`. Lists never show theirs.
    Roundings add an attribute.
    """
    for _, group in groups(dataset):
        for declared in group.types:
            if isinstance(declared, CompoundType) and any(field.type == "string" for field in declared.fields):
                return False
        for variable in group.variables:
            fills = [one.value for one in variable.attributes if one.name == "_FillValue"]
            is_list = any(isinstance(one.data, tuple) and one.type != "string" for one in fills)
            if variable.storage.quantize is not None or is_list or any(one.data == (None,) for one in fills):
                return False
    return True


def with_fill(path: str, group: Group) -> dict[str, Any]:
    """The variables of a group with fill mode: without it, unwritten cells are undefined."""
    storage = (variable.storage.model_copy(update={"no_fill": False}) for variable in group.variables)
    pairs = zip(group.variables, storage, strict=True)
    return {"variables": tuple(variable.model_copy(update={"storage": new}) for variable, new in pairs)}


REFUSALS = frozenset({"refused-storage", "lost-nil"})
"""Roundings and NIL in attributes that the netCDF library lacks."""


@pytest.mark.slow
@settings(
    max_examples=500 if WHOLE else 30,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(datasets(cdl=True))
def test_one_digest_of_a_schema_in_every_format(dataset: Dataset) -> None:
    dataset = map_groups(dataset, with_fill).model_copy(update={"kind": None})
    checked = check(Unchecked(dataset), Report())
    assert checked is not None
    handle = DatasetHandle(checked, [])
    wanted = nczarr.digest(handle)
    with tempfile.TemporaryDirectory() as folder:
        for name, form in TARGETS.items():
            target = Path(folder) / name
            report = Report()
            written = phases.write(checked, str(target), find(form), report, Options())
            if written is None:
                assert {one.code for one in report.list_sorted() if one.severity == "error"} <= REFUSALS, name
            elif form in ("netcdf", "cdl") and not is_comparable(dataset):
                continue
            elif not any(loss.kind == "type-name" for loss in written.losses):  # the library confuses equal types
                assert nczarr.digest(target) == wanted, name
