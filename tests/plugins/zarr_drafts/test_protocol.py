"""The examples of the draft, word by word, and its operations over stores with and without lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nczarr import zarr3_2019
from nczarr.arrays.regions import grid_of
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.zarr_drafts.api import ContradictionError, Hierarchy, MemoryKeys, array_key, data_key, group_key
from nczarr.plugins.zarr_drafts.keyvalue import NO_PREFIX, NotListedError
from tests.support.draft_2019 import (
    ARRAY_EXAMPLE,
    GROUP_EXAMPLE,
    Required,
    WithAll,
    WithList,
    array,
    content,
    found_in,
    group,
    opened,
    places,
    repaired,
    said,
)

STORES = [WithAll, WithList]


def test_the_example_of_an_array_is_read() -> None:
    variable = opened({"meta/foo/baz.array.json": ARRAY_EXAMPLE.encode()})["/foo/baz"]
    assert (variable.type, variable.shape) == ("double", (10000, 1000))
    assert variable.variable.storage.chunks == (1000, 100)
    assert {each.name: each.value.type for each in variable.variable.attributes} == {
        "foo": "int", "bar": "char", "baz": "int"}  # fmt: skip
    assert str(variable[9999, 999]) == "nan"


def test_the_examples_are_written_again_member_for_member() -> None:
    stored = {"meta/foo/baz.array.json": ARRAY_EXAMPLE.encode(), "meta/foo/bar.group.json": repaired(GROUP_EXAMPLE)}
    made = opened(stored).to_keys("zarr3-2019")
    for key, given in stored.items():
        assert list(json.loads(made[key]).items()) == list(json.loads(given).items())
    assert sorted(made) == ["meta/foo.group.json", *sorted(stored), "root.group.json"]


def test_the_example_of_a_group_as_it_stands_is_wrong_at_its_comma() -> None:
    stored = {"meta/bar.group.json": GROUP_EXAMPLE.encode(), "meta/baz.array.json": ARRAY_EXAMPLE.encode()}
    (one,) = found_in(stored)
    assert (str(one.severity), one.code, one.primary.key) == ("error", "bad-metadata", "meta/bar.group.json")
    assert "comma" in one.message
    assert places(stored) == [(6, 16)]
    line = GROUP_EXAMPLE.splitlines()[5]
    assert line[15] == ","


def test_a_diagnostic_shows_the_line() -> None:
    from nczarr.diagnostics.render import human, json_lines

    found = found_in({"meta/bar.group.json": GROUP_EXAMPLE.encode()})
    text = "".join(human(found))
    assert "/meta/bar.group.json:6:16\n" in text
    assert '"eggs": 42,\n' in text
    record = json.loads("".join(json_lines(found)))
    assert (record["line"], record["column"], record["key"]) == (6, 16, "meta/bar.group.json")
    with pytest.raises(CompileError, match=r"\(at meta/bar.group.json:6:16\)"):
        zarr3_2019.read(MemoryKeys({"meta/bar.group.json": GROUP_EXAMPLE.encode()}), allow_loss=())


def test_the_example_of_a_grid() -> None:
    assert grid_of((10, 200, 3000), (5, 20, 400)) == (2, 10, 8)
    grid = {"type": "regular", "chunk_shape": [5, 20, 400]}
    given = content(v=array(shape=[10, 200, 3000], chunk_grid=grid, data_type="u1", fill_value=7))
    made = opened({**given, "data/v/1.9.7": bytes([1]) * 40000})
    assert (made["/v"][9, 199, 2999], made["/v"][9, 199, 2799], made["/v"][4, 199, 2999]) == (1, 7, 7)
    outside = opened({**given, "data/v/2.0.0": bytes(40000), "data/v/0.0.8": bytes(40000)})
    assert outside["/v"][...].min() == 7
    assert not any(key.startswith("data/") for key in outside.to_keys("zarr3-2019"))


def test_the_examples_of_keys() -> None:
    assert group_key("/foo/bar") == "meta/foo/bar.group.json"
    assert array_key("/foo/baz") == "meta/foo/baz.array.json"
    assert data_key("/foo/baz", 0, 0) == "data/foo/baz/0.0"
    assert data_key("/a", 1, 23, 45) == "data/a/1.23.45"
    assert data_key("/a", 1, 2, separator="/") == "data/a/1/2"
    assert (group_key("/"), array_key("/"), data_key("/", 0, 0)) == ("root.group.json", "root.array.json", "data/0.0")
    assert data_key("/scalar") == "data/scalar/0"


@pytest.mark.parametrize("kind", STORES)
def test_children_are_found_as_in_the_example(kind: type[Required]) -> None:
    hierarchy = Hierarchy(kind({}))
    hierarchy.create_group("/foo/bar", group())
    hierarchy.create_array("/foo/baz/qux", array())
    assert hierarchy.store.list() == {"meta/foo/bar.group.json", "meta/foo/baz/qux.array.json"}
    assert hierarchy.children("/foo") == ((), ("bar",), ("baz",))
    assert hierarchy.children("/") == ((), (), ("foo",))
    assert hierarchy.children("/foo/baz") == (("qux",), (), ())
    nodes = hierarchy.discover()
    assert {path: set(nodes.kinds(path)) for path in ("/", "/foo", "/foo/bar", "/foo/baz", "/foo/baz/qux", "/x")} == {
        "/": {"group"}, "/foo": {"group"}, "/foo/bar": {"group"}, "/foo/baz": {"group"}, "/foo/baz/qux": {"array"},
        "/x": set()}  # fmt: skip


def test_all_nodes_are_discovered_by_one_list() -> None:
    calls: list[str] = []

    class Counting(WithAll):
        def listpre(self, prefix: str) -> set[str]:
            calls.append(prefix)
            return super().listpre(prefix)

        def listdir(self, prefix: str) -> tuple[set[str], set[str]]:
            raise AssertionError(prefix)

    stored = content(_=group(), a__b__c=array(), d=group())
    assert sorted(Hierarchy(Counting(stored)).discover().documents) == ["/", "/a/b/c", "/d"]
    assert [prefix for prefix in calls if prefix != NO_PREFIX] == ["meta/"]


def test_without_lists_nodes_have_to_be_given() -> None:
    stored = content(foo__bar=group(attributes={"a": 1}), foo__baz__qux=array(), foo=group(attributes={"b": 2}))
    hierarchy = Hierarchy(Required(stored))
    with pytest.raises(NotListedError):
        hierarchy.children("/foo")
    with pytest.raises(NotListedError, match="give the paths of nodes"):
        hierarchy.discover()
    assert sorted(hierarchy.discover(["/foo/baz/qux", "/gone"]).documents) == ["/foo", "/foo/baz/qux"]
    found = zarr3_2019.read(Required(stored), nodes=["/foo/baz/qux", "/foo/bar"])
    assert list(found) == ["/foo/baz/qux"]
    assert sorted(found.checked.groups) == ["/", "/foo", "/foo/bar", "/foo/baz"]
    assert [each.name for each in found.checked.groups["/foo"].attributes] == ["b"]


def test_a_node_that_is_given_and_not_there_is_said() -> None:
    found = zarr3_2019.read(Required(content(foo=array())), nodes=["/foo", "/bar"])
    assert [(each.code, each.message) for each in found.diagnostics] == [
        ("unreadable-array", "`/bar` is given but has no document")
    ]
    with pytest.raises(ValueError, match="slash"):
        zarr3_2019.read(Required({}), nodes=["foo"])


def test_without_lists_and_nodes_nothing_is_found_and_said() -> None:
    found = zarr3_2019.read(Required(content(foo=array())))
    assert list(found) == []
    assert [each.code for each in found.diagnostics] == ["unreadable-array"]


@pytest.mark.parametrize("kind", [*STORES, Required])
def test_a_node_exists_by_its_document(kind: type[Required]) -> None:
    hierarchy = Hierarchy(kind(content(a=array(), g__h=group())))
    assert (hierarchy.exists("/a"), hierarchy.exists("/g/h"), hierarchy.exists("/x")) == (True, True, False)


def test_a_node_exists_by_what_is_below_it_where_that_can_be_listed() -> None:
    stored = content(g__h=group())
    assert Hierarchy(WithList(stored)).exists("/g")
    assert Hierarchy(WithList(stored)).exists("/")
    assert not Hierarchy(Required(stored)).exists("/g")


class Failing(WithAll):
    """A store that fails at the n-th deletion."""

    def __init__(self, content: dict[str, bytes], after: int) -> None:
        super().__init__(content)
        self.after = after

    def delete(self, key: str) -> None:
        if not self.after:
            raise OSError(key)
        self.after -= 1
        super().delete(key)


def test_a_deletion_takes_chunks_then_what_is_below_then_the_document() -> None:
    order: list[str] = []

    class Watching(WithAll):
        def delete(self, key: str) -> None:
            if key in self.content:
                order.append(key)
            super().delete(key)

    stored = {**content(_=group(), g=group(), g__a=array(), g__h__b=array(), gg=group()), "data/g/a/0.0": b"", "data/g/h/b/0.0": b"", "data/gg/0.0": b""}  # fmt: skip  # noqa: E501
    Hierarchy(Watching(stored)).delete("/g")
    assert order == ["data/g/a/0.0", "data/g/h/b/0.0", "meta/g/h/b.array.json", "meta/g/a.array.json", "meta/g.group.json"]  # fmt: skip  # noqa: E501
    assert sorted(stored) == ["data/gg/0.0", "meta/gg.group.json", "root.group.json"]


@pytest.mark.parametrize("after", range(5))
def test_a_deletion_that_is_cut_short_leaves_a_node_that_is_found(after: int) -> None:
    stored = {**content(g=group(), g__a=array(), g__h__b=array()), "data/g/a/0.0": b"", "data/g/h/b/0.0": b""}
    store = Failing(stored, after)
    with pytest.raises(OSError, match=r"data|meta"):
        Hierarchy(store).delete("/g")
    hierarchy = Hierarchy(WithAll(stored))
    assert hierarchy.exists("/g")
    hierarchy.delete("/g")
    assert not stored


def test_without_lists_an_array_is_deleted_by_its_grid_and_a_group_not_at_all() -> None:
    stored = {**content(a=array(), g=group()), "data/a/0.0": b"", "data/a/0.1": b"", "data/b/0.0": b""}
    hierarchy = Hierarchy(Required(stored))
    with pytest.raises(NotListedError):
        hierarchy.delete("/g")
    hierarchy.delete("/a")
    assert sorted(stored) == ["data/b/0.0", "meta/g.group.json"]


def test_without_lists_an_array_of_endless_chunks_is_not_deleted() -> None:
    stored = content(a=array(shape=[2**40, 2**20]))
    with pytest.raises(NotListedError, match="may have"):
        Hierarchy(Required(stored)).delete("/a")
    assert list(stored) == ["meta/a.array.json"]


@pytest.mark.parametrize(
    ("path", "kind", "words"),
    [
        ("/a", "group", "already exists as an array"),
        ("/g", "array", "already exists as a group"),
        ("/i", "array", "implied by its descendants"),
        ("/a/b", "array", "is an array, which has no children"),
        ("/a/b/c", "group", "is an array, which has no children"),
        ("/A", "array", "only in the case of letters"),
        ("/I/new", "array", "only in the case of letters"),
    ],
)
def test_contradictions_are_not_created(path: str, kind: str, words: str) -> None:
    stored = content(a=array(), g=group(), i__j=array())
    before = dict(stored)
    create = getattr(Hierarchy(WithList(stored)), f"create_{kind}")
    with pytest.raises(ContradictionError, match=words):
        create(path, array() if kind == "array" else group())
    assert stored == before


@pytest.mark.parametrize("path", ["", "a", "//", "/a//b", "/a/", "/.", "/a b", "/é", "/" + "n" * 256])
def test_what_is_no_path_is_not_created(path: str) -> None:
    with pytest.raises(ValueError, match="is not the path of a node"):
        Hierarchy(MemoryKeys()).create_group(path, group())


@pytest.mark.parametrize("document", [{}, group(attributes=[]), group(more=1), group(zarr_format=3)])
def test_what_is_no_document_is_not_created(document: dict[str, Any]) -> None:
    store = MemoryKeys()
    with pytest.raises(CompileError):
        Hierarchy(store).create_group("/g", document)
    assert not store.content


def test_nodes_that_were_created_are_read() -> None:
    store = MemoryKeys()
    hierarchy = Hierarchy(store)
    hierarchy.create_array("/", array(shape=[2], chunk_grid={"type": "regular", "chunk_shape": [2]}))
    hierarchy.store.set(data_key("/", 0), (5).to_bytes(4, "little") * 2)
    found = zarr3_2019.read(store, name="depths")
    assert found["/depths"][...].tolist() == [5, 5]
    assert said(store.content) == []
