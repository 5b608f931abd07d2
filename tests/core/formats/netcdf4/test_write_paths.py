"""Paths of netCDF-4 files that the netCDF library reads otherwise than the system."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "t.cdl"
    path.write_text("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    return path


def test_a_backslash_in_the_name_of_a_file(schema: Path, tmp_path: Path) -> None:
    for _ in range(2):
        nczarr.convert(schema, tmp_path / "a\\b.nc", kind="nc4", overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"t.cdl", "a\\b.nc"}
    with nczarr.open(tmp_path / "a\\b.nc") as found:
        assert found["/v"][...].tolist() == [1, 2]


def test_a_backslash_in_the_name_of_a_folder_is_named(schema: Path, tmp_path: Path) -> None:
    (tmp_path / "a\\b").mkdir()
    with pytest.raises(OSError, match="takes a backslash"):
        nczarr.convert(schema, tmp_path / "a\\b" / "t.nc", kind="nc4")
    assert list((tmp_path / "a\\b").iterdir()) == []
