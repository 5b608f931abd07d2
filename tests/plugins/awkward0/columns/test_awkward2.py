"""Columns as arrays of awkward 2 and back: types, values, what is shared, what is lost and said."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.awkward2 import of_awkward, to_awkward
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
from tests.support.work import counted

try:
    import awkward as ak
except ImportError:  # the extra nczarr[ragged]
    ak = None
I8 = np.array
FLAT = Flat(np.array([1.5, 2.5, 3.5]))
BYTES = Flat(np.frombuffer(b"abc\xc3\xa5", "u1"))
LETTER = TextNode(ListNode(I8([0, 1]), BYTES))


@pytest.fixture(autouse=True)
def _awkward(peer: Callable[[str], ModuleType]) -> None:
    peer("awkward")


@pytest.mark.parametrize(
    ("column", "type_", "values"),
    [
        (Flat(np.array([1, 2], ">i2")), "2 * int16", [1, 2]),
        (Flat(np.zeros((1, 2, 1), ">f8")), "1 * 2 * 1 * float64", [[[0.0], [0.0]]]),
        (Flat(np.zeros((2, 0), "i4")), "2 * 0 * int32", [[], []]),
        (Flat(np.array(["", "å"])), "2 * string", ["", "å"]),
        (Flat(np.array([["a"], ["bc"]], ">U2")), "2 * 1 * string", [["a"], ["bc"]]),
        (Flat(np.array([b"a\0b", b""], "S3")), "2 * bytes", [b"a\0b", b""]),
        (Flat(np.array([b"a\0"], "V2")), "1 * bytes[2]", [b"a\0"]),
        (Flat(np.array([(1, [2, 3])], [("x", "i1"), ("y", ">f4", 2)])), "1 * {x: int8, y: 2 * float32}", None),
        (ListNode(I8([1, 2, 3], "u4"), FLAT), "2 * var * float64", [[2.5], [3.5]]),
        (ListNode(I8([1, 2, 3], ">i2"), FLAT), "2 * var * float64", [[2.5], [3.5]]),
        (Spans(I8([2, 0], "i4"), I8([3, 0, 9]), FLAT), "2 * var * float64", [[3.5], []]),
        (TextNode(ListNode(I8([0, 1, 5]), BYTES)), "2 * string", ["a", "bcå"]),
        (TextNode(ListNode(I8([0, 1, 5]), BYTES), None), "2 * bytes", [b"a", b"bc\xc3\xa5"]),
        (TextNode(Spans(I8([3, 0]), I8([5, 1]), BYTES), "latin-1"), "2 * string", ["Ã¥", "a"]),
        (TextNode(ListNode(I8([0, 2]), ArrayPieces((BYTES, BYTES)))), "1 * string", ["ab"]),
        (TableNode(("x",), (FLAT,), 2), "2 * {x: float64}", [{"x": 1.5}, {"x": 2.5}]),
        (TableNode((), (), 2), "2 * {}", [{}, {}]),
        (Masked(I8([2, 0], "u1"), FLAT), "2 * ?float64", [None, 2.5]),
        (BitMasked(I8([4], "u1"), FLAT, False, False), "3 * ?float64", [None, None, None]),
        (Indexed(I8([-5, 2], "i1"), FLAT, True), "2 * ?float64", [None, 3.5]),
        (Indexed(I8([2, 2], "u4"), FLAT), "2 * float64", [3.5, 3.5]),
        (Sparse(4, I8([0, 1, 3]), FLAT), "4 * float64", [1.5, 2.5, 0.0, 3.5]),
        (Sparse(3, I8([1]), FLAT, 7), "3 * float64", [7.0, 1.5, 7.0]),
        (Sparse(3, I8([1]), Flat(I8([1])), 0.5), "3 * float64", [0.5, 1.0, 0.5]),
        (Sparse(2, I8([1]), Flat(np.ones((1, 2)))), "2 * 2 * float64", [[0.0, 0.0], [1.0, 1.0]]),
        (Sparse(2, I8([0]), Flat(np.array([(1,)], [("x", "i1")]))), "2 * {x: int8}", [{"x": 1}, {"x": 0}]),
        (Sparse(2, I8([1]), ListNode(I8([0, 2]), FLAT)), "2 * var * float64", [[], [1.5, 2.5]]),
        (
            Union(I8([0, 1]), I8([0, 0]), (FLAT, TextNode(ListNode(I8([0, 1]), BYTES)))),
            "2 * union[float64, string]",
            [1.5, "a"],
        ),
        (Union(I8([0, 1]), I8([0, 0]), (Flat(I8([1])), FLAT)), "2 * float64", [1.0, 1.5]),
        (Union(I8([0, 0]), I8([2, 0]), (FLAT,)), "2 * float64", [3.5, 1.5]),
        (ArrayPieces((FLAT, Flat(np.zeros(0)), Flat(np.array([9.0])))), "4 * float64", [1.5, 2.5, 3.5, 9.0]),
        (ArrayPieces((ListNode(I8([0, 1]), FLAT), ListNode(I8([0, 0]), FLAT))), "2 * var * float64", [[1.5], []]),
        (ArrayPieces(()), "0 * unknown", []),
    ],
)
def test_kinds_of_columns(column: Column, type_: str, values: Any) -> None:
    array = to_awkward(column)
    assert str(array.type) == type_
    assert ak.is_valid(array)
    assert values is None or array.to_list() == values


@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "M8[D]", "m8[us]"],
)
def test_types_of_numbers_come_back(dtype: str) -> None:
    values = np.frombuffer(bytes(64), dtype) if dtype != "?" else np.array([True, False])
    array = to_awkward(Flat(values))
    column = of_awkward(array)
    assert isinstance(column, Flat)
    assert column.values.dtype == values.dtype
    assert np.shares_memory(column.values, values)


def test_nothing_is_copied_or_looked_at() -> None:
    """Ten million values stay where they are."""
    values, offsets = np.zeros(10_000_000), np.arange(0, 10_000_001, 4)
    with counted(10_000):
        array = to_awkward(TableNode(("x",), (ListNode(offsets, Flat(values)),), len(offsets) - 1))
        column = of_awkward(array)
    assert isinstance(column, TableNode)
    assert isinstance(column.columns[0], ListNode)
    assert isinstance(column.columns[0].content, Flat)
    assert np.shares_memory(column.columns[0].content.values, values)
    assert np.shares_memory(column.columns[0].offsets, offsets)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (ListNode(I8([0, 1]), BackReference(3, lambda: FLAT)), "`/[]` refers to array 3"),
        (Flat(np.array([None])), "`/` has object"),
        (Union(I8([0]), I8([0]), (FLAT,) * 128), "`/` is a union of 128 kinds"),
        (TableNode(("x", "x"), (FLAT, FLAT), 1), "two columns of the same name"),
        (
            TableNode(("t",), (TextNode(LETTER.bytes, "no such"),), 1),
            "`/t` has strings that do not match their encoding",
        ),
        (TextNode(ListNode(I8([0, 3]), BYTES), "utf-16"), "do not match their encoding"),
        (TextNode(ListNode(I8([0, 1]), FLAT)), "not a plain uint8 array"),
        (Flat(np.array(["\udcff"])), "UTF-8 cannot encode"),
    ],
)
def test_what_awkward_has_no_layout_for(column: Column, why: str) -> None:
    with pytest.raises(CompileError) as caught:
        to_awkward(column)
    assert why in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda union: union, lambda union: Masked(np.array([False, True, False]), union)])
@pytest.mark.parametrize("large", [2**53 + 1, -(2**60) - 1])
def test_large_integers_beside_floats_stay_what_they_are(wrap: Any, large: int) -> None:
    union = Union(I8([0, 1, 0]), I8([1, 0, 0]), (Flat(np.array([large, 7])), FLAT))
    assert to_awkward(wrap(union)).to_list()[2] == large
    assert to_awkward(Indexed(I8([2]), union)).to_list() == [large]


def test_functions_of_objects_are_a_parameter_and_come_back() -> None:
    objects = Objects(FLAT, ("lib", "Point"), (1,), (("k", "v"),))
    array = to_awkward(objects)
    assert array.layout.parameters == {"awkward0": {"function": ["lib", "Point"], "args": [1], "kwargs": {"k": "v"}}}
    back = of_awkward(array)
    assert isinstance(back, Objects)
    assert (back.function, back.args, back.kwargs) == (objects.function, (1,), (("k", "v"),))


def numbers() -> Any:
    return ak.contents.NumpyArray(np.arange(10))


def positions(kind: str, values: list[int]) -> Any:
    return getattr(ak.index, kind)(np.array(values, {"Index32": "i4", "IndexU32": "u4", "IndexU8": "u1"}.get(kind)))


LAYOUTS: dict[str, Callable[[], Any]] = {
    "records": lambda: ak.Array([{"x": 1, "y": [1.5]}, {"x": 2, "y": []}]),
    "no fields": lambda: ak.Array([{}, {}]),
    "sliced records": lambda: ak.Array([{"x": [1, 2], "s": "ab"}, {"x": [], "s": "d"}, {"x": [3], "s": ""}])[1:],
    "reordered": lambda: ak.Array([{"x": [1, 2], "s": "ab"}, {"x": [], "s": "d"}])[[1, 0, 1]],
    "options": lambda: ak.Array([1, None, 3]),
    "options of lists": lambda: ak.Array([[1], None, [], [None, 2]]),
    "byte mask": lambda: ak.mask(ak.Array([1, 2, 3]), [True, False, True]),
    "bit mask": lambda: ak.Array(ak.Array([1, None] * 7).layout.to_BitMaskedArray(False, False)),
    "bit mask, sliced": lambda: ak.Array(ak.Array([1, None] * 7).layout.to_BitMaskedArray(True, True))[3:12],
    "short bit mask": lambda: ak.Array(ak.contents.BitMaskedArray(positions("IndexU8", [5]), numbers(), True, 3, True)),
    "unmasked": lambda: ak.Array(ak.contents.UnmaskedArray(numbers())),
    "index of 32 bits": lambda: ak.Array(ak.contents.IndexedArray(positions("Index32", [3, 1]), numbers())),
    "offsets of 32 bits": lambda: ak.Array(ak.contents.ListOffsetArray(positions("IndexU32", [1, 3]), numbers())),
    "longer stops": lambda: ak.Array(
        ak.contents.ListArray(positions("Index64", [4]), positions("Index64", [6, 7]), numbers())
    ),
    "far empty lists": lambda: ak.Array(
        ak.contents.ListArray(positions("Index64", [99, 1]), positions("Index64", [99, 3]), numbers())
    ),
    "union": lambda: ak.Array([1, "a", [2.5], None, True, {"x": 1}]),
    "union of records": lambda: ak.Array([{"x": 1}, {"y": "b"}]),
    "texts": lambda: ak.Array(["å", "", "日本"]),
    "bytes": lambda: ak.Array([b"\xff\x00", b""]),
    "nested texts": lambda: ak.Array([["a", None], [], ["b"]]),
    "regular": lambda: ak.to_regular(ak.Array([[[1], [2]], [[3], [4]]]), axis=None),
    "n-d": lambda: ak.Array(np.arange(12, dtype="u2").reshape(2, 3, 2)),
    "strided": lambda: ak.Array(np.arange(12)[::3]),
    "dates": lambda: ak.Array(np.array(["2020-01-01", "NaT"], "M8[D]")),
    "complex": lambda: ak.Array(np.array([1 + 2j])),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_of_awkward_come_back_with_their_type(name: str) -> None:
    array = LAYOUTS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostPartsWarning)
        column = of_awkward(array)
        serialize(array, {})
    back = to_awkward(column)
    assert back.to_list() == array.to_list()
    assert back.type == array.type


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ak.Array([(1, 2)]), "`/` has tuples"),
        (lambda: ak.Array([[], []]), r"`/\[\]` is of unknown type"),
        (lambda: ak.Array([{"x": 1}], with_name="Point"), "`/` has '__record__': 'Point'"),
        (lambda: ak.with_parameter(ak.Array([[1]]), "unit", "K"), "`/` has 'unit': 'K'"),
        (lambda: ak.Array([1], attrs={"title": "t"}), "attributes of the array are left out: 'title'"),
        (lambda: ak.to_regular(ak.Array([["ab"], ["c"]])), "`/` has lists of 1 items each"),
        (lambda: ak.to_regular(ak.Array(["ab", "cd"])), "`/` has texts of 2 items each"),
        (lambda: ak.Array([{"x": 1}])[0], "a single record"),
        (
            lambda: ak.Array(
                ak.contents.IndexedArray(
                    ak.index.Index64(np.array([0, 0])),
                    ak.contents.NumpyArray(np.array([1])),
                    parameters={"__array__": "categorical"},
                )
            ),
            "`/` is categorical",
        ),
    ],
)
def test_what_is_lost_is_said(make: Any, said: str) -> None:
    with pytest.warns(LostPartsWarning, match=said):
        serialize(make(), {})


def test_arrays_without_values_are_refused() -> None:
    with pytest.raises(CompileError, match="typetracer"):
        of_awkward(ak.to_backend(ak.Array([1]), "typetracer"))


def test_buffers_that_are_read_late_are_read() -> None:
    if not hasattr(ak, "materialize"):
        pytest.skip("this awkward has no virtual arrays")
    form, length, buffers = ak.to_buffers(ak.Array([[1], [2, 3]]))
    late = {key: (lambda data=data: data) for key, data in buffers.items()}
    array = ak.from_buffers(form, length, late)
    assert to_awkward(of_awkward(array)).to_list() == [[1], [2, 3]]


def test_the_same_layout_is_written_once() -> None:
    numbers = ak.Array([[1.5], []])
    storage: dict[str, bytes] = {}
    serialize(ak.contents.RecordArray([numbers.layout, numbers.layout], ["x", "y"]), storage)
    assert len(storage) == 3


def test_more_levels_than_can_be_followed_are_refused() -> None:
    layout, column = ak.contents.NumpyArray(np.zeros(1)), Flat(np.zeros(1))
    for _ in range(400):
        layout = ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 1])), layout)
    for _ in range(2000):
        column = ListNode(I8([0, 1]), column)  # type: ignore[assignment]
    with pytest.raises(CompileError, match="nested too deeply"):
        serialize(layout, {})
    with pytest.raises(CompileError, match="nested too deeply"):
        to_awkward(column)
