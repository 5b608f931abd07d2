"""HDF5 files with names that are equal in NFC: what h5py wrote is refused, or read whole where that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import Ran

ONE, TWO = "\u00e9", "e\u0301"
"""A letter composed, and decomposed."""

TARGETS = ("t.nc", "t.zarr", "t.cdl", "t.ncs", "t.awkd", "t.json", "t.ncz")

Load = Callable[[str], ModuleType]


def values(found: nczarr.DatasetHandle) -> dict[str, Any]:
    return {path: found[path][...].tolist() for path in found}


def variables(file: Any, h5py: Any) -> dict[str, Any]:
    file[ONE], file[TWO] = np.arange(3), np.array([b"a", b"bc"], dtype=h5py.string_dtype())
    return {f"/{ONE}_2": [0, 1, 2], f"/{ONE}": ["a", "bc"]}


def groups(file: Any, h5py: Any) -> dict[str, Any]:
    file[f"{ONE}/x"], file[f"{TWO}/x"] = np.arange(3), np.arange(4, 6)
    return {f"/{ONE}_2/x": [0, 1, 2], f"/{ONE}/x": [4, 5]}


def a_group_and_a_variable(file: Any, h5py: Any) -> dict[str, Any]:
    file[ONE], file[f"{TWO}/x"] = np.arange(3), np.arange(4, 6)
    return {f"/{ONE}": [0, 1, 2], f"/{ONE}_2/x": [4, 5]}


def a_type_and_a_variable(file: Any, h5py: Any) -> dict[str, Any]:
    file[ONE], file[TWO] = np.dtype([("a", "i4")]), np.arange(3)
    return {f"/{ONE}_2": [0, 1, 2]}


def not_a_coordinate(file: Any, h5py: Any) -> dict[str, Any]:
    file["X"], file["_nc4_non_coord_X"] = np.arange(3), np.arange(4, 6)
    return {"/X": [0, 1, 2], "/X_2": [4, 5]}


def dimensions(file: Any, h5py: Any) -> dict[str, Any]:
    for number, name in enumerate((ONE, TWO)):
        file[name] = np.arange(2 + number)
        file[name].make_scale(name)
    file["v"] = np.arange(6).reshape(2, 3)
    file["v"].dims[0].attach_scale(file[ONE])
    file["v"].dims[1].attach_scale(file[TWO])
    return {f"/{ONE}": [0, 1, 2], f"/{ONE}_2": [0, 1], "/v": [[0, 1, 2], [3, 4, 5]]}


def fields(file: Any, h5py: Any) -> dict[str, Any]:
    file["v"] = np.array([(1, 2.5), (3, 4.5)], dtype=[(TWO, "i4"), (ONE, "f8")])
    file["t"] = file["v"].dtype
    return {"/v": [(1, 2.5), (3, 4.5)]}


def ragged_fields(file: Any, h5py: Any) -> dict[str, Any]:
    dtype = np.dtype([(ONE, h5py.vlen_dtype("i4")), (TWO, h5py.vlen_dtype("i4"))])
    made = np.empty(1, dtype)
    made[0] = (np.array([1, 2], "i4"), np.array([3], "i4"))
    file["l"], file["t"] = h5py.vlen_dtype("i4"), dtype
    file["v"] = made
    return {}


def constants(file: Any, h5py: Any) -> dict[str, Any]:
    dtype = h5py.enum_dtype({ONE: 1, TWO: 2}, basetype="i1")
    file["v"], file["t"] = np.array([1, 2, 1], dtype=dtype), dtype
    return {"/v": [1, 2, 1]}


def attributes(file: Any, h5py: Any) -> dict[str, Any]:
    file["v"] = np.arange(3)
    for owner in (file, file["v"]):
        owner.attrs[ONE], owner.attrs[TWO] = 1, 2
    return {"/v": [0, 1, 2]}


CASES = (
    variables,
    groups,
    a_group_and_a_variable,
    a_type_and_a_variable,
    not_a_coordinate,
    dimensions,
    fields,
    constants,
    attributes,
)


def made(case: Callable[[Any, Any], dict[str, Any]], folder: Path, peer: Load) -> tuple[Path, dict[str, Any]]:
    h5py = peer("h5py")
    with h5py.File(folder / "s.h5", "w") as file:
        return folder / "s.h5", case(file, h5py)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_target_is_refused(
    case: Callable[[Any, Any], dict[str, Any]], tmp_path: Path, peer: Load, nczarr_command: Callable[..., Ran]
) -> None:
    path, _ = made(case, tmp_path, peer)
    for target in TARGETS:
        ran = nczarr_command("convert", str(path), str(tmp_path / target))
        assert ran.status == 1, target
        assert "error[duplicate-name]" in ran.err
        assert "internal-error" not in ran.err
        assert not (tmp_path / target).exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_all_values_are_kept_where_that_is_accepted(
    case: Callable[[Any, Any], dict[str, Any]], tmp_path: Path, peer: Load, nczarr_command: Callable[..., Ran]
) -> None:
    path, wanted = made(case, tmp_path, peer)
    assert values(nczarr.open(path)) == wanted
    for target in ("t.nc", "t.zarr"):
        options = ("--verify", "--allow-loss", "duplicate-name")
        ran = nczarr_command("convert", *options, str(path), str(tmp_path / target))
        assert ran.status == 0, ran.err
        assert "warning[duplicate-name]" in ran.err
        assert values(nczarr.open(tmp_path / target)) == wanted


def test_fields_of_lists(tmp_path: Path, peer: Load) -> None:
    path, _ = made(ragged_fields, tmp_path, peer)
    ((first, second),) = nczarr.open(path)["/v"][...].tolist()
    assert (list(first), list(second)) == ([1, 2], [3])


def test_names_that_nothing_clashes_with_are_read_in_nfc(
    tmp_path: Path, peer: Load, nczarr_command: Callable[..., Ran]
) -> None:
    h5py, netcdf4 = peer("h5py"), peer("netCDF4")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file[f"{TWO}/{TWO}"] = np.array([b"a", b"bc"], dtype=h5py.string_dtype())
        file[TWO].create_dataset(f"{TWO}c", data=np.arange(40), chunks=(7,))
    ran = nczarr_command("convert", "--verify", str(tmp_path / "s.h5"), str(tmp_path / "t.nc"))
    assert ran.status == 0, ran.err
    with netcdf4.Dataset(tmp_path / "t.nc") as found:
        assert found[ONE][ONE][...].tolist() == ["a", "bc"]
        assert found[ONE][f"{ONE}c"][...].tolist() == list(range(40))
