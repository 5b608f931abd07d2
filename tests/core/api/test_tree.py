"""The public tree: parse, walk, transform, rename, analyse, and handles of trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Node, Variable, rename, transform, walk

CDL = """netcdf d {
types: byte enum state { off = 0, on = 1 } ; compound pair { int first ; state second(2) ; } ;
dimensions: x = 2 ; t = UNLIMITED ;
variables: int v(t, x) ; v:units = "K" ; double x(x) ; pair p ; state s(x) ; state s:usual = on ;
data: v = 1, 2, 3, 4 ; x = 0.5, 1.5 ; p = { 7, { on, off } } ; s = on, off ;
group: inner { variables: float v(x) ; v:units = "m" ; }
}"""


@pytest.fixture
def tree() -> Dataset:
    return nczarr.parse(CDL)


def test_walk_yields_each_node_with_its_path_before_its_children(tree: Dataset) -> None:
    found = list(walk(tree))
    assert [path for path, _ in found] == [
        *("/", "/state", "/state.off", "/state.on", "/pair", "/pair.first", "/pair.second", "/x", "/t"),
        *("/v", "/v@units", "/x", "/p", "/s", "/s@usual", "/inner", "/inner/v", "/inner/v@units"),
    ]
    assert all(isinstance(node, Node) for _, node in found)


@pytest.mark.parametrize("language", ["cdl", "notation", "ast"])
def test_parse_finds_the_language(language: str) -> None:
    texts = {
        "cdl": "netcdf d { dimensions: x = 2 ; variables: int v(x) ; }",
        "notation": "dataset d 2.0.0 { dimension x 2 variable v int /x }",
    }
    texts["ast"] = nczarr.from_notation(texts["notation"]).to_ast()
    found = nczarr.parse(texts[language])
    assert found.variables[0].dimensions == ("/x",)
    assert nczarr.parse(texts[language].encode(), language=language) == found


def test_parse_reports_faults_at_their_places() -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.parse("netcdf d { variables: int v(x) ; }", name="s.cdl")
    assert "s.cdl:1:" in str(caught.value)
    with pytest.raises(nczarr.CompileError, match="not a language of schemas"):
        nczarr.parse("", language="zarr3")


def test_transform_replaces_removes_and_adds_and_keeps_spans(tree: Dataset) -> None:
    def in_degrees(path: str, node: Attribute) -> list[Attribute]:
        note = Attribute(name="note", value=Constant.text(path.encode()))
        return [Attribute(name=node.name, value=Constant.text(b"degC")), note] if path == "/v@units" else []

    changed = transform(tree, {Attribute: in_degrees})
    units, note = changed.variables[0].attributes
    assert (units.value, note.value) == (Constant.text(b"degC"), Constant.text(b"/v@units"))
    assert units.span is not tree.span
    assert (units.span.start, units.span.end) == (tree.variables[0].attributes[0].span.start, units.span.end)
    assert changed.groups[0].variables[0].attributes == ()
    assert changed.types is tree.types, "what did not change is shared"
    assert tree == nczarr.parse(CDL)


def test_transform_sees_children_that_were_changed(tree: Dataset) -> None:
    seen: list[int] = []

    def count(path: str, node: Variable) -> Variable:
        seen.append(len(node.attributes))
        return node

    transform(tree, {Attribute: lambda path, node: None, Variable: count})
    assert seen == [0] * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({Attribute: lambda path, node: Dimension(name="a", size=1)}, "`attributes` of the Variable `/v` cannot hold"),
        ({Attribute: lambda path, node: 3}, "a change returns a node, several or None, not int"),
        ({Dataset: lambda path, node: None}, "the root must stay one Dataset"),
    ],
)
def test_transform_refuses_what_a_place_cannot_hold(tree: Dataset, changes: dict[type, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        transform(tree, changes)  # type: ignore[arg-type]


def test_rename_follows_all_uses(tree: Dataset) -> None:
    renamed = rename(tree, {"/x": "lon", "/state": "mode", "/inner": "deep"})
    found = nczarr.analyse(renamed)
    assert found.variables["/v"].dimensions == ("/t", "/lon")
    assert found.variables["/deep/v"].dimensions == ("/lon",)
    assert found.variables["/s"].type == found.variables["/s"].attributes[0].value.type == "/mode"
    assert "/lon" in found.variables
    with pytest.raises(KeyError, match="the tree has no /nothing"):
        rename(tree, {"/nothing": "something"})


def test_analyse_says_what_follows_from_a_tree(tree: Dataset) -> None:
    found = nczarr.analyse(tree)
    assert found.shapes == {"/v": (0, 2), "/x": (2,), "/p": (), "/s": (2,), "/inner/v": (2,)} | {
        "/v": found.shapes["/v"]
    }
    assert found.uses["/x"] == ("/v", "/x", "/s", "/inner/v")
    assert found.uses["/state"] == ("/pair", "/s", "/s@usual")
    assert found.resolve("x", "/inner") == "/x"
    assert found.resolve("v", "/inner") == "/inner/v"
    assert found.resolve("nothing") is None
    assert found.fills["/v"] is not None
    assert found.tree == tree


def test_analyse_resolves_names_of_a_tree_by_hand() -> None:
    variable = Variable(name="v", type="int", dimensions=("x",))
    by_hand = Dataset(name="d", dimensions=(Dimension(name="x", size=3),), variables=(variable,))
    assert nczarr.analyse(by_hand).tree.variables[0].dimensions == ("/x",)
    with pytest.raises(nczarr.CompileError, match="undefined-dimension"):
        nczarr.analyse(Dataset(name="d", variables=(variable,)))


def test_a_tree_is_opened_and_written(tree: Dataset, tmp_path: Path) -> None:
    assert nczarr.open(tree)["inner/v"][...].tolist() == [np.float32(9.96921e36)] * 2
    nczarr.write(tree, tmp_path / "d.zarr")
    assert nczarr.analyse(nczarr.open(tmp_path / "d.zarr").dataset).shapes["/x"] == (2,)


def test_values_follow_the_tree_through_renames(tmp_path: Path) -> None:
    handle = nczarr.from_cdl(CDL)
    changed = handle.with_tree(rename(handle.dataset, {"/v": "w", "/inner": "deep", "/state": "mode", "/pair": "two"}))
    assert changed["s"][...].tolist() == [1, 0]
    assert changed["p"][...]["second"].tolist() == [1, 0]
    assert changed["w"][...].tolist() == [[1, 2], [3, 4]]
    assert list(changed) == ["/w", "/x", "/p", "/s", "/deep/v"]
    nczarr.write(handle, tmp_path / "d.nc", kind="nc4")
    stored = nczarr.open(tmp_path / "d.nc")
    renamed = stored.with_tree(rename(stored.dataset, {"/v": "w", "/s": "q"}), renamed={"/v": "/w", "/s": "/q"})
    assert (renamed["w"][...].tolist(), renamed["q"][...].tolist()) == ([[1, 2], [3, 4]], [1, 0])


def test_two_names_may_be_swapped() -> None:
    handle = nczarr.from_cdl("netcdf d { variables: int a, b ; data: a = 1 ; b = 2 ; }")
    swapped = handle.with_tree(handle.dataset, renamed={"/a": "/b", "/b": "/a"})
    assert (int(swapped["a"][...]), int(swapped["b"][...])) == (2, 1)


def test_values_are_never_lost_silently() -> None:
    handle = nczarr.from_cdl("netcdf d { variables: int a, b ; data: a = 1 ; b = 2 ; }")
    anew = Dataset(name="d", variables=(Variable(name="c", type="int"), Variable(name="b", type="int")))
    with pytest.raises(nczarr.CompileError, match="unknown whether `/c` has the values of `/a`"):
        handle.with_tree(anew)
    assert int(handle.with_tree(anew, renamed={"/a": "/c"})["c"][...]) == 1
    with pytest.raises(nczarr.CompileError, match="`renamed` names `/z`, which the dataset does not have"):
        handle.with_tree(anew, renamed={"/z": "/c"})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({Variable: lambda path, node: node.model_copy(update={"type": "short"})}, "type-mismatch"),
        ({Dimension: lambda path, node: node.model_copy(update={"size": 3})}, "shape-mismatch"),
    ],
)
def test_values_fit_the_tree(changes: dict[type, object], code: str) -> None:
    handle = nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    with pytest.raises(nczarr.CompileError) as caught:
        handle.with_tree(transform(handle.dataset, changes))  # type: ignore[arg-type]
    assert [found.code for found in caught.value.diagnostics] == [code]
