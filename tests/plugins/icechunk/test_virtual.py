"""Commits that refer to the files of their source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command
from tests.support.ranged_server import RangedServer
from tests.support.repositories import TELLS_PLACES, icechunk

CDL = """netcdf t {
types: compound pair { int a ; double b ; } ;
dimensions: time = UNLIMITED ; x = 40 ;
variables:
  double t(time, x) ; t:_Storage = "chunked" ; t:_ChunkSizes = 1, 40 ; t:_DeflateLevel = 1 ;
  int plain(x) ; string names(x) ; pair p ; byte small ; int never(time, x) ; never:_ChunkSizes = 1, 40 ;
data:
  plain = PLAIN ; names = NAMES ; t = VALUES ; p = {1, 2.5} ; small = 3 ;
}
"""


@pytest.fixture(autouse=True)
def library() -> Any:
    return icechunk()


@pytest.fixture
def source(tmp_path: Path, peer: Any) -> Path:
    """A netCDF-4 file with chunks that fit, others, and a folder whose name has every odd character."""
    peer("netCDF4")
    text = CDL.replace("PLAIN", ", ".join(map(str, range(40)))).replace("VALUES", ", ".join(map(str, range(400))))
    text = text.replace("NAMES", ", ".join(f'"n{number}"' for number in range(40)))
    folder = tmp_path / "a b#%20ü?&+"
    folder.mkdir()
    nczarr.write(nczarr.from_cdl(text), folder / "f.nc", kind="nc4")
    return folder / "f.nc"


def chunk_types(path: Path, array: str) -> list[str]:
    """How the chunks of an array are stored, by icechunk."""
    ice = icechunk()
    session = ice.Repository.open(ice.local_filesystem_storage(str(path))).readonly_session("main")

    async def found() -> list[str]:
        indices = [list(index) async for index in session.chunk_coordinates(f"/{array}")]
        types = [await session.chunk_type_async(f"/{array}", index) for index in indices]
        return [str(each).rpartition(".")[2].lower() for each in types]

    import asyncio

    return asyncio.run(found())


@pytest.mark.long
def test_chunks_that_fit_stay_where_they_are(tmp_path: Path, source: Path) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    done = nczarr.convert(source, place, virtual=True, verify=True, message="virtual")
    assert done.referenced_chunks == 11
    assert nczarr.diff(source, place) == []
    assert chunk_types(tmp_path / "r", "t") == ["virtual"] * 10
    assert chunk_types(tmp_path / "r", "plain") == ["virtual"]
    assert set(chunk_types(tmp_path / "r", "names")) <= {"inline", "native"}
    ran = run_command("convert", place, str(tmp_path / "again.nc"), "--verify")
    assert ran.status == 0, ran.err
    assert nczarr.diff(source, tmp_path / "again.nc") == []


@pytest.mark.long
def test_other_readers(tmp_path: Path, source: Path, peer: Any) -> None:
    xarray = peer("xarray")
    ice = icechunk()
    nczarr.convert(source, f"icechunk:{tmp_path / 'r'}", virtual=True)
    storage = ice.local_filesystem_storage(str(tmp_path / "r"))
    prefixes = list(ice.Repository.fetch_config(storage).virtual_chunk_containers)
    assert prefixes == [f"file://{source.parent}/"]
    access = getattr(ice.credentials, "LocalFileSystemAccess", None)
    opened = ice.Repository.open(storage, authorize_virtual_chunk_access=dict.fromkeys(prefixes, access))
    with xarray.open_zarr(opened.readonly_session("main").store, consolidated=False) as found:
        assert np.array_equal(found["t"].values, np.arange(400.0).reshape(10, 40))
        assert found["plain"].values.tolist() == list(range(40))
        assert found["names"].values.tolist() == [f"n{number}" for number in range(40)]


@pytest.mark.long
def test_a_file_that_changed_is_an_error(tmp_path: Path, source: Path) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    nczarr.convert(source, place, virtual=True)
    status = source.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 5 * 10**9))
    ran = run_command("dump", place)
    assert ran.status == 3
    assert ran.err.count("error[unreachable-file]") == 1
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run_command("dump", place).status == 0
    source.unlink()
    assert run_command("dump", place).status == 3


def test_a_second_commit_adds_its_containers(tmp_path: Path, source: Path) -> None:
    path = tmp_path / "r"
    other = tmp_path / "other.nc"
    nczarr.write(nczarr.from_cdl("netcdf o { dimensions: x = 99 ; variables: int v(x) ; }"), other, kind="nc3")
    nczarr.convert(source, f"icechunk:{path}", virtual=True)
    nczarr.convert(other, f"icechunk:{path}#branch=dev", virtual=True, verify=True)
    nczarr.convert(other, f"icechunk:{path}", virtual=True, overwrite=True)
    ice = icechunk()
    storage = ice.local_filesystem_storage(str(path))
    prefixes = set(ice.Repository.fetch_config(storage).virtual_chunk_containers)
    assert prefixes == {f"file://{source.parent}/", f"file://{tmp_path}/"}
    for revision in ("branch=main", "branch=dev"):
        assert nczarr.diff(other, f"icechunk:{path}#{revision}") == []
    first = [each.id for each in ice.Repository.open(storage).ancestry(branch="main")][1]
    assert nczarr.diff(source, f"icechunk:{path}#snapshot={first}") == []


@pytest.mark.long
@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr"])
def test_stores(tmp_path: Path, source: Path, form: str) -> None:
    """The chunks of a store are whole files, and many folders have one container."""
    store, path = tmp_path / "s.zarr", tmp_path / "r"
    nczarr.convert(source, store, form, allow_loss=["all"])
    done = nczarr.convert(store, f"icechunk:{path}", virtual=True, verify=True)
    assert done.referenced_chunks >= 11
    assert nczarr.diff(store, f"icechunk:{path}") == []


def test_sparse_arrays_and_scalars(tmp_path: Path, peer: Any) -> None:
    """Few chunks of a large grid are a list, and a scalar has an index without numbers."""
    netcdf = peer("netCDF4")
    with netcdf.Dataset(tmp_path / "f.nc", "w") as file:
        file.createDimension("x", 1 << 20)
        file.createDimension("y", 16)
        made = file.createVariable("v", "i8", ("x", "y"), chunksizes=(1, 16))
        made[77] = range(16)
        made[1 << 19] = range(16)
        file.createVariable("s", "f8", ())[...] = 2.5
    done = nczarr.convert(
        tmp_path / "f.nc", f"icechunk:{tmp_path / 'r'}", virtual=True, writing=nczarr.refs.Writing(inline=0)
    )
    assert done.referenced_chunks == 3
    with nczarr.open(f"icechunk:{tmp_path / 'r'}") as found:
        assert found["v"][[76, 77, 1 << 19], 3].tolist() == [nczarr.open(tmp_path / "f.nc")["v"][0, 0], 3, 3]
        assert found["s"][...] == 2.5


def test_sources_without_a_place_are_copied(tmp_path: Path) -> None:
    """A pipe has no URL, and native chunks of a repository have none either."""
    one, two, classic = tmp_path / "one", tmp_path / "two", tmp_path / "c.nc"
    nczarr.write(nczarr.from_cdl("netcdf o { dimensions: x = 99 ; variables: int v(x) ; }"), classic, kind="nc3")
    ran = run_command("convert", "-", f"icechunk:{one}", "--virtual", "--verify", stdin=classic.read_bytes())
    assert ran.status == 0, ran.err
    assert "referenced" not in ran.err
    ran = run_command("convert", f"icechunk:{one}", f"icechunk:{two}", "--virtual", "--verify")
    assert ran.status == 0, ran.err
    assert "referenced" not in ran.err
    assert nczarr.diff(classic, f"icechunk:{two}") == []


def test_from_repository_to_repository(tmp_path: Path, source: Path) -> None:
    """Places of virtual chunks go from one to the other, also those with odd names."""
    one, two = tmp_path / "one", tmp_path / "two"
    nczarr.convert(source, f"icechunk:{one}", virtual=True)
    done = nczarr.convert(f"icechunk:{one}", f"icechunk:{two}", virtual=True, verify=True)
    assert nczarr.diff(source, f"icechunk:{two}") == []
    assert done.referenced_chunks == (11 if TELLS_PLACES else 0)
    assert chunk_types(two, "t") == (["virtual"] * 10 if TELLS_PLACES else chunk_types(two, "t"))
    nczarr.convert(f"icechunk:{one}", tmp_path / "refs.json", "reference", verify=True)
    assert nczarr.diff(source, tmp_path / "refs.json") == []


def test_files_of_a_web_server(tmp_path: Path, source: Path) -> None:
    """Their path in messages is a URL; inside, it is a name of no file."""
    pytest.importorskip("aiohttp")
    server = RangedServer(source.parent)
    try:
        url, place = f"{server.url}/{source.name}", f"icechunk:{tmp_path / 'r'}"
        ran = run_command("convert", url, place, "--virtual", "--inline", "0")
        assert ran.status == 0, ran.err
        assert nczarr.diff(url, place) == []
    finally:
        server.close()


def test_virtual_is_for_repositories(tmp_path: Path, source: Path) -> None:
    ran = run_command("convert", str(source), str(tmp_path / "x.zarr"), "--virtual")
    assert ran.status == 2
    assert "no virtual chunks" in ran.err


def test_dry_run(tmp_path: Path, source: Path) -> None:
    ran = run_command("convert", str(source), f"icechunk:{tmp_path / 'r'}", "--virtual", "--dry-run")
    assert ran.status == 0, ran.err
    assert b"reference" in ran.out
    assert not (tmp_path / "r").exists()


def test_many_sources_are_one_dataset(tmp_path: Path, source: Path) -> None:
    names = []
    for number in range(3):
        values = ", ".join(str(20 * number + each) for each in range(20))
        shape = "dimensions: time = UNLIMITED ; x = 10 ; variables: double t(time, x)"
        text = f"netcdf m {{ {shape} ; data: t = {values} ; }}"
        names.append(str(tmp_path / f"m{number}.nc"))
        nczarr.write(nczarr.from_cdl(text), names[-1], kind="nc4", chunks={"/t": (1, 10)}, codecs="zlib:1")
    place = f"icechunk:{tmp_path / 'r'}"
    ran = run_command("refs", "combine", *names, "-o", place, "--along", "time", "--virtual", "--inline", "0")
    assert ran.status == 0, ran.err
    assert chunk_types(tmp_path / "r", "t") == ["virtual"] * 6
    with nczarr.open(place) as found:
        assert found["t"][:].ravel().tolist() == list(range(60))


def test_records_are_appended_by_reference(tmp_path: Path) -> None:
    """Chunks of the source that fit the grid are referenced; the repository reads as one of all sources."""
    names = []
    for number, count in enumerate((2, 3, 2)):
        rows = [[100 * number + 10 * row + column for column in range(10)] for row in range(count)]
        data = str(rows).translate(str.maketrans("", "", "[]"))
        text = (
            f"netcdf m {{ dimensions: time = UNLIMITED ; x = 10 ; variables: double t(time, x) ; data: t = {data} ; }}"
        )
        names.append(str(tmp_path / f"m{number}.nc"))
        nczarr.write(nczarr.from_cdl(text), names[-1], kind="nc4", chunks={"/t": (1, 10)})
    repository, whole = tmp_path / "r", tmp_path / "whole.nc"
    place = f"icechunk:{repository}"
    ran = run_command("convert", names[0], place, "--virtual", "--inline", "0")
    assert ran.status == 0, ran.err
    for name, kinds in ((names[1], ["virtual"] * 5), (names[2], ["virtual"] * 7)):
        ran = run_command("append", name, place, "--along", "time", "--virtual", "--inline", "0")
        assert ran.status == 0, ran.err
        assert chunk_types(repository, "t") == kinds
    ran = run_command("append", names[2], place, "--along", "time")
    assert ran.status == 0, ran.err
    assert sorted(chunk_types(repository, "t"))[-7:] == ["virtual"] * 7
    nczarr.refs.combine([*names, names[2]], whole, along="time")
    with nczarr.open(place) as read, nczarr.open(whole) as truth:
        assert read["t"][...].tolist() == truth["t"][...].tolist()


def test_other_targets_have_no_virtual_chunks(tmp_path: Path, source: Path) -> None:
    text = "netcdf m { dimensions: time = UNLIMITED ; variables: double t(time) ; data: t = 1 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "a.nc")
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.zarr", "zarr3")
    before = nczarr.digest(tmp_path / "t.zarr")
    ran = run_command("append", str(tmp_path / "a.nc"), str(tmp_path / "t.zarr"), "--along", "time", "--virtual")
    assert (ran.status, "has no virtual chunks" in ran.err) == (2, True), ran.err
    assert nczarr.digest(tmp_path / "t.zarr") == before
