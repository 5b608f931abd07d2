"""Schemas in layers and with definitions; `ncgen` reads each layer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

BASE = """netcdf base {
types: byte enum state { off = 0, on = 1 } ;
dimensions: time = UNLIMITED ; lat = 4 ;
variables:
  float t(time, lat) ; t:units = "K" ; t:_ChunkSizes = 1, 4 ;
  state s(lat) ;
:title = "base" ; :level = 1.5 ;
group: g { variables: int deep ; deep:a = 1 ; }
}
"""
LAYER = """netcdf instrument {
dimensions: time = UNLIMITED ; lat = 4 ;
variables:
  float t(time, lat) ; t:units = "degC" ; t:note = "n" ; t:_DeflateLevel = 5 ;
  int more(lat) ;
:title = "instrument" ;
data: t = 1, 2, 3, 4 ;
group: g { variables: int deep ; deep:b = 2 ; int other ; }
}
"""
MERGED = """netcdf base {
types: byte enum state { off = 0, on = 1 } ;
dimensions: time = UNLIMITED ; lat = 4 ;
variables:
  float t(time, lat) ; t:units = "degC" ; t:note = "n" ; t:_ChunkSizes = 1, 4 ; t:_DeflateLevel = 5 ;
  state s(lat) ; int more(lat) ;
:title = "instrument" ; :level = 1.5 ;
data: t = 1, 2, 3, 4 ;
group: g { variables: int deep ; deep:a = 1 ; deep:b = 2 ; int other ; }
}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.cdl").write_text(BASE)
    Path("layer.cdl").write_text(LAYER)


@pytest.mark.parametrize("target", ["made.nc", "made.zarr", "made.cdl"])
def test_layers_are_one_schema(target: str) -> None:
    ran = run_command("compile", "base.cdl", "layer.cdl", "-o", target)
    assert ran.status == 0
    assert nczarr.diff(target, nczarr.from_cdl(MERGED), storage=target == "made.zarr") == []
    assert ran.err.count("note[overridden-element]") == 2  # the units and the title, each at both places
    assert "layer.cdl:4:26" in ran.err
    assert "base.cdl:5:26" in ran.err


def test_each_layer_is_cdl(tool: Callable[[str], str]) -> None:
    for name in ("base.cdl", "layer.cdl"):
        subprocess.run([tool("ncgen"), "-k", "nc4", "-o", "x.nc", name], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("float t(time, lat)", "double t(time, lat)", "has the type `double`, not `float`"),
        ("float t(time, lat)", "float t(lat, time)", "has the dimensions (/lat, /time), not (/time, /lat)"),
        ("netcdf instrument {", "netcdf instrument { types: byte enum state { off = 0 } ;", "another definition"),
    ],
)
def test_conflicts(old: str, new: str, words: str) -> None:
    Path("layer.cdl").write_text(LAYER.replace("data: t = 1, 2, 3, 4 ;", "").replace(old, new))
    ran = run_command("compile", "base.cdl", "layer.cdl", "-o", "made.nc")
    assert (ran.status, Path("made.nc").exists()) == (1, False)
    assert "error[conflicting-element]" in ran.err
    assert words in ran.err
    assert "the earlier layer" in ran.err


def test_lengths_that_values_do_not_have() -> None:
    Path("longer.cdl").write_text("netcdf l { dimensions: lat = 5 ; }")
    ran = run_command("compile", "base.cdl", "layer.cdl", "longer.cdl", "-o", "made.nc")
    assert (ran.status, "values of the shape (1, 4)" in ran.err) == (1, True)
    assert run_command("compile", "base.cdl", "longer.cdl", "-o", "made.nc").status == 0
    assert nczarr.open("made.nc").dimensions["lat"].length == 5


def test_values_of_a_later_layer_count() -> None:
    Path("values.cdl").write_text(LAYER.replace("1, 2, 3, 4", "9, 8, 7, 6").replace("instrument", "values"))
    ran = run_command("compile", "base.cdl", "layer.cdl", "values.cdl", "-o", "made.nc")
    assert (ran.status, "values of `/t` (overridden)" in ran.err) == (0, True)
    assert nczarr.open("made.nc")["/t"][0].tolist() == [9, 8, 7, 6]


def test_definitions() -> None:
    words = ["lat=720", ':title="A \\" title"', ":level=2.5", "t:units=K", "/g/deep@a=-3"]
    asked = [each for word in words for each in ("--define", word)]
    assert run_command("compile", "base.cdl", "-o", "made.nc", *asked).status == 0
    made = nczarr.open("made.nc")
    assert (made.dimensions["lat"].length, made.attributes["title"], made.attributes["level"]) == (
        720,
        'A \\" title',
        2.5,
    )
    assert (made["/t"].attributes["units"], made["/g/deep"].attributes["a"]) == ("K", -3)
    handle = nczarr.layer("base.cdl", definitions={"lat": 720, ":title": "T"})
    assert (handle.dimensions["lat"].length, handle.attributes["title"]) == (720, "T")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("lad=3", "did you mean `lat`?"),
        ("lat=three", "a length is a number"),
        ("lat", "is not NAME=LENGTH"),
        (":titel=x", "did you mean `title`?"),
        ("tt:units=x", "has no variable `tt`"),
        ("/t@unit=x", "did you mean `units`?"),
        (":level=high", "is of type `double`"),
        ("deep:a=1.5", "is of type `int`"),
    ],
)
def test_bad_definitions(definition: str, words: str) -> None:
    ran = run_command("compile", "base.cdl", "-o", "made.nc", "--define", definition)
    assert (ran.status, "error[bad-definition]" in ran.err, Path("made.nc").exists()) == (1, True, False)
    assert words in ran.err
