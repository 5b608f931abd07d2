"""Unpacked variables have the type and the cells that xarray decodes, bit for bit, for packings that are drawn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as drawn_arrays

import nczarr

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
FACTORS = {"f4": (0.01, -0.5, 1e-3, 3.0), "f8": (0.01, 0.0173, -0.1, 1.0), "i2": (2, -3), "i4": (10,), "u1": (5,)}
OFFSETS = {"f4": (273.15, -1.5), "f8": (288.44, 1e-3, 0.0), "i2": (7,), "i8": (-4,)}


class Packed(NamedTuple):
    """A packed variable as it is stored."""

    values: np.ndarray[Any, Any]
    attributes: dict[str, Any]
    unlimited: bool
    group: bool


def factors(choices: dict[str, tuple[Any, ...]]) -> st.SearchStrategy[Any]:
    """A number of an attribute in its own type, or one in a vector."""
    pairs = [np.dtype(kind).type(number) for kind, numbers in choices.items() for number in numbers]
    return st.sampled_from(pairs) | st.sampled_from([np.array([pair]) for pair in pairs])


@st.composite
def packed_variables(draw: st.DrawFn) -> Packed:
    """A packed variable with values that are often missing."""
    dtype = np.dtype(draw(st.sampled_from((*INTEGERS, "f4", "f8"))))
    shape = draw(st.sampled_from(((), (0,), (5,), (3, 4), (0, 3), (2, 3, 2))))
    numbers = drawn_arrays.from_dtype(dtype, allow_nan=True, allow_infinity=True)
    values = draw(drawn_arrays.arrays(dtype, shape, elements=numbers))
    attributes: dict[str, Any] = {}
    scaled, moved = draw(st.sampled_from(((True, True), (True, False), (False, True))))
    if scaled:
        attributes["scale_factor"] = draw(factors(FACTORS))
    if moved:
        attributes["add_offset"] = draw(factors(OFFSETS))
    if dtype.kind in "iu" and draw(st.booleans()):
        attributes["_Unsigned"] = draw(st.sampled_from(("true", "false")))
    own = st.sampled_from(list(values.reshape(-1))) if values.size else numbers
    marks = st.one_of(own, numbers) if dtype.kind in "iu" else st.one_of(own, numbers, st.just(dtype.type(np.nan)))
    if draw(st.booleans()):
        attributes["_FillValue"] = draw(marks)
    if "_Unsigned" not in attributes and draw(st.booleans()):
        attributes["missing_value"] = draw(marks | st.lists(marks, min_size=2, max_size=2).map(np.array))
    return Packed(values, attributes, draw(st.booleans()), draw(st.booleans()))


def write(path: Path, packed: Packed, netcdf: ModuleType) -> str:
    """Write a file with the variable; return its name from the root."""
    with netcdf.Dataset(path, "w") as root:
        group = root.createGroup("g") if packed.group else root
        axes = [f"d{axis}" for axis in range(packed.values.ndim)]
        for axis, length in zip(axes, packed.values.shape, strict=True):
            root.createDimension(axis, None if packed.unlimited and axis == "d0" else length)
        attributes = dict(packed.attributes)
        fill = attributes.pop("_FillValue", None)
        variable = group.createVariable("v", packed.values.dtype, axes, fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable.setncatts(attributes)
        if packed.values.size:
            variable[...] = packed.values
    return "g/v" if packed.group else "v"


def decode(xarray: ModuleType, values: np.ndarray[Any, Any], attributes: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The cells as xarray decodes them."""
    scalars = {name: one[0] if np.shape(one) == (1,) else one for name, one in attributes.items()}  # as libraries do
    axes = [f"d{axis}" for axis in range(values.ndim)]
    variable = xarray.Variable(axes, values, scalars)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found: np.ndarray[Any, Any] = xarray.conventions.decode_cf_variable("v", variable, decode_times=False).values
    return found


def expect(xarray: ModuleType, packed: Packed) -> np.ndarray[Any, Any]:
    """The cells as xarray decodes them; missing where the stored number is a mark, also where rounding hides it."""
    values, attributes = packed.values, dict(packed.attributes)
    marks = [
        each for name in ("_FillValue", "missing_value") if name in attributes for each in np.ravel(attributes[name])
    ]
    kinds = {np.ravel(one).dtype.kind for name, one in attributes.items() if name in ("scale_factor", "add_offset")}
    if "add_offset" not in attributes and kinds != {"f"}:  # xarray has integers here, without missing ones
        attributes["scale_factor"] = np.ravel(attributes["scale_factor"]).astype("f8")[0]
        if values.dtype.kind == "f":
            attributes.pop("_Unsigned", None)
    if values.dtype.kind == "f" and not (marks and np.isnan(marks).all()):
        attributes = {name: one for name, one in attributes.items() if name not in ("_FillValue", "missing_value")}
    if values.dtype.kind in "iu":
        attributes = {name: one for name, one in attributes.items() if name not in ("_FillValue", "missing_value")}
    decoded = np.array(decode(xarray, values, attributes))
    missing = np.isin(values, np.array(marks, values.dtype)) if marks else np.zeros(values.shape, bool)
    decoded[missing] = np.nan
    return decoded


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(packed=packed_variables())
def test_cells_and_type_are_those_of_xarray(
    packed: Packed, peer: Callable[[str], ModuleType], tmp_path_factory: pytest.TempPathFactory
) -> None:
    netcdf, xarray = peer("netCDF4"), peer("xarray")
    folder = tmp_path_factory.mktemp("packed")
    name = write(folder / "packed.nc", packed, netcdf)
    nczarr.convert(folder / "packed.nc", folder / "plain.zarr", unpack=True, verify=True, allow_loss=["all"])
    made = nczarr.open(folder / "plain.zarr")[name]
    wanted = expect(xarray, packed)
    found = np.asarray(made[...])
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted, equal_nan=True)
    names = {"scale_factor", "add_offset", "_Unsigned", "missing_value"}
    assert names.isdisjoint(made.attributes)
    assert np.isnan(made.attributes["_FillValue"])
    narrow = packed.values.dtype.itemsize <= 2 and "_Unsigned" not in packed.attributes
    kinds = {
        np.ravel(packed.attributes[each]).dtype.kind
        for each in ("scale_factor", "add_offset")
        if each in packed.attributes
    }
    if narrow and ("add_offset" in packed.attributes or kinds == {"f"}):  # no rounding hides a mark
        decoded = decode(xarray, packed.values, packed.attributes)
        assert decoded.dtype == found.dtype
        assert np.array_equal(found, decoded, equal_nan=True)
