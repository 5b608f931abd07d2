"""Merges of two states of a dataset with a common base."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

BASE = """netcdf a {
dimensions:
  x = 2 ; y = 3 ;
variables:
  int v(x) ;
    v:units = "K" ;
    v:n = 1 ;
  float w(y) ;
data:
  v = 1, 2 ;
  w = 1, 2, 3 ;

group: g {
  variables:
    int u(x) ;
  :a = 1 ;
}
}
"""


@pytest.fixture(params=["netcdf4", "nczarr3"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Paths of the base and of two equal states."""
    suffix = ".nc" if request.param == "netcdf4" else ".zarr"
    base = tmp_path / f"base{suffix}"
    nczarr.convert(nczarr.from_cdl(BASE), base, request.param)
    others = [tmp_path / f"{name}{suffix}" for name in ("ours", "theirs")]
    for other in others:
        (shutil.copytree if base.is_dir() else shutil.copy)(base, other)
    return [str(base), *map(str, others)]


def merge(states: list[str], ours: list[str], theirs: list[str], status: int = 0) -> str:
    """Edit both states, merge the second into the first, and return what was said."""
    for path, instructions in zip(states[1:], (ours, theirs), strict=True):
        assert run_command("edit", path, *instructions, "--undo-file", f"{path}.undo").status == 0
    before = {path.name: path.read_bytes() for path in Path(states[1]).rglob("*") if path.is_file()}
    before |= {"": Path(states[1]).read_bytes()} if Path(states[1]).is_file() else {}
    ran = run_command("edit", states[1], "--merge", states[0], states[2])
    assert ran.status == status, ran.err
    if status:
        after = {path.name: path.read_bytes() for path in Path(states[1]).rglob("*") if path.is_file()}
        after |= {"": Path(states[1]).read_bytes()} if Path(states[1]).is_file() else {}
        assert after == before
    return ran.err


def attributes(dataset: nczarr.DatasetHandle, path: str) -> dict[str, object]:
    node = dataset.checked.variables.get(path) or dataset.checked.groups[path]
    return {item.name: item.value.data for item in node.attributes}


def test_changes_of_both(states: list[str]) -> None:
    merge(
        states,
        ["--set", '/v@units="degC"', "--rename", "/w=wind", "--delete", "/g@a"],
        ["--set", "/v@n=2", "--set", '/v@new="x"', "--rename", "dim:/x=lon", "--set", "@t=1"],
    )
    merged = nczarr.open(states[1])
    assert list(merged.checked.variables) == ["/v", "/wind", "/g/u"]
    assert {name: str(value) for name, value in merged["/v"].attributes.items()} == {
        "units": "degC", "n": "2", "new": "x",
    }  # fmt: skip
    assert list(attributes(merged, "/")) == ["t"]
    assert attributes(merged, "/g") == {}
    assert merged.checked.variables["/g/u"].dimensions == ("/lon",)
    assert merged["/v"][:].tolist() == [1, 2]
    assert not list(Path(states[1]).parent.glob("ours*.undo-*"))


def test_the_same_change_in_both(states: list[str]) -> None:
    same = ["--set", '/v@units="degC"', "--delete", "/g"]
    assert "nothing to change" in merge(states, same, same)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (
            ["--set", "/v@n=2"],
            ["--set", "/v@n=3"],
            "theirs sets attribute `n` of `/v` to 3, ours sets attribute `n` of `/v` to 2",
        ),
        (["--delete", "/v@n"], ["--set", "/v@n=3"], "ours removes attribute `n` of `/v`"),
        (
            ["--rename", "/w=a"],
            ["--rename", "/w=b"],
            "theirs renames variable `/w` to `b`, ours renames",
        ),
        (["--delete", "/w"], ["--set", "/w@q=1"], "theirs sets attribute `q` of `/w` to 1, ours removes variable `/w`"),
        (["--set", "/g/u@q=1"], ["--delete", "/g"], "theirs removes group `/g`, ours sets attribute `q` of `/g/u`"),
    ],
)
def test_conflicts(ours: list[str], theirs: list[str], said: str, states: list[str]) -> None:
    text = merge(states, ours, theirs, status=1)
    assert "merge-conflict" in text
    assert said in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("v = 1, 2", "v = 1, 3", "values of `/v` differ between the base and theirs"),
        ("float w(y)", "double w(y)", "type of `/w` is float in the base, double in theirs: values are not merged"),
        ("w = 1, 2, 3 ;", "w = 1, 2, 3 ; z = 5 ;", "the new variable `/z` of theirs has values"),
    ],
)
def test_values_are_not_merged(old: str, new: str, said: str, states: list[str]) -> None:
    text = BASE.replace(old, new).replace("float w(y) ;", "float w(y) ;" + " int z ;" * ("z" in new))
    form = "netcdf4" if states[0].endswith(".nc") else "nczarr3"
    nczarr.convert(nczarr.from_cdl(text), states[2], form, overwrite=True)
    assert run_command("edit", states[1], "--set", "@a=1").status == 0
    ran = run_command("edit", states[1], "--merge", states[0], states[2])
    assert ran.status == 1
    assert said in ran.err


RECORDS = """netcdf a {{ dimensions: t = UNLIMITED ; x = 2 ; {dimensions}
variables: int v(t, x) ; {variables} data: v = {values} ; }}
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", ["netcdf3", "netcdf4", "nczarr3"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": "1, 2, 3, 4, 5, 6"}, "values are not merged"),  # a further record
        ({"values": "1, 2"}, "values are not merged"),
        ({"dimensions": "n = 3 ;", "variables": "int new(n) ;"}, ""),  # only fill values
        ({"dimensions": "n = 3 ;", "variables": "int new(n) ;", "values": "1, 2, 3, 4 ; new = 1, 2, 3"}, "has values"),
    ],
)
def test_records_and_new_variables(form: str, changes: dict[str, str], said: str, tmp_path: Path) -> None:
    plain = {"dimensions": "", "variables": "", "values": "1, 2, 3, 4"}
    states = [str(tmp_path / f"{name}.{'zarr' if 'zarr' in form else 'nc'}") for name in ("base", "ours", "theirs")]
    for path, values in zip(states, (plain, plain, {**plain, **changes}), strict=True):
        nczarr.convert(nczarr.from_cdl(RECORDS.format(**values)), path, form, header_pad=4096)
    ran = run_command("edit", states[1], "--merge", states[0], states[2])
    if form == "netcdf3" and not said:
        said = "`/new` would follow the records, which grow"
    assert (ran.status, said in ran.err) == (1 if said else 0, True), ran.err
    assert ("/new" in nczarr.open(states[1]).checked.variables) == (not said)


def test_the_order_of_a_store_is_no_conflict(tmp_path: Path) -> None:
    """Stores list variables by name: another name is another order."""
    states = [str(tmp_path / name) for name in ("base.zarr", "ours.zarr", "theirs.zarr")]
    for path in states:
        nczarr.convert(nczarr.from_cdl("netcdf a { variables: int a ; float b ; }"), path, "zarr3")
    merge(states, ["--set", "/b@n=1"], ["--rename", "/a=z"])
    assert set(nczarr.open(states[1]).checked.variables) == {"/b", "/z"}


@pytest.mark.parametrize("form", ["netcdf4", "nczarr3"])
def test_new_groups_in_a_group_with_another_name(form: str, tmp_path: Path) -> None:
    text = "netcdf a {{ group: {name} {{ dimensions: y = 2 ; variables: int w(y) ; {more} }} }}"
    more = "group: n { dimensions: z = 3 ; variables: int v(y, z) ; }"
    states = [str(tmp_path / f"{name}.{'zarr' if 'zarr' in form else 'nc'}") for name in ("base", "ours", "theirs")]
    for path, values in zip(states, (("g", ""), ("gg", ""), ("g", more)), strict=True):
        nczarr.convert(nczarr.from_cdl(text.format(name=values[0], more=values[1])), path, form)
    ran = run_command("edit", states[1], "--merge", states[0], states[2])
    assert ran.status == 0, ran.err
    merged = nczarr.open(states[1]).checked
    assert merged.variables["/gg/n/v"].dimensions == ("/gg/y", "/gg/n/z")
