"""The last write of a netCDF-4 file, which comes with the end of its last identifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr.formats.netcdf4.hdf5 import ALL_FILES, FILES, hdf5, open_objects
from nczarr.formats.netcdf4.library import Library, library
from tests.conftest import run_command


def test_the_netcdf_library_does_not_close_the_last_identifier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]
) -> None:
    """It crashes if the last write fails, so HDF5 does that write for us, and says whether it failed."""
    peer("netCDF4")
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: x = 2; variables: int v(x); data: v = 1, 2; }")
    before = len(open_objects(hdf5(library()), ALL_FILES, FILES))
    still_open: list[int] = []
    do, close = Library.do, hdf5(library()).H5Fclose

    def call(self: Library, name: str, *arguments: object) -> None:
        do(self, name, *arguments)
        if name == "nc_close":
            still_open.append(len(open_objects(hdf5(self), ALL_FILES, FILES)) - before)

    def fail(number: int) -> int:
        close(number)
        return -1

    monkeypatch.setattr(Library, "do", call)
    assert run_command("compile", str(tmp_path / "a.cdl"), "-o", str(tmp_path / "a.nc"), "--kind", "nc4").status == 0
    assert still_open == [1]
    assert len(open_objects(hdf5(library()), ALL_FILES, FILES)) == before
    monkeypatch.setattr(hdf5(library()), "H5Fclose", fail)
    ran = run_command("compile", str(tmp_path / "a.cdl"), "-o", str(tmp_path / "b.nc"), "--kind", "nc4")
    assert (ran.status, "H5Fclose" in ran.err) == (3, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cdl", "a.nc"]
