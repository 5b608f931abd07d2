"""Values of attributes as xarray gets them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.api.node_handles import GroupHandle
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.plugins.xarray.values import OpenedDataset
from tests.support.library import library
from tests.support.making import checked


@pytest.fixture
def opened() -> OpenedDataset:
    """A dataset without nodes, open."""
    return OpenedDataset(GroupHandle(checked(Dataset(name="d"))))


def test_values_that_may_change_are_not_shared(opened: OpenedDataset) -> None:
    numbers, number = Constant.numbers("int", [1, 2]), Constant.numbers("int", [3])
    declared = tuple(
        Attribute(name=name, value=value) for name, value in (("a", numbers), ("b", numbers), ("c", number))
    )
    first, second = opened.attributes(declared), opened.attributes(declared)
    first["a"][0] = 9
    assert first["b"].tolist() == second["a"].tolist() == [1, 2]
    assert first["c"] is second["c"]
    assert first["c"] == np.int32(3)
    texts = opened.attributes([Attribute(name="t", value=Constant.strings([b"a", b"b"]))])
    assert texts == {"t": ["a", "b"]}


def test_a_fill_value_of_chars_shares_its_constant(opened: OpenedDataset) -> None:
    letter, text = Constant.text(b"x"), Constant.strings([b"y"])
    declared = [Attribute(name=name, value=letter) for name in ("units", "_FillValue", "note")]
    assert opened.attributes(declared) == {"units": "x", "_FillValue": b"x", "note": "x"}
    assert opened.attributes([Attribute(name="_FillValue", value=text)]) == {"_FillValue": "y"}


def test_strings_with_an_encoding_are_not_decoded_again(tmp_path: Path) -> None:
    xr = library("xarray")
    text = 'netcdf s { dimensions: x = 2 ; variables: string s(x) ; s:_Encoding = "utf-8" ; data: s = "a", "bé" ; }'
    (tmp_path / "s.cdl").write_text(text)
    for name in ("s.nc", "s.zarr"):
        nczarr.convert(tmp_path / "s.cdl", tmp_path / name)
        with xr.open_dataset(tmp_path / name, engine="nczarr") as data:
            assert data["s"].values.tolist() == ["a", "bé"], name
