"""The list of a file's objects, made before the netCDF library opens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import hdf5
from nczarr.formats.netcdf4.library import library
from nczarr.formats.netcdf4.omissions import look
from nczarr.formats.netcdf4.survey import Survey

Look = Callable[[Callable[[Any, ModuleType], object]], Survey]


@pytest.fixture
def looked(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Look:
    """The objects of a file that h5py makes."""
    peer("netCDF4")
    h5py = peer("h5py")

    def work(make: Callable[[Any, ModuleType], object]) -> Survey:
        with h5py.File(tmp_path / "t.h5", "w") as file:
            make(file, h5py)
        with LOCK:
            found = look(library(), str(tmp_path / "t.h5"))
        assert isinstance(found, Survey)
        return found

    return work


def test_a_dataset_is_opened_once(looked: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        file.create_dataset("g/v", (4, 3), ">f4", chunks=(2, 3), compression="gzip", fillvalue=2.5)
        file["hard"] = file["g/v"]
        file["g/soft"] = h5py.SoftLink("/hard")
        file["dead"] = h5py.SoftLink("/nothing")

    opened: list[bytes] = []
    h5 = hdf5(library())
    real = h5.H5Dopen2
    monkeypatch.setattr(h5, "H5Dopen2", lambda at, name, how: opened.append(name) or real(at, name, how), raising=False)
    found = looked(make)
    info = found.objects["/g/v"].dataset
    assert info is not None
    assert (info.dtype, info.extent, info.chunks, info.given) == (">f4", (4, 3), (2, 3), True)
    assert info.fill == np.array(2.5, ">f4").tobytes()
    assert found.objects["/hard"].dataset is info
    assert found.objects["/g/soft"].dataset is info
    assert found.broken == ("/dead",)
    assert len(opened) == 1


def test_filters_of_several_datasets_do_not_mix(looked: Look) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        file.create_dataset("a", (4,), "i2", chunks=(2,), compression="gzip", compression_opts=3, shuffle=True)
        file.create_dataset("b", (0, 5), "i8", maxshape=(None, 5), chunks=(1, 5), compression="gzip")
        file.create_dataset("c", (3,), "f8", fillvalue=1.0)
        file.create_dataset("d", (3,), "f8")

    objects = looked(make).objects
    a, b, c, d = (objects[f"/{name}"].dataset for name in "abcd")
    assert a is not None
    assert b is not None
    assert c is not None
    assert d is not None
    assert [(each.id, each.parameters) for each in a.filters] == [(2, ()), (1, (3,))]
    assert [(each.id, each.parameters) for each in b.filters] == [(1, (4,))]
    assert (a.shuffled, b.shuffled) == (2, None)
    assert (b.extent, b.chunks) == ((0, 5), (1, 5))
    assert (a.given, b.given, c.given, d.given) == (False, False, True, False)
    assert (c.fill, d.fill) == (np.array(1.0).tobytes(), bytes(8))


def test_fatal_fill_values_are_found_once(looked: Look) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        file.create_dataset("text", (2,), "S4", fillvalue=np.bytes_(b"ab"))
        file["again"] = file["text"]
        file.create_dataset("half", (2,), "f2", fillvalue=1.5)
        file.create_dataset("unset", (2,), "S4")
        file.create_dataset("char", (2,), "S1", fillvalue=np.bytes_(b"a"))
        file.create_dataset("string", (2,), h5py.string_dtype(), fillvalue="ab")
        file.create_dataset("number", (2,), "f8", fillvalue=1.5)

    assert len(looked(make).fatal) == 2


def test_fill_values_outside_of_headers_are_not_read(looked: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5 does not come back from some damaged heaps, which the netCDF library refuses."""

    def make(file: Any, h5py: ModuleType) -> None:
        file.create_dataset("string", (2,), h5py.string_dtype(), fillvalue="ab")
        file.create_dataset("list", (2,), h5py.vlen_dtype("i4"))
        file.create_dataset("record", (2,), [("a", h5py.string_dtype()), ("b", "i4")])
        file.create_dataset("flat", (2,), [("a", "S1"), ("b", "i4")])

    h5, asked = hdf5(library()), list[int]()
    real = h5.H5Dget_create_plist
    monkeypatch.setattr(h5, "H5Dget_create_plist", lambda each: asked.append(each) or real(each), raising=False)
    objects = looked(make).objects
    assert [objects[f"/{name}"].dataset is None for name in ("string", "list", "record", "flat")] == [True] * 3 + [
        False
    ]
    assert len(asked) == 1


def test_internal_attributes_are_counted(looked: Look) -> None:
    def make(file: Any, h5py: ModuleType) -> None:
        file["x"] = np.arange(3)
        file["x"].make_scale("x")
        file["v"] = np.arange(3)
        file["v"].dims[0].attach_scale(file["x"])
        file["v"].attrs["units"] = "K"
        file["w"] = np.arange(3)
        file["w"].attrs["CLASS"] = np.bytes_(b"NO SCALE")
        file.attrs["_NCProperties"] = "version=2"

    objects = looked(make).objects
    found = {place: (each.attributes, each.reserved, each.is_scale) for place, each in objects.items()}
    assert found["/x"] == (3, 3, True)
    assert found["/v"] == (2, 1, False)
    assert found["/w"] == (1, 0, False)
    assert found["/"][:2] == (1, 1)


def test_a_class_that_is_an_array_of_texts_is_no_mark_of_a_scale(looked: Look) -> None:
    """HDF5 writes all elements, which a buffer for one text does not hold."""

    def make(file: Any, h5py: ModuleType) -> None:
        for name in "abcd":
            file[name] = np.arange(3)
            file[name].attrs["CLASS"] = np.array([b"DIMENSION_SCALE"] * 3000)

    objects = looked(make).objects
    assert [objects[f"/{name}"].is_scale for name in "abcd"] == [False] * 4
