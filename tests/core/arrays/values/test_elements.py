"""Elements that stores have and the model has not: what they are in the tree, and the way back."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.grid import convert
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.elements import (
    as_stored,
    convert_to_stored,
    declare_type,
    element_of,
    find_stored_dtype,
    is_element_name,
    model_bytes,
    model_dtype,
    suits,
)
from nczarr.ast import CompoundType, Field
from nczarr.ast.dataset import Element
from nczarr.diagnostics.report import CompileError
from nczarr.plan.chunk_lengths import survey

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
    dtype = find_stored_dtype(element).replace("<", order)
    assert element_of(dtype) == element
    for value in VALUES[element]:
        stored = np.array([value], "<i8" if isinstance(value, int) and dtype[1] in "Mm" else dtype).astype(dtype)
        inside = convert(stored, model_dtype(find_stored_dtype(element)))
        assert model_bytes(stored.tobytes(), dtype) == inside.tobytes()
        assert convert_to_stored(inside.tobytes(), dtype) == stored.tobytes()
        back = as_stored(inside, dtype)
        assert back.astype(back.dtype.newbyteorder(order)).tobytes() == stored.tobytes()


@pytest.mark.parametrize("bits", [0x7C01, 0x7E00, 0xFE01, 0x7FFF])
def test_halves_keep_the_bits_of_a_nan(bits: int) -> None:
    data = struct.pack("<H", bits)
    quiet = struct.pack("<H", bits | 0x200)  # what is widened is quiet
    assert convert_to_stored(model_bytes(data, "<f2"), "<f2") in (data, quiet)


@pytest.mark.parametrize("value", [0.1, 65520.0, 1e-8, 1 + 2**-11])
def test_a_float_that_is_no_half_is_refused(value: float) -> None:
    with pytest.raises(OverflowError, match="has no exact 16-bit representation"):
        as_stored(np.array([1.0, value], "<f4"), "<f2")


def test_other_elements_are_as_they_are() -> None:
    assert model_dtype(">i4") == ">i4"
    assert model_dtype((("a", "<c8", (2,)), ("b", "|b1", ()))) == (
        ("a", (("r", "<f4", ()), ("i", "<f4", ())), (2,)),
        ("b", "|i1", ()),
    )
    assert element_of("<f4") is None
    assert numpy_dtype(model_dtype("<c16")).itemsize == 16


def test_what_types_an_element_suits() -> None:
    types = {
        "/b": declare_type("bool", "b"),
        "/c": declare_type("complex64", "c"),
        "/z": declare_type("complex128", "z"),
    }
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


RECORD = (("a", ">i2", ()), ("t", "<M8[s]", ()), ("u", "<U2", ()), ("s", "|S3", ()), ("h", "<f2", ()),
          ("in", (("b", "|b1", ()), ("c", ">c8", ())), ()))  # fmt: skip


def test_a_record_of_foreign_fields_has_a_name_and_comes_back() -> None:
    name = element_of(RECORD)
    assert name == (
        'struct[["a","<i2"],["t","<M8[s]"],["u","<U2"],["s","|S3"],["h","<f2"],["in",[["b","|b1"],["c","<c8"]]]]'
    )
    stored = numpy_dtype(find_stored_dtype(name))
    values = np.zeros(3, stored)
    values["a"], values["u"], values["s"], values["h"] = [1, -2, 3], ["é", "ab", ""], [b"x", b"", b"xyz"], [0.5, 1, -2]
    values["t"], values["in"]["c"] = np.array([0, -1, 2**40]).view("M8[s]"), [1j, 2, 3 - 1j]
    inside = convert(values, model_dtype(find_stored_dtype(name)))
    assert inside.dtype["u"] == np.dtype(("<u4", 2))
    assert inside["u"].tolist() == [[233, 0], [97, 98], [0, 0]]
    assert inside.dtype["h"] == np.dtype("<f4")
    back = as_stored(inside, find_stored_dtype(name))
    assert back.dtype == stored
    assert back.tobytes() == values.tobytes()
    assert convert_to_stored(inside[0].tobytes(), find_stored_dtype(name)) == values[0].tobytes()
    with pytest.raises(OverflowError, match="no exact 16-bit"):
        as_stored(np.where(np.arange(3) == 0, 0.1, inside["h"]).astype("<f4").view([("h", "<f4")]), (("h", "<f2", ()),))


@pytest.mark.parametrize(
    "name",
    ["struct", "struct[]", 'struct[["a","<i4"]]', 'struct[["a","|O"]]', 'struct[["a","<q9"]]', 'struct[["a"]]',
     'struct[["a","<f2",[-1]]]', 'struct[["a","<f2","x"]]', "struct" + "[" * 4000, "bytes[0]", "utf32[x]"],
)  # fmt: skip
def test_what_names_no_element(name: str) -> None:
    assert not is_element_name(name)


@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
@pytest.mark.parametrize(
    ("element", "fill", "kept"),
    [
        ("utf32[2]", "bé", "<U2"),
        ("bytes[3]", "bé", "|S3"),
        ("utf32[2]", "abc", None),  # too long
        ("bytes[3]", "béé", None),
    ],
)
def test_texts_of_fixed_length_are_kept_where_they_fit(
    element: str, fill: str, kept: str | None, form: str, tmp_path: Path
) -> None:
    said = {"name": "_FillValue", "value": {"type": "string", "values": [fill]}}
    dataset = ast_json({"name": "v", "type": "string", "dimensions": [2], "storage": {"element": element},
                        "attributes": [said]})  # fmt: skip
    (tmp_path / "d.ast.json").write_text(dataset)
    nczarr.convert(tmp_path / "d.ast.json", tmp_path / "d.zarr", form)
    found = nczarr.open(tmp_path / "d.zarr")
    assert found["/v"][...].tolist() == nczarr.open(tmp_path / "d.ast.json")["/v"][...].tolist()
    assert found.dataset.variables[0].storage.element == (None if kept is None else element)
    metadata = json.loads((tmp_path / "d.zarr/v" / (".zarray" if form == "zarr2" else "zarr.json")).read_text())
    if form == "zarr2":
        assert metadata["dtype"] == (kept or "|O")
    else:
        known = {"<U2": "fixed_length_utf32", "|S3": "null_terminated_bytes"}
        assert metadata["data_type"] == "string" if kept is None else metadata["data_type"]["name"] == known[kept]


def ast_json(variable: dict[str, Any]) -> str:
    return json.dumps({"ast": 1, "dataset": {"name": "d", "variables": [variable]}})


def test_the_notation_has_records(tmp_path: Path) -> None:
    """A record of a store is one word in the notation."""
    metadata = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": [["a", "<i2"], ["t", "<M8[s]"]],
                "fill_value": None, "order": "C", "compressor": None, "filters": None}  # fmt: skip
    (tmp_path / "s.zarr/v").mkdir(parents=True)
    (tmp_path / "s.zarr/.zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "s.zarr/v/.zarray").write_text(json.dumps(metadata))
    found = nczarr.open(tmp_path / "s.zarr")
    assert found.dataset.variables[0].storage.element == 'struct[["a","<i2"],["t","<M8[s]"]]'
    assert nczarr.from_notation(found.to_notation()).dataset.variables[0].storage == found.dataset.variables[0].storage
    nczarr.convert(tmp_path / "s.zarr", tmp_path / "n.zarr", "nczarr")
    assert nczarr.diff(tmp_path / "s.zarr", tmp_path / "n.zarr", storage=True) == []


def test_a_nul_at_the_end_is_seen() -> None:
    assert survey(None, b"a\0", characters=True).trailing
    assert not survey(None, "é".encode(), characters=True).trailing
    assert survey(None, "é".encode(), characters=True).characters == 1


def test_a_record_with_strings_suits_no_complex_number() -> None:
    types: dict[str, Any] = {"/c": CompoundType(name="c", fields=(Field(name="r", type="string"),))}
    assert not suits("complex64", "/c", types)
