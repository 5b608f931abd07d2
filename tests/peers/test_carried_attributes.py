"""Other programs read stores of `nczarr3`, whose metadata they do not know."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr

TEXT = """netcdf t {
types: compound pair { int a ; float b ; } ;
dimensions: time = UNLIMITED ; x = 3 ;
variables:
  short v(time, x) ; v:units = "K" ; v:valid = 1b ;
  int64 n(x) ; n:_Storage = "contiguous" ;
  :title = "a", "b" ;
data: v = 1, -32767, 3, 4, 5, 6 ; n = 9007199254740993, 2, 3 ;
group: g { variables: double w(x) ; data: w = 1, 2, 3 ; }
}"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with all kinds of hidden metadata."""
    nczarr.write(nczarr.from_cdl(TEXT), tmp_path / "s.zarr", "nczarr3")
    return tmp_path / "s.zarr"


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "scipy"])
def test_xarray_writes_a_store_as_a_netcdf_file(
    engine: str, store: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Before, `Invalid value for attr '_nczarr_attr'`; the netCDF library refuses this name for a text too."""
    peer({"netcdf4": "netCDF4"}.get(engine, engine))
    xarray, path = peer("xarray"), tmp_path / "t.nc"
    with xarray.open_zarr(store, consolidated=False) as dataset:
        small = dataset.drop_vars("n") if engine == "scipy" else dataset
        small.to_netcdf(path, engine=engine)
        with xarray.open_dataset(path) as other:
            xarray.testing.assert_equal(small.compute(), other.compute())
            assert other["v"].attrs["units"] == "K"
    for form in ("nczarr", "nczarr3", "zarr2", "zarr3"):
        with warnings.catch_warnings(action="ignore"):
            nczarr.convert(path, tmp_path / f"{form}.zarr", form, allow_loss="all")
        with nczarr.open(tmp_path / f"{form}.zarr") as dataset:
            np.testing.assert_array_equal(dataset["v"][:], [[1, -32767, 3], [4, 5, 6]])


def test_a_copy_by_xarray_reads_the_same(store: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray = peer("xarray")
    with xarray.open_zarr(store, consolidated=False) as dataset:
        dataset.to_zarr(tmp_path / "copy.zarr", zarr_format=3, consolidated=False)
    with nczarr.open(tmp_path / "copy.zarr") as dataset:
        np.testing.assert_array_equal(dataset["v"][:], [[1, -32767, 3], [4, 5, 6]])


def test_readers_see_texts(store: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, tensorstore = peer("zarr"), peer("tensorstore")
    group = zarr.open_group(store)
    assert set(json.loads(group.attrs["_nczarr"])) == {"superblock", "group", "attr"}
    assert set(json.loads(group["v"].attrs["_nczarr"])) == {"array", "attr"}
    array = tensorstore.open({"driver": "zarr3", "kvstore": f"file://{store}/v/"}).result()
    np.testing.assert_array_equal(array.read().result(), group["v"][:])


def test_objects_of_earlier_releases_are_read(store: Path) -> None:
    expected = nczarr.digest(store)
    for path in store.rglob("zarr.json"):
        document = json.loads(path.read_text())
        hidden = json.loads(document["attributes"].pop("_nczarr", "{}"))
        document["attributes"] |= {f"_nczarr_{what}": value for what, value in hidden.items()}
        document.pop("consolidated_metadata", None)
        path.write_text(json.dumps(document))
    assert nczarr.digest(store) == expected
    with nczarr.open(store) as dataset:
        assert dataset.dimensions["time"].unlimited


def test_a_text_that_is_no_metadata_is_ignored(tmp_path: Path) -> None:
    nczarr.write(
        nczarr.from_cdl("netcdf t { dimensions: x = 1 ; variables: int v(x) ; data: v = 1 ; }"),
        tmp_path / "t.zarr",
        "zarr3",
    )
    path = tmp_path / "t.zarr" / "zarr.json"
    for text in ("", "{", "[1]", "{}", '{"superblock": 1}'):
        document = json.loads(path.read_text())
        document["attributes"]["_nczarr"] = text
        document.pop("consolidated_metadata", None)
        path.write_text(json.dumps(document))
        with nczarr.open(tmp_path / "t.zarr") as dataset:
            assert dataset["v"][:].tolist() == [1]
