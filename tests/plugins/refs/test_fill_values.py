"""`_FillValue` in references of Zarr v2: stated by the fill value alone, and read back with its type and place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import refs
from nczarr.arrays.sources.source import fill_of
from nczarr.diagnostics.report import Report
from nczarr.options import Options, Writing
from nczarr.pipeline import phases
from tests.conftest import run_command

SCHEMA = """netcdf t {
types:
  byte enum flag { no = 0, yes = 1 } ;
dimensions:
  x = 4 ;
variables:
  int plain(x) ;
  int own(x) ; own:before = "a" ; own:_FillValue = 7 ; own:after = "b" ;
  int standard(x) ; standard:_FillValue = -2147483647 ;
  int64 wide(x) ; wide:_FillValue = 9007199254740993 ;
  ubyte small(x) ; small:_FillValue = 0UB ;
  float fl(x) ; fl:_FillValue = -999.f ;
  double not_a(x) ; not_a:_FillValue = NaN ;
  char text(x) ; text:_FillValue = "x" ;
  flag e(x) ; e:_FillValue = yes ;
  int part(x) ; part:_FillValue = 5 ;
data:
  plain = 1, 2, 3, 4 ; own = 1, 7, 3, 4 ; standard = 1, _, 3, 4 ; wide = 1, 2, 3, 4 ; small = 0, 1, 2, 3 ;
  fl = 1, 2, 3, -999 ; not_a = 1, NaN, 3, 4 ; text = "abcx" ; e = no, yes, no, yes ;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    nczarr.write(nczarr.from_cdl(SCHEMA), path, kind="nc4", chunks={"x": 2})
    return path


def entries(document: Path) -> dict[str, Any]:
    found = json.loads(document.read_text())["refs"]
    return {key: json.loads(each) for key, each in found.items() if ".z" in key}


@pytest.mark.parametrize("metadata", ["zarr2", "nczarr"])
@pytest.mark.parametrize("name", ["b.json", "b.parq"])
def test_fill_values_come_back(source: Path, metadata: str, name: str) -> None:
    target = source.with_name(name)
    nczarr.convert(source, target, format="reference", writing=Writing(metadata=metadata), allow_loss=["all"])
    with nczarr.open(source) as wanted, nczarr.open(target) as found:
        for variable in wanted:
            own, read = (
                {each.name: each.value for each in dataset[variable].variable.attributes}.get("_FillValue")
                for dataset in (wanted, found)
            )
            if variable == "/text" and metadata == "zarr2":
                continue  # a text: plain JSON
            assert (read is None) == (own is None), variable
            if own is not None and read is not None and variable != "/e":
                assert read == own, variable
        if metadata == "nczarr":
            assert nczarr.diff(source, target) == []
        assert list(found["/own"].attributes) == ["before", "_FillValue", "after"]


@pytest.mark.parametrize("metadata", ["zarr2", "nczarr"])
def test_attributes_leave_fill_values_out(source: Path, metadata: str) -> None:
    target = source.with_name("b.json")
    nczarr.convert(source, target, writing=Writing(metadata=metadata), allow_loss=["all"])
    found = entries(target)
    assert [key for key, each in found.items() if "_FillValue" in each] == ["text/.zattrs"]
    assert found["own/.zarray"]["fill_value"] == 7
    assert found["part/.zarray"]["fill_value"] == 5
    assert found["standard/.zarray"]["fill_value"] == -2147483647
    assert found["plain/.zarray"]["fill_value"] is None


def test_a_compact_document_keeps_the_notes(source: Path) -> None:
    target = source.with_name("b.json")
    nczarr.convert(source, target, writing=Writing(metadata="zarr2"), allow_loss=["all"])
    compact = source.with_name("c.json")
    compact.write_text(json.dumps(refs.compact(json.loads(target.read_text()))))
    assert nczarr.diff(target, compact) == []


def test_combined_documents_keep_fill_values(source: Path) -> None:
    documents = []
    for number in range(2):
        target = source.with_name(f"{number}.json")
        nczarr.convert(source, target, writing=Writing(metadata="zarr2"), allow_loss=["all"])
        documents.append(target)
    joined = source.with_name("joined.json")
    command = ["refs", "combine", *map(str, documents), "--along", "x", "-o", str(joined)]
    done = run_command(*command, "--metadata", "zarr2", "--allow-loss", "all")
    assert done.status == 0, done.err
    with nczarr.open(joined) as found:
        assert found["/fl"].attributes["_FillValue"] == -999.0
        assert "_FillValue" not in found["/plain"].attributes
        assert found["/plain"][...].tolist() == [1, 2, 3, 4] * 2


@pytest.mark.parametrize(
    ("note", "codes"),
    [
        ({"own/": -1}, ["stale-extension"]),
        ({"own/": "0"}, ["stale-extension"]),
        ({"plain/": 0}, ["stale-extension"]),
        ({"text/": 0}, []),
        ([], []),
        (7, []),
        ({"own/": 99}, []),
    ],
)
def test_notes_are_untrusted(source: Path, note: Any, codes: list[str]) -> None:
    target = source.with_name("b.json")
    nczarr.convert(source, target, writing=Writing(metadata="zarr2"), allow_loss=["all"])
    document = json.loads(target.read_text())
    document["nczarr"]["fill_values"] = note
    target.write_text(json.dumps(document))
    report = Report()
    assert phases.read_path(str(target), report, Options()) is not None
    assert [each.code for each in report.list_sorted() if each.code == "stale-extension"] == codes


def test_compressors_are_filters_as_in_the_documents_of_kerchunk(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    dataset = nczarr.from_cdl("netcdf a { dimensions: x = 4 ; variables: int v(x) ; data: v = 1, 2, 3, 4 ; }")
    nczarr.write(dataset, path, kind="nc4", codecs={"/v": "shuffle+zlib:4"})
    nczarr.convert(path, tmp_path / "a.json", writing=Writing(metadata="zarr2"), allow_loss=["all"])
    found = entries(tmp_path / "a.json")["v/.zarray"]
    assert found["compressor"] is None
    assert [each["id"] for each in found["filters"]] == ["shuffle", "zlib"]
    assert nczarr.diff(path, tmp_path / "a.json") == []


def test_another_fill_value_of_hdf5_comes_back(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """No chunk is missing, so the array declares `_FillValue`, which xarray masks; the extension has HDF5's value."""
    path, target = tmp_path / "a.nc", tmp_path / "a.json"
    with peer("h5py").File(path, "w") as file:
        made = file.create_dataset("v", data=np.array([1, 7, 3], "i4"), fillvalue=3, chunks=(3,))
        made.attrs["_FillValue"] = np.int32(7)
    nczarr.convert(path, target, writing=Writing(metadata="nczarr"), allow_loss=["all"])
    found = entries(target)
    assert found["v/.zarray"]["fill_value"] == 7
    assert "_FillValue" not in found["v/.zattrs"]
    for each in (path, target):
        checked = phases.read_path(str(each), Report(), Options())
        assert checked is not None
        assert fill_of(checked.parts["/v"][""]) == b"\3\0\0\0"
        (fill,) = [one.value for one in checked.variables["/v"].attributes if one.name == "_FillValue"]
        assert (fill.type, fill.as_numbers()) == ("int", (7,))
    document = json.loads(target.read_text())
    attributes = found["v/.zattrs"]
    for wrong in ("AAA=", "?", 5):
        attributes["_nczarr_array"]["nczarr"]["fill"] = wrong
        document["refs"]["v/.zattrs"] = json.dumps(attributes)
        target.write_text(json.dumps(document))
        report = Report()
        assert phases.read_path(str(target), report, Options()) is not None
        assert [each.code for each in report.list_sorted()] == ["stale-extension"]


def test_unwritten_cells_keep_the_bits_of_a_nan(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf = peer("netCDF4")
    unusual = np.array([0x7FC12345], "<u4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 6)
        variable = file.createVariable("v", "<f4", ("x",), chunksizes=(2,), fill_value=unusual.view("<f4")[0])
        variable[2:4] = [1, 2]
        file.createVariable("usual", "<f4", ("x",), chunksizes=(2,), fill_value=np.float32("nan"))[2:4] = [1, 2]
    nczarr.convert(tmp_path / "a.nc", tmp_path / "b.json", format="reference")
    mapper = peer("fsspec").get_mapper("reference://", fo=str(tmp_path / "b.json"), remote_protocol="file")
    values = peer("zarr").open(mapper, mode="r")["v"][:]
    np.testing.assert_array_equal(values.view("<u4")[[0, 1, 4, 5]], np.repeat(unusual, 4))
    assert sorted(key for key in mapper if key.startswith("usual/") and key[-1].isdigit()) == ["usual/1"]
