"""Questions about an open file, as the netCDF library answers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4.inquiry import Inquiry
from nczarr.formats.netcdf4.library import Library, library
from nczarr.formats.netcdf4.library_file import library_file
from nczarr.formats.netcdf4.omissions import look


def test_a_variable_is_asked_for_once(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library fails on a damaged variable once, then shows it without its attributes."""
    path = str(tmp_path / "t.nc")
    with peer("netCDF4").Dataset(path, "w") as file:
        file.createDimension("x", 2)
        for name in ("bad", "good"):
            file.createVariable(name, "i4", ("x",)).units = "K"
    real, failed = Library.call, list[int]()

    def call(self: Library, name: str, *arguments: Any) -> None:
        if name == "nc_inq_var" and arguments[1] == 0 and not failed:
            failed.append(arguments[1])
            raise OSError("the library fails")
        real(self, name, *arguments)

    monkeypatch.setattr(Library, "call", call)
    with LOCK, library_file(library(), path, look(library(), path)) as opened:
        found = Inquiry(library()).variables(opened)
    assert [(each.name, each.dimensions, each.attributes) for each in found.values()] == [("good", (0,), 1)]
    assert failed == [0]
