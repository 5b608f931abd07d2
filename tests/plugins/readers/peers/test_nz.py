"""`--declare nz`: the schema of NZ-1.0 accepts what is written, other readers read it, and we read the same dataset."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import CompileError
from tests.conftest import run_command

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]
UUID = "d0a980b5-c644-4dcc-85a1-283799a58f40"
CDL = """netcdf t {{
dimensions:
  x = 3 ; y = 2 ;
variables:
  float v(y, x) ; v:units = "K" ; v:valid_range = 0.f, 9.f ;
  short packed(x) ; packed:_FillValue = -9s ; packed:scale_factor = 0.5 ;
  int scalar ;
  string names(x) ;
  {root}
data:
  v = 1, 2, 3, 4, 5, 6 ; packed = 1, _, 3 ; scalar = 7 ; names = "a", "b", "c" ;
group: g {{
  dimensions:
    z = 2 ;
  variables:
    int64 w(z) ;
  group: h {{
    {inner}
  }}
}}
}}
"""
ROOTS = {
    "none": ("", "NZ-1.0"),
    "own": (':conventions = "CF-1.12 ACDD-1.3" ;', "NZ-1.0 CF-1.12 ACDD-1.3"),
    "usual": (':Conventions = "CF-1.8, ACDD-1.3" ;', "NZ-1.0 CF-1.8 ACDD-1.3"),
    "both": (':Conventions = "CF-1.8" ; :conventions = "UGRID-1.0" ;', "NZ-1.0 UGRID-1.0"),
    "declared": (':conventions = "NZ-1.0" ; :title = "t" ;', "NZ-1.0 NZ-1.0"),
    "like ours": (':conventions = "NZ-1.0 CF-1.8" ; :Conventions = "CF-1.8" ;', "NZ-1.0 NZ-1.0 CF-1.8"),
}


def source(root: str = "", inner: str = "") -> nczarr.DatasetHandle:
    return nczarr.from_cdl(CDL.format(root=root, inner=inner))


def documents(folder: Path) -> dict[str, Any]:
    return {str(each.relative_to(folder).parent): json.loads(each.read_text()) for each in folder.rglob("zarr.json")}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("consolidated", [False, True])
def test_the_schema_accepts_declarations_and_they_come_back(
    name: str, consolidated: bool, tmp_path: Path, shared: Path, peer: Peer
) -> None:
    jsonschema = peer("jsonschema")
    root, conventions = ROOTS[name]
    given = source(root, ':conventions = "own" ; :n = 1 ;')
    nczarr.write(given, tmp_path / "p", format="zarr3", allow_loss=["all"])
    nczarr.write(given, tmp_path / "t", format="zarr3", allow_loss=["all"], declare="nz", consolidated=consolidated)
    schema = json.loads((shared / "data/nz/schema.json").read_text())
    found = documents(tmp_path / "t")
    assert set(found) == {".", "v", "packed", "scalar", "names", "g", "g/w", "g/h"}
    for document in found.values():
        jsonschema.validate(document, schema)
        names = document.get("dimension_names")
        assert document["node_type"] == "group" or (len(names) == len(document["shape"]) and all(names))
    assert found["."]["attributes"]["conventions"] == conventions
    assert found["g/h"]["attributes"]["conventions"] == "NZ-1.0 own"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(documents(tmp_path / "p")["."], schema)
    assert nczarr.diff(tmp_path / "p", tmp_path / "t") == []
    assert nczarr.digest(tmp_path / "p") == nczarr.digest(tmp_path / "t")
    assert run_command("check", str(tmp_path / "t"), "--for", "nz").status == 0


def test_the_schema_accepts_the_examples_of_the_convention(shared: Path, peer: Peer) -> None:
    """And so do our rules, which are asked about the same documents."""
    jsonschema = peer("jsonschema")
    folder = shared / "data/nz"
    schema = json.loads((folder / "schema.json").read_text())
    for path in folder.glob("[ard]*.json"):
        jsonschema.validate(json.loads(path.read_text()), schema)


def test_other_readers_see_the_values(tmp_path: Path, peer: Peer) -> None:
    zarr, xarray = peer("zarr"), peer("xarray")
    nczarr.write(source(':Conventions = "CF-1.8" ;'), tmp_path / "t", format="zarr3", allow_loss=["all"], declare="nz")
    nczarr.write(source(':Conventions = "CF-1.8" ;'), tmp_path / "p", format="zarr3", allow_loss=["all"])
    group = zarr.open_group(str(tmp_path / "t"), mode="r")
    assert group["v"][...].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert group["g/w"].metadata.dimension_names == ("z",)
    with (
        xarray.open_dataset(tmp_path / "t", engine="zarr", consolidated=False) as found,
        xarray.open_dataset(tmp_path / "p", engine="zarr", consolidated=False) as wanted,
    ):
        assert set(found.variables) == set(wanted.variables)
        for name in wanted.variables:
            np.testing.assert_array_equal(found[name].values, wanted[name].values)
        assert np.isnan(found["packed"].values).tolist() == [False, True, False]


def test_float_fill_values_are_those_that_xarray_reads(tmp_path: Path, peer: Peer) -> None:
    xarray = peer("xarray")
    peer("zarr")
    cdl = tmp_path / "t.cdl"
    cdl.write_text("netcdf t { dimensions: x = 2 ; variables: float v(x) ; v:_FillValue = -1.f ; data: v = 1, _ ; }")
    done = run_command("compile", str(cdl), "-o", str(tmp_path / "t"), "--to", "zarr3", "--declare", "nz")
    assert done.status == 0, done.err
    assert "disputed-fill-value" in done.err
    with xarray.open_dataset(tmp_path / "t", engine="zarr", consolidated=False) as found:
        assert np.isnan(found["v"].values).tolist() == [False, True]
    with nczarr.open(tmp_path / "t") as found:
        assert found["/v"].attributes["_FillValue"] == -1.0


OBSTACLES = """netcdf t {
types:
  compound pair { int a ; int b ; } ;
  int(*) list ;
dimensions:
  x = 2 ;
variables:
  char c(x) ;
  pair p(x) ;
  list l(x) ;
  int i(x) ;
  float f(x) ; f:bad = 1.f, NaNf ;
  int ok(x) ;
// global attributes:
  :conventions = 5 ;
  :zarr_conventions = "x" ;
}
"""


def test_each_obstacle_is_an_error_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(OBSTACLES)
    with pytest.raises(CompileError) as fault:
        nczarr.convert(path, tmp_path / "t", format="zarr3", declare="nz", allow_loss=["all"])
    found = [each for each in fault.value.diagnostics if each.code == "undeclarable-convention"]
    lines = sorted(each.primary.span.source.position(each.primary.span.start)[0] for each in found)
    assert lines == [8, 9, 10, 12, 15, 16]
    assert not (tmp_path / "t").exists()
    done = run_command("check", str(path), "--for", "nz")
    assert done.status == 1
    assert done.err.count("undeclarable-convention") == len(found)
    assert "undeclared-convention" in done.err


@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "zarr2", "netcdf4", "cdl"])
def test_other_formats_cannot_declare(form: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot declare NZ"):
        nczarr.write(source(), tmp_path / "t.x", format=form, declare="nz", allow_loss=["all"])
    with pytest.raises(ValueError, match="not a convention"):
        nczarr.write(source(), tmp_path / "t.x", format="zarr3", declare="cf")  # type: ignore[arg-type]


def group(**attributes: Any) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def array(**members: Any) -> dict[str, Any]:
    return {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"zarr_conventions": [{"uuid": UUID}]}, "dimension_names": ["x"], **members,
    }  # fmt: skip


DECLARED = {"conventions": "NZ-1.0", "zarr_conventions": [{"uuid": UUID}]}
ENTRY = {"zarr_conventions": [{"uuid": UUID}]}


@pytest.mark.parametrize(
    ("documents", "places"),
    [
        ({"": group(**DECLARED), "a": array()}, []),
        ({"": group(Conventions="NZ-1.0 CF-1.12", **ENTRY), "a": array()}, []),
        ({"": group(**ENTRY), "a": array()}, ["zarr.json#/attributes"]),
        ({"": group(conventions="XNZ-1.0", **ENTRY), "a": array()}, ["zarr.json#/attributes"]),
        ({"": group(conventions="NZ-1.0"), "a": array()}, ["zarr.json#/attributes"]),
        ({"": group(**DECLARED), "a": array(dimension_names=None)}, ["a/zarr.json"]),
        ({"": group(**DECLARED), "a": array(dimension_names=[None])}, ["a/zarr.json#/dimension_names/0"]),
        ({"": group(**DECLARED), "a": array(dimension_names=[])}, ["a/zarr.json#/dimension_names"]),
        ({"": group(**DECLARED), "a": array(), "b": array(shape=[3])}, ["b/zarr.json#/dimension_names/0"]),
        ({"": group(**DECLARED), "a": array(), "g": group(**DECLARED), "g/b": array(shape=[3])}, []),
        ({"": group(**DECLARED), "a": array(attributes={**ENTRY, "_FillValue": "x"})},
         ["a/zarr.json#/attributes/_FillValue"]),
        ({"": group(**DECLARED), "a": array(attributes={**ENTRY, "n": [1, "x"]})}, ["a/zarr.json#/attributes/n"]),
        ({"": group(**DECLARED), "a": array(data_type={"name": "raw_bytes"})}, ["a/zarr.json#/data_type"]),
    ],
)  # fmt: skip
def test_check_lists_what_is_missing(documents: dict[str, Any], places: list[str], tmp_path: Path) -> None:
    for name, document in documents.items():
        (tmp_path / "s" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "s" / name / "zarr.json").write_text(json.dumps(document))
    done = run_command("check", str(tmp_path / "s"), "--for", "nz", "--message-format", "json")
    found = [json.loads(line) for line in done.err.splitlines() + done.out.splitlines() if line.startswith("{")]
    assert [each["code"] for each in found] == ["undeclared-convention"] * len(places)
    assert done.status == (1 if places else 0)
    for each, place in zip(found, places, strict=True):
        assert all(part in json.dumps(each) for part in place.split("#"))
