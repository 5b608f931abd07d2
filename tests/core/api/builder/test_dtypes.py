"""NumPy's dtypes and their names as types of the builder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nczarr

TYPES = {
    "int8": "byte", "u1": "ubyte", "int16": "short", "<u2": "ushort", "int32": "int", "=u4": "uint", "int64": "int64",
    "uint64": "uint64", "float32": "float", "float64": "double", "f8": "double", "S1": "char", "str": "string",
    "int": "int", "float": "float", "double": "double", "byte": "byte",
}  # fmt: skip


def made(kind: Any, **more: Any) -> Any:
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", kind, [1], **more)
    return builder.finish()["v"].variable


@pytest.mark.parametrize("name", TYPES)
def test_names(name: str) -> None:
    assert made(name).type == TYPES[name]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(np.int16, "short"), (np.dtype("f4"), "float"), (float, "double"), (int, "int64"), (str, "string"),
     (np.uint8, "ubyte"), (np.dtype("S1"), "char"), (np.dtype("U5"), "string")],
)  # fmt: skip
def test_objects(given: Any, wanted: str) -> None:
    assert made(given).type == wanted


def test_the_byte_order_of_a_dtype_is_that_of_the_storage() -> None:
    assert made(">f4").storage.endian == "big"
    assert made(np.dtype(">i2")).storage.endian == "big"
    assert made("<i8").storage.endian == "little"
    assert made(">f4", endian="little").storage.endian == "little"
    assert made(np.int16).storage.endian is None
    assert made(">u1").storage.endian is None


@pytest.mark.parametrize(
    "given", [bool, np.bool_, complex, np.float16, "S5", np.dtype("S5"), object, "f2", "M8[s]", 5, None, [("a", "i4")]]
)
def test_others_are_errors(given: Any) -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        made(given)
    assert caught.value.diagnostics[0].code == "undefined-type"


def test_a_declared_type_has_its_name() -> None:
    builder = nczarr.DatasetBuilder("t")
    builder.enum("int8", "short", {"a": 0})
    builder.variable("v", "int8", [1])
    assert builder.finish()["v"].type == "/int8"
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int8", [1])
    with pytest.raises(nczarr.CompileError, match="used before its declaration, as NumPy's dtype"):
        builder.enum("int8", "short", {"a": 0})


def test_fields_lists_and_attributes() -> None:
    builder = nczarr.DatasetBuilder("t")
    record = builder.compound("c", {"x": "float32", "y": (np.int16, 2)})
    several = builder.vlen("l", np.uint8)
    builder.variable("v", record, [1])
    builder.variable("w", several, [1])
    builder.attribute("a", 1, type="uint16")
    found = builder.finish({"v": [(1.5, [1, 2])], "w": [[1, 2]]})
    assert found["v"].dtype == np.dtype([("x", "<f4"), ("y", "<i2", (2,))])
    assert found["w"][0].dtype == np.uint8
    assert found.dataset.attributes[0].value.type == "ushort"
