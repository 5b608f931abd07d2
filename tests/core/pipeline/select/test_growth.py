"""Dimensions that become unlimited, or get their current length."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.conftest import run_command

CDL = """netcdf d {
dimensions: time = 2 ; x = 3 ;
variables: double time(time) ; float v(time, x) ; int w(x) ;
data: time = 1, 2 ; v = 1, 2, 3, 4, 5, 6 ; w = 7, 8, 9 ;
group: g { dimensions: time = 2 ; variables: int u(time) ; data: u = 1, 2 ; }
}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.cdl").write_text(CDL)
    return Path("d.cdl")


def unlimited(path: str) -> list[str]:
    return [fqn for fqn, dimension in nczarr.open(path).checked.dimensions.items() if dimension.unlimited]


@pytest.mark.parametrize("target", ["o.nc", "o.zarr", "o.cdl", "o.ncs"])
def test_there_and_back(target: str, source: Path) -> None:
    assert run_command("convert", "d.cdl", target, "--kind", "nc4", "--unlimited", "/time,x").status == 0
    assert unlimited(target) == ["/time", "/x"]
    assert nczarr.diff(target, source)[0].message == "dimension: unlimited | fixed"
    assert run_command("convert", target, "f.nc", "--fixed", "x").status == 0
    assert unlimited("f.nc") == ["/time"]
    nczarr.convert(target, "all.nc", fixed=True)
    assert unlimited("all.nc") == []
    assert nczarr.diff("all.nc", source) == []


def test_simple_names_are_those_of_every_group(source: Path) -> None:
    nczarr.convert(source, "o.nc", unlimited="time")
    assert unlimited("o.nc") == ["/time", "/g/time"]
    nczarr.convert("o.nc", "f.nc", fixed=["/g/time"])
    assert unlimited("f.nc") == ["/time"]


def test_a_name_that_is_not_there(source: Path) -> None:
    with pytest.raises(CompileError, match="the dataset has no dimension `tome`"):
        nczarr.convert(source, "o.nc", unlimited=["tome"])
    assert not Path("o.nc").exists()


@pytest.mark.parametrize("target", ["o.nc", "o.zarr", "o.cdl"])
def test_what_the_kind_of_file_cannot_hold_is_an_error(target: str, source: Path) -> None:
    nczarr.convert(source, "c.nc", groups=[], variables=["v", "w"], kind="nc3")
    with pytest.raises(CompileError, match="the unlimited dimension `x` must come first"):
        nczarr.convert("c.nc", target, unlimited=["x"])
    assert not Path(target).exists()
    nczarr.convert("c.nc", target, unlimited=["x"], kind="nc4")
    assert unlimited(target) == ["/x"]


def test_a_store_states_the_kind_that_was_asked_for(source: Path) -> None:
    nczarr.convert(source, "c.nc", variables=["v"], kind="nc3")
    nczarr.convert("c.nc", "o.zarr", kind="nc4")
    assert json.loads(Path("o.zarr/.zattrs").read_text())["_nczarr_superblock"]["nczarr"]["kind"] == "nc4"


@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "netcdf4", "cdl"])
def test_what_grows_is_not_contiguous(form: str, source: Path) -> None:
    nczarr.convert(source, "c.nc", kind="nc4")
    assert nczarr.open("c.nc")["v"].variable.storage.layout == "contiguous"
    target = {"netcdf4": "o.nc", "cdl": "o.cdl"}.get(form, "o.zarr")
    nczarr.convert("c.nc", target, form, unlimited=["x"], verify=True)
    assert nczarr.check(target) == []
    found = nczarr.open(target)
    assert found["v"].variable.storage.layout in (None, "chunked")
    assert found["v"][:].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert nczarr.open(target).checked.dimensions["/x"].unlimited
