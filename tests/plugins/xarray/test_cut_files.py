"""Files that end too early, opened with the engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr

import nczarr
from nczarr import CompileError, DataWarning


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A netCDF-3 file whose last two records of three are cut off."""
    text = "netcdf cut { dimensions: t = unlimited ; variables: int v(t) ; data: v = 1, 2, 3 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "cut.nc", kind="nc3")
    whole = (tmp_path / "cut.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[:-8])
    return tmp_path / "cut.nc"


def test_missing_values_raise(cut: Path, tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match="8 bytes"):
        dataset = xr.open_dataset(cut, engine="nczarr")
    assert dataset["v"][:1].values.tolist() == [1]
    with pytest.raises(CompileError, match="unreadable-chunk"):
        dataset["v"].values  # noqa: B018
    with pytest.raises(CompileError, match="unreadable-chunk"):
        nczarr.write(dataset, tmp_path / "copy.nc")
    assert not (tmp_path / "copy.nc").exists()
    with pytest.raises(CompileError, match="unreadable-chunk"):
        nczarr.digest(dataset)


def test_an_open_dataset_is_written_if_the_loss_is_accepted(cut: Path, tmp_path: Path) -> None:
    with pytest.warns(DataWarning):
        handle = nczarr.open(cut)
    with pytest.raises(CompileError, match="unreadable-chunk"):
        handle["v"][...]
    with pytest.raises(CompileError, match="unread"):
        nczarr.write(handle, tmp_path / "copy.nc")
    nczarr.write(handle, tmp_path / "copy.nc", allow_loss=["unread"])
    assert nczarr.open(tmp_path / "copy.nc")["v"][...].tolist() == [1, 0, 0]
    assert handle.to_keys("zarr3", allow_loss=["unread"])["v/c/0"][:8] == b"\0\0\0\1\0\0\0\0"
