"""Elements that stores have and the model has not: what they are in the tree, and the way back."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.elements import (
    as_stored,
    declared,
    element_of,
    model_bytes,
    modelled,
    stored_bytes,
    stored_dtype,
    suits,
)
from nczarr.arrays.grid import converted
from nczarr.arrays.source import numpy_dtype
from nczarr.ast.storage import Element
from nczarr.diagnostics.report import CompileError

VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "float16": [0.0, -0.0, 1.5, 65504.0, 2.0**-24, np.inf, -np.inf, np.nan],
    "complex64": [0, 1 - 2j, complex(np.nan, -0.0), complex(np.inf, 3)],
    "complex128": [0, 1 - 2j, complex(np.nan, -0.0), complex(np.inf, 1e300)],
    "datetime64[ns]": [0, -1, 2**62, "NaT"],
    "timedelta64[25us]": [0, -1, 2**62, "NaT"],
}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("element", list(VALUES))
def test_every_element_comes_back_bit_by_bit(element: Element, order: str) -> None:
    dtype = stored_dtype(element).replace("<", order)
    assert element_of(dtype) == element
    for value in VALUES[element]:
        stored = np.array([value], "<i8" if isinstance(value, int) and dtype[1] in "Mm" else dtype).astype(dtype)
        inside = converted(stored, modelled(stored_dtype(element)))
        assert model_bytes(stored.tobytes(), dtype) == inside.tobytes()
        assert stored_bytes(inside.tobytes(), dtype) == stored.tobytes()
        back = as_stored(inside, dtype)
        assert back.astype(back.dtype.newbyteorder(order)).tobytes() == stored.tobytes()


@pytest.mark.parametrize("bits", [0x7C01, 0x7E00, 0xFE01, 0x7FFF])
def test_halves_keep_the_bits_of_a_nan(bits: int) -> None:
    data = struct.pack("<H", bits)
    quiet = struct.pack("<H", bits | 0x200)  # what is widened is quiet
    assert stored_bytes(model_bytes(data, "<f2"), "<f2") in (data, quiet)


@pytest.mark.parametrize("value", [0.1, 65520.0, 1e-8, 1 + 2**-11])
def test_a_float_that_is_no_half_is_refused(value: float) -> None:
    with pytest.raises(OverflowError, match="has no exact 16-bit representation"):
        as_stored(np.array([1.0, value], "<f4"), "<f2")


def test_other_elements_are_as_they_are() -> None:
    assert modelled(">i4") == ">i4"
    assert modelled((("a", "<c8", (2,)), ("b", "|b1", ()))) == (
        ("a", (("r", "<f4", ()), ("i", "<f4", ())), (2,)),
        ("b", "|i1", ()),
    )
    assert element_of("<f4") is None
    assert numpy_dtype(modelled("<c16")).itemsize == 16


def test_what_types_an_element_suits() -> None:
    types = {"/b": declared("bool", "b"), "/c": declared("complex64", "c"), "/z": declared("complex128", "z")}
    assert suits("bool", "/b", types)
    assert suits("complex64", "/c", types)
    assert not suits("complex64", "/z", types)
    assert not suits("bool", "byte", types)
    assert suits("float16", "float", types)
    assert not suits("float16", "double", types)


NOTATION = "dataset d 2.0.0 { enum b byte { FALSE 0 TRUE 1 } variable v %s 2 { element %s } }"


@pytest.mark.parametrize(("type_name", "element"), [("/b", "bool"), ("float", "float16")])
def test_the_notation_has_elements(type_name: str, element: str) -> None:
    found = nczarr.from_notation(NOTATION % (type_name, element))
    assert found.dataset.variables[0].storage.element == element
    assert nczarr.from_notation(found.to_notation()).dataset == found.dataset


@pytest.mark.parametrize(
    ("type_name", "element", "code"),
    [("int", "bool", "bad-storage"), ("/b", "complex64", "bad-storage"), ("float", "bfloat16", "unknown-word")],
)
def test_an_element_has_to_suit_the_type(type_name: str, element: str, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        nczarr.from_notation(NOTATION % (type_name, element))
    assert [each.code for each in caught.value.diagnostics] == [code]


def test_floats_whose_fill_is_no_half_stay_floats(tmp_path: Path) -> None:
    dataset = nczarr.from_notation("dataset d 2.0.0 {\n  variable v float 3 {\n    element float16\n  }\n}\n")
    nczarr.write(dataset, tmp_path / "d.zarr", format="zarr2")
    assert json.loads((tmp_path / "d.zarr/v/.zarray").read_bytes())["dtype"] == "<f4"
    assert nczarr.open(tmp_path / "d.zarr")["/v"][...].tolist() == dataset["/v"][...].tolist()
