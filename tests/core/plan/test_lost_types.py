"""`lost-type`: what a pure store does with each type, and which format does it."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

CDL = """netcdf t {
types:
  int enum colour { red = 1, blue = 2 } ;
  compound plain { float x ; int y ; } ;
  compound marked { float x ; colour c ; } ;
  compound outer { marked m ; } ;
  compound rows { int a(2) ; } ;
  colour(*) colours ;
dimensions:
  n = 1 ;
variables:
  colour e(n) ;
  plain p(n) ;
  marked m(n) ;
  outer o(n) ;
  rows r(n) ;
  colours v(n) ;
data:
  e = red ;
  p = {1, 2} ;
  m = {1, blue} ;
  o = {{1, red}} ;
  r = {{1, 2}} ;
  v = {red, blue} ;
}
"""

WORDS = {
    "/e": "keeps the integers of `/colour` but not their names",
    "/m": "keeps the integers of `/colour` but not their names",
    "/o": "keeps the integers of `/colour` but not their names",
    "/r": "stores fields as raw bytes",
    "/v": "stores counts and content as separate arrays",
}
"""Message about each variable. The compound of numbers has none, because it is kept."""


def find_said(err: str) -> dict[str, str]:
    """Return what is said of the type of each variable, with the format."""
    lines = [line.partition("variable `")[2] for line in err.splitlines() if "is of type" in line]
    return {line.partition("`")[0]: line.rpartition(": ")[2] for line in lines}


@pytest.mark.parametrize(("form", "label", "other"), [("zarr2", "Zarr v2", "nczarr"), ("zarr3", "Zarr v3", "nczarr3")])
def test_a_store_says_what_it_does_with_a_type(form: str, label: str, other: str, tmp_path: Path) -> None:
    done = run_command("compile", "-", "-o", str(tmp_path / "t.zarr"), "--to", form, stdin=CDL.encode())
    assert done.status == 1
    assert find_said(done.err) == {path: f"{label} {words}" for path, words in WORDS.items()}
    assert f"or write `{other}`, which keeps it" in done.err


@pytest.mark.parametrize(("form", "label"), [("zarr2", "Zarr v2"), ("zarr3", "Zarr v3")])
def test_references_name_the_format_of_their_documents(form: str, label: str, tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "t.nc", kind="nc4")
    call = ("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.json"))
    done = run_command(*call, "--metadata", form)
    assert done.status == 1
    assert find_said(done.err) == {path: f"{label} {words}" for path, words in WORDS.items()}
    assert "or give `--metadata nczarr3`, which keeps it" in done.err
    assert run_command(*call, "--metadata", "nczarr3").status == 0
    assert not nczarr.diff(tmp_path / "t.nc", tmp_path / "t.json")
