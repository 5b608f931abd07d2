"""The builder: a whole example, every type, and every way to go wrong, all at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.ast import Codec, Quantize


def codes(error: nczarr.CompileError) -> list[str]:
    return [each.code for each in error.diagnostics]


def failing(build: object) -> list[str]:
    assert callable(build)
    b = nczarr.DatasetBuilder("t")

    def finish() -> None:
        build(b)
        b.finish()

    with pytest.raises(nczarr.CompileError) as caught:
        finish()
    return codes(caught.value)


def test_the_example_of_the_design() -> None:
    array = np.arange(3 * 12 * 4, dtype="f4").reshape(3, 12, 4)
    b = nczarr.DatasetBuilder("ocean")
    time = b.dimension("time", unlimited=True)
    b.dimension("station id", 12)
    obs = b.compound("obs", {"t": "int64", "v": ("float", 3)})
    g = b.group("g1")
    temp = g.variable("temp", "float", [time, "/station id", 4], fill_value=-9.0, chunks=(1, 12, 4))
    temp.attribute("units", "K")
    g.variable("latest", obs, [time])
    ds = b.finish(data={"/g1/temp": array})
    assert ds["/g1/temp"].shape == (3, 12, 4)
    assert np.array_equal(ds["/g1/temp"][...], array)
    assert np.array_equal(ds["/g1/temp"][::-2, 3, ..., 1:3], array[::-2, 3, ..., 1:3])
    assert ds["/g1/temp"].attributes["units"] == "K"
    assert ds["/g1/temp"].attributes["_FillValue"] == -9.0
    assert ds.dataset.dimensions[0].size == 3
    assert ds["/g1/latest"].shape == (3,)
    assert ds["/g1/latest"].dtype == np.dtype([("t", "<i8"), ("v", "<f4", 3)])


def test_equals_the_same_dataset_as_text() -> None:
    b = nczarr.DatasetBuilder("t")
    x = b.dimension("x", 2)
    b.enum("e", "byte", {"a": 1, "b": 2})
    b.vlen("row", "int")
    b.opaque("key", 2)
    v = b.variable("v", "short", [x], fill_value=-1)
    v.attribute("flag", "b", type="e")
    v.attribute("rows", [[1, 2], []], type="row")
    b.variable("k", "key", [x]).attribute("first", b"\x01\x02", type="/key")
    b.attribute("n", 1).attribute("r", 0.5).attribute("s", ["a", None]).attribute("big", 2**40).attribute("t", "é")
    built = b.finish(data={"v": [1, 2]}).dataset
    text = nczarr.from_cdl(
        """netcdf t {
        types: byte enum e {a = 1, b = 2} ; int(*) row ; opaque(2) key ;
        dimensions: x = 2 ;
        variables: short v(x) ; v:_FillValue = -1s ; e v:flag = b ; row v:rows = {1, 2}, {} ;
          key k(x) ; key k:first = 0x0102 ;
        :n = 1 ; :r = 0.5 ; string :s = "a", NIL ; :big = 1099511627776ll ; :t = "é" ;
        data: v = 1, 2 ; }"""
    ).dataset
    assert built == text


def test_storage() -> None:
    b = nczarr.DatasetBuilder()
    x = b.dimension("x", 4)
    options = {"chunks": [2], "codecs": ["shuffle", ("deflate", 5)], "endian": "big", "no_fill": True}
    b.variable("v", "float", [x], quantize=("bitgroom", 3), **options)  # type: ignore[arg-type]
    storage = b.finish()["v"].variable.storage
    assert storage.chunks == (2,)
    assert storage.codecs == (Codec(id=2), Codec(id=1, parameters=(5,)))
    assert (storage.endian, storage.no_fill, storage.layout) == ("big", True, "chunked")
    assert storage.quantize == Quantize(algorithm="bitgroom", digits=3)


CASES = [
    ("byte", [1, -128], np.array([1, -128], "i1")),
    ("ubyte", np.array([1, 255]), np.array([1, 255], "u1")),
    ("short", np.array([1, -2], ">i2"), np.array([1, -2], "i2")),
    ("uint64", [0, 2**64 - 1], np.array([0, 2**64 - 1], "u8")),
    ("float", [0.5, float("nan")], np.array([0.5, np.nan], "f4")),
    ("float", np.array([0.1, 1e-300]), np.array([0.1, 0], "f4")),
    ("double", np.array([1, 2], "i8"), np.array([1.0, 2.0])),
    ("char", "ab", np.array([b"a", b"b"], "S1")),
    ("char", np.array([b"a", b"\xff"], "S1"), np.array([b"a", b"\xff"], "S1")),
    ("string", ["é", None], np.array(["é", None], object)),
    ("e", ["on", 0], np.array([1, 0], "i1")),
    ("key", [b"ab", b"\0\0"], np.array([b"ab", b"\0\0"], "V2")),
    (
        "pair",
        [(1, [0.5, 2]), {"y": [3, 4], "x": 2}],
        np.array([(1, [0.5, 2]), (2, [3, 4])], [("x", "<i4"), ("y", "<f8", 2)]),
    ),
]


@pytest.mark.parametrize(("kind", "data", "wanted"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_values_of_fixed_size(kind: str, data: object, wanted: np.ndarray) -> None:
    b = nczarr.DatasetBuilder()
    b.enum("e", "byte", {"off": 0, "on": 1})
    b.opaque("key", 2)
    b.compound("pair", {"x": "int", "y": ("double", 2)})
    b.variable("v", kind, [2])
    found = b.finish(data={"/v": data})["v"][:]
    assert found.dtype == wanted.dtype
    assert str(found.tolist()) == str(wanted.tolist())


def test_values_of_variable_size() -> None:
    b = nczarr.DatasetBuilder()
    u = b.dimension("u", unlimited=True)
    b.vlen("row", "float")
    b.vlen("text", "char")
    b.vlen("rows", "row")
    b.compound("cast", {"name": "string", "profile": "row", "at": ("int", 2)})
    b.variable("r", "row", [u, 2])
    b.variable("t", "text", [2])
    b.variable("rr", "rows", [u])
    b.variable("c", "cast")
    cast = {"name": "CTD", "profile": [1, 2.5], "at": [3, 4]}
    ds = b.finish(data={"r": [[[1, 2], []], [[3], [4, 5]]], "t": ["abc", ""], "rr": [[[1], [2, 3]]], "c": cast})
    assert [row.tolist() for row in ds["r"][:, 0]] == [[1, 2], [3]]
    assert ds["r"][1, 1].tolist() == [4, 5]
    assert ds["r"][-1:, ::-1].shape == (1, 2)
    assert [text.tobytes() for text in ds["t"][:]] == [b"abc", b""]
    assert [inner.tolist() for inner in ds["rr"][0]] == [[1], [2, 3]]
    assert len(ds["rr"][1]) == 0  # shorter than the unlimited dimension: fill, which is an empty sequence
    found = ds["c"][()]
    assert found["name"] == "CTD"
    assert found["profile"].tolist() == [1, 2.5]
    assert found["at"].tolist() == [3, 4]


def test_short_data_are_filled() -> None:
    b = nczarr.DatasetBuilder()
    u = b.dimension("u", unlimited=True)
    b.variable("a", "int", [u])
    b.variable("b", "int", [u], fill_value=7)
    b.variable("c", "char", [u])
    b.variable("s", "string", [u])
    ds = b.finish(data={"a": [1, 2, 3], "b": [1], "c": "x", "s": ["y"]})
    assert ds["b"][:].tolist() == [1, 7, 7]
    assert ds["c"][:].tolist() == [b"x", b"", b""]
    assert ds["s"][:].tolist() == ["y", "", ""]


def test_a_mistake_is_raised_at_its_call_and_the_builder_goes_on() -> None:
    b = nczarr.DatasetBuilder("t")
    b.dimension("x", 2)
    child = b.group("g")
    mistakes: list[tuple[str, Callable[[], object]]] = [
        ("bad-dimension-size", lambda: b.dimension("y", -1)),
        ("duplicate-name", lambda: b.dimension(name="x", size=3)),
        ("undefined-type", lambda: b.variable("v", "flaot", ["x"])),
        ("undefined-type", lambda: b.vlen("t", "t")),
        ("undefined-type", lambda: b.attribute("a", 1, type="/none")),
        ("undefined-dimension", lambda: child.variable("v", "int", ["y"])),
        ("duplicate-name", lambda: b.group("g")),
        ("value-range", lambda: b.attribute("a", 300, type="byte")),
        ("value-range", lambda: b.variable("v", "int", ["x"]).attribute("k", 1).attribute("a", 300, type="byte")),
    ]
    for code, call in mistakes:
        with pytest.raises(nczarr.CompileError) as caught:
            call()
        (found,) = caught.value.diagnostics
        source = found.primary.span.source
        assert found.code == code
        assert source is not None
        assert source.name == __file__
        assert source.position(found.primary.span.start)[0] == call.__code__.co_firstlineno
    child.variable("v", "float", ["x"]).attribute("a", 1)
    made = b.finish({"/g/v": [1, 2], "/v": [3, 4]})
    assert (list(made), dict(made.attributes), dict(made["v"].attributes)) == (["/v", "/g/v"], {}, {"k": 1})
    assert made["/g/v"][:].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["_FillValue", "é", "_Storage", "_ChunkSizes", "_DeflateLevel", "_NCProperties"])
def test_a_repeated_attribute_is_raised_at_its_call(name: str) -> None:
    b = nczarr.DatasetBuilder("t")
    if name == "_FillValue":
        v = b.variable("v", "int", [2], fill_value=-1)
    else:
        v = b.variable("v", "int", [2]).attribute(name, -1)
        b.attribute(name, 1)
        with pytest.raises(nczarr.CompileError, match="duplicate-name: attribute `/@"):
            b.attribute(unicodedata.normalize("NFD", name), 5)
    for other in (name, unicodedata.normalize("NFD", name)):
        with pytest.raises(nczarr.CompileError, match=r"duplicate-name: attribute `/v@.*already declared") as caught:
            v.attribute(other, 5)
        (found,) = caught.value.diagnostics
        assert found.primary.span.source is not None
        assert found.primary.span.source.name == __file__
    v.attribute("more", 2)
    for _ in range(2):
        assert dict(b.finish()["v"].attributes) == {name: -1, "more": 2}


def test_a_fill_value_of_a_refused_variable_does_not_count() -> None:
    b = nczarr.DatasetBuilder("t")
    for chunks, dimensions in (([1, 1], [2]), ([1], ["none"])):
        with pytest.raises(nczarr.CompileError):
            b.variable("v", "int", dimensions, fill_value=-1, chunks=chunks)
    b.variable("v", "int", [2]).attribute("_FillValue", 5)
    assert b.finish()["v"][:].tolist() == [5, 5]


def test_mistakes_in_data_have_the_line_of_the_caller() -> None:
    b = nczarr.DatasetBuilder("t")
    with pytest.raises(nczarr.CompileError) as caught:
        b.finish(data={"w": [1]})  # line one
    (found,) = caught.value.diagnostics
    source = found.primary.span.source
    assert source is not None
    line, column = source.position(found.primary.span.start)
    assert (found.code, source.line_text(line), column) == (
        "undefined-variable",
        '        b.finish(data={"w": [1]})  # line one',
        9,
    )


WRONG = {
    "bad-name": [
        lambda b: b.dimension("", 1),
        lambda b: b.dimension(None, 1),
    ],
    "invalid-utf8": [lambda b: b.variable("a\udc80", "int"), lambda b: b.attribute("a", "\udc80")],
    "duplicate-name": [
        lambda b: (b.dimension("x", 1), b.dimension("x", 1)),
        lambda b: (b.variable("x", "int"), b.group("x")),
        lambda b: (b.attribute("a", 1), b.attribute("a", 1)),
        lambda b: b.compound("c", {"é": "int", "e\u0301": "int"}),
    ],
    "bad-dimension-size": [
        lambda b: b.dimension("x", 1.5),
        lambda b: b.dimension("x", True),
        lambda b: b.dimension("x", 2**63),
        lambda b: b.variable("v", "int", [-1]),
    ],
    "bad-opaque-size": [lambda b: b.opaque("o", 0)],
    "bad-field-size": [lambda b: b.compound("c", {"x": ("int", 0)})],
    "bad-enum-base": [lambda b: b.enum("e", "float", {"a": 1})],
    "empty-type": [lambda b: b.enum("e", "byte", {}), lambda b: b.compound("c", {})],
    "duplicate-enum-value": [lambda b: b.enum("e", "byte", {"a": 1, "b": 1})],
    "value-range": [
        lambda b: b.enum("e", "byte", {"a": 300}),
        lambda b: b.enum("e", "byte", {"a": 1.5}),
        lambda b: b.attribute("a", [-1, 2**63]),
        lambda b: b.attribute("a", 1e39, type="float"),
        lambda b: b.attribute("a", float("nan"), type="int"),
        lambda b: (b.variable("v", "int", [1]), b.finish(data={"v": [2**31]})),
        lambda b: (b.variable("v", "int", [1]), b.finish(data={"v": np.array([2**31])})),
        lambda b: (b.variable("v", "ubyte", [1]), b.finish(data={"v": np.array([-1])})),
        lambda b: (b.variable("v", "short", [1]), b.finish(data={"v": np.array([np.nan])})),
    ],
    "type-mismatch": [
        lambda b: b.attribute("a", None),
        lambda b: b.attribute("a", True),
        lambda b: b.attribute("a", np.True_),
        lambda b: b.attribute("a", "x", type="int"),
        lambda b: b.attribute("a", 1, type="string"),
        lambda b: b.attribute("a", object()),
        lambda b: b.attribute("a", np.void(b"abc")),
        lambda b: b.variable("v", "int", fill_value="x"),
        lambda b: (b.variable("v", "int", [1]), b.finish(data={"v": ["x"]})),
    ],
    "mixed-types": [lambda b: b.attribute("a", ["x", 1])],
    "empty-attribute": [lambda b: b.attribute("a", [])],
    "undefined-type": [
        lambda b: b.variable("v", "int128"),
        lambda b: b.variable("v", None),
        lambda b: b.attribute("a", 1, type="t"),
    ],
    "undefined-dimension": [
        lambda b: b.variable("v", "int", ["x"]),
        lambda b: b.variable("v", "int", ["/x"]),
        lambda b: b.variable("v", "int", ["/g/x"]),
        lambda b: b.variable("v", "int", "x"),
    ],
    "undefined-enum-constant": [lambda b: (b.enum("e", "byte", {"a": 1}), b.attribute("a", "b", type="e"))],
    "opaque-length": [lambda b: (b.opaque("o", 2), b.attribute("a", b"1", type="o"))],
    "too-many-values": [lambda b: (b.compound("c", {"x": "int"}), b.attribute("a", (1, 2), type="c"))],
    "expected-value": [lambda b: (b.compound("c", {"x": "int", "y": "int"}), b.attribute("a", (1,), type="c"))],
    "fill-value-count": [lambda b: b.variable("v", "int", fill_value=[1, 2])],
    "shape-mismatch": [
        lambda b: b.attribute("a", np.ones((2, 2))),
        lambda b: (b.variable("v", "int", [2]), b.finish(data={"v": [1]})),
        lambda b: (b.variable("v", "int", [2]), b.finish(data={"v": 1})),
        lambda b: (b.variable("v", "int", [2, 2]), b.finish(data={"v": [[1, 2], [3]]})),
        lambda b: (b.variable("v", "int", [2]), b.finish(data={"v": np.zeros((2, 2))})),
    ],
    "undefined-variable": [lambda b: b.finish(data={"v": 1}), lambda b: b.finish(data={5: 1})],
    "bad-chunk-size": [
        lambda b: b.variable("v", "int", [4], chunks=[8]),
        lambda b: b.variable("v", "int", [4], chunks=[1, 1]),
        lambda b: b.variable("v", "int", [4], chunks=[0]),
        lambda b: b.variable("v", "int", chunks=[1]),
    ],
    "bad-special-value": [
        lambda b: b.variable("v", "int", [4], codecs=["nonsense"]),
        lambda b: b.variable("v", "int", [4], codecs="zlib:77"),
        lambda b: b.variable("v", "int", [4], codecs=[("nonsense", 1)]),
        lambda b: b.variable("v", "int", [4], layout="heap"),
        lambda b: b.variable("v", "int", [4], endian="middle"),
        lambda b: b.variable("v", "float", [4], quantize=("x", 3)),
    ],
    "filter-on-scalar": [lambda b: b.variable("v", "int", codecs=["shuffle"])],
    "bad-storage": [lambda b: b.variable("v", "int", [4], quantize=("bitgroom", 3))],
    "slash-in-name": [
        lambda b: b.variable("bad/name", "int"),
        lambda b: b.dimension("bad/name", 1),
        lambda b: b.group("bad/name"),
        lambda b: b.opaque("bad/name", 1),
    ],
}


@pytest.mark.parametrize(
    ("code", "build"), [(code, build) for code, builds in WRONG.items() for build in builds],
    ids=[f"{code}-{i}" for code, builds in WRONG.items() for i, _ in enumerate(builds)],
)  # fmt: skip
def test_every_way_to_go_wrong(code: str, build: object) -> None:
    assert set(failing(build)) == {code}


@pytest.mark.parametrize("code", WRONG)
def test_errors_of_declarations_are_raised_at_the_call_and_declare_nothing(code: str) -> None:
    for build in WRONG[code]:
        if "finish" in build.__code__.co_names:
            continue
        b = nczarr.DatasetBuilder()
        with pytest.raises(nczarr.CompileError):
            build(b)
        assert "v" not in b.finish()


def test_a_fill_value_of_a_declared_type_is_judged_at_the_call() -> None:
    b = nczarr.DatasetBuilder()
    kind = b.group("g").enum("e", "byte", {"off": 0, "on": 1})
    with pytest.raises(nczarr.CompileError):
        b.variable("v", kind, [2], fill_value="no")
    v = b.variable("v", kind, [2])
    with pytest.raises(nczarr.CompileError):
        v.attribute("_FillValue", "no")
    v.attribute("_FillValue", "on")
    assert b.finish()["v"][:].tolist() == [1, 1]


def test_a_dimension_has_a_length_or_is_unlimited() -> None:
    b = nczarr.DatasetBuilder()
    with pytest.raises(TypeError, match="dimension `z` needs a size, or unlimited=True"):
        b.dimension("z")
    b.dimension("z", unlimited=True)
    assert b.finish().dimensions["z"].unlimited


def test_errors_of_finish_do_not_last() -> None:
    b = nczarr.DatasetBuilder()
    b.variable("v", "int", [3])
    wrong: list[dict[str, object]] = [{"/w": [1, 2, 3]}, {"v": [1, 2]}, {"v": [1, 2, "x"]}]
    for data in wrong:
        with pytest.raises(nczarr.CompileError) as caught:
            b.finish(data=data)
        assert len(caught.value.diagnostics) == 1
    b.variable("k", "int")
    assert b.finish(data={"/v": [1, 2, 3]})["v"][:].tolist() == [1, 2, 3]


DEFLATE = Codec(id=1, parameters=(5,))
"""The codec `zlib:5`."""


@pytest.mark.parametrize(
    ("codecs", "chain"),
    [
        ("zlib:5", (DEFLATE,)),
        ("shuffle+zlib:5", (Codec(id=2), DEFLATE)),
        (["shuffle", "zlib:5"], (Codec(id=2), DEFLATE)),
        (["shuffle", ("deflate", 5)], (Codec(id=2), DEFLATE)),
        ("none", ()),
    ],
)
def test_codecs_are_written_as_for_write(codecs: Any, chain: tuple[Codec, ...], tmp_path: Path) -> None:
    b = nczarr.DatasetBuilder()
    b.variable("v", "int", [4], chunks=[2], codecs=codecs)
    assert b.finish()["v"].variable.storage.codecs == chain
    nczarr.write(b.finish(), tmp_path / "v.nc")
    assert nczarr.open(tmp_path / "v.nc")["v"].variable.storage.codecs == chain


def test_depth_is_limited() -> None:
    def build(b: nczarr.DatasetBuilder) -> None:
        group = b
        for _ in range(2000):
            group = group.group("g")  # type: ignore[assignment]

    assert set(failing(build)) == {"too-deep-nesting"}


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("kind", "bits"), [("f4", 0x7F800001), ("f4", 0xFFC00005), ("f8", 0x7FF0000000000001)])
def test_attributes_keep_the_bits_of_nan(kind: str, bits: int, order: str) -> None:
    value = np.array([bits, 0], f"u{kind[1]}").view(kind).astype(order + kind)
    name = {"f4": "float", "f8": "double"}[kind]
    builder = nczarr.DatasetBuilder("t")
    builder.attribute("one", value[0])
    builder.attribute("two", value)
    builder.variable("v", name, [], fill_value=value[0])
    made = builder.finish()
    for found in (made.attributes["one"], made.attributes["two"][0], made["v"].fill_value):
        assert np.asarray(found).view(f"u{kind[1]}") == bits


@pytest.mark.parametrize(
    ("value", "told"),
    [(2**70, f"no integer type holds {2**70}"), ([-1, 2**64 - 1], "no integer type holds both -1 and")],
)
def test_an_integer_attribute_beyond_all_types_is_refused(value: int | list[int], told: str) -> None:
    builder = nczarr.DatasetBuilder("")
    with pytest.raises(nczarr.CompileError, match=told):
        builder.attribute("a", value)


def test_arrays_without_dimensions_are_no_rows() -> None:
    for data in ([np.float64(1), np.float64(2)], [np.array(1.0), np.array(2.0)]):
        builder = nczarr.DatasetBuilder("d")
        builder.variable("v", "double", [builder.dimension("x", 2), 2])
        with pytest.raises(nczarr.CompileError, match="the data have 1 dimensions, not 2"):
            builder.finish(data={"/v": data})


def test_fields_of_records_are_told_by_their_names() -> None:
    """As h5py does; netCDF4-python goes by their order."""
    builder = nczarr.DatasetBuilder("b")
    inner = builder.compound("inner", {"a": "int", "b": "int"})
    place = builder.compound("place", {"lat": "double", "lon": "double", "more": inner, "list": ("short", 2)})
    builder.variable("v", place, [builder.dimension("x", 2)])
    inside = np.dtype([("b", "i4"), ("a", "i4")])
    dtype = np.dtype([("lon", "f8"), ("list", "i2", 2), ("more", inside), ("lat", "f8")])
    given = np.array([(1.5, (7, 8), (3, 4), 2.5), (5.0, (9, 6), (1, 2), 6.0)], dtype)
    builder.attribute("one", given[0], type=place)
    built = builder.finish({"/v": given})
    wanted = [(2.5, 1.5, (4, 3), [7, 8]), (6.0, 5.0, (2, 1), [9, 6])]
    stored = [(each["lat"], each["lon"], each["more"].item(), each["list"].tolist()) for each in built["v"][...]]
    assert stored == wanted
    assert built.checked.dataset.attributes[0].value.data == built["v"][...][:1].tobytes()
    with pytest.raises(nczarr.CompileError, match="`foo` is not a field of compound `place`"):
        builder.finish({"/v": np.zeros(2, [("foo", "f8")])})
