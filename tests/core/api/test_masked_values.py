"""Masked arrays of builders: what is present stays present."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError


def finish(data: Any, **more: Any) -> nczarr.DatasetHandle:
    builder = nczarr.DatasetBuilder("m")
    builder.variable("v", "float", [builder.dimension("x", 3)], **more)
    return builder.finish({"v": data})


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("more", [{"fill_value": -1.0}, {}], ids=["declared", "default"])
def test_a_present_value_that_equals_the_fill_value_is_refused(more: dict[str, Any], lazy: bool) -> None:
    fill = np.float32(more.get("fill_value", 9.969209968386869e36))
    data: Any = np.ma.masked_array(np.array([1, fill, 2], "f4"), [False, False, True])
    if lazy:
        data = pytest.importorskip("dask.array").from_array(data, chunks=3)
    with pytest.raises(CompileError, match="some values are masked and others equal"):
        finish(data, **more)["v"][...]


def test_other_values_are_stored() -> None:
    found = finish(np.ma.masked_array(np.array([1, 5, 2], "f4"), [False, False, True]), fill_value=-1.0)
    assert found["v"][...].tolist() == [1, 5, -1]
    assert finish(np.array([1, -1, 2], "f4"), fill_value=-1.0)["v"][...].tolist() == [1, -1, 2]
