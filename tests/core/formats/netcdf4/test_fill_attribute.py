"""A `_FillValue` of another type than its variable, as h5py writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.open import open_source
from tests.conftest import run_command
from tests.support.library import library

h5py = library("h5py")


def file_of(path: Path, dtype: str, fill: Any) -> Path:
    """A file of one variable with that attribute."""
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.arange(3, dtype=dtype)).attrs["_FillValue"] = fill
    return path


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [("f4", np.float64(3), 3), ("f8", np.array([2], "i4"), 2), ("i4", np.int64(7), 7), ("i2", np.float32(-1), -1)],
)
def test_a_number_that_the_type_has_is_converted(tmp_path: Path, dtype: str, fill: Any, expected: float) -> None:
    path = file_of(tmp_path / "a.nc", dtype, fill)
    value = nczarr.open(path)["v"].attributes["_FillValue"]
    assert (value.dtype, value) == (np.dtype(dtype), expected)
    ran = run_command("convert", str(path), str(tmp_path / "b.nc"), "--verify")
    assert (ran.status, "warning[converted-value]" in ran.err) == (0, True)
    nan = nczarr.open(file_of(path, "f4", np.float64("nan")))["v"].attributes["_FillValue"]
    assert nan.dtype == np.float32
    assert np.isnan(nan)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("f4", np.float64(0.1)), ("u1", np.int64(300)), ("i4", np.float64("nan")), ("i2", np.bytes_(b"x")),
     ("f4", np.array([1.0, 2.0]))],
)  # fmt: skip
def test_other_values_are_left_out(tmp_path: Path, dtype: str, fill: Any) -> None:
    path = file_of(tmp_path / "a.nc", dtype, fill)
    checked = phases.read(open_source(str(path)), Report(), Options())
    assert checked is not None
    [omitted] = checked.omitted
    assert (omitted.code, omitted.path) == ("omitted-type", "/v")
    assert omitted.text.startswith("`_FillValue` of `/v` has type")
    assert checked.variables["/v"].attributes == ()
