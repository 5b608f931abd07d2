"""Passes of users: what they change, and how their faults are said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Variable, rename, transform, walk
from nczarr.diagnostics.report import Report
from tests.conftest import Ran

CDL = "netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:units = 'K' ; data: v = 1, 2 ; }"

MODULE = """
from nczarr.ast import Attribute, Constant, rename, transform, Variable

def add_history(tree, report):
    history = Attribute(name="history", value=Constant.text(b"x"))
    return tree.model_copy(update={"attributes": (*tree.attributes, history)})

def to_w(tree, report):
    return rename(tree, {"/v": "w"})

def forbid_int(tree, report):
    for variable in tree.variables:
        if variable.type == "int":
            report.error("failed-pass", f"`{variable.name}` is int", variable.span)
    return tree
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "house_rules.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "d.cdl").write_text(CDL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "house_rules", raising=False)
    return tmp_path


def test_passes_run_in_order_over_compile_and_convert(house: Path, nczarr_command: Callable[..., Ran]) -> None:
    chosen = ("--pass", "house_rules:add_history", "--pass", "house_rules:to_w")
    assert nczarr_command("compile", "d.cdl", "-o", "a.nc", *chosen).status == 0
    assert nczarr_command("convert", "d.cdl", "b.zarr", "--verify", *chosen).status == 0
    assert nczarr.diff("a.nc", "b.zarr") == []
    found = nczarr.open("b.zarr")
    assert (found["w"][...].tolist(), found.attributes["history"]) == ([1, 2], "x")
    assert "history" in nczarr_command("compile", "d.cdl", *chosen).text


def test_a_pass_reports_with_spans_and_nothing_is_written(house: Path, nczarr_command: Callable[..., Ran]) -> None:
    ran = nczarr_command("compile", "d.cdl", "-o", "a.nc", "--pass", "house_rules:forbid_int")
    assert ran.status == 1
    assert "error[failed-pass]: `v` is int\n  --> d.cdl:1:" in ran.err
    assert sorted(path.name for path in house.iterdir() if path.suffix == ".nc") == []


def remove_dimensions(tree: Dataset, report: Report) -> Dataset:
    return transform(tree, {Dimension: lambda path, node: None})


def fail(tree: Dataset, report: Report) -> Dataset:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("tree_pass", "message"),
    [
        (remove_dimensions, "the pass `remove_dimensions` made the tree invalid"),
        (fail, "the pass `fail` failed: RuntimeError: no"),
        (lambda tree, report: None, "returned NoneType, not a Dataset"),
        ("nothing:here", "the pass nothing:here cannot be loaded: ModuleNotFoundError"),
        ("nothing", "the pass nothing cannot be loaded"),
    ],
)
def test_faults_of_a_pass_name_it(tree_pass: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(nczarr.CompileError, match=message):
        nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.zarr", passes=[tree_pass])
    assert list(tmp_path.iterdir()) == []


def test_passes_of_python_see_spans_and_change_values_of_attributes(tmp_path: Path) -> None:
    seen = []

    def shout(tree: Dataset, report: Report) -> Dataset:
        seen.extend(node.span.start for _, node in walk(tree) if isinstance(node, Variable))
        louder = {Attribute: lambda path, node: node.with_value(Constant.text(node.value.data.upper() + b"!"))}
        return transform(rename(tree, {"/x": "lon"}), louder)

    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.zarr", passes=[shout])
    found = nczarr.open(tmp_path / "a.zarr")
    assert (found["v"].dims, found["v"].attributes["units"], found["v"][...].tolist()) == (("lon",), "K!", [1, 2])
    assert seen == [CDL.index("v(x)")]


EXCHANGED = """netcdf d {
types: int enum first { one = 1 } ; int enum second { two = 2 } ;
dimensions: x = 2 ; y = 2 ;
variables:
  int a(x) ; a:is = "a" ; int b(x) ; b:is = "b" ; int c(y) ; c:is = "c" ; first e ; e:is = "e" ;
  int x(x) ; x:is = "x" ; int y(y) ; y:is = "y" ;
data: a = 1, 2 ; b = 3, 4 ; c = 5, 6 ; e = one ; x = 7, 8 ; y = 9, 10 ;
group: g { variables: int v(x) ; v:is = "g" ; data: v = 11, 12 ; }
group: h { variables: int v(x) ; v:is = "h" ; data: v = 13, 14 ; }
}"""
BELONGING = {
    "a": [1, 2],
    "b": [3, 4],
    "c": [5, 6],
    "e": 1,
    "x": [7, 8],
    "y": [9, 10],
    "g": [11, 12],
    "h": [13, 14],
}
"""Values by the attribute `is` of their variable."""

NAMES = {"/a": "b", "/b": "c", "/c": "a", "/x": "y", "/y": "x", "/first": "second", "/second": "first"}


def exchange_names(tree: Dataset, report: Report) -> Dataset:
    return rename(tree, {**NAMES, "/g": "h", "/h": "g"})


def exchange_by_hand(tree: Dataset, report: Report) -> Dataset:
    new = {"/a": "c", "/b": "a", "/c": "b"}
    return transform(tree, {Variable: lambda path, node: node.model_copy(update={"name": new.get(path, node.name)})})


@pytest.mark.parametrize("source", ["d.cdl", "d.nc", "d.zarr", "d3.zarr", "d.ncs", "d.awkd"])
@pytest.mark.parametrize(
    ("passes", "origin"),
    [([exchange_names], "a"), ([exchange_by_hand], "c"), ([exchange_names, exchange_by_hand], "b")],
)
def test_values_follow_variables_whose_names_are_exchanged(
    source: str, passes: list[object], origin: str, tmp_path: Path
) -> None:
    path = tmp_path / source
    if source == "d.cdl":
        path.write_text(EXCHANGED)
    else:
        nczarr.write(nczarr.from_cdl(EXCHANGED), path, "nczarr3" if source == "d3.zarr" else None)
    nczarr.convert(path, tmp_path / "out.nc", kind="nc4", passes=passes, verify=True)
    for found in (nczarr.open(tmp_path / "out.nc"), changed_by(nczarr.open(path), passes)):
        assert {str(node.attributes["is"]): node[...].tolist() for node in found.values()} == BELONGING
        assert found["b"].attributes["is"] == origin


def changed_by(handle: nczarr.DatasetHandle, passes: list[object]) -> nczarr.DatasetHandle:
    """Return a dataset with the tree that the passes make of its own."""
    for one in passes:
        handle = handle.with_tree(one(handle.dataset, Report()))  # type: ignore[operator]
    return handle


def test_a_tree_is_no_longer_exchanged_when_it_is_used_again() -> None:
    handle = nczarr.from_cdl(EXCHANGED)
    tree = exchange_names(handle.dataset, Report())
    changed = handle.with_tree(tree)
    assert nczarr.diff(changed, changed.with_tree(tree)) == []
    assert nczarr.diff(changed, changed.with_tree(changed.dataset)) == []
    assert nczarr.diff(handle, changed_by(handle, [exchange_names] * 6)) == []


@pytest.mark.parametrize("suffix", ["cdl", "nc", "zarr"])
def test_copies_beside_a_variable_have_its_values(suffix: str, tmp_path: Path) -> None:
    text = "netcdf d { dimensions: x = 2 ; variables: int a(x) ; int z ; data: a = 7, 8 ; z = 3 ; }"
    handle = nczarr.from_cdl(text)
    if suffix != "cdl":
        nczarr.write(handle, tmp_path / f"d.{suffix}")
        handle = nczarr.open(tmp_path / f"d.{suffix}")

    def copied(**changes: Any) -> dict[str, Any]:
        def double(path: str, node: Variable) -> tuple[Variable, Variable]:
            return node, node.model_copy(update={"name": f"{node.name}_copy", **changes})

        found = handle.with_tree(transform(handle.dataset, {Variable: double}))
        return {path: variable[...].tolist() for path, variable in found.items()}

    assert copied() == {"/a": [7, 8], "/a_copy": [7, 8], "/z": 3, "/z_copy": 3}
    assert copied(type="byte") == {"/a": [7, 8], "/a_copy": [-127, -127], "/z": 3, "/z_copy": -127}


def test_a_renamed_variable_takes_the_place_of_a_removed_one(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(EXCHANGED), tmp_path / "d.nc", kind="nc4")
    handle = nczarr.open(tmp_path / "d.nc")
    without = transform(handle.dataset, {Variable: lambda path, node: None if path == "/b" else node})
    assert handle.with_tree(rename(without, {"/a": "b"}))["b"][...].tolist() == [1, 2]


@pytest.mark.parametrize(("source", "kind"), [("d.nc", "nc3"), ("d.nc", "nc4"), ("d.zarr", None)])
def test_passes_rename_variables_of_files_and_stores(
    source: str, kind: str | None, house: Path, nczarr_command: Callable[..., Ran]
) -> None:
    cdl = "netcdf d { dimensions: x = 2 ; variables: int v(x), u(x) ; data: v = 1, 2 ; u = 3, 4 ; }"
    nczarr.write(nczarr.from_cdl(cdl), source, kind=kind)
    ran = nczarr_command("convert", source, "out.zarr", "--verify", "-q", "--pass", "house_rules:to_w")
    assert (ran.status, ran.err) == (0, "")
    assert nczarr.open("out.zarr")["w"][...].tolist() == [1, 2]


def test_values_whose_variable_is_unknown_are_refused_with_remedies(tmp_path: Path) -> None:
    def replace(tree: Dataset, report: Report) -> Dataset:
        return tree.model_copy(update={"variables": (Variable(name="q", type="int"),)})

    with pytest.raises(nczarr.CompileError, match="it is unknown whether `/q` has the values of `/v`") as caught:
        nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.zarr", passes=[replace])
    text = str(caught.value)
    assert "made the tree invalid: see the other errors" in text
    assert "rename by `nczarr.ast.rename`" in text
    assert "two passes" in text


def test_a_changed_tree_keeps_what_its_file_states_of_json(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.zarr", "zarr3", consolidated=False)
    document = tmp_path / "a.zarr" / "v" / "zarr.json"
    document.write_text(document.read_text().replace('"units"', '"list": [7], "units"'))
    nczarr.convert(tmp_path / "a.zarr", tmp_path / "a.nc", allow_loss=["json-attribute"])
    changed = nczarr.open(tmp_path / "a.nc")
    changed = changed.with_tree(rename(changed.dataset, {"/v": "w"}))
    assert [loss.kind for loss in nczarr.write(changed, tmp_path / "b.nc")] == []
    assert nczarr.open(tmp_path / "b.nc")["w"].variable.attributes[0].json == "[7]"
