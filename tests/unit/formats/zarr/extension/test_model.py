from __future__ import annotations

import json

import pytest

from nczarr.ast import CompoundType, Constant, EnumConstant, EnumType, Field, OpaqueType, Quantize, VlenType
from nczarr.formats.zarr.extension.model import ArrayExtension, AttributeExtension, GroupExtension, Superblock

NESTED = Constant(type="/seq", count=2, data=(Constant.numbers("int", [1, 2]), Constant.numbers("int", [])))
TYPES = (
    EnumType(name="e", base="ubyte", constants=(EnumConstant(name="a b", value=3), EnumConstant(name="c", value=255))),
    OpaqueType(name="o", size=16),
    VlenType(name="seq", base="int"),
    CompoundType(
        name="c",
        fields=(Field(name="t", type="int64", offset=8), Field(name="v", type="/g/x", shape=(3, 2))),
        size=48,
    ),
)


@pytest.mark.parametrize(
    "extension",
    [
        Superblock(),
        Superblock("nc7", "ocean", "2.1.0"),
        GroupExtension(),
        GroupExtension(TYPES, ("a", "b"), ("_Anonymous_Dim_4",)),
        GroupExtension(variable=ArrayExtension(type="/seq", dimensions=("/t", 4))),
        ArrayExtension(),
        ArrayExtension(
            "char", ("/x",), "compact", (), ((4, 32, 8), (2,)), "native", "nofill",
            Quantize(algorithm="bitgroom", digits=3), {"": ((0, 2), (9, 1))},
        ),
        ArrayExtension(nil={"a": ((0, 1),), "b/content": ((1, 1),)}),
        AttributeExtension(Constant.text(b"a\0\xff")),
        AttributeExtension(Constant.strings([b"a", None, b"\xff"]), 3),
        AttributeExtension(NESTED, 0),
        AttributeExtension(Constant(type="/o", count=1, data=bytes(16))),
        AttributeExtension(Constant.numbers("double", [])),
    ],
)  # fmt: skip
def test_the_extension_reads_back_from_json(extension) -> None:  # type: ignore[no-untyped-def]
    document = json.loads(json.dumps(extension.to_json()))
    assert type(extension).from_json(document) == extension


def test_what_says_nothing_is_not_written() -> None:
    assert ArrayExtension().to_json() == {}
    assert GroupExtension().to_json() == {}
    assert Superblock().to_json() == {"version": "1"}
