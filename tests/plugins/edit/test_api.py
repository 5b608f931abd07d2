"""`nczarr.edit`: values of Python, names, new headers and undo files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr

TEXT = """netcdf a {
dimensions:
  x = 3 ;
variables:
  float v(x) ;
    v:units = "C" ;
    v:_FillValue = -1.f ;
    v:remark = "some words that leave room in the header of the file, and some more of them" ;
data:
  v = 1, 2, 3 ;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    nczarr.write(nczarr.from_cdl(TEXT), path, kind="nc3", header_pad=512)
    return path


def test_types_of_values(file: Path) -> None:
    attributes = {"/v@a": 1, "/v@b": 2.5, "v@c": np.array([1, 2], "i2"), "@t": "text", "/v@_FillValue": 1e20}
    done = nczarr.edit(file, attributes=attributes)
    variable = nczarr.open(file)["v"]
    assert len(done.changes) == 5
    assert {name: np.asarray(value).dtype.str for name, value in variable.attributes.items() if name in "abc"} == {
        "a": "<i4", "b": "<f8", "c": "<i2"
    }  # fmt: skip
    assert variable.attributes["_FillValue"] == np.float32(1e20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"header": ["v:units=K"]}, "the text of a header"),
        ({"attributes": ["v:units=K"]}, "'/temp@units': 'K'"),
        ({"rename": "w"}, "'/temp': 'temperature'"),
        ({"delete": "/v@remark"}, "'/temp@comment'"),
        ({"delete": 3}, "a list of paths"),
    ],
)
def test_other_types_name_the_right_one(file: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        nczarr.edit(file, **arguments)


def test_everything_at_once_and_back(file: Path, tmp_path: Path) -> None:
    old = file.read_bytes()
    done = nczarr.edit(
        file, rename={"/v": "w", "dim:/x": "y", "/v@units": "unit"}, delete=["/v@remark"], undo_file=tmp_path / "u.json"
    )
    assert done.undo_file == str(tmp_path / "u.json")
    dataset = nczarr.open(file)
    assert list(dataset["w"].attributes) == ["unit", "_FillValue"]
    assert list(dataset.dimensions) == ["y"]
    assert nczarr.edit(file, undo=done.undo_file).undo_file is None
    assert file.read_bytes() == old


def test_a_new_header(file: Path) -> None:
    header = TEXT.partition("data:")[0].replace('"C"', '"K"').replace("float v", "float t").replace("v:", "t:") + "}"
    with pytest.raises(nczarr.CompileError, match="ambiguous-rename"):
        nczarr.edit(file, header)
    shown = nczarr.edit(file, header, rename={"/v": "t"}, dry_run=True)
    assert [line[:1] for line in shown.lines[:2]] == ["~", "~"]
    assert shown.undo_file is None
    assert [path.name for path in file.parent.iterdir()] == ["a.nc"]
    nczarr.edit(file, header, rename={"/v": "t"})
    assert nczarr.open(file)["t"].attributes["units"] == "K"


def test_refusals_are_exceptions(file: Path) -> None:
    old = file.read_bytes()
    for arguments, code in (
        ({"attributes": {"/v@a": [1, "b"]}}, "mixed-types"),
        ({"attributes": {"/w@a": 1}}, "bad-edit"),
        ({"attributes": {"/v@_FillValue": 1.5e300}}, "type-mismatch|fill"),
        ({"rename": {"/v": "a b/"}}, "bad-edit|bad-name|slash"),
        ({"undo": file}, "unmatched-undo"),
    ):
        with pytest.raises(nczarr.CompileError, match=code):
            nczarr.edit(file, **arguments)  # type: ignore[arg-type]
    assert file.read_bytes() == old


def test_wrong_keywords_and_paths_are_answered_in_python(tmp_path: Path) -> None:
    target = tmp_path / "a.nc"
    nczarr.write(nczarr.from_cdl('netcdf a { variables: int temp ; temp:units = "K" ; data: temp = 1 ; }'), target)
    for wrong, meant in (("set", "attributes"), ("attribute", "attributes"), ("renam", "rename")):
        with pytest.raises(TypeError, match=rf"^edit\(\) got .* '{wrong}'; did you mean `{meant}`\?$"):
            nczarr.edit(target, **{wrong: {}})
    with pytest.raises(TypeError, match=r"^migrate\(\) got .* 'too'; did you mean `to`\?$"):
        nczarr.migrate(target, too="zarr3")
    for wrong, meant in (("temp.units", "temp@units"), ("/temp:units", "/temp@units"), ("/tmp@units", "/temp")):
        with pytest.raises(nczarr.CompileError, match=f"did you mean `{meant}`") as caught:
            nczarr.edit(target, attributes={wrong: "K"})
        assert "--" not in str(caught.value)
    for changes in ({"delete": ["/temp@unit"]}, {"rename": {"/temp@unit": "u"}}, {"delete": ["@"]}):
        with pytest.raises(nczarr.CompileError) as caught:
            nczarr.edit(target, **changes)
        assert "--" not in str(caught.value)
