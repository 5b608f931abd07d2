"""Archives whose model and arrays contradict each other: said, never a fault of the program."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError

CDL = """netcdf d { types: int(*) l ; compound c { int a ; l b ; } ;
  dimensions: n = 2 ; variables: l v(n) ; c w(n) ; float x(n) ;
  data: v = {1}, {2, 3} ; w = {1, {2}}, {3, {}} ; x = 1, 2 ; }"""


def _lie(model: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> bytes:
    change(model["dataset"])
    return json.dumps(model).encode()


LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "no such type": lambda it: it["variables"][0].update(type="/nowhere"),
    "no such member": lambda it: it["types"][1]["fields"][0].update(type="nothing"),
    "a type of itself": lambda it: it["types"][0].update(base="/l"),
    "a record of itself": lambda it: it["types"][1]["fields"][1].update(type="/c"),
    "another type": lambda it: it["variables"][2].update(type="/l"),
    "another length": lambda it: it["dimensions"][0].update(size=3),
}


@pytest.mark.parametrize("name", LIES)
def test_models_that_lie(name: str, tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "d.awkd")
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    members["nczarr.ast"] = _lie(json.loads(members["nczarr.ast"]), LIES[name])
    with zipfile.ZipFile(tmp_path / "e.awkd", "w") as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    with pytest.raises(CompileError) as caught:
        nczarr.convert(tmp_path / "e.awkd", tmp_path / "e.nc")
    assert "unreadable-array" in [each.code for each in caught.value.diagnostics]
    assert "internal-error" not in [each.code for each in caught.value.diagnostics]


def test_a_fill_that_is_no_element(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "d.awkd")
    with zipfile.ZipFile(tmp_path / "d.awkd") as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    document = json.loads(members["x.json"])
    document["metadata"]["fill"] = {"": "AAA="}
    members["x.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "e.awkd", "w") as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    assert [each.code for each in nczarr.open(tmp_path / "e.awkd").diagnostics] == ["unreadable-array"]


def test_content_that_ends_before_its_counts(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "d", format="zarr3-2019")
    document = tmp_path / "d/meta/v/content.array.json"
    document.write_text(json.dumps({**json.loads(document.read_text()), "shape": [1]}))
    with pytest.raises(CompileError) as caught:
        nczarr.open(tmp_path / "d").to_cdl()
    assert [each.code for each in caught.value.diagnostics] == ["unreadable-chunk"]
