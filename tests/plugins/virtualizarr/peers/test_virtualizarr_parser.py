"""`nczarr.virtualizarr.Parser`: what VirtualiZarr, zarr-python and icechunk read of its manifests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import CompileError
from tests.conftest import missing_peer
from tests.support.peers import exactness

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(sys.version_info < (3, 12), reason="VirtualiZarr with chunks in manifests needs Python 3.12"),
    pytest.mark.filterwarnings("ignore"),
]

CDL = """netcdf a {
dimensions:
  time = UNLIMITED ; x = 5 ; none = 0 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ;
  float v(time, x) ; v:_FillValue = -9.f ; v:units = "K" ;
  short packed(x) ; packed:scale_factor = 0.5 ; packed:_FillValue = -1s ;
  int scalar ;
  int empty(none) ;
  :title = "a" ;
data:
  time = 0, 1, 2 ;
  v = 1, 2, 3, 4, 5, 6, _, 8, 9, 10, 11, 12, 13, 14, 15 ;
  packed = 1, _, 3, 4, 5 ; scalar = 7 ;
}
"""
GROUPS = """netcdf a {
dimensions: x = 3 ;
variables: int v(x) ; string names(x) ;
data: v = 1, 2, 3 ; names = "a", "", "cé" ;
group: g {
  dimensions: y = 2 ;
  variables: int64 w(y, x) ; w:note = "inner" ;
  data: w = 1, 2, 3, 4, 5, 6 ;
  group: h { variables: byte b(y) ; data: b = 1, 2 ; }
}
}
"""


@pytest.fixture(scope="module")
def world() -> Any:
    """Return the stores that VirtualiZarr reads chunks from."""
    try:
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore
    except ImportError:
        missing_peer("virtualizarr")
    return ObjectStoreRegistry({"file://": LocalStore()})


def parsed(path: Path, world: Any, **options: Any) -> Any:
    from nczarr import virtualizarr

    return virtualizarr.Parser(**options)(str(path), world)


def opened(store: Any, **options: Any) -> Any:
    import xarray

    return xarray.open_zarr(store, consolidated=False, zarr_format=3, chunks=None, **options).load()


FORMATS = {
    "a.nc": {"kind": "nc4"},
    "classic.nc": {"kind": "nc3"},
    "cdf5.nc": {"kind": "nc5"},
    "a.zarr2": {"format": "zarr2", "codecs": "shuffle+zlib:3", "allow_loss": "all"},
    "a.zarr3": {"format": "zarr3", "codecs": "zstd:3", "allow_loss": "all"},
    "a.nczarr": {"format": "nczarr"},
    "a.json": {"format": "reference"},
    "a.ncs": {"format": "ncstream", "allow_loss": "all"},
}


@pytest.mark.parametrize("name", FORMATS)
def test_values_of_every_format(name: str, tmp_path: Path, world: Any) -> None:
    import xarray

    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.nc", "netcdf4", chunks={"/v": (2, 3)}, codecs="shuffle+zlib:3")
    path = tmp_path / name
    options = dict(FORMATS[name])
    if name != "a.nc":
        text = CDL.replace("UNLIMITED", "3") if path.suffix == ".nc" else CDL  # there `none` is the record dimension
        source = nczarr.open(tmp_path / "a.nc") if options.get("format") == "reference" else nczarr.from_cdl(text)
        nczarr.write(source, path, options.pop("format", "netcdf3"), **options)  # type: ignore[arg-type]
    found = opened(parsed(path, world))
    wanted = xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4").load()
    xarray.testing.assert_equal(found, wanted)
    for variable in wanted.variables:
        assert found[variable].attrs == wanted[variable].attrs
        assert found[variable].dtype == wanted[variable].dtype


def test_chunks_stay_where_they_are(tmp_path: Path, world: Any) -> None:
    dataset = nczarr.from_cdl(
        "netcdf a { dimensions: x = 4000 ; variables: int v(x) ; data: v = 3999(5), 7 ; }".replace(
            "3999(5)", ", ".join(["5"] * 3999)
        )
    )
    nczarr.write(dataset, tmp_path / "a.nc", "netcdf4", chunks={"/v": (1000,)})
    manifest = parsed(tmp_path / "a.nc", world)._group["v"].manifest
    entries = manifest.dict()
    assert sorted(entries) == ["0", "1", "2", "3"]
    for entry in entries.values():
        assert entry["path"] == f"file://{tmp_path / 'a.nc'}"
        data = (tmp_path / "a.nc").read_bytes()[entry["offset"] : entry["offset"] + entry["length"]]
        assert np.frombuffer(data, "<i4")[0] == 5


@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_records_of_classic_files(kind: str, tmp_path: Path, world: Any) -> None:
    import xarray

    text = CDL.replace("none = 0 ;", "").replace("int empty(none) ;", "")
    nczarr.write(nczarr.from_cdl(text), tmp_path / "a.nc", "netcdf3", kind=kind)
    found = opened(parsed(tmp_path / "a.nc", world))
    xarray.testing.assert_equal(found, xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4").load())


def test_groups(tmp_path: Path, world: Any) -> None:
    nczarr.write(nczarr.from_cdl(GROUPS), tmp_path / "a.nc", "netcdf4")
    import xarray

    found = xarray.open_datatree(parsed(tmp_path / "a.nc", world), engine="zarr", consolidated=False, zarr_format=3)
    assert found["names"].values.tolist() == ["a", "", "cé"]
    assert found["/g/w"].values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found["/g/w"].attrs == {"note": "inner"}
    assert found["/g/h/b"].values.tolist() == [1, 2]
    for group in ("g", "/g", "/g/"):
        one = opened(parsed(tmp_path / "a.nc", world, group=group))
        assert (list(one.variables), one["w"].shape) == (["w"], (2, 3))
    with pytest.raises(CompileError, match="no group"):
        parsed(tmp_path / "a.nc", world, group="/x")


def test_variables_are_dropped(tmp_path: Path, world: Any) -> None:
    nczarr.write(nczarr.from_cdl(GROUPS), tmp_path / "a.nc", "netcdf4")
    assert list(opened(parsed(tmp_path / "a.nc", world, drop_variables="names")).variables) == ["v"]
    store = parsed(tmp_path / "a.nc", world, drop_variables=["/g/w", "v"])
    assert sorted(opened(store).variables) == ["names"]
    assert "w" not in store._group["g"]


def test_what_zarr_cannot_hold_is_refused(tmp_path: Path, world: Any) -> None:
    text = "netcdf a { types: byte enum e { no = 0, yes = 1 } ; variables: e v ; data: v = yes ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "a.nc", "netcdf4")
    with pytest.raises(CompileError, match="lost-type"):
        parsed(tmp_path / "a.nc", world)
    assert int(opened(parsed(tmp_path / "a.nc", world, allow_loss="lost-type"))["v"]) == 1
    with pytest.raises(OSError, match=r"missing\.nc"):
        parsed(tmp_path / "missing.nc", world)


def through_icechunk(path: Path, folder: Path, world: Any, **options: Any) -> Any:
    """Write the virtual dataset of a file into a new icechunk repository; return it as xarray reads it there."""
    try:
        import icechunk
        from virtualizarr import open_virtual_dataset
    except ImportError:
        missing_peer("icechunk")
    from nczarr.plugins.virtualizarr.parser import Parser

    virtual = open_virtual_dataset(
        f"file://{path}", registry=world, parser=Parser(**options), loadable_variables=[], decode_times=False
    )
    config, home = icechunk.RepositoryConfig.default(), f"file://{path.parent}/"
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(home, icechunk.local_filesystem_store(str(path.parent)))
    )
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(folder / "repo")),
        config,
        authorize_virtual_chunk_access=icechunk.containers_credentials({home: None}),
    )
    session = repository.writable_session("main")
    virtual.vz.to_icechunk(session.store)
    session.commit("first")
    return opened(repository.readonly_session("main").store, mask_and_scale=False, decode_times=False)


def test_through_virtualizarr_into_icechunk(tmp_path: Path, world: Any) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.nc", "netcdf4", chunks={"/v": (2, 3)}, codecs="shuffle+zlib:3")
    assert_same(through_icechunk(tmp_path / "a.nc", tmp_path, world), tmp_path / "a.nc")


def assert_same(found: Any, path: Path) -> None:
    import xarray

    wanted = xarray.open_dataset(path, engine="netcdf4", mask_and_scale=False, decode_times=False).load()
    xarray.testing.assert_equal(found, wanted)


REAL = exactness.real_folder()
GARBAGE = {"bad_missing_data.nc"}
"""Files of which netCDF4-python shows uninitialized memory: a variable has one growing dimension twice."""

FILES = [] if REAL is None else [each.path for each in exactness.real(REAL) if each.path.name not in GARBAGE]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_through_icechunk(path: Path, tmp_path: Path, world: Any) -> None:
    assert_same(through_icechunk(path, tmp_path, world), path)
