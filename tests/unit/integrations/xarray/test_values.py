"""Values of attributes as xarray gets them."""

from __future__ import annotations

import numpy as np

from nczarr.ast import Attribute, Constant
from nczarr.integrations.xarray.values import Known, attributes


def test_values_that_may_change_are_not_shared() -> None:
    numbers, number = Constant.numbers("int", [1, 2]), Constant.numbers("int", [3])
    declared = tuple(
        Attribute(name=name, value=value) for name, value in (("a", numbers), ("b", numbers), ("c", number))
    )
    known: Known = {}
    first, second = attributes(declared, {}, known), attributes(declared, {}, known)
    first["a"][0] = 9
    assert first["b"].tolist() == second["a"].tolist() == [1, 2]
    assert first["c"] is second["c"]
    assert first["c"] == np.int32(3)
    texts = attributes([Attribute(name="t", value=Constant.strings([b"a", b"b"]))], {}, known)
    assert texts == {"t": ["a", "b"]}


def test_a_fill_value_of_chars_shares_its_constant() -> None:
    letter = Constant.text(b"x")
    declared = [Attribute(name=name, value=letter) for name in ("units", "_FillValue", "note")]
    found = attributes(declared, {}, {})
    assert found == {"units": "x", "_FillValue": b"x", "note": "x"}
