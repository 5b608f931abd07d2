"""Programs for zarr-python and xarray run, and write what `compile` writes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import nczarr
from tests.support.generated import HOSTILE, are_equal, find_sample, load_program

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

STATION = find_sample("01").read_text("utf-8")

ODD = """netcdf odd {
types: compound p { int a ; double b ; char c ; } ; opaque(3) o ;
  byte enum e { off = 0, on = 1 } ;
dimensions: x = 2 ; t = UNLIMITED ;
variables: float f(x) ; f:edges = NaNf, -Infinityf ; f:_FillValue = NaNf ; p pp(x) ; p pp:_FillValue = {1, 2.5, "x"} ;
  e ee(x) ; e ee:_FillValue = on ; int s ; string str(x) ; string str:_FillValue = "nil" ; string ss ; char c ;
  o oo(x) ; o oo:_FillValue = 0x010203 ; double g(t) ; double b(x) ; b:_Endianness = "big" ; b:_DeflateLevel = 3 ;
data: pp = {1, 2, "a"}, {4, 5, "b"} ; str = "a", "b" ; c = "q" ; b = 1, 2 ;
  oo = 0xaabbcc, _ ; ss = "\\303\\274" ; g = 1.5 ;
}"""

FORBIDDEN = HOSTILE.replace(r"\!\\n", r"\!n").replace(r"v\"\\", r"v\"")
"""Without backslashes in names, which zarr-python takes for slashes."""

UNFILLED = """netcdf unfilled { dimensions: x = 4 ;
variables: byte s ; s:_FillValue = 1b ; s:_NoFill = "true" ;
  int v(x) ; v:_FillValue = -9 ; v:_NoFill = "true" ; v:_ChunkSizes = 2 ;
  float w(x) ; w:_NoFill = "true" ; short never(x) ; never:_FillValue = 5s ; never:_NoFill = "true" ;
data: s = 1 ; v = -9, -9, 3, -9 ; w = 0, 0, 0, 0 ; }"""
"""Values equal to the fill value, of which zarr-python writes no chunk unless it is told to."""

TREE = """netcdf tree {
types: byte enum state { off = 0, on = 1 } ;
dimensions: x = 2 ; t = UNLIMITED ;
variables: float x(x) ; double v(t, x) ; string :list = "a", "b" ; string :place = "Zürich" ;
  int q(x) ; q:flags = 1s, 2s ; string s ;
  state st(x) ;
data: x = 1, 2 ; v = 1, 2, 3, 4 ; s = "\\303\\274" ; st = on, off ;
group: g {
  types: byte enum inner { no = 0, yes = 1 } ;
  dimensions: u = UNLIMITED ; y = 3 ;
  variables: int w(u, x) ; inner it(x) ; char c(x, y) ; w:_DeflateLevel = 2 ; w:_ChunkSizes = 1, 2 ;
  data: w = 1, 2 ; it = yes, no ; c = "ab", "cde" ;
  group: h { variables: float z(x) ; :a = "b" ; }
}
}"""


def write_by_zarr(schema: nczarr.Dataset, folder: Path, zarr_format: int) -> Path:
    """Write a store by the program for zarr-python."""
    program = load_program(nczarr.generate("python-zarr", schema))
    program["write"](program["create"](str(folder), zarr_format))
    return folder


@pytest.mark.parametrize("zarr_format", [pytest.param(2, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("text", [STATION, ODD, FORBIDDEN, UNFILLED], ids=["station", "odd", "hostile", "unfilled"])
def test_stores_of_zarr_python(text: str, zarr_format: int, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, schema = peer("zarr"), nczarr.from_cdl(text)
    store = write_by_zarr(schema, tmp_path / "a.zarr", zarr_format)
    assert are_equal(schema, store)
    nczarr.write(schema, tmp_path / "b.zarr", format="nczarr" if zarr_format == 2 else "nczarr3")
    ours, theirs = (zarr.open_group(tmp_path / name, mode="r") for name in ("b.zarr", "a.zarr"))
    for path, array in ours.arrays():
        if array.dtype.kind == "S" and array.dtype.itemsize > 1:
            continue  # `compile` has texts of fixed length in Zarr v2
        assert (theirs[path].dtype, theirs[path].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(theirs[path][...], array[...])


@pytest.mark.long
@pytest.mark.parametrize("number", ["02", "04", "07", "08"])
def test_samples_by_zarr_python(number: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("zarr")
    schema = nczarr.open(find_sample(number))
    for zarr_format in (2, 3):
        assert are_equal(schema, write_by_zarr(schema, tmp_path / f"{zarr_format}.zarr", zarr_format))


@pytest.mark.parametrize("text", [STATION, TREE], ids=["station", "tree"])
def test_datasets_of_xarray(text: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    for name in ("xarray", "netCDF4", "zarr"):
        peer(name)
    schema = nczarr.from_cdl(text)
    program = load_program(nczarr.generate("xarray", schema))
    options = {"unlimited_dims": program["UNLIMITED"]} if "group: g" in text else {}
    program["create"]().to_netcdf(tmp_path / "a.nc", engine="netcdf4", **options)
    assert are_equal(schema, tmp_path / "a.nc")
    program["create"](target="zarr").to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
    nczarr.write(schema, tmp_path / "b.zarr", format="zarr3", allow_loss=["all"])
    assert are_equal(tmp_path / "a.zarr", tmp_path / "b.zarr")
    empty = program["create"](filled=False)
    name = "v" if options else "temperature"
    assert (empty[name] == schema[name].attributes.get("_FillValue", 9.969209968386869e36)).all()


@pytest.mark.long
@pytest.mark.parametrize("number", ["04", "08"])
def test_samples_by_xarray(number: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("xarray"), peer("netCDF4")
    schema = nczarr.open(find_sample(number))
    load_program(nczarr.generate("xarray", schema))["create"]().to_netcdf(tmp_path / "a.nc", engine="netcdf4")
    assert are_equal(schema, tmp_path / "a.nc")


def test_schemas_for_xarray_schema(peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    peer("xarray")
    old = SimpleNamespace(DistributionNotFound=PackageNotFoundError, get_distribution=distribution)
    monkeypatch.setitem(sys.modules, "pkg_resources", old)  # which its release asks for, and setuptools dropped
    checker = peer("xarray_schema")
    program = load_program(nczarr.generate("xarray", nczarr.open(find_sample("01"))))
    dataset, schema = program["create"](), program["make_schemas"]()["/"]
    schema.validate(dataset)
    for fault in (
        dataset.drop_vars("temperature"),
        dataset.assign(temperature=dataset.temperature.astype("f4")),
        dataset.assign(lat=dataset.lat.rename(station="place")),
        dataset.assign_coords(time=dataset.time.astype("i4")),
    ):
        with pytest.raises(checker.SchemaError):
            schema.validate(fault)
