"""A schema without data means the same in every format: its digest is that of each target made of it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.ast import Dataset
from nczarr.check import check
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.integrations.testing.strategies import datasets
from tests.support.proof import WHOLE

TARGETS = {
    "t.nc": None,
    "nczarr.zarr": "nczarr",
    "nczarr3.zarr": "nczarr3",
    "draft.zarr": "zarr3-2019",
    "t.ncs": "ncstream",
    "t.cdl": "cdl",
}


@pytest.mark.slow
@settings(
    max_examples=500 if WHOLE else 50,
    deadline=None,
    derandomize=not WHOLE,
    suppress_health_check=list(HealthCheck),
)
@given(datasets(cdl=True))
def test_one_digest_of_a_schema_in_every_format(dataset: Dataset) -> None:
    checked = check(Unchecked(dataset.model_copy(update={"kind": None})), Report())
    assert checked is not None
    handle = DatasetHandle(checked, [])
    wanted = nczarr.digest(handle)
    with tempfile.TemporaryDirectory() as folder:
        for name, form in TARGETS.items():
            target = Path(folder) / name
            try:
                nczarr.write(handle, target, form)
            except nczarr.CompileError as refused:
                assert {one.code for one in refused.diagnostics} <= REFUSALS, name
                continue
            assert nczarr.digest(target) == wanted, (name, nczarr.diff(handle, target, data=True)[:3])


REFUSALS = frozenset[str]()
