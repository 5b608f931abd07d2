"""Edited stores: zarr-python, xarray and the netCDF library read the edit, and everything else as before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command, shared_folder

pytestmark = pytest.mark.peer

TEXT = """netcdf t {
dimensions:
  time = 2 ;
  x = 3 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  float temp(time, x) ;
    temp:units = "C" ;
    temp:_FillValue = -9.f ;
  int count(x) ;
:title = "t" ;
data:
  time = 0, 1 ;
  temp = 1, 2, -5, 4, 5, 6 ;
  count = 1, 2, 3 ;
group: g {
  variables:
    int v(x) ;
  data:
    v = 7, 8, 9 ;
  }
}
"""

CHANGES: dict[str, Any] = {
    "attributes": {"/temp@units": "K", "/temp@_FillValue": -5.0, "@history": "edited"},
    "rename": {"/temp": "sst", "/g": "h", "/time": "t"},
    "delete": ["/count"],
}


@pytest.mark.parametrize("form", ["zarr2", "nczarr", "zarr3", "nczarr3"])
def test_other_readers_see_the_edit(tmp_path: Path, form: str, peer: Callable[[str], ModuleType]) -> None:
    zarr, xarray = peer("zarr"), peer("xarray")
    path = tmp_path / "a.zarr"
    nczarr.write(nczarr.from_cdl(TEXT), path, form, allow_loss=["all"])
    nczarr.edit(path, **CHANGES)
    for consolidated in (True, False):
        group = zarr.open_group(path, mode="r", use_consolidated=consolidated)
        assert sorted(group.array_keys()) == ["sst", "t"]
        assert sorted(group.group_keys()) == ["h"]
        assert group["sst"][...].tolist() == [[1, 2, -5], [4, 5, 6]]
        assert (group["sst"].attrs["units"], group["sst"].metadata.fill_value) == ("K", -5)
        assert group["h/v"][...].tolist() == [7, 8, 9]
        assert group.attrs["history"] == "edited"
        dataset = xarray.open_zarr(path, consolidated=consolidated)
        assert dataset["sst"].dims == ("t", "x")
        assert np.isnan(dataset["sst"].values[0, 2])
        assert dataset["t"].values.tolist() == np.array(["2000-01-01", "2000-01-02"], "M8[ns]").tolist()
        assert list(dataset.data_vars) == ["sst"]


def test_the_netcdf_library_sees_the_edit(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    netcdf = peer("netCDF4")
    path = tmp_path / "a.zarr"
    nczarr.write(nczarr.from_cdl(TEXT.replace("time = 2", "time = UNLIMITED")), path, "nczarr")
    nczarr.edit(path, **CHANGES)
    with netcdf.Dataset(f"file://{path}#mode=nczarr,file") as dataset:
        dataset.set_auto_mask(False)
        assert list(dataset.variables) == ["t", "sst"]
        assert list(dataset.groups) == ["h"]
        assert dataset["sst"].dimensions == ("t", "x")
        assert (dataset["sst"].units, dataset["sst"]._FillValue, dataset.history) == ("K", -5, "edited")
        assert dataset["sst"][:].tolist() == [[1, 2, -5], [4, 5, 6]]
        assert dataset["h/v"][:].tolist() == [7, 8, 9]


FOLDER = shared_folder()
STORES = [] if FOLDER is None else sorted(FOLDER.glob("data/nczarr-stores/*/store"))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("source", STORES, ids=[path.parent.name for path in STORES])
def test_corpus(source: Path, tmp_path: Path) -> None:
    """An attribute of a store of another writer: nothing else is read otherwise, and every byte is restored."""
    path = tmp_path / "a.zarr"
    shutil.copytree(source, path)
    before = {key: key.read_bytes() for key in path.rglob("*") if key.is_file()}
    ran = run_command("edit", str(path), "--set", '@added="by an edit"')
    assert ran.status == 0, ran.err
    found = [f"{each.path}: {each.message}" for each in nczarr.diff(source, path, data=False)]
    assert found == ['/: attribute `added` only in the second: "by an edit"']
    changed = {key.name for key in path.rglob("*") if key.is_file() and before.get(key) != key.read_bytes()}
    assert changed <= {".zattrs", ".zmetadata", "zarr.json"}
    undo = run_command("edit", str(path), "--undo", f"{path}.undo-1.json")
    assert undo.status == 0, undo.err
    assert {key: key.read_bytes() for key in path.rglob("*") if key.is_file()} == before


def edits_of(source: Path) -> dict[str, tuple[list[str], set[str]]]:
    """Edits of a store, and the differences that each makes."""
    checked = nczarr.open(source).checked
    variables, groups, dimensions = list(checked.variables), [*checked.groups][1:], list(checked.dimensions)
    found = {}
    if variables:
        found["name"] = (["--rename", f"var:{variables[0]}=renamed_v"], {"missing-variable"})
        found["attribute"] = (["--set", f'{variables[-1]}@added="furlong"'], {"missing-attribute"})
        found["removal"] = (["--delete", variables[0]], {"missing-variable"})
    if groups:
        found["group"] = (["--rename", f"{groups[0]}=renamed_g"], {"missing-group", "variable-dimensions"})
    if dimensions:
        found["dimension"] = (
            ["--rename", f"dim:{dimensions[0]}=renamed_d"],
            {"missing-dimension", "variable-dimensions"},
        )
    return found


UNUSED = {"py-groups-pure", "zp2-dims-consolidated", "zp3-dims"}
"""Stores of plain Zarr, of whose dimensions one would be unused without the first variable."""


@pytest.mark.slow
@pytest.mark.parametrize("source", STORES, ids=[path.parent.name for path in STORES])
def test_corpus_names(source: Path, tmp_path: Path) -> None:
    """Names and removals: nothing else is read otherwise, and every byte is restored."""
    for name, (words, kinds) in edits_of(source).items():
        path = tmp_path / name / "a.zarr"
        shutil.copytree(source, path)
        ran = run_command("edit", str(path), *words)
        refused = name == "removal" and source.parent.name in UNUSED
        assert ran.status == (2 if refused else 0), ran.err
        if refused:
            assert "remove it as well" in ran.err
            continue
        found = {each.kind for each in nczarr.diff(source, path, data=False)}
        assert found <= kinds
        assert found
        undo = run_command("edit", str(path), "--undo", f"{path}.undo-1.json")
        assert undo.status == 0, undo.err
        restored = {key.relative_to(path): key.read_bytes() for key in path.rglob("*") if key.is_file()}
        assert restored == {key.relative_to(source): key.read_bytes() for key in source.rglob("*") if key.is_file()}


@pytest.mark.slow
def test_ten_thousand_variables(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    lines = "".join(f"int v{index}(x) ;\n" for index in range(10_000))
    path = tmp_path / "a.zarr"
    nczarr.write(nczarr.from_cdl(f"netcdf t {{ dimensions: x = 2 ; variables: {lines} }}"), path, "nczarr3")
    times = {key: key.stat().st_mtime_ns for key in path.rglob("zarr.json")}
    nczarr.edit(path, attributes={"/v77@units": "K"})
    changed = {key.parent.name for key in path.rglob("zarr.json") if key.stat().st_mtime_ns != times[key]}
    assert changed == {"v77", "a.zarr"}
    assert zarr.open_group(path, mode="r")["v77"].attrs["units"] == "K"
    root = json.loads((path / "zarr.json").read_text())
    assert len(root["consolidated_metadata"]["metadata"]) == 10_000
