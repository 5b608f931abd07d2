"""Python objects as sources: equal to the file or store with the same bytes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

import nczarr
from tests.support.library import library

xarray = library("xarray")
zarr = library("zarr")

TEXT = 'netcdf d { dimensions: t = UNLIMITED ; variables: int v(t) ; v:units = "K" ; data: v = 3, 1, 2 ; }'


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    dataset = nczarr.from_cdl(TEXT)
    found = {
        "nc3": tmp_path / "d3.nc",
        "nc4": tmp_path / "d4.nc",
        "zarr": tmp_path / "d.zarr",
        "zip": tmp_path / "d.zip",
    }
    for kind in ("nc3", "nc4"):
        nczarr.write(dataset, found[kind], kind=kind)
    nczarr.write(dataset, found["zarr"])
    nczarr.write(dataset, found["zip"], "zarr3")
    return found


def keys(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def memory_file(path: Path) -> Any:
    files = fsspec.filesystem("memory")
    files.pipe("/nczarr-objects.nc", path.read_bytes())
    return files.open("/nczarr-objects.nc")


def moved(path: Path) -> io.BytesIO:
    """Return a file in memory whose position is not its beginning."""
    file = io.BytesIO(path.read_bytes())
    file.seek(2)
    return file


def zarr_memory(folder: Path) -> Any:
    buffers = {key: zarr.core.buffer.cpu.Buffer.from_bytes(data) for key, data in keys(folder).items()}
    return zarr.storage.MemoryStore(buffers)


OBJECTS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "netCDF-3 in memory": ("nc3", moved),
    "netCDF-4 in memory": ("nc4", moved),
    "archive in memory": ("zip", moved),
    "open file": ("nc4", lambda path: path.open("rb")),
    "unbuffered file": ("nc4", lambda path: path.open("rb", buffering=0)),
    "file of fsspec": ("nc4", memory_file),
    "dict": ("zarr", keys),
    "mapper": ("zarr", lambda path: fsspec.get_mapper(str(path))),
    "zarr-python, folder": ("zarr", lambda path: zarr.storage.LocalStore(path)),
    "zarr-python, memory": ("zarr", zarr_memory),
    "zarr-python, archive": ("zip", lambda path: zarr.storage.ZipStore(path, mode="r")),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_an_object_is_read_as_its_file(case: str, places: dict[str, Path]) -> None:
    kind, make = OBJECTS[case]
    given = make(places[kind])
    handle = nczarr.open(given)
    if isinstance(given, io.IOBase):
        given.close()
    assert nczarr.diff(handle, places[kind]) == []
    assert handle["v"][...].tolist() == [3, 1, 2]


@pytest.mark.parametrize("case", OBJECTS)
def test_the_engine_takes_it(case: str, places: dict[str, Path]) -> None:
    kind, make = OBJECTS[case]
    with (
        xarray.open_dataset(make(places[kind]), engine="nczarr") as found,
        xarray.open_dataset(places[kind], engine="nczarr") as expected,
    ):
        xarray.testing.assert_identical(found.load(), expected.load())


@pytest.mark.parametrize("case", [case for case in OBJECTS if case != "zarr-python, archive"])
def test_a_lazy_array_pickles(case: str, places: dict[str, Path]) -> None:
    kind, make = OBJECTS[case]
    with xarray.open_dataset(make(places[kind]), engine="nczarr", chunks={}) as found:
        assert pickle.loads(pickle.dumps(found))["v"].values.tolist() == [3, 1, 2]


def test_bytes(places: dict[str, Path]) -> None:
    for kind in ("nc3", "nc4", "zip"):
        data = places[kind].read_bytes()
        for given in (data, bytearray(data), memoryview(data)):
            assert nczarr.open(given)["v"][...].tolist() == [3, 1, 2]
    assert nczarr.open(TEXT.encode())["v"].attributes["units"] == "K"


def test_an_absent_key_of_a_mapping_is_absent(places: dict[str, Path]) -> None:
    content = {key: data for key, data in keys(places["zarr"]).items() if not key.startswith("v/0")}
    assert len(content) < len(keys(places["zarr"]))
    assert nczarr.open(content)["v"].shape == (3,)


@pytest.mark.parametrize("given", [3, io.StringIO(TEXT), object()])
def test_other_objects_are_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"bytes|binary|text"):
        nczarr.open(given)


def test_a_file_that_is_open_as_text_is_refused(places: dict[str, Path]) -> None:
    with places["nc3"].open() as file, pytest.raises(TypeError, match="mode 'rb'"):
        nczarr.open(file)
