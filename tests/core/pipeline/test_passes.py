"""Passes of users: what they change, and how their faults are said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

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
