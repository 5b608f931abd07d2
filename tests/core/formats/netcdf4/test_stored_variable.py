"""Variables of lists in netCDF-4 files: only the cells of a region are decoded, without a library; damage is named."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.diagnostics.report import CompileError
from nczarr.formats.netcdf4 import isolation
from nczarr.formats.netcdf4.header import heaps
from nczarr.formats.netcdf4.stored_variable import StoredVariable

CDL = """netcdf t {
types: int(*) list ; list(*) lists ; compound pair { list one ; string two ; float three(2) ; } ; // pair
dimensions: y = 3 ; x = 4 ; time = UNLIMITED ;
variables: list v(y, x) ; lists w(x) ; pair p(x) ; list s ; list brief(time) ; int full(time) ;
data:
 v = {0}, {1, 1}, {}, {3}, {4}, {}, {6, 6, 6}, {7}, {8}, {9, 9}, {10}, {} ;
 w = {{1}, {2, 2}}, {}, {{}, {3}}, {{4}} ;
 p = {{1}, "a", {1, 2}}, {{}, "b", {3, 4}}, {{3, 3}, "c", {5, 6}}, {{4}, NIL, {7, 8}} ;
 s = {5, 6} ;
 brief = {1}, {2, 2}, {3} ;
 full = 1, 2, 3, 4, 5 ;
}"""


@pytest.fixture
def path(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    """The file; `brief` ends before its unlimited dimension does."""
    netcdf4 = peer("netCDF4")
    nczarr.write(nczarr.from_cdl(CDL.replace("2, 3, 4, 5", "2, 3")), tmp_path / "t.nc", kind="nc4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netCDF4-python has no lists of lists
        with netcdf4.Dataset(tmp_path / "t.nc", "a") as file:
            file["full"][3:5] = [4, 5]
    return tmp_path / "t.nc"


@pytest.fixture
def sections(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of cells of each section that is decoded."""
    found: list[int] = []
    plain = StoredVariable._read_within

    def noted(self: StoredVariable, region: Selection) -> Any:
        found.append(math.prod(lengths_of(region)))
        return plain(self, region)

    monkeypatch.setattr(StoredVariable, "_read_within", noted)
    return found


def plainly(value: Any) -> Any:
    """Return values with lists in place of arrays."""
    if isinstance(value, np.ndarray | np.void | np.generic):
        value = value.tolist()
    return [plainly(each) for each in value] if isinstance(value, list | tuple) else value


INDICES: list[tuple[str, Any, int]] = [
    ("v", (slice(1, 3), slice(1, 2)), 2),
    ("v", (2, 1), 1),
    ("v", (slice(None), slice(0, 4, 3)), 12),
    ("v", (slice(0, 0),), 0),
    ("w", slice(2, 3), 1),
    ("w", -1, 1),
    ("p", slice(1, 3), 2),
    ("p", 0, 1),
    ("s", (), 1),
    ("brief", slice(1, 4), 2),
    ("brief", slice(3, 5), 0),
]


@pytest.mark.parametrize(("name", "key", "cells"), INDICES, ids=str)
def test_an_index_decodes_its_region_once(path: Path, sections: list[int], name: str, key: Any, cells: int) -> None:
    expected = nczarr.from_cdl(CDL)[name][key]
    found = nczarr.open(path)[name][key]
    assert plainly(found) == plainly(expected)
    assert sum(sections) == cells


def test_values_belong_to_the_caller(path: Path) -> None:
    handle = nczarr.open(path)
    found = handle["v"][0]
    found[0][...] = 99
    assert handle["v"][0, 0].tolist() == [0]


SECTIONS = [
    "v(1:2,1:2)",
    "v(0:2:2,0:3:3)",
    "v(1,3)",
    "w(2:3)",
    "w(0:3:3)",
    "p(1:2)",
    "p(0:2:2)",
    "brief(1:4)",
    "brief(3:4)",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_decodes_its_region(path: Path, tmp_path: Path, sections: list[int], section: str) -> None:
    """A few times: for the counts, for the lengths of content, and for the content."""
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "t.zarr")
    name, _, rest = section.rstrip(")").partition("(")
    nczarr.convert(tmp_path / "t.zarr", tmp_path / "expected.zarr", variables=[name], sections=[section])
    sections.clear()
    nczarr.convert(path, tmp_path / "found.zarr", variables=[name], sections=[section])
    assert nczarr.diff(tmp_path / "found.zarr", tmp_path / "expected.zarr") == []
    spans = [[*map(int, each.split(":"))] for each in rest.split(",")]
    box = math.prod((each[1] if len(each) > 1 else each[0]) - each[0] + 1 for each in spans)
    assert max(sections, default=0) <= box


def test_sections_of_sections(path: Path, tmp_path: Path) -> None:
    """A part of a part is a part of the file's variable."""
    nczarr.convert(path, tmp_path / "a.zarr", sections=["v(1:2,1:3)"])
    whole = nczarr.open(path)
    assert plainly(nczarr.open(tmp_path / "a.zarr")["v"][1, 1:]) == plainly(whole["v"][2, 2:4])
    stored = next(source.sections for source in whole.checked.parts["/v"].values() if hasattr(source, "sections"))
    part = stored.part((slice(1, 3), slice(1, 4))).part((slice(1, 2), slice(1, 3)))
    assert (part.origin, part.shape) == ((2, 2), (1, 2))
    assert part.decode((slice(0, 1), slice(0, 2)))["counts"].tolist() == [[1, 0]]


DAMAGES = [
    (b"GCOL", 0, b"X", "a global heap is damaged"),  # its signature
    (b"GCOL", 8, b"\xff" * 7, "ends before one of its structures"),  # its size
    (b"GCOL", 16, b"\x07", "a global heap is damaged"),  # the number of its first object
    (b"GCOL", 24, b"\xff" * 4, "a global heap is damaged"),  # the bytes of its first object
]


@pytest.mark.parametrize("variable", ["v", "w", "p"])
@pytest.mark.parametrize(("mark", "offset", "new", "reason"), DAMAGES)
def test_a_damaged_heap_is_named(path: Path, variable: str, mark: bytes, offset: int, new: bytes, reason: str) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(mark)
    while at >= 0:
        data[at + offset : at + offset + len(new)] = new
        at = data.find(mark, at + 4)
    path.write_bytes(data)
    with pytest.raises(CompileError, match=rf"the values of `/{variable}` cannot be read: .*{reason}"):
        nczarr.open(path)[variable][...]


def test_lists_in_one_place_are_limited(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file may name one long list in each of many cells."""
    monkeypatch.setattr(heaps, "ROOM", 0)
    monkeypatch.setattr(heaps, "EXPANSION", 0)
    with pytest.raises(CompileError, match="far more bytes than the file"):
        nczarr.open(path)["v"][...]


def test_no_library_is_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists, records with texts and lists, and values in the header are read without HDF5."""
    monkeypatch.setattr(isolation, "call", lambda *arguments: pytest.fail("a library is called"))
    expected = nczarr.from_cdl(CDL)
    for name in ("v", "w", "p", "s", "brief", "full"):
        assert plainly(nczarr.open(path)[name][...]) == plainly(expected[name][...])


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_compact_values(
    libver: str, tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    h5py = peer("h5py")
    monkeypatch.setattr(isolation, "call", lambda *arguments: pytest.fail("a library is called"))
    record = np.array([(1, b"ab"), (2, b"c")], [("n", ">i2"), ("s", "S2")])
    values = {"i": np.arange(6, dtype=">i4").reshape(2, 3), "f": np.float64(1.5), "t": np.array([b"ab", b"c"])}
    with h5py.File(tmp_path / "t.h5", "w", libver=libver) as file:
        texts = file.create_dataset("texts", 2, h5py.string_dtype())
        texts[:] = ["x", "yz"]
        for name, value in {**values, "empty": np.zeros(0, "i4"), "r": record["n"]}.items():
            created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            created.set_layout(h5py.h5d.COMPACT)
            file.create_dataset(name, data=value, dcpl=created)
        assert file["i"].id.get_create_plist().get_layout() == h5py.h5d.COMPACT
    with nczarr.open(tmp_path / "t.h5") as found:
        assert found["i"][...].tolist() == values["i"].tolist()
        assert found["i"][1, :2].tolist() == [3, 4]
        assert found["f"][()] == 1.5
        assert found["t"][...].tolist() == ["ab", "c"]
        assert found["r"][...].tolist() == [1, 2]
        assert found["empty"][...].tolist() == []
        assert found["texts"][...].tolist() == ["x", "yz"]
    nczarr.convert(tmp_path / "t.h5", tmp_path / "t.zarr")
    assert nczarr.diff(tmp_path / "t.h5", tmp_path / "t.zarr") == []
