"""Order of elements and separator of keys in Zarr v2, as zarr-python and netCDF-C's peers read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

VALUES = np.arange(60, dtype="i4").reshape(3, 4, 5)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    listed = ", ".join(map(str, VALUES.ravel().tolist()))
    text = f"netcdf d {{ dimensions: z = 3 ; y = 4 ; x = 5 ; variables: int v(z, y, x) ; data: v = {listed} ; }}"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "d.nc")
    return tmp_path / "d.nc"


@pytest.mark.parametrize("codecs", [None, "zlib:5"])
@pytest.mark.parametrize("separator", [None, "/", "."])
@pytest.mark.parametrize("order", [None, "F", "C"])
def test_zarr_python_reads_the_values(
    order: Any, separator: Any, codecs: str | None, source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    target = tmp_path / "d.zarr"
    nczarr.convert(
        source, target, "zarr2", order=order, separator=separator, codecs=codecs, chunks={"z": 2, "x": 2}, verify=True
    )
    document = json.loads((target / "v/.zarray").read_text())
    assert document["order"] == (order or "C")
    assert document.get("dimension_separator", ".") == (separator or ".")
    assert (target / ("v/1/0/2" if separator == "/" else "v/1.0.2")).is_file()
    assert np.array_equal(peer("zarr").open(str(target))["v"][:], VALUES)
    assert nczarr.diff(target, source) == []


@pytest.mark.parametrize(
    "dtype", ["S4", "U3", ">U2", "i1", ">i4", "f2", "c8", "bool", "M8[s]", [("a", "i2"), ("b", "f4")]]
)
def test_every_kind_of_element_comes_back(dtype: Any, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    numbers = np.arange(35).reshape(5, 7)
    values = numbers.astype(str).astype(dtype) if dtype[-2] in ("S", "U") else numbers.astype(dtype)
    group = zarr.create_group(str(tmp_path / "a.zarr"), zarr_format=2)
    group.create_array("v", shape=values.shape, dtype=values.dtype, chunks=(2, 3), order="F")[:] = values
    nczarr.convert(tmp_path / "a.zarr", tmp_path / "b.zarr", "zarr2", allow_loss=["all"])
    nczarr.convert(
        tmp_path / "a.zarr", tmp_path / "c.zarr", "zarr2", allow_loss=["all"], order="F", chunks={"/v": (3, 3)}
    )
    for name in ("b.zarr", "c.zarr"):
        assert np.array_equal(zarr.open(str(tmp_path / name))["v"][:], values), name


def test_the_order_of_the_source_is_kept(source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    group = zarr.create_group(str(tmp_path / "a.zarr"), zarr_format=2)
    array = group.create_array("v", shape=VALUES.shape, dtype="i4", chunks=(2, 4, 2), order="F", compressors=None)
    array[:] = VALUES
    for form, order in (("zarr2", "F"), ("nczarr", "C")):
        nczarr.convert(tmp_path / "a.zarr", tmp_path / form, form)
        assert json.loads((tmp_path / form / "v/.zarray").read_text())["order"] == order
        assert np.array_equal(zarr.open(str(tmp_path / form))["v"][:], VALUES)
