"""Headers in the text of reference documents: other members stay, and an undo file restores every byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command

TEXT = """netcdf t { dimensions: x = 4 ; y = 2 ; variables: int v(x) ; v:units = "m" ; v:long_name = "größe" ;
  v:_ChunkSizes = 2 ;
  double w(y) ; data: v = 1, 2, 3, 4 ; w = 5, 6 ; }"""

STYLES: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":")},
    "default": {},
    "indented": {"indent": 2},
    "unicode": {"ensure_ascii": False, "indent": 1},
}


def references(folder: Path, style: dict[str, Any], *, version: bool = True) -> Path:
    nczarr.write(nczarr.from_cdl(TEXT), folder / "a.nc", kind="nc4", codecs="zlib:1")
    words = ["convert", str(folder / "a.nc"), str(folder / "a.json"), "--to", "reference", "--inline", "0", "-q"]
    assert run_command(*words).status == 0
    document = json.loads((folder / "a.json").read_text())
    if not version:
        document = document.get("refs", document)
    (folder / "a.json").write_text(json.dumps(document, **style) + "\n", encoding="utf-8")
    return folder / "a.json"


def references_of(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text(encoding="utf-8"))
    refs: dict[str, Any] = document.get("refs", document)
    return {key: value for key, value in refs.items() if isinstance(value, list)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("version", [True, False])
@pytest.mark.parametrize("style", STYLES)
def test_an_edit_and_its_undo(style: str, version: bool, tmp_path: Path) -> None:
    path = references(tmp_path, STYLES[style], version=version)
    before, old = path.read_bytes(), references_of(path)
    ran = run_command("edit", str(path), "--set", '/v@units="K"', "--rename", "/v=temp", "--set", '@title="ö"')
    assert ran.status == 0, ran.err
    assert {key.replace("temp/", "v/"): value for key, value in references_of(path).items()} == old
    after = nczarr.open(path)
    assert after["temp"][...].tolist() == [1, 2, 3, 4]
    assert after["temp"].attributes["units"] == "K"
    written = path.read_text(encoding="utf-8")
    assert written == json.dumps(json.loads(written), **STYLES[style]) + "\n"
    assert run_command("edit", str(path), "--undo", f"{path}.undo-1.json").status == 0
    assert path.read_bytes() == before


def test_references_of_a_removed_variable_go_with_it(tmp_path: Path) -> None:
    path = references(tmp_path, {})
    before = path.read_bytes()
    assert run_command("edit", str(path), "--delete", "/v").status == 0
    assert not [key for key in json.loads(path.read_text())["refs"] if key.startswith("v/")]
    assert nczarr.open(path)["w"][...].tolist() == [5, 6]
    assert run_command("edit", str(path), "--undo", f"{path}.undo-1.json").status == 0
    assert path.read_bytes() == before


def test_other_readers_see_the_edit(tmp_path: Path, peer: Any) -> None:
    peer("fsspec")
    xarray = peer("xarray")
    path = references(tmp_path, {})
    assert run_command("edit", str(path), "--set", '/v@units="K"', "--rename", "/v=temp").status == 0
    options = {"fo": str(path), "remote_protocol": "file"}
    data = xarray.open_dataset(
        "reference://", engine="zarr", consolidated=False, zarr_format=2, decode_cf=False, storage_options=options
    )
    assert data["temp"].attrs["units"] == "K"
    assert data["temp"].values.tolist() == [1, 2, 3, 4]


def test_texts_that_are_refused(tmp_path: Path) -> None:
    path = references(tmp_path, {})
    document = json.loads(path.read_text())
    refs = document["refs"]
    place = next(key for key in refs if key == "v/0")
    url, offset, length = refs.pop(place)
    document["gen"] = [
        {"key": "v/{{i}}", "url": url, "offset": str(offset), "length": str(length), "dimensions": {"i": {"stop": 1}}}
    ]
    document["templates"] = {"u": url}
    path.write_text(json.dumps(document))
    before = path.read_bytes()
    ran = run_command("edit", str(path), "--rename", "/v=temp")
    assert (ran.status, "error[uneditable-target]" in ran.err, "generators" in ran.err) == (2, True, True)
    ran = run_command("edit", str(path), "--set", '@note="{{u}}"')
    assert (ran.status, "would be taken for a template" in ran.err) == (2, True)
    assert path.read_bytes() == before
    assert run_command("edit", str(path), "--set", '@note="plain"').status == 0
    assert nczarr.open(path)["v"][...].tolist() == [1, 2, 3, 4]
