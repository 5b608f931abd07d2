"""Every "must" and "required" of the draft, by section: what breaks it, and what is said of that.

A row has the section, the sentence in our words, the members that break the rule, whether of an array or a group, and
the code and JSON pointer of the diagnostic. Rows of writers and stores are functions below the table.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from nczarr import zarr3_2019
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.zarr_drafts.api import Hierarchy, MemoryKeys
from nczarr.plugins.zarr_drafts.keys import problem
from tests.support.draft_2019 import ARRAY_EXAMPLE, FORMAT, GZIP, URI, Required, array, content, group, opened, said


class Row(NamedTuple):
    section: str
    rule: str
    document: dict[str, Any]
    code: str
    pointer: str
    severity: str = "error"


def grid(**members: Any) -> dict[str, Any]:
    return array(chunk_grid={"type": "regular", "chunk_shape": [2, 2], **members})


def extended(**members: Any) -> dict[str, Any]:
    return group(extensions=[{"extension": "https://example.org/e", "must_understand": False, **members}])


def without(document: dict[str, Any], *path: Any) -> dict[str, Any]:
    """A copy of a document without one member."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    inside: Any = copy
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    return copy


BAD, UNREADABLE = "bad-metadata", "unreadable-array"
POINT = {"extension": "https://example.org/e", "type": "t"}
CORE = [
    "bool",
    "i1",
    "u1",
    *(o + c for o in "<>" for c in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")),
]

ROWS = [
    # ---- Metadata --------------------------------------------------------------------------------------------------
    *(
        Row("Metadata", f"a group has `{name}`", group(**{name: ...}), BAD, "")
        for name in ("zarr_format", "extensions", "attributes")
    ),
    *(
        Row("Array metadata", f"an array has `{name}`", array(**{name: ...}), BAD, "")
        for name in (
            "zarr_format",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_memory_layout",
            "chunk_codecs",
            "fill_value",
            "extensions",
            "attributes",
        )
        if name != "shape"
    ),
    *(
        Row("Metadata", "`zarr_format` is the URI", group(zarr_format=each), BAD, "/zarr_format")
        for each in (3, "3.0", "3", None, FORMAT + "/dev", FORMAT + ".1", "http://example.org/3.0")
    ),
    *(
        Row("Metadata", "the major version is 3", group(zarr_format=FORMAT.replace("3.0", each)), BAD, "/zarr_format")
        for each in ("2.0", "4.0", "30.0")
    ),
    *(
        Row("Metadata", "`extensions` is a list", group(extensions=each), BAD, "/extensions")
        for each in ({}, None, "a")
    ),
    *(Row("Metadata", "of objects", group(extensions=[each]), BAD, "/extensions/0") for each in ("a", None, [])),
    Row("Metadata", "with `extension`", without(extended(), "extensions", 0, "extension"), BAD, "/extensions/0"),
    *(
        Row("Metadata", "which is a URI", extended(extension=each), BAD, "/extensions/0/extension")
        for each in ("e", 1, "", "https://a b", ":x")
    ),
    Row(
        "Metadata",
        "and `must_understand`",
        without(extended(), "extensions", 0, "must_understand"),
        BAD,
        "/extensions/0",
    ),
    *(
        Row("Metadata", "true or false", extended(must_understand=each), BAD, "/extensions/0/must_understand")
        for each in ("true", 1, 0, None)
    ),
    Row(
        "Metadata",
        "what must be understood ends the reading",
        extended(must_understand=True),
        "foreign-extension",
        "/extensions/0",
    ),
    *(
        Row("Metadata", "`attributes` is an object", group(attributes=each), BAD, "/attributes")
        for each in ([], None, "a")
    ),
    # ---- Array metadata --------------------------------------------------------------------------------------------
    *(
        Row("Array metadata: shape", "a list of lengths", array(shape=each), BAD, "/shape")
        for each in ([2, -3], [2, 3.0], [2, "3"], [2, True], "23", None, {})
    ),
    *(
        Row("Array metadata: data_type", "an identifier of the draft", array(data_type=each), BAD, "/data_type")
        for each in ("<i1", "i2", "|b1", ">bool", "float64", "<f16", "<U4", "", None, 8, [])
    ),
    Row(
        "Array metadata: data_type", "or an object with `extension`", array(data_type={"type": "t"}), BAD, "/data_type"
    ),
    Row(
        "Array metadata: data_type",
        "a URI",
        array(data_type={"extension": "e", "type": "t"}),
        BAD,
        "/data_type/extension",
    ),
    Row("Array metadata: data_type", "and `type`", array(data_type={"extension": "https://e.org"}), BAD, "/data_type"),
    *(
        Row(
            "Array metadata: data_type",
            "`fallback` is an identifier",
            array(data_type={**POINT, "fallback": each}),
            BAD,
            "/data_type/fallback",
        )
        for each in ("int32", None, 4, {"extension": "https://e.org", "type": "t"})
    ),
    Row(
        "Array metadata: data_type",
        "an unknown one without fallback is not read",
        array(data_type=POINT),
        UNREADABLE,
        "/data_type",
    ),
    Row(
        "Array metadata: data_type",
        "with one it may be",
        array(data_type={**POINT, "fallback": "<i4"}),
        "fallback-type",
        "/data_type",
        "warning",
    ),
    Row("Array metadata: chunk_grid", "an object", array(chunk_grid="regular"), BAD, "/chunk_grid"),
    Row("Array metadata: chunk_grid", "with `type`", array(chunk_grid={"chunk_shape": [2, 2]}), BAD, "/chunk_grid"),
    Row("Array metadata: chunk_grid", "which is `regular`", grid(type="irregular"), BAD, "/chunk_grid/type"),
    Row("Array metadata: chunk_grid", "and `chunk_shape`", array(chunk_grid={"type": "regular"}), BAD, "/chunk_grid"),
    *(
        Row("Array metadata: chunk_grid", "a list of lengths", grid(chunk_shape=each), BAD, "/chunk_grid/chunk_shape")
        for each in ([2, 0], [2, -1], [2, 2.0], [2, True], "22", None, 2)
    ),
    *(
        Row(
            "Regular grids",
            "the grid has the dimensions of the array",
            grid(chunk_shape=each),
            BAD,
            "/chunk_grid/chunk_shape",
        )
        for each in ([], [2], [2, 2, 2])
    ),
    *(
        Row(
            "Regular grids",
            "the separator is one that keys can have",
            grid(separator=each),
            BAD,
            "/chunk_grid/separator",
        )
        for each in ("", "-", ",", 0, None)
    ),
    Row(
        "Array metadata: chunk_grid",
        "an extension has a URI",
        array(chunk_grid={"extension": 1, "type": "t"}),
        BAD,
        "/chunk_grid/extension",
    ),
    Row(
        "Array metadata: chunk_grid", "and a type", array(chunk_grid={"extension": "https://e.org"}), BAD, "/chunk_grid"
    ),
    Row("Array metadata: chunk_grid", "an unknown one is not read", array(chunk_grid=POINT), UNREADABLE, "/chunk_grid"),
    *(
        Row(
            "Array metadata: chunk_memory_layout",
            "C or F",
            array(chunk_memory_layout=each),
            BAD,
            "/chunk_memory_layout",
        )
        for each in ("c", "K", "", None, 0, [])
    ),
    Row(
        "Array metadata: chunk_memory_layout",
        "or an object with `extension`",
        array(chunk_memory_layout={"type": "t"}),
        BAD,
        "/chunk_memory_layout",
    ),
    Row(
        "Array metadata: chunk_memory_layout",
        "and `type`",
        array(chunk_memory_layout={"extension": "https://e.org"}),
        BAD,
        "/chunk_memory_layout",
    ),
    Row(
        "Array metadata: chunk_memory_layout",
        "an unknown one is not read",
        array(chunk_memory_layout=POINT),
        UNREADABLE,
        "/chunk_memory_layout",
    ),
    *(
        Row(
            "C and F contiguous memory layout",
            "only for data types of fixed size",
            array(data_type={"extension": URI, "type": "string"}, fill_value="", chunk_memory_layout=each),
            BAD,
            "/chunk_memory_layout",
        )
        for each in "CF"
    ),
    *(
        Row("Array metadata: chunk_codecs", "a list", array(chunk_codecs=each), BAD, "/chunk_codecs")
        for each in ({}, None, "gzip")
    ),
    *(
        Row("Array metadata: chunk_codecs", "of objects", array(chunk_codecs=[GZIP, each]), BAD, "/chunk_codecs/1")
        for each in ("gzip", None)
    ),
    Row("Array metadata: chunk_codecs", "with `codec`", array(chunk_codecs=[{"level": 1}]), BAD, "/chunk_codecs/0"),
    *(
        Row("Codecs", "each codec has a URI", array(chunk_codecs=[{"codec": each}]), BAD, "/chunk_codecs/0/codec")
        for each in ("gzip", 1, None)
    ),
    *(
        Row(
            "Array metadata: fill_value",
            "of a Boolean array true or false",
            array(data_type="bool", fill_value=each),
            BAD,
            "/fill_value",
        )
        for each in (0, 1, "true", [])
    ),
    *(
        Row(
            "Array metadata: fill_value",
            f"of integers a number in their range: {kind}",
            array(data_type=kind, fill_value=each),
            BAD,
            "/fill_value",
        )
        for kind, each in (
            ("i1", 128),
            ("i1", -129),
            ("u1", -1),
            ("u1", 256),
            ("<i2", 32768),
            (">u2", 65536),
            ("<i4", 2**31),
            (">i8", 2**63),
            ("<u8", 2**64),
            ("<u8", -1),
            ("<i4", 1.5),
            ("<i4", "1"),
            ("<i4", "NaN"),
            ("<i4", True),
            ("<i4", [1]),
        )
    ),
    *(
        Row(
            "Array metadata: fill_value",
            f"of floats a number or one of three words: {kind}",
            array(data_type=kind, fill_value=each),
            BAD,
            "/fill_value",
        )
        for kind, each in (
            ("<f4", 1e39),
            (">f2", 65520),
            ("<f8", 10**400),
            ("<f8", "nan"),
            ("<f8", "-NaN"),
            ("<f8", "inf"),
            ("<f8", "1"),
            ("<f8", True),
            ("<f8", [1.0]),
            ("<f8", {}),
        )
    ),
    *(
        Row(
            "Array metadata: fill_value",
            f"of complex numbers two of them: {kind}",
            array(data_type=kind, fill_value=each),
            BAD,
            "/fill_value",
        )
        for kind, each in (
            ("<c8", 1.0),
            ("<c8", [1.0]),
            (">c16", [1, 2, 3]),
            ("<c8", [1e39, 0]),
            ("<c16", ["nan", 0]),
            ("<c16", "NaN"),
            ("<c16", [True, 0]),
        )
    ),
    Row(
        "Array metadata: fill_value",
        "null is undefined",
        array(fill_value=None),
        "undefined-fill",
        "/fill_value",
        "note",
    ),
    Row("Array metadata", "other names are reserved", array(order="C"), "foreign-member", "/order", "warning"),
    Row("Array metadata", "other names are reserved", array(**{"a/b~": 1}), "foreign-member", "/a~1b~0", "warning"),
    Row("Group metadata", "other names are reserved", group(shape_=[]), "foreign-member", "/shape_", "warning"),
    Row(
        "Array metadata: chunk_grid",
        "other names are an extension's",
        grid(offset=[0, 0]),
        "foreign-member",
        "/chunk_grid/offset",
        "warning",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}: {row.rule}"[:60])
def test_what_breaks_a_rule_is_said_where_it_is(row: Row) -> None:
    kind = "array" if "shape" in row.document else "group"
    found = said({f"meta/v.{kind}.json": json.dumps(row.document).encode()})
    assert found == [(row.severity, row.code, f"meta/v.{kind}.json", row.pointer)]


def test_array_metadata_has_a_shape() -> None:
    found = said({"meta/v.array.json": json.dumps(array(shape=...)).encode()})
    assert found == [("error", "bad-metadata", "meta/v.array.json", "")]


@pytest.mark.parametrize(
    ("spelled", "right"),
    [
        ("1", True),
        ("-1", True),
        ("0", True),
        ("-0", True),
        ("1.0", False),
        ("1e0", False),
        ("1E2", False),
        ("-1.0", False),
    ],
)
@pytest.mark.parametrize("kind", ["i1", "<i4", ">i8"])
def test_array_metadata_fill_value_of_integers_has_no_fraction_or_exponent(
    kind: str, spelled: str, right: bool
) -> None:
    text = json.dumps(array(data_type=kind, fill_value="@")).replace('"@"', spelled)
    assert [code for _, code, _, _ in said({"meta/v.array.json": text.encode()})] == ([] if right else ["bad-metadata"])


@pytest.mark.parametrize("kind", CORE)
def test_core_data_types_are_all_known(kind: str) -> None:
    fill = {"b": True, "c": [0.5, "NaN"], "f": "-Infinity"}.get(kind[-2:-1] if kind != "bool" else "b", 1)
    fill = [0.5, "NaN"] if "c" in kind else fill
    assert said(content(v=array(data_type=kind, fill_value=fill))) == []


@pytest.mark.parametrize("minor", ["1", "7", "12"])
def test_metadata_of_a_later_minor_version_is_read_and_unknown_members_are_ignored(minor: str) -> None:
    version = FORMAT.replace("3.0", f"3.{minor}")
    assert (
        said(content(v=array(zarr_format=version, dimension_names=["x"]), g=group(zarr_format=version, more=1))) == []
    )


def test_metadata_of_an_extension_that_need_not_be_understood_is_ignored() -> None:
    assert said(content(g=extended(more={"a": 1}))) == []


@pytest.mark.parametrize("where", ["_", "g", "v"])
def test_metadata_what_must_be_understood_cannot_be_allowed(where: str) -> None:
    must = [{"extension": "https://example.org/e", "must_understand": True}]
    nodes = {"_": group(), "g": group(), "v": array()}
    nodes[where] = {**nodes[where], "extensions": must}
    with pytest.raises(CompileError, match="foreign-extension"):
        zarr3_2019.read(MemoryKeys(content(**nodes)), allow_loss=["all"])


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("a", True),
        ("A-z_0.9", True),
        ("", False),
        ("a b", False),
        ("é", False),
        ("a/b", False),
        ("a\\b", False),
        (".", False),
        ("..", False),
        ("...", False),
        (".a", True),
        ("n" * 255, True),
        ("n" * 256, False),
    ],
)
def test_node_names(name: str, right: bool) -> None:
    assert (problem(name) is None) is right


@pytest.mark.parametrize("name", ["a b", "é", "..", "", "n" * 256, "a+b"])
def test_node_names_that_are_none_are_said(name: str) -> None:
    assert said({f"meta/{name}.array.json": json.dumps(array()).encode(), **content(b=array())}) == [
        ("error", "bad-metadata", f"meta/{name}.array.json", "")
    ]


def test_node_names_of_siblings_differ_by_more_than_the_case_of_letters() -> None:
    found = said(content(foo=array(), FOO=group(), bar__a=array(), BAR=group()))
    assert [(code, key) for _, code, key, _ in found] == [
        ("bad-metadata", "meta/bar/"),
        ("bad-metadata", "meta/foo.array.json"),
    ]


def test_conceptual_model_arrays_have_no_children_and_a_node_is_one_thing() -> None:
    assert [(code, key) for _, code, key, _ in said(content(v=array(), v__w=array()))] == [
        ("ambiguous-node", "meta/v.array.json")
    ]
    both = {**content(v=array()), "meta/v.group.json": json.dumps(group()).encode()}
    assert [(code, key) for _, code, key, _ in said(both)] == [("ambiguous-node", "meta/v.array.json")]
    assert list(opened(both)) == ["/v"]


def test_store_interface_requires_three_operations() -> None:
    store = Required({})
    hierarchy = Hierarchy(store)
    hierarchy.create_array("/a/b", json.loads(ARRAY_EXAMPLE))
    assert hierarchy.exists("/a/b")
    assert zarr3_2019.read(store, nodes=["/a/b"])["/a/b"].shape == (10000, 1000)
    hierarchy.store.delete("meta/a/b.array.json")
    assert store.content == {}


def test_protocol_operations_creating_needs_no_ancestors() -> None:
    store = MemoryKeys()
    Hierarchy(store).create_array("/a/b/c", array())
    assert sorted(store.content) == ["meta/a/b/c.array.json"]
    assert sorted(opened(store.content).checked.groups) == ["/", "/a", "/a/b"]


def test_metadata_documents_hold_a_single_object_of_json() -> None:
    for text in (
        b"",
        b"[]",
        b"null",
        b"{} {}",
        b"\xef\xbb\xbf",
        b'{"a": NaN}',
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": 01}',
    ):
        assert [code for _, code, _, _ in said({"meta/v.array.json": text})][-1:] == ["bad-metadata"], text
