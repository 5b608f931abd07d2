"""Booleans, halves and complex numbers of other programs' stores: read, written, and read there again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

ARRAYS: dict[str, tuple[str, Any]] = {
    "truth": ("?", True),
    "falsehood": ("?", False),
    "half": ("<f2", np.nan),
    "big_half": (">f2", 1.5),
    "complex": ("<c8", complex(1, np.nan)),
    "big_complex": (">c16", 2 - 1j),
}


@pytest.fixture(params=[2, 3])
def store(request: pytest.FixtureRequest, tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    """What zarr-python writes: with chunks that are missing, compressed and not, over the edge."""
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=request.param)
    for name, (dtype, fill) in ARRAYS.items():
        packed: dict[str, Any] = {} if name in ("half", "complex") else {"compressors": None}
        array = group.create_array(name, shape=(5, 3), chunks=(2, 2), dtype=dtype, fill_value=fill, **packed)
        array[:3] = (np.arange(9).reshape(3, 3) % 2).astype(dtype)
    return tmp_path / "s.zarr"


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr3"])
def test_zarr_python_reads_back_what_it_wrote(
    store: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr = peer("zarr")
    nczarr.convert(store, tmp_path / "t.zarr", format=form)
    before, after = zarr.open_group(store, mode="r"), zarr.open_group(tmp_path / "t.zarr", mode="r")
    for name in ARRAYS:
        one, other = before[name], after[name]
        assert one.dtype.newbyteorder("=") == other.dtype.newbyteorder("="), name
        assert np.array_equal(one[...], other[...], equal_nan=True), name
        assert np.array_equal(one.fill_value, other.fill_value, equal_nan=True), name


@pytest.mark.slow
def test_the_whole_model_comes_back(store: Path, tmp_path: Path) -> None:
    nczarr.convert(store, tmp_path / "n.zarr", format="nczarr", verify=True)
    nczarr.convert(tmp_path / "n.zarr", tmp_path / "three.zarr", format="nczarr3", verify=True)
    assert nczarr.diff(store, tmp_path / "three.zarr", storage=True) == []
    assert nczarr.digest(store) == nczarr.digest(tmp_path / "n.zarr") == nczarr.digest(tmp_path / "three.zarr")


def test_h5py_takes_them_for_its_own(store: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, h5py = peer("zarr"), peer("h5py")
    nczarr.convert(store, tmp_path / "t.nc", codecs="deflate:1")
    before = zarr.open_group(store, mode="r")
    with h5py.File(tmp_path / "t.nc") as file:
        for name in ARRAYS:
            assert file[name].dtype.kind == before[name].dtype.kind, name
            assert np.array_equal(file[name][...], before[name][...], equal_nan=True), name
