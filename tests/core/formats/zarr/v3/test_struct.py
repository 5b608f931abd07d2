"""Records of Zarr v3 in their two forms, `struct` and `structured`: values, fill values, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nczarr.ast import CompoundType
from nczarr.diagnostics.report import CompileError, Diagnostic
from nczarr.formats.zarr.v3.dtypes import fill_bytes, fill_value
from nczarr.pipeline.select.indexing import read
from nczarr.semantics.checked import Checked
from nczarr.stores.memory import MemoryStore
from tests.support.stores import opened

INNER = {"name": "struct", "configuration": {"fields": [{"name": "p", "data_type": "float64"}]}}
FIELDS = [
    {"name": "a", "data_type": "int32"},
    {"name": "s", "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}},
    {"name": "in", "data_type": INNER},
    {"name": "r", "data_type": "r16"},
    {"name": "h", "data_type": "float16"},
]
FILL = {"a": 9, "s": "bm8=", "in": {"p": 1.25}, "r": [1, 2], "h": 0.5}
RECORD = [("a", "i4"), ("s", "S3"), ("in", [("p", "f8")]), ("r", "V2"), ("h", "f2")]


def record(fields: Any = FIELDS, name: str = "struct") -> Any:
    return {"name": name, "configuration": {"fields": fields}}


def store(data_type: Any, fill: Any, chunks: dict[str, bytes], endian: str = "little") -> MemoryStore:
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [3], "data_type": data_type, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "attributes": {}, "dimension_names": ["x"],
        "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
    }  # fmt: skip
    documents = {"zarr.json": json.dumps(group).encode(), "v/zarr.json": json.dumps(array).encode()}
    return MemoryStore({**documents, **{f"v/c/{key}": data for key, data in chunks.items()}})


def values(found: Checked) -> list[Any]:
    listed: list[Any] = read(found, "/v", ...).tolist()
    return listed


@pytest.mark.parametrize("endian", ["little", "big"])
def test_nested_records_are_read_in_both_byte_orders(endian: str) -> None:
    stored = np.array([(1, b"x", (0.5,), b"ab", 1.5), (2, b"yz", (2.5,), b"\1\2", 2.5)], RECORD)
    stored = stored.astype(stored.dtype.newbyteorder("<" if endian == "little" else ">"))
    chunks = {"0": stored[:1].tobytes(), "1": stored[1:].tobytes()}
    found, said = opened(store(record(), FILL, chunks, endian))
    assert said == []
    kinds = {each.name: each for each in found.dataset.types}
    made = kinds["v_t"]
    assert isinstance(made, CompoundType)
    assert [(each.name, each.type, each.shape) for each in made.fields] == [
        ("a", "int", ()), ("s", "char", (3,)), ("in", "/v_in_t", ()), ("r", "/opaque_2", ()),
        ("h", "float", ()),
    ]  # fmt: skip
    seen = read(found, "/v", ...)
    assert seen["a"].tolist() == [1, 2, 9]
    assert seen["h"].tolist() == [1.5, 2.5, 0.5]
    assert seen["in"]["p"].tolist() == [0.5, 2.5, 1.25]
    assert seen["s"].tobytes() == b"x\0\0yz\0no\0"
    assert seen["r"].tobytes() == b"ab\1\2\1\2"


@pytest.mark.parametrize("name", ["struct", "structured"])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("fill", [{"a": 1, "b": 2}, "AQAAAAIA"])
def test_both_names_take_both_forms(name: str, pairs: bool, fill: Any) -> None:
    fields: Any = [["a", "int32"], ["b", "int16"]]
    if not pairs:
        fields = [{"name": each, "data_type": kind} for each, kind in fields]
    found, said = opened(store(record(fields, name), fill, {}))
    assert said == []
    assert values(found) == [(1, 2)] * 3


def lost(said: list[Diagnostic]) -> list[tuple[str, str | None, str | None]]:
    return [(each.code, each.primary.key, each.primary.pointer) for each in said]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ([], "without fields"),
        ([{"name": "t", "data_type": {"name": "numpy.datetime64", "configuration": {}}}], "`t` has type `numpy.dat"),
        ([{"name": "t", "data_type": "string"}], "`t` has no fixed size"),
        ([{"name": "t", "data_type": "int8"}] * 2, "two fields `t`"),
        ([{"name": "", "data_type": "int8"}], "without a name"),
        ([{"name": "t"}], "not pairs"),
        ([5], "not pairs"),
        ([{"name": "t", "data_type": record([["u", "fixed_length_utf32"]])}], "field `u`"),
    ],
)
def test_unreadable_records_name_the_field(fields: Any, words: str) -> None:
    found, said = opened(store(record(fields), {}, {}))
    assert lost(said) == [("unreadable-array", "v/zarr.json", "/data_type")]
    assert words in said[0].message
    assert found.dataset.variables == ()


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        ({**FILL, "a": 2**31}, "field `a`: `2147483648` is out of range for int32"),
        ({**FILL, "in": {"p": "x"}}, 'field `in`: field `p`: `"x"` is not a number of type float64'),
        ({key: value for key, value in FILL.items() if key != "h"}, "field `h` has no value"),
        ({**FILL, "z": 1}, "the record has no field `z`"),
        ({**FILL, "r": [1, 256]}, "field `r`"),
        ("AAAA", "has 3 bytes, but the type has 19"),
        ([1, 2], "is not a base64 text"),
        (None, "`null` is not a base64 text"),
    ],
)
def test_invalid_fill_values_of_records_name_the_field(fill: Any, words: str) -> None:
    found, said = opened(store(record(), fill, {}))
    assert lost(said) == [("bad-metadata", "v/zarr.json", "/fill_value")]
    assert words in said[0].message
    assert len(found.dataset.variables) == 1


@pytest.mark.parametrize("code", [0x41, 0xD800, 0x110000])
def test_fill_values_of_struct_may_have_texts_that_are_not_unicode(code: int) -> None:
    descr = (("a", "<i4", ()), ("u", "<U2", ()))
    fill = np.array([7, code, 0], "<u4").tobytes()
    written = fill_value(descr, fill, registered=True)
    assert isinstance(written, dict) == (code == 0x41)
    assert fill_bytes(descr, written) == fill


def test_a_chunk_with_an_impossible_code_point_is_reported() -> None:
    texts = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}
    found, said = opened(store(texts, "", {"0": b"\0\0\x11\0"}))
    assert said == []
    with pytest.raises(CompileError, match=r"unreadable-chunk: .*code point above 0x10ffff"):
        values(found)
