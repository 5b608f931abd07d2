"""Values of attributes as xarray gets them."""

from __future__ import annotations

import numpy as np
import pytest

from nczarr.api.node_handles import GroupHandle
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.plugins.xarray.values import OpenedDataset
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
