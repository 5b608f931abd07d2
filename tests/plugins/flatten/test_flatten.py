"""Groups flattened and restored: names, references, values, messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import nczarr
from nczarr.ast import Constant, Dataset, Variable
from nczarr.diagnostics.report import Report
from nczarr.plugins.flatten.group_map import LISTS, RECORD
from nczarr.plugins.flatten.references import GRAMMARS
from nczarr.plugins.testing.strategies import datasets
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from tests.conftest import ROOT, run_command
from tests.support.grouped import GROUPED, grouped_trees


def parse(text: str) -> Dataset:
    """The tree of a text in CDL, in which single quotes stand for double ones."""
    return nczarr.parse(text.replace("'", '"'))


SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


def go_round(tree: Dataset, *, as_text: bool = False) -> None:
    """Flatten a tree and restore it; both are valid, and the result is equal."""
    flat, report = nczarr.flatten_groups(tree, as_text=as_text), Report()
    assert flat.groups == ()
    assert check(Unchecked(flat), report) is not None, report.list_sorted()
    if tree.groups:
        assert nczarr.restore_groups(flat, report) == tree
    assert report.list_sorted() == []


@given(datasets(elements=True))
def test_every_tree_comes_back(tree: Dataset) -> None:
    go_round(tree)


@given(grouped_trees(tuple(GRAMMARS)))
def test_every_reference_comes_back(tree: Dataset) -> None:
    if check(Unchecked(tree), Report()) is not None:
        go_round(tree)
        go_round(tree, as_text=True)


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
@pytest.mark.parametrize("source", [*SAMPLES, GROUPED], ids=[*(path.stem for path in SAMPLES), "grouped"])
def test_the_way_back_leads_to_an_equal_dataset(source: Path | str, suffix: str, tmp_path: Path) -> None:
    """Values follow through both, in files and stores."""
    own, flat, back = (tmp_path / f"{name}.{suffix}" for name in ("own", "flat", "back"))
    if isinstance(source, str):
        (tmp_path / "grouped.cdl").write_text(source)
        source = tmp_path / "grouped.cdl"
    nczarr.convert(source, own)
    assert run_command("convert", str(own), str(flat), "--flatten-groups", "--verify").status == 0
    assert run_command("convert", str(flat), str(back), "--restore-groups", "--verify").status == 0
    assert list(nczarr.open(flat).groups) == []
    assert nczarr.diff(own, back) == []


def test_a_classic_file_has_the_way_back_as_well(tmp_path: Path) -> None:
    text = "netcdf d { dimensions: t = UNLIMITED ; group: g { variables: int v(t) ; v:bounds = 'w' ; int w(t) ;" \
        " data: v = 1, 2 ; } group: h { } }"  # fmt: skip
    (tmp_path / "d.cdl").write_text(text.replace("'", '"'))
    nczarr.convert(tmp_path / "d.cdl", tmp_path / "d.nc")
    for words in (["--kind", "nc3"], ["--to", "netcdf3"]):
        target = str(tmp_path / "flat.nc")
        ran = run_command("convert", str(tmp_path / "d.nc"), target, "--flatten-groups", "--overwrite", *words)
        assert ran.status == 0, ran.err
        assert nczarr.open(target).dataset.kind == "nc3"
        back = str(tmp_path / "back.nc")
        assert run_command("convert", target, back, "--restore-groups", "--overwrite").status == 0
        assert nczarr.diff(tmp_path / "d.nc", back) == []


def test_flat_names_and_places() -> None:
    tree = parse(GROUPED)
    flat = nczarr.flatten_groups(tree)
    assert [one.name for one in flat.dimensions] == ["lat", "t", "a__x", "a__u", "a__b__x", "a__b__x_2"]
    assert [one.name for one in flat.types] == ["level", "a__pair", "a__row"]
    variables = {one.name: one for one in flat.variables}
    assert variables["a__b__x"].dimensions == ("/a__b__x",)
    assert variables["a__b__x_2"].dimensions == ("/a__b__x_2",)
    assert variables["a__p"].type == "/a__pair"
    attributes = {one.name: one.value for one in flat.attributes}
    assert attributes["a__title"] == Constant.text(b"of the root")
    assert attributes["a__title_2"] == Constant.text(b"of a")
    assert attributes["a__pairs"].type == "/a__pair"
    assert b"a__p__q: /a/p__q" not in (attributes[LISTS["variable"][0]].data or ())
    assert b"a__b__p__q: /a/b/p__q" in attributes[LISTS["variable"][0]].data  # type: ignore[operator]
    record = json.loads(attributes[RECORD].data)  # type: ignore[arg-type]
    assert record["groups"] == ["/a", "/a/b", "/a/empty", "/a__b", "/void", "/void/inner"]
    assert record["names"] == {"type": {"a__pair": "/a/pair", "a__row": "/a/row"}}


SCOPES = """netcdf d { dimensions: d1 = 2 ; d2 = 2 ; variables: int rootv ; int d2 ; int xr ;
group: m { dimensions: mx = 3 ; variables: int p ; int q ; int s ; int mx(mx) ;
  group: n { dimensions: sub = 4 ; x = 3 ; variables: double x(x) ; int sc ; int inner(x) ; int %s
    group: o { variables: int d1 ; int deeper ; } }
  group: n2 { variables: int d1(d1) ; int sib ; group: pp { variables: int d1(d1) ; } } }
}"""


@pytest.mark.parametrize(
    ("attribute", "text", "wanted"),
    [
        ("coordinates", "x p rootv ../../m/p /m/n2/sib o/deeper ./x",
         "m__n__x m__p rootv m__p m__n2__sib m__n__o__deeper m__n__x"),
        ("coordinates", "d1 d2 sib ../../../p", "m__n2__d1 d2 sib ../../../p"),  # lateral: the coordinate variable
        ("ancillary_variables", "d1", "d1"),  # none for others
        ("grid_mapping", "p: x d1", "m__p: m__n__x m__n2__d1"),
        ("cell_methods", "sub: p: mean x: t (interval: 1 sub comment: sub:) x: area: sum within sub",
         "m__n__sub: p: mean m__n__x: t (interval: 1 sub comment: sub:) m__n__x: area: sum within sub"),
        ("cell_measures", " area:  p\tvolume: nope\n", " area:  m__p\tvolume: nope\n"),
        ("formula_terms", "x: x b: /m/q", "x: m__n__x b: m__q"),
        ("compress", "mx ../mx d1", "m__mx m__mx d1"),
        ("sample_dimension", "p", "p"),
        ("tie_point_mapping", "x: inner sub mx", "m__n__x: m__n__inner m__n__sub m__mx"),
        ("coordinate_interpolation", "x p: q", "m__n__x m__p: m__q"),
        ("face_node_connectivity", "q", "m__q"),
        ("long_name", "x p", "x p"),
    ],
)  # fmt: skip
def test_words_of_attributes(attribute: str, text: str, wanted: str) -> None:
    spelled = json.dumps(text)
    tree = parse(SCOPES % f"v(sub) ; v:{attribute} = {spelled} ;")
    flat = nczarr.flatten_groups(tree)
    [changed] = next(one for one in flat.variables if one.name == "m__n__v").attributes
    assert changed.value == Constant.text(wanted.encode())
    assert nczarr.restore_groups(flat) == tree


def test_methods_of_scalar_coordinates() -> None:
    """Only those that `coordinates` names: other names are standard names."""
    tree = parse(SCOPES % "v ; v:cell_methods = 'sc: p: mean' ; v:coordinates = 'sc inner' ;")
    flat = next(one for one in nczarr.flatten_groups(tree).variables if one.name == "m__n__v")
    assert flat.attributes[0].value == Constant.text(b"m__n__sc: p: mean")


def test_long_names_have_a_hash() -> None:
    """By bytes, not characters; the name remains, if there is room."""
    text = f"netcdf d {{ group: {'é' * 126} {{ variables: int v ; int {'w' * 230} ; }} }}"
    tree = parse(text)
    flat = nczarr.flatten_groups(tree)
    first, second = (one.name for one in flat.variables)
    assert first == "é" * 126 + "__v"
    assert len(second) == 40
    assert nczarr.restore_groups(flat) == tree


def run_passes(text: str, tree_pass: Any) -> list[str]:
    """The messages of a pass."""
    report = Report()
    tree_pass(parse(text), report)
    return [f"{one.code}: {one.message}" for one in report.list_sorted()]


def test_messages_of_flattening() -> None:
    text = "netcdf d { dimensions: x = 1 ; :external_variables = 'area' ; group: g { variables: int x(x) ;" \
        " x:cell_measures = 'area: area' ; x:bounds = 'none' ; x:cell_methods = 'height: mean' ; } }"  # fmt: skip
    assert run_passes(text, nczarr.flatten_groups) == [
        "detached-coordinate: `/g/x` is no coordinate variable as `g__x`: its dimension `/x` is `x`",
        "unresolved-reference: `bounds` of `/g/x` names `none`, which its scope does not have: the name stays",
    ]


def test_a_flat_tree_stays_flat() -> None:
    flat = nczarr.flatten_groups(parse(GROUPED))
    assert nczarr.flatten_groups(flat) is flat


@pytest.mark.parametrize("name", ["__flattener_name_mapping_variables", "_flattener_variable_map"])
def test_files_of_the_flatteners_are_restored(name: str) -> None:
    """Without the JSON that we add; names in attributes are the shortest ones that lead to the same variables."""
    text = "netcdf d { dimensions: g__x = 1 ; variables: int v ; int g__v(g__x) ; int g__h__w(g__x) ;" \
        " g__h__w:ancillary_variables = 'v g__v REF_NOT_FOUND_q' ; g__h__w:coordinates = 'v' ;" \
        " string :%s = 'v: /v', 'g__v: /g/v', 'g__h__w: /g/h/w', 'gone: /g/gone' ;" \
        " string :__flattener_name_mapping_dimensions = 'g__x: /g/x' ; }"  # fmt: skip
    report = Report()
    restored = nczarr.restore_groups(parse(text % name), report)
    wanted = "netcdf d { variables: int v ; group: g { dimensions: x = 1 ; variables: int v(x) ;" \
        " group: h { variables: int w(x) ; w:ancillary_variables = '/v v q' ; w:coordinates = '/v' ; } } }"  # fmt: skip
    assert restored == parse(wanted)
    assert report.list_sorted() == []


def test_what_was_changed_since_then_stays() -> None:
    """New nodes remain in the root, removed ones are not missed, and a changed attribute keeps its change."""
    text = "netcdf d { group: g { variables: int v ; v:bounds = '/g/w' ; int w ; int u ; } }"
    flat = nczarr.flatten_groups(parse(text))
    kept = [one for one in flat.variables if one.name != "g__u"]
    [bounds] = kept[0].attributes
    kept[0] = kept[0].model_copy(update={"attributes": (bounds.with_value(Constant.text(b"g__w new")),)})
    new = parse("netcdf d { variables: int new ; }").variables
    restored = nczarr.restore_groups(flat.model_copy(update={"variables": (*kept, *new)}))
    assert restored == parse(
        "netcdf d { variables: int new ; group: g { variables: int v ; v:bounds = 'w new' ; int w ; } }"
    )


ODD_RECORD = json.dumps({
    "groups": ["", "/", "g", 3, "/b", "/g//h"],
    "names": {"variable": {"a": "/", "q": 1}},
    "references": {"a": {"x": [["p"], [1]]}},
})  # fmt: skip
WRONG_RECORD = json.dumps({"groups": 1, "names": [], "references": 3})


def test_new_variables_go_where_they_see_their_dimensions() -> None:
    text = """netcdf d { dimensions: t = 2 ; group: g { dimensions: x = 3 ; variables: int v(x) ;
        group: h { dimensions: y = 2 ; } } group: k { dimensions: z = 2 ; } }"""
    flat = nczarr.flatten_groups(nczarr.parse(text))
    shapes = {"a": ("/g__x",), "b": ("/t", "/g__h__y", "/g__x"), "c": ("/t",), "d": ("/g__x", "/k__z")}
    made = tuple(Variable(name=name, type="int", dimensions=dimensions) for name, dimensions in shapes.items())
    back = nczarr.restore_groups(flat.model_copy(update={"variables": (*flat.variables, *made)}))
    g = back.groups[0]
    assert [(one.name, one.dimensions) for one in g.variables] == [("v", ("/g/x",)), ("a", ("/g/x",))]
    assert [(one.name, one.dimensions) for one in g.groups[0].variables] == [("b", ("/t", "/g/h/y", "/g/x"))]
    assert [one.name for one in back.variables] == ["c", "d"]  # no group sees both dimensions of `d`


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ("", "no-group-map: the dataset has no attribute that leads back to groups, such as "
             "`__flattener_name_mapping_attributes`"),
        ("string :_flattener_variable_map = 'a: /g/x', 'b: /g/x' ;",
         "bad-group-map: variable `b` stays in the root: its place `/g/x` is taken"),
        ("string :_flattener_variable_map = 'a: /b/x' ;", None),
        ("string :_flattener_variable_map = 'a: /b' ;",
         "bad-group-map: variable `a` stays in the root: its place `/b` is taken"),
        ("string :_flattener_variable_map = 'a' ;",
         "bad-group-map: `_flattener_variable_map` has the entry `a`, not `NAME: /PATH`"),
        (":_flattener_variable_map = 3 ;", None),
        (":_nczarr_groups = '[' ;", "bad-group-map: `_nczarr_groups` is no JSON object"),
        (f":_nczarr_groups = {json.dumps(ODD_RECORD)} ;", None),
        (f":_nczarr_groups = {json.dumps(WRONG_RECORD)} ;", None),
    ],
)  # fmt: skip
def test_wrong_maps_are_told(attributes: str, wanted: str | None) -> None:
    """They are untrusted: no exception, and a valid tree."""
    text = f"netcdf d {{ variables: int a ; int b ; {attributes} }}"
    messages = run_passes(text, nczarr.restore_groups)
    assert messages == ([] if wanted is None else [wanted]) or (wanted is None and messages[0].startswith("bad-group"))
    assert check(Unchecked(nczarr.restore_groups(parse(text))), Report()) is not None


def test_options_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "d.cdl").write_text(GROUPED)
    words = ["compile", str(tmp_path / "d.cdl"), "-o", str(tmp_path / "d.nc"), "--flatten-groups"]
    ran = run_command(*words, "--restore-groups")
    assert ran.status != 0
    assert "--flatten-groups and --restore-groups exclude each other" in ran.err
    assert run_command(*words).status == 0
    assert list(nczarr.open(tmp_path / "d.nc").groups) == []


def test_passes_of_users_see_the_flat_tree(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def look(tree: Dataset, report: Report) -> Dataset:
        seen.append([one.name for one in tree.groups])
        return tree

    nczarr.convert(nczarr.from_cdl(GROUPED), tmp_path / "d.nc", passes=[nczarr.flatten_groups, look])
    assert seen == [[]]
    assert nczarr.open(tmp_path / "d.nc")["a__temp"][0, 1].tolist() == [3.0, 4.0]
    data = nczarr.from_cdl(GROUPED)
    flat = data.with_tree(nczarr.flatten_groups(data.dataset))
    back = flat.with_tree(nczarr.restore_groups(flat.dataset))
    assert nczarr.diff(data, back) == []


@pytest.mark.plugin("builds")
def test_options_of_two_plugins_around_one_command(tmp_path: Path) -> None:
    """`--if-changed` of the plugin `builds` sees a target that was flattened, and leaves it."""
    (tmp_path / "d.cdl").write_text(GROUPED)
    target = tmp_path / "d.nc"
    words = ["compile", str(tmp_path / "d.cdl"), "-o", str(target), "--flatten-groups", "--if-changed"]
    assert run_command(*words).status == 0
    made = target.stat()
    assert run_command(*words).status == 0
    assert target.stat() == made
    assert list(nczarr.open(target).groups) == []
