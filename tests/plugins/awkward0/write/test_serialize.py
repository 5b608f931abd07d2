"""Documents and blobs of columns, numpy arrays and JSON: forms, ids, names, and what is refused."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError, Report
from nczarr.plugins.awkward0.columns.nodes import (
    ArrayPieces,
    BackReference,
    BitMasked,
    Column,
    Flat,
    Indexed,
    ListNode,
    Masked,
    Objects,
    Spans,
    Sparse,
    TableNode,
    TextNode,
    Union,
)
from nczarr.plugins.awkward0.write.serialize import LostPartsWarning, serialize

I8 = np.array


def schema(obj: Any, **options: Any) -> Any:
    """The expression of an array, and what was stored, beside each other."""
    storage: dict[str, bytes] = {}
    made = serialize(obj, storage, **options)
    key = (options.get("name") or "") + (options.get("schemasuffix") or "")
    assert json.loads(storage.pop(key)) == made
    return made["schema"], storage


def heads(expression: Any) -> Any:
    """The functions of an expression and of its arguments, the names of blobs, and JSON values."""
    if not isinstance(expression, dict):
        return expression
    if "call" in expression:
        return [".".join(expression["call"][1:]), *map(heads, expression.get("args", []))]
    (kind,) = expression.keys() & {"read", "json", "dtype", "ref", "list", "tuple", "pairs", "function", "dict"}
    inner = expression[kind]
    if kind in ("list", "tuple"):
        return [heads(each) for each in inner]
    return [[name, heads(each)] for name, each in inner] if kind == "pairs" else inner


def refused(obj: Any, **options: Any) -> str:
    storage: dict[str, bytes] = {}
    with pytest.raises(CompileError) as caught:
        serialize(obj, storage, **options)
    assert storage == {}
    assert {each.code for each in caught.value.diagnostics} == {"unsuited-array"}
    return caught.value.diagnostics[0].message


FLAT = Flat(np.array([1.5, 2.5, 3.5]))


def test_an_array_is_one_buffer() -> None:
    made, stored = schema(np.array([1, 2], "i4"))
    assert made == {
        "call": ["awkward0", "numpy", "frombuffer"],
        "args": [{"read": "0"}, {"dtype": "<i4"}, {"json": 2, "id": 1}],
        "id": 0,
    }
    assert stored == {"0": b"\1\0\0\0\2\0\0\0"}


@pytest.mark.parametrize(
    ("values", "dtype", "data"),
    [
        (np.array([1], ">i2"), ">i2", b"\0\1"),
        (np.array([True]), "|b1", b"\1"),
        (np.array([1], "u1"), "|u1", b"\1"),
        (np.array(["a"], "U2"), "<U2", b"a\0\0\0\0\0\0\0"),
        (np.array([b"a"], "S2"), "|S2", b"a\0"),
        (np.array([b"ab"], "V2"), "|V2", b"ab"),
        (np.array([1], "M8[s]"), "<M8[s]", b"\1" + bytes(7)),
        (np.zeros((1, 2, 3), "i1"), ["|i1", [2, 3]], bytes(6)),
        (np.array([[1, 2], [3, 4]], "u1", order="F"), ["|u1", [2]], b"\1\2\3\4"),
        (np.arange(6, dtype="u1")[::2], "|u1", b"\0\2\4"),
        (np.zeros(1, [("x", "<i2"), ("y", "|u1", (2,))]), [["x", "<i2"], ["y", ["|u1", [2]]]], bytes(4)),
        (np.zeros((0, 3), "f4"), ["<f4", [3]], b""),
    ],
)
def test_types_of_elements_say_their_order_of_bytes(values: Any, dtype: Any, data: bytes) -> None:
    made, stored = schema(values)
    assert made["args"][1] == {"dtype": dtype}
    assert stored == {"0": data}


def test_padding_of_structures_is_left_out() -> None:
    inner = np.dtype([("a", "i1"), ("b", "i4")], align=True)
    padded = np.dtype([("x", "i1"), ("s", inner), ("y", "i2", (2,))], align=True)
    values = np.frombuffer(bytes(range(1, 1 + padded.itemsize)), padded)
    made, stored = schema(values)
    assert made["args"][1] == {"dtype": [["x", "|i1"], ["s", [["a", "|i1"], ["b", "<i4"]]], ["y", ["<i2", [2]]]]}
    assert len(stored["0"]) == 1 + 5 + 4
    read = np.frombuffer(stored["0"], [("x", "i1"), ("s", [("a", "i1"), ("b", "<i4")]), ("y", "<i2", (2,))])
    assert repr(read.tolist()) == repr(values.tolist())


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (
            ListNode(I8([1, 2, 2, 3]), FLAT),
            ["JaggedArray.fromcounts", ["numpy.frombuffer", "1", "<i8", 3], ["numpy.frombuffer", "3", "<f8", 2]],
        ),
        (
            ListNode(I8([1]), FLAT),
            [
                "JaggedArray",
                ["numpy.frombuffer", "1", "<i8", 0],
                ["numpy.frombuffer", "3", "<i8", 0],
                ["numpy.frombuffer", "4", "<f8", 3],
            ],
        ),
        (
            Spans(I8([2, 0]), I8([3, 1]), FLAT),
            [
                "JaggedArray",
                ["numpy.frombuffer", "1", "<i8", 2],
                ["numpy.frombuffer", "3", "<i8", 2],
                ["numpy.frombuffer", "4", "<f8", 3],
            ],
        ),
        (
            Spans(I8([1, 2]), I8([2, 3]), FLAT),
            ["JaggedArray.fromcounts", ["numpy.frombuffer", "1", "<i8", 2], ["numpy.frombuffer", "3", "<f8", 2]],
        ),
        (
            TextNode(ListNode(I8([1, 2, 3], "i4"), Flat(np.frombuffer(b"abcd", "u1"))), None),
            [
                "StringArray.fromcounts",
                ["numpy.frombuffer", "1", "<i8", 2],
                ["numpy.frombuffer", "3", "|u1", 2],
                None,
            ],
        ),
        (TableNode(("x",), (FLAT,), 3), ["Table.frompairs", [["x", ["numpy.frombuffer", "1", "<f8", 3]]], 0]),
        (TableNode(("x",), (FLAT,), 1), ["Table.frompairs", [["x", ["numpy.frombuffer", "1", "<f8", 1]]], 0]),
        (TableNode((), (), 3), ["Table.fromview", [0, 1, 3], ["Table.frompairs", [], 0]]),
        (
            Masked(I8([2, 0], "u1"), FLAT, masked_when=False),
            ["MaskedArray", ["numpy.frombuffer", "1", "|b1", 2], ["numpy.frombuffer", "3", "<f8", 2], False],
        ),
        (
            BitMasked(I8([7], "u1"), FLAT, lsb_order=False),
            ["BitMaskedArray", ["numpy.frombuffer", "1", "|u1", 1], ["numpy.frombuffer", "3", "<f8", 3], True, False],
        ),
        (
            Indexed(I8([0, -7], "i2"), FLAT, optional=True),
            ["IndexedMaskedArray", ["numpy.frombuffer", "1", "<i8", 2], ["numpy.frombuffer", "3", "<f8", 3], -1],
        ),
        (
            Indexed(I8([0, 2], "u4"), FLAT),
            ["IndexedArray", ["numpy.frombuffer", "1", "<i8", 2], ["numpy.frombuffer", "3", "<f8", 3]],
        ),
        (
            Sparse(9, I8([1, 4, 8]), FLAT, 0.5),
            ["SparseArray", 9, ["numpy.frombuffer", "1", "<i8", 3], ["numpy.frombuffer", "3", "<f8", 3], 0.5],
        ),
        (
            Union(I8([0, 1, 0]), I8([0, 0, 1]), (FLAT, FLAT)),
            ["UnionArray.fromtags", ["numpy.frombuffer", "1", "|u1", 3], [["numpy.frombuffer", "3", "<f8", 3], 3]],
        ),
        (
            Union(I8([0, 0]), I8([1, 0]), (FLAT,)),
            [
                "UnionArray",
                ["numpy.frombuffer", "1", "|u1", 2],
                ["numpy.frombuffer", "3", "<i8", 2],
                [["numpy.frombuffer", "4", "<f8", 3]],
            ],
        ),
        (
            ArrayPieces((Flat(np.zeros(0)), FLAT, Flat(np.zeros(0)), Flat(np.ones(1)))),
            [
                "ChunkedArray",
                [["numpy.frombuffer", "1", "<f8", 3], ["numpy.frombuffer", "3", "<f8", 1]],
                [3, 1],
            ],
        ),
        (ArrayPieces((Flat(np.zeros(0, "i2")), Flat(np.zeros(0)))), ["numpy.frombuffer", "0", "<i2", 0]),
        (ArrayPieces(()), ["ChunkedArray", [], []]),
        (
            Objects(FLAT, ("lib", "Point"), (1, [2]), (("k", "v"),)),
            [
                "ObjectArray",
                ["numpy.frombuffer", "1", "<f8", 3],
                ["lib", "Point"],
                [1, [2]],
                {"k": {"json": "v", "id": 6}},
            ],
        ),
    ],
)
def test_forms(column: Column, wanted: Any) -> None:
    assert heads(schema(column)[0]) == wanted


def test_ids_are_those_of_awkward0() -> None:
    """Lengths have numbers; equal small ones have one number, large ones one each."""
    column = ListNode(np.array([0, 300, 600, 900]), Flat(np.zeros(900)))
    counts, content = schema(TableNode(("x", "y"), (column, ListNode(column.offsets, Flat(np.zeros(900)))), 3))[0][
        "args"
    ][0]["pairs"][1][1]["args"]
    assert (counts["id"], content["id"], content["args"][2]) == (7, 8, {"json": 900, "id": 9})


def test_the_same_object_is_written_once() -> None:
    lists = ListNode(I8([0, 1, 3, 3]), FLAT)
    made, stored = schema(TableNode(("a", "b", "c"), (lists, lists, FLAT), 3))
    pairs = made["args"][0]["pairs"]
    assert [pairs[1][1], pairs[2][1]] == [{"ref": pairs[0][1]["id"]}, {"ref": 4}]
    assert len(stored) == 2


def test_equal_arrays_that_are_two_are_written_twice() -> None:
    made, stored = schema(TableNode(("a", "b"), (Flat(np.zeros(2)), Flat(np.zeros(2))), 2))
    assert len(stored) == 2
    assert "ref" not in json.dumps(made)


def test_an_array_that_encloses_itself_is_a_reference() -> None:
    content: list[Column] = []
    tree = ListNode(
        I8([0, 2, 2]), Union(I8([0, 1]), I8([0, 0]), (BackReference(0, lambda: content[0]), Flat(np.zeros(1))))
    )
    content.append(tree)
    made, _ = schema(tree)
    assert made["args"][1]["args"][1]["list"][0] == {"ref": 0}


def test_a_reference_to_what_is_not_around_it_is_refused() -> None:
    assert (
        refused(ListNode(I8([0, 3]), BackReference(7, lambda: FLAT)))
        == "`/[]` refers to array 7, which does not enclose it as a whole"
    )


def test_names_of_blobs_and_documents() -> None:
    _, stored = schema(FLAT, name="v", delimiter="/.awkward0/", suffix=".raw", schemasuffix="/.awkward0/schema.json")
    assert list(stored) == ["v/.awkward0/0.raw"]
    _, stored = schema(FLAT, name="v", delimiter=None)
    assert list(stored) == ["v0"]
    _, stored = schema(FLAT, name="v", prefix="elsewhere/")
    assert list(stored) == ["elsewhere/0"]


def test_the_suffix_is_read_and_the_prefix_is_not() -> None:
    made, _ = schema(FLAT, name="v", suffix=".raw")
    assert made["args"][0] == {"read": "0.raw"}


def test_blobs_are_stored_before_the_document() -> None:
    storage: dict[str, bytes] = {}
    serialize(ListNode(I8([0, 3]), FLAT), storage, "a")
    assert list(storage) == ["a-1", "a-3", "a"]
    assert all(type(each) is bytes for each in storage.values())


def test_a_key_for_a_blob_and_the_document_is_refused() -> None:
    with pytest.raises(ValueError, match="'0' would be the key"):
        serialize(FLAT, {}, name="0", prefix="")


def test_the_document_is_ascii_and_says_what_wrote_it() -> None:
    storage: dict[str, bytes] = {}
    made = serialize(TableNode(("ü",), (FLAT,), 3), storage, "v", metadata={"units": "µm"})
    assert storage["v"].isascii()
    assert list(made) == ["awkward0", "doc", "metadata", "schema", "prefix"]
    assert made["doc"].startswith("nczarr ")


def test_compressed_buffers_name_their_decompressor() -> None:
    made, stored = schema(ListNode(I8([0, 3]), FLAT), compression=[{"contexts": "*.counts", "pair": zlib.compress}])
    assert made["args"][0]["args"][0] == {"call": ["zlib", "decompress"], "args": [{"read": "1"}]}
    assert zlib.decompress(stored["1"]) == np.array([3]).tobytes()
    assert stored["3"] == FLAT.values.tobytes()


@pytest.mark.parametrize("value", [[1, [2.5, None]], "text", 7, True, None, {"a": [1]}, np.int16(3), [np.float32(0.5)]])
def test_json_is_in_the_document(value: Any) -> None:
    made, stored = schema(value)
    assert made == {"json": value, "id": 0}
    assert type(made["json"]) in (list, str, int, bool, type(None), dict)
    assert stored == {}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "`/` is nan"),
        ([1, [float("inf")]], "`/1/0` is inf"),
        ({"a": (1, 2)}, "`/a` is (1, 2)"),
        ({1: 2}, "`/` is {1: 2}"),
        (b"bytes", "`/` is b'bytes'"),
        ({1, 2}, "`/` is {1, 2}"),
        (1j, "`/` is 1j"),
        (np.datetime64("2020"), "which JSON cannot represent exactly"),
        ([FLAT], "which JSON cannot represent exactly"),
    ],
)
def test_what_json_cannot_hold_is_refused(value: Any, why: str) -> None:
    assert why in refused(value)


def test_lists_without_end_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "lists and dictionaries nested more than" in refused(endless)


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (np.array([None]), "`/` has Python objects"),
        (np.zeros(2, [("x", "i4"), ("y", "O")]), "`/` has Python objects"),
        (np.zeros(2, "g"), "whose bytes depend on the platform"),
        (np.zeros(2, [("x", "S0")])["x"], "elements without bytes"),
        (np.zeros(2, []), "structures without members"),
        (np.zeros(2, [("x", "i4", (0,))]), "rows without elements"),
        (np.array(1), "without dimensions"),
        (TableNode(("x", "x"), (FLAT, FLAT), 3), "two columns of the same name"),
        (TableNode(("x",), (FLAT,), 4), "less than 4 items"),
        (TableNode(("t",), (ListNode(I8([0, 4]), FLAT),), 1), "`/t` has lists outside their 3 items"),
        (ListNode(I8([-1, 2]), FLAT), "lists outside their"),
        (ListNode(I8([2, 1]), FLAT), "lists outside their"),
        (ListNode(I8([]), FLAT), "positions that are not one-dimensional"),
        (ListNode(I8([0, 1 << 63], "u8"), FLAT), "not one-dimensional 64-bit integers"),
        (ListNode(I8([0.0, 1.0]), FLAT), "not one-dimensional 64-bit integers"),
        (Spans(I8([1]), I8([0]), FLAT), "lists outside their"),
        (Spans(I8([0, 1]), I8([1]), FLAT), "lists outside their"),
        (Indexed(I8([3]), FLAT), "an index outside its 3 items"),
        (Indexed(I8([-1]), FLAT), "an index outside"),
        (Sparse(2, I8([1, 0]), FLAT), "does not increase"),
        (Sparse(2, I8([2]), FLAT), "longer than its array"),
        (Sparse(9, I8([2]), FLAT, float("nan")), "an argument that documents cannot represent"),
        (Union(I8([1]), I8([0]), (FLAT,)), "tags outside its 1 contents"),
        (Union(I8([0]), I8([3]), (FLAT,)), "outside the items of its content 0"),
        (ListNode(I8([0, 1]), Union(I8([0]), I8([0]), (Flat(np.array([None])),))), "`/[]/#0` has Python objects"),
        (BitMasked(I8([], "u1"), FLAT), "a mask of fewer than 3 bits"),
        (TextNode(ListNode(I8([0, 1]), FLAT)), "bytes are not a plain uint8 array"),
        (Objects(FLAT, ("f",)), "a function that is not the name"),
        (Objects(FLAT, ("m", "f"), (object(),)), "an argument"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(obj: Any, why: str) -> None:
    assert why in refused(obj)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    report = Report()
    columns = (Flat(np.array([None])), Indexed(I8([9]), FLAT))
    with pytest.raises(CompileError):
        serialize(TableNode(("a", "b"), columns, 1), {}, report=report)
    assert [each.message.split("`")[1] for each in report.list_sorted()] == ["/a", "/b"]


def test_lists_without_items_may_lie_anywhere() -> None:
    starts = schema(Spans(I8([99, 1]), I8([99, 3]), FLAT))[1]["1"]
    assert np.frombuffer(starts, "<i8").tolist() == [0, 1]


def test_rows_without_elements_are_lists() -> None:
    with pytest.warns(LostPartsWarning, match="lost-parameters: `/` has rows without elements"):
        made, _ = schema(np.zeros((2, 0, 3)))
    assert heads(made) == [
        "JaggedArray.fromcounts",
        ["numpy.frombuffer", "1", "<i8", 2],
        ["numpy.frombuffer", "3", ["<f8", [3]], 0],
    ]


def test_a_union_without_items_is_none_of_one_that_has_an_item() -> None:
    made, _ = schema(Union(I8([]), I8([]), (TextNode(ListNode(I8([0]), Flat(np.zeros(0, "u1")))), Flat(np.zeros(0)))))
    assert heads(made)[0] == "IndexedArray"
    assert heads(made)[2][0] == "UnionArray.fromtags"


def test_a_sparse_array_of_defaults_alone_has_one_as_a_value() -> None:
    made, stored = schema(Sparse(3, I8([], "i8"), Flat(I8([], "f4")), 2.5))
    assert heads(made) == [
        "SparseArray",
        3,
        ["numpy.frombuffer", "1", "<i8", 1],
        ["numpy.frombuffer", "3", "<f4", 1],
        2.5,
    ]
    assert (stored["1"], stored["3"]) == (bytes(8), np.float32(2.5).tobytes())


def test_arrays_with_masks_keep_them() -> None:
    values = np.ma.MaskedArray(np.arange(4).reshape(2, 2), [[0, 1], [0, 0]])
    assert heads(schema(values)[0])[0] == "JaggedArray.fromcounts"
    assert heads(schema(values)[0])[2][0] == "MaskedArray"
    assert heads(schema(values[0])[0])[0] == "MaskedArray"


def test_the_same_array_gives_the_same_bytes() -> None:
    column = TableNode(("x", "y"), (ListNode(I8([0, 1, 3, 3]), FLAT), FLAT), 3)
    one: dict[str, bytes] = {}
    other: dict[str, bytes] = {}
    serialize(column, one, compression=True)
    serialize(column, other, compression=True)
    assert one == other


def test_levels_are_no_more_than_readers_take() -> None:
    column: Column = FLAT
    for _ in range(98):
        column = ListNode(I8([0, len(column)]), column)
    schema(column)
    schema(ListNode(I8([0, 1]), column.content))  # type: ignore[attr-defined]
    assert "101 levels" in refused(ListNode(I8([0, 1]), column))


def test_what_a_document_cannot_hold_beside_the_array_is_found_before() -> None:
    storage: dict[str, bytes] = {}
    with pytest.raises(TypeError):
        serialize(FLAT, storage, metadata={"when": object()})
    assert storage == {}
