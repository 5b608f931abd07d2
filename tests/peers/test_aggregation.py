"""Aggregation variables beside cfdm and cf-python: their files as we read them, ours as they do."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT, missing_peer, run_command

SCRIPT = ROOT / "tests" / "support" / "peers" / "aggregations.py"


@pytest.fixture(scope="module")
def interpreter() -> str:
    """The interpreter with cfdm and cf-python, which NCZARR_CFA names."""
    named = os.environ.get("NCZARR_CFA")
    if not named:
        missing_peer("cfdm and cf-python (NCZARR_CFA names their interpreter)")
    assert named
    return named


@pytest.fixture(scope="module")
def written(interpreter: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with aggregation files that cfdm has written."""
    folder = tmp_path_factory.mktemp("cfdm")
    subprocess.run([interpreter, SCRIPT, "write", folder], check=True, capture_output=True, text=True)
    return folder


def read_by(interpreter: str, library: str, *paths: Path) -> list[dict[str, Any]]:
    """Shape and values of each variable with data, as a peer reads them; None for missing values."""
    ran = subprocess.run([interpreter, SCRIPT, "read", library, *paths], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def compare(path: Path, theirs: dict[str, Any]) -> set[str]:
    """Compare the variables of a file as we read them with a peer's; return their names."""
    dataset = nczarr.open(path)
    names = {fqn.rpartition("/")[2]: fqn for fqn in dataset.checked.variables}
    for name, (shape, values) in theirs.items():
        ours = dataset[names[name]]
        assert list(ours.shape) in (shape, [] if shape == [1] else shape), name  # a scalar coordinate has an axis there
        filled = ours[...].reshape(shape)
        missing = np.array([value is None for value in values], bool).reshape(shape)
        if filled.dtype.kind in "OSU":
            assert filled.reshape(-1).tolist() == ["" if value is None else value for value in values], name
            continue
        numbers = np.array([0 if value is None else value for value in values], filled.dtype).reshape(shape)
        np.testing.assert_allclose(filled[~missing], numbers[~missing], rtol=1e-14, err_msg=name)
        fill = dataset[names[name]].attributes.get("_FillValue", 9.969209968386869e36)
        assert (filled[missing] == fill).all(), name
    return set(theirs)


@pytest.mark.parametrize("library", ["cfdm", "cf"])
def test_files_of_cfdm_are_read_equal(
    interpreter: str, written: Path, library: str, peer: Callable[[str], ModuleType]
) -> None:
    peer("cf_units")
    paths = sorted(written.glob("all-*.nc"))
    assert len(paths) == 12
    names = set[str]()
    for path, theirs in zip(paths, read_by(interpreter, library, *paths), strict=True):
        assert theirs
        names |= compare(path, theirs)
    assert {"q", "ta", "v", "zero", "surface_altitude", "auxiliary"} <= names


def test_the_expanded_dataset_is_read_equal_in_every_format(interpreter: str, written: Path, tmp_path: Path) -> None:
    source = written / "all-absolute.nc"
    (theirs,) = read_by(interpreter, "cfdm", source)
    for target in ("a.nc", "a.zarr", "a.json", "a.cdl", "a.ncs"):
        nczarr.convert(source, tmp_path / target)
        compare(tmp_path / target, theirs)


def test_the_structure_of_fragments_survives_a_store(interpreter: str, written: Path, tmp_path: Path) -> None:
    source = written / "all-absolute.nc"
    (theirs,) = read_by(interpreter, "cfdm", source)
    for target in ("raw.zarr", "raw.cdl", "raw.nc"):
        place = tmp_path / target
        assert run_command("convert", str(source), str(place), "--aggregation", "keep").status == 0
        assert run_command("diff", str(source), str(place), "--aggregation", "keep").status == 0
        compare(place, theirs)
    assert read_by(interpreter, "cfdm", tmp_path / "raw.nc") == [theirs]


def test_xarray_reads_them(written: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray, netcdf = peer("xarray"), peer("netCDF4")
    expected = np.concatenate([netcdf.Dataset(written / name)["q"][:] for name in ("a.nc", "b.nc")])
    with xarray.open_dataset(written / "all-NETCDF4.nc", engine="nczarr") as dataset:
        assert dataset["q"].dims == ("lat", "lon")
        np.testing.assert_array_equal(dataset["q"].values, expected)
        assert not any(name.startswith("fragment") for name in dataset.variables)
    with xarray.open_dataset(written / "all-NETCDF4.nc", engine="nczarr", aggregation="keep") as dataset:
        assert dataset["q"].shape == ()
        assert dataset["fragment_uris"].shape == (2, 1)
