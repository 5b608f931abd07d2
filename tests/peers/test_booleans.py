"""Booleans of HDF5, netCDF-4 and CDL in Zarr stores, as zarr-python reads them, and back, as h5py does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError

RECORD = np.dtype([("number", "<i4"), ("wave", "<c16"), ("valid", "?")])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    """Booleans that h5py writes: an array, one with missing chunks, fields of records, attributes."""
    path = tmp_path_factory.mktemp("booleans") / "b.h5"
    with peer("h5py").File(path, "w") as made:
        made["mask"] = np.arange(1000).reshape(10, 100) % 3 == 0
        made["record"] = np.array([(1, 2 - 1j, True), (-3, 0, False)], RECORD)
        part = made.create_dataset("part", (5, 4), "?", fillvalue=True, chunks=(2, 2), compression="gzip", shuffle=True)
        part[:2] = False
        made.attrs["valid"] = True
        part.attrs["flags"] = np.array([True, False, True])
    return path


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr3"])
def test_zarr_python_and_h5py_read_equal_booleans(
    file: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr, h5py = peer("zarr"), peer("h5py")
    linked = nczarr.convert(file, tmp_path / "b.zarr", format=form, verify=True)
    nczarr.convert(tmp_path / "b.zarr", tmp_path / "back.h5", format="netcdf4", allow_loss=["json-attribute"])
    group = zarr.open_group(tmp_path / "b.zarr", mode="r")
    with h5py.File(file) as before, h5py.File(tmp_path / "back.h5") as after:
        for name in ("mask", "record", "part"):
            assert group[name].dtype == before[name].dtype, name
            assert after[name].dtype.names == before[name].dtype.names, "libnetcdf aligns records"
            assert np.array_equal(group[name][...], before[name][...]), name
            assert np.array_equal(after[name].astype(before[name].dtype)[...], before[name][...]), name
        assert after["mask"].dtype == after["part"].dtype == bool
    assert linked.copied_chunks > 2
    assert linked.transcoded_chunks + linked.encoded_chunks == 0, "the bytes are equal"
    if form != "nczarr3":  # which states types in its own way
        assert group.attrs["valid"] is True
        assert group["part"].attrs["flags"] == [True, False, True]


def made_by_netcdf(path: Path, peer: Callable[[str], ModuleType], **names: int) -> Any:
    made = peer("netCDF4").Dataset(path, "w")
    made.createDimension("x", 4)
    return made, made.createEnumType(np.int8, "flag_t", names)


def test_unwritten_cells_that_are_no_booleans_are_never_true(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """libnetcdf fills enums with the default of their base, -127."""
    made, flag = made_by_netcdf(tmp_path / "f.nc", peer, TRUE=1, FALSE=0)
    with made:
        whole = made.createVariable("whole", flag, ("x",))
        whole[:] = np.array([1, 0, 0, 1], "i1")
        filled = made.createVariable("filled", flag, ("x",), chunksizes=(2,), fill_value=1)
        filled[:2] = np.zeros(2, "i1")
        gaps = made.createVariable("gaps", flag, ("x",), chunksizes=(2,))
        gaps[:2] = np.ones(2, "i1")
    for form in ("zarr2", "zarr3"):
        with pytest.raises(CompileError, match=r"`/gaps`.*FALSE or TRUE") as refused:
            nczarr.convert(tmp_path / "f.nc", tmp_path / "f.zarr", format=form)
        assert [found.message.split("`")[1] for found in refused.value.diagnostics if found.code == "lost-type"] == [
            "/gaps"
        ]
        target = tmp_path / f"{form}.zarr"
        nczarr.convert(tmp_path / "f.nc", target, format=form, allow_loss=["lost-type"])
        group = peer("zarr").open_group(target, mode="r")
        assert {name: group[name].dtype.str for name in group} == {"whole": "|b1", "filled": "|b1", "gaps": "|i1"}
        assert group["whole"][:].tolist() == [True, False, False, True]
        assert group["filled"][:].tolist() == [False, False, True, True]
        assert group["gaps"][:].tolist() == [1, 1, -127, -127]
        with nczarr.open(target) as read:
            assert read["filled"].fill_value == 1
            assert list(np.ma.getmaskarray(np.ma.asarray(read["filled"][:]))) in (
                [False, False, True, True],
                [False] * 4,
            )


@pytest.mark.parametrize("names", [{"FALSE": 0, "TRUE": 2}, {"FALSE": 0, "TRUE": 1, "UNKNOWN": 2}, {"no": 0, "yes": 1}])
def test_other_enums_stay_enums(names: dict[str, int], tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    made, flag = made_by_netcdf(tmp_path / "f.nc", peer, **names)
    with made:
        made.createVariable("v", flag, ("x",))[:] = np.zeros(4, "i1")
    with pytest.raises(CompileError, match="not their names"):
        nczarr.convert(tmp_path / "f.nc", tmp_path / "f.zarr", format="zarr3")


def test_a_schema_with_booleans_is_one_of_zarr(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    schema = tmp_path / "s.cdl"
    schema.write_text("""netcdf s {
        types: byte enum flag_t {FALSE = 0, TRUE = 1} ;
        dimensions: time = UNLIMITED ; x = 2 ;
        variables: flag_t seen(time, x) ; flag_t mask(x) ; flag_t mask:_FillValue = FALSE ;
    }""")
    nczarr.convert(schema, tmp_path / "s.zarr", format="zarr3")
    group = peer("zarr").open_group(tmp_path / "s.zarr", mode="r")
    assert (group["seen"].dtype, group["mask"].dtype) == (np.dtype("?"), np.dtype("?"))
    assert group["mask"][:].tolist() == [False, False]


def test_fill_values_of_other_types_are_those_of_hdf5(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Of cells that are all stored, too, and without an attribute `_FillValue`."""
    zarr, h5py = peer("zarr"), peer("h5py")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w")
    for name, length, dtype, fill in (
        ("whole", 2, "?", True),
        ("part", 5, "?", True),
        ("plain", 5, "?", False),
        ("wave", 5, "<c8", 3 + 1j),
        ("all_waves", 2, "<c16", 3 + 1j),
    ):
        array = group.create_array(name, shape=(length,), chunks=(2,), dtype=dtype, fill_value=fill)
        array[:2] = [False, True]
    with h5py.File(tmp_path / "e.h5", "w") as file:
        kind = h5py.enum_dtype({"LOW": 1, "MIDDLE": 2, "HIGH": 300}, ">i2")
        file.create_dataset("e", (5,), kind, chunks=(2,), fillvalue=2)[:2] = [1, 300]
        file.create_dataset("r", (2,), RECORD, fillvalue=np.array((3, 4j, True), RECORD)[()])[:] = np.zeros(2, RECORD)
        file.create_dataset("o", (4,), "V3", chunks=(2,), fillvalue=np.void(b"abc"))[:2] = np.array(
            [b"xyz", b"123"], "V3"
        )
    nczarr.convert(tmp_path / "s.zarr", tmp_path / "s.nc", verify=True)
    nczarr.convert(tmp_path / "s.nc", tmp_path / "back.zarr", format="zarr3", verify=True)
    nczarr.convert(tmp_path / "e.h5", tmp_path / "e.nc", verify=True)
    with h5py.File(tmp_path / "s.nc") as file, h5py.File(tmp_path / "e.nc") as enums:
        back = zarr.open_group(tmp_path / "back.zarr", mode="r")
        for name in group:
            assert file[name].fillvalue == group[name].fill_value == back[name].fill_value, name
            assert "_FillValue" not in file[name].attrs
            assert file[name][:].tolist() == group[name][:].tolist() == back[name][:].tolist()
            assert file[name].id.get_num_chunks() == 1, "chunks that are missing stay so"
        assert (enums["e"].fillvalue, enums["e"][:].tolist()) == (2, [1, 300, 2, 2, 2])
        assert enums["r"].fillvalue.item() == (3, 4j, True)
        assert [value.tobytes() for value in enums["o"][:]] == [b"xyz", b"123", b"abc", b"abc"]
