"""`diff` and `nc-same`, which reads through the netCDF library alone, say the same of files: equal, or not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr import names
from nczarr.api.handle import DatasetHandle
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.ast.dataset import groups
from nczarr.diagnostics.report import Report
from nczarr.plugins.testing.strategies import constants, datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.conftest import run_command
from tests.support.exact_storage import exact_storage

pytestmark = [pytest.mark.peer]

TEXT = """netcdf t {
types:
  opaque(3) key ;
  short enum sky { clear = 0, cloudy = 1, foggy = 2 } ;
  compound obs { int64 t ; float v(2) ; } ;
  float(*) row ;
dimensions:
  time = UNLIMITED ;
  x = 4 ;
variables:
  double time(time) ;
    time:units = "days" ;
  float v(time, x) ;
    v:range = 1.f, 2.f ;
  char c(x) ;
  string s(x) ;
  row r(x) ;
  obs o(time) ;
  sky k(x) ;
  key key1 ;
  :title = "t" ;
data:
  time = 1, 2 ;
  v = 1, 2, 3, 4, 5, 6, 7, -0. ;
  c = "abcd" ;
  s = "a", NIL, "", "d" ;
  r = {1, 2}, {}, {3}, {4, 5, 6} ;
  o = {1, {2, 3}}, {4, {5, 6}} ;
  k = clear, cloudy, clear, cloudy ;
  key1 = 0XABCDEF ;
group: g {
  dimensions:
    y = 3 ;
  variables:
    int n(y) ;
  :note = "n" ;
  data:
    n = 7, 8, 9 ;
}
}
"""

CHANGES = (
    ("time = 1, 2 ;", "time = 1, 2.5 ;"),
    ("time = 1, 2 ;", "time = 1, 2, 3 ;"),
    ("-0. ;", "0. ;"),
    ('"abcd"', '"abcD"'),
    ("NIL", '""'),
    ('"d" ;', '"dd" ;'),
    ("{1, 2}, {}", "{1}, {2}"),
    ("{4, 5, 6} ;", "{4, 5, 7} ;"),
    ("{5, 6}} ;", "{5, 8}} ;"),
    ("k = clear, cloudy", "k = clear, foggy"),
    ("0XABCDEF", "0XABCDEE"),
    ("foggy = 2", "foggy = 3"),
    ("float v(2)", "float w(2)"),
    ('title = "t"', 'title = "u"'),
    ('title = "t"', 'string :title = "t"'),
    ("range = 1.f, 2.f", "range = 2.f, 1.f"),
    ("range = 1.f, 2.f", "range = 1., 2."),
    ('units = "days"', 'units = "days\\000"'),
    ("y = 3 ;", "z = 3 ;"),
    ("int n(y)", "uint n(y)"),
    ("group: g ", "group: h "),
    ('  :note = "n" ;\n', ""),
    ("7, 8, 9", "7, 8, 10"),
    ("time = UNLIMITED", "time = 2"),
)


def same(shared: Path, one: Path, other: Path) -> bool:
    """What `nc-same` says of two files. Storage is left out, as `diff` leaves it out."""
    command = [
        sys.executable,
        str(shared / "tools" / "nc-same"),
        "--no-storage",
        "--no-type-order",
        str(one),
        str(other),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def compiled(text: str, path: Path) -> Path:
    done = run_command("convert", "-", str(path), "--kind", "nc4", "--overwrite", stdin=text.encode())
    assert done.status == 0, done.err
    return path


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_both_see_a_change(old: str, new: str, shared: Path, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer("netCDF4")
    assert TEXT.count(old)
    other_text = TEXT.replace(old, new)
    if new.startswith("string :"):
        other_text = TEXT.replace("  :title", "  string :title")
    if new.startswith("z = 3"):
        other_text = other_text.replace("n(y)", "n(z)")
    one, other = compiled(TEXT, tmp_path / "one.nc"), compiled(other_text, tmp_path / "other.nc")
    assert not same(shared, one, other)
    assert nczarr.diff(one, other)
    assert same(shared, one, one)
    assert not nczarr.diff(one, one)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=25)
@given(drawn=datasets_with_data(), data=st.data())
def test_both_agree_on_generated_files(
    drawn: tuple[Dataset, dict[str, Parts]],
    data: st.DataObject,
    shared: Path,
    peer: Callable[[str], ModuleType],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A dataset and one with other values in one variable, or another value of one attribute."""
    from nczarr.plugins.testing.arrays import parts_of

    peer("netCDF4")
    dataset, parts = exact_storage(drawn[0]), drawn[1]
    assert isinstance(dataset, Dataset)
    one = checked_of(dataset, parts)
    variables = sorted(parts)
    owners = [path for path, group in groups(dataset) if group.attributes]
    which = data.draw(st.sampled_from(["nothing", *["values"] * bool(variables), *["attribute"] * bool(owners)]))
    if which == "values":
        fqn = data.draw(st.sampled_from(variables))
        count = 1
        for length in one.shapes[fqn]:
            count *= length
        new = data.draw(constants(one.variables[fqn].type, dict(one.types), count, cdl=True))
        parts = {**parts, fqn: parts_of(new, one.shapes[fqn], one.types)}
    elif which == "attribute":
        path = data.draw(st.sampled_from(owners))
        dataset = with_attribute(dataset, path, data.draw(st.binary(max_size=3)))
    other = checked_of(dataset, parts)
    folder = tmp_path_factory.mktemp("pair")
    files = []
    for name, checked in (("one.nc", one), ("other.nc", other)):
        nczarr.write(DatasetHandle(checked), folder / name, kind="nc4", allow_loss=["all"])
        files.append(folder / name)
    assert same(shared, *files) == (not nczarr.diff(*files)), nczarr.diff(*files)
    for path in files:
        os.unlink(path)


def checked_of(dataset: Dataset, parts: dict[str, Parts]) -> Checked:
    report = Report()
    checked = check(Unchecked(dataset, parts=dict(parts)), report, kind="nc4")
    assert checked is not None, report.list_sorted()
    return checked


def with_attribute(group: Dataset, path: str, value: bytes) -> Dataset:
    """The dataset with another value of the first attribute of a group."""

    def walk(node: Dataset, here: str) -> Dataset:
        attributes = node.attributes
        if here == path:
            attributes = (Attribute(name=attributes[0].name, value=Constant.text(value)), *attributes[1:])
        children = tuple(walk(child, names.join(here, child.name)) for child in node.groups)  # type: ignore[arg-type]
        return node.model_copy(update={"attributes": attributes, "groups": children})

    return walk(group, "/")
