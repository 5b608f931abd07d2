"""Objects of xarray in place of paths, in every function that takes a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr

xarray = pytest.importorskip("xarray")


def make(first: int = 0) -> xarray.Dataset:
    return xarray.Dataset({"a": ("x", np.arange(3.0) + first)}, coords={"x": np.arange(3) + first})


def test_open_and_compare() -> None:
    assert list(nczarr.open(make())) == list(nczarr.from_xarray(make()))
    assert nczarr.digest(make()) == nczarr.digest(nczarr.from_xarray(make()))
    assert nczarr.diff(make(), nczarr.from_xarray(make())) == []
    assert [each.path for each in nczarr.diff(make(), make(1))] == ["/a", "/x"]
    assert nczarr.diff(make()["a"], make()["a"]) == []


def test_check_and_info() -> None:
    assert nczarr.check(make()) == []
    assert nczarr.check(make(), data=True) == []
    assert [each.code for each in nczarr.check(make(), cf=True, select=["cf"])][:1] == ["cf-conventions"]
    with pytest.raises(ValueError, match="reads what is stored"):
        nczarr.check(make(), readers="zarr-python")
    tree = xarray.DataTree.from_dict({"/": make(), "/g": make().rename(a="b")})
    assert (nczarr.info(tree)["groups"], nczarr.info(make())["size"]) == (1, 48)


def test_write_join_and_append(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    converted = nczarr.convert(make(), tmp_path / "c.zarr")
    assert converted.format == "zarr3"
    xarray.testing.assert_identical(xarray.open_zarr(tmp_path / "c.zarr").load(), make())
    nczarr.rechunk(make(), tmp_path / "r.zarr", chunks={"x": 2})
    assert nczarr.diff(tmp_path / "r.zarr", make()) == []
    joined = tmp_path / "j.zarr"
    assert nczarr.check([make(), make(3)], combine=True, along="x") == []
    nczarr.combine([make(), make(3)], joined, along="x")
    nczarr.append(make(6), joined, along="x")
    nczarr.append([make(9), make(12)], joined, along="x")
    wanted = xarray.concat([make(first) for first in range(0, 15, 3)], "x")
    with xarray.open_dataset(joined, engine="nczarr") as found:
        xarray.testing.assert_equal(found.load(), wanted)


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_others_are_refused(wrong: object, tmp_path: Path) -> None:
    for call in (nczarr.digest, nczarr.info, nczarr.check, nczarr.open):
        with pytest.raises(TypeError, match="a dataset is opened from"):
            call(wrong)
    with pytest.raises(TypeError, match="a dataset is opened from"):
        nczarr.convert(wrong, tmp_path / "a.nc")
    assert list(tmp_path.iterdir()) == []


class Quantity:
    """An array with units as pint has it, which `__array__` and dask would omit."""

    def __init__(self, magnitude: Any) -> None:
        self.magnitude, self.shape, self.dtype, self.ndim = magnitude, magnitude.shape, magnitude.dtype, magnitude.ndim

    def __array__(self, *_: object, **__: object) -> Any:
        return np.asarray(self.magnitude)

    def __dask_graph__(self) -> Any:
        return None

    def __array_function__(self, *_: object) -> Any:
        return NotImplemented

    __array_ufunc__ = __array_function__

    def __getitem__(self, key: Any) -> Quantity:
        return Quantity(self.magnitude[key])


Quantity.__module__ = "pint"


def wrap_directly(data: Any) -> Any:
    return Quantity(data)


def wrap_in_dask(data: Any) -> Any:
    array = pytest.importorskip("dask.array").from_array(data)
    array._meta = Quantity(data[:0])
    return array


@pytest.mark.parametrize("wrap", [wrap_directly, wrap_in_dask])
def test_arrays_with_units_of_pint_are_refused(wrap: Any, tmp_path: Path) -> None:
    found = xarray.Dataset({"a": ("x", wrap(np.arange(3.0)))})
    builder = nczarr.DatasetBuilder()
    builder.dimension("x", 3)
    builder.variable("a", "double", dimensions=["x"])
    for call in (
        lambda: nczarr.write(found, tmp_path / "a.nc"),
        lambda: nczarr.digest(found),
        lambda: builder.finish({"a": wrap(np.arange(3.0))}),
        lambda: builder.finish({"a": found["a"]}),
    ):
        with pytest.raises(nczarr.CompileError, match=r"has units of pint beside its values") as refused:
            call()
        assert "`.pint.dequantify()`" in refused.value.diagnostics[0].helps[0]
    assert not (tmp_path / "a.nc").exists()
