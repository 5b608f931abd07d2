"""Stores are consolidated by default: other readers open them without a warning, and with fewer reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command

Peer = Callable[[str], ModuleType]

TEXT = """netcdf t {
types: compound pair { int a ; float b ; } ;
dimensions: time = UNLIMITED ; x = 3 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ;
  short v(time, x) ; v:units = "K" ; v:_ChunkSizes = 1, 3 ;
  pair p(x) ; int n ; string s(x) ;
data: time = 0, 1 ; v = 1, 2, 3, 4, 5, 6 ; p = {1, 2}, {3, 4}, {5, 6} ; n = 7 ; s = "a", "b", "c" ;
group: g { variables: double w(x) ; data: w = 1, 2, 3 ; }
}"""
FORMATS = ("zarr2", "zarr3", "nczarr", "nczarr3")
VALUES = [[1, 2, 3], [4, 5, 6]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.cdl"
    path.write_text(TEXT)
    return path


def is_consolidated(store: Path) -> bool:
    """Whether the root holds the documents of all nodes."""
    version3 = store / "zarr.json"
    return (
        "consolidated_metadata" in json.loads(version3.read_bytes())
        if version3.exists()
        else (store / ".zmetadata").exists()
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("suffix", [".zarr", ".zip"])
def test_xarray_and_zarr_python_do_not_warn(form: str, suffix: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    zarr, xarray = peer("zarr"), peer("xarray")
    path = tmp_path / f"t{suffix}"
    nczarr.convert(source, path, form, allow_loss="all")
    place: Any = zarr.storage.ZipStore(path, mode="r") if suffix == ".zip" else path
    with warnings.catch_warnings(action="error"):
        group = zarr.open_group(place, mode="r")
        assert group.metadata.consolidated_metadata is not None
        assert {name for name, _ in group.members(max_depth=None)} >= {"time", "v", "n", "s", "g", "g/w"}
        np.testing.assert_array_equal(group["v"][:], VALUES)
        with xarray.open_zarr(place, chunks=None, drop_variables="p") as opened:
            assert opened["v"].values.tolist() == VALUES
        with xarray.open_dataset(place, engine="zarr", chunks=None, group="g") as opened:
            assert opened["w"].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("form", ["zarr2", "nczarr"])
@pytest.mark.parametrize("mode", ["nczarr,file", "zarr,file", "nczarr,file,consolidated"])
def test_the_netcdf_library_reads_it(form: str, mode: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    nczarr.convert(source, tmp_path / "t.zarr", form, allow_loss="all", variables=["v", "n"])
    with warnings.catch_warnings(action="error"), netcdf.Dataset(f"file://{tmp_path}/t.zarr#mode={mode}") as opened:
        assert opened["v"][:].tolist() == VALUES
        assert opened["v"].units == "K"


@pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
def test_ncdump_prints_the_same_header(source: Path, tmp_path: Path) -> None:
    """Names and types; before, without `.zmetadata`, it read the same documents."""
    texts = []
    for name, consolidated in (("a", None), ("b", False)):
        (tmp_path / name).mkdir()
        nczarr.convert(source, tmp_path / name / "t.zarr", variables=["v"], consolidated=consolidated)
        url = f"file://{tmp_path}/{name}/t.zarr#mode=nczarr,file"
        texts.append(subprocess.run(["ncdump", "-h", url], capture_output=True, text=True, check=True).stdout)
    assert texts[0] == texts[1]
    assert "short v(time, x)" in texts[0]


@pytest.mark.parametrize("form", FORMATS)
def test_an_append_keeps_it_current(form: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    zarr, target = peer("zarr"), tmp_path / "t.zarr"
    nczarr.convert(source, target, form, variables=["v"])
    later, more = tmp_path / "later.cdl", tmp_path / "more.nc"
    later.write_text(TEXT.replace("time = 0, 1", "time = 2, 3").replace("v = 1,", "v = 9,"))
    nczarr.convert(later, more, variables=["v"])
    nczarr.append(more, target, along="time")
    for consolidated in (True, False):
        group = zarr.open_group(target, mode="r", use_consolidated=consolidated)
        np.testing.assert_array_equal(group["v"][:, 0], [1, 4, 9, 4])
        assert group["time"].shape == (4,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_an_append_by_xarray_keeps_it_current(form: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    xarray, target = peer("xarray"), tmp_path / "t.zarr"
    nczarr.convert(source, target, form, variables=["v"])
    with xarray.open_zarr(target, decode_cf=False, chunks=None) as opened:
        more = opened.load()
    more.assign(v=more["v"] + 10).to_zarr(target, append_dim="time")
    with xarray.open_zarr(target, decode_cf=False, chunks=None) as opened:
        assert opened["v"].values[:, 0].tolist() == [1, 4, 11, 14]


@pytest.mark.parametrize("form", FORMATS)
def test_every_way_to_switch_it(form: str, source: Path, tmp_path: Path) -> None:
    common = ("-q", "--allow-loss", "all", "--to", form)
    for name, options, expected in (
        ("default", (), True), ("yes", ("--consolidated",), True), ("no", ("--no-consolidated",), False),
    ):  # fmt: skip
        assert run_command("convert", str(source), str(tmp_path / name), *common, *options).status == 0
        assert is_consolidated(tmp_path / name) == expected
        keyword = {"default": None, "yes": True, "no": False}[name]
        nczarr.convert(source, tmp_path / f"{name}-python", form, allow_loss="all", consolidated=keyword)
        assert is_consolidated(tmp_path / f"{name}-python") == expected
    assert run_command("compile", str(source), "-o", str(tmp_path / "c"), *common).status == 0
    assert is_consolidated(tmp_path / "c")
    url = f"file://{tmp_path}/mode.zarr#mode=consolidated"
    assert run_command("convert", str(source), url, *common, "--no-consolidated").status == 0
    assert is_consolidated(tmp_path / "mode.zarr")  # the URL names it


def test_other_targets_stay_as_they_are(source: Path, tmp_path: Path, peer: Peer) -> None:
    icechunk, zarr = peer("icechunk"), peer("zarr")
    for form in ("nczarr", "zarr2", "nczarr3", "zarr3"):
        path = tmp_path / f"{form}.json"
        options = {"allow_loss": "all", "variables": ["v"]}
        nczarr.convert(source, path, "reference", writing=nczarr.refs.Writing(metadata=form), **options)
        text = path.read_text()
        assert ".zmetadata" not in text
        assert "consolidated_metadata" not in text
    nczarr.convert(source, f"icechunk:{tmp_path}/repository", "icechunk", allow_loss="all", variables=["v"])
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "repository")))
    group = zarr.open_group(repository.readonly_session("main").store, mode="r", use_consolidated=False)
    assert group.metadata.consolidated_metadata is None
    nczarr.convert(source, tmp_path / "draft.zarr", "zarr3-2019", allow_loss="all", variables=["v"])
    assert not any("zmetadata" in name for _, _, names in os.walk(tmp_path / "draft.zarr") for name in names)


def test_one_new_type_does_not_hide_the_others(source: Path, tmp_path: Path, peer: Peer) -> None:
    """zarr-python 3.1 refuses a group of which it does not know the type `struct` or the grid `rectilinear`."""
    zarr = peer("zarr")
    nczarr.convert(source, tmp_path / "t.zarr", "nczarr3", zarr_names="registered", allow_loss="all")
    assert zarr.open_group(tmp_path / "t.zarr", mode="r")["v"][:].tolist() == VALUES
    assert not is_consolidated(tmp_path / "t.zarr")
    nczarr.convert(source, tmp_path / "u.zarr", "nczarr3", zarr_names="registered", allow_loss="all", variables=["v"])
    assert is_consolidated(tmp_path / "u.zarr")
