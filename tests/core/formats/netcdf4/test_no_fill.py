"""Strings and lists without fill mode, which the netCDF library reads but does not write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr.formats.netcdf4.backend import take_fills
from nczarr.formats.netcdf4.header.file_bytes import lookup3
from tests.conftest import Ran

TEXT = b"""netcdf t {
types:
  int(*) row ;
dimensions:
  x = 3 ;
variables:
  string x(x) ;
    x:_NoFill = "true" ;
    x:_Storage = "chunked" ;
    x:many = 1, 2, 3, 4, 5, 6, 7, 8 ;
  string filled(x) ;
  row rows(x) ;
    rows:_NoFill = "true" ;
data:
  x = "a", "", "c" ;
  rows = {1}, {}, {2, 3} ;
}
"""


@pytest.fixture
def made(tmp_path: Path, nczarr_command: Callable[..., Ran], peer: Callable[[str], ModuleType]) -> Path:
    """The file of the text."""
    peer("netCDF4")
    ran = nczarr_command("compile", "-", "-o", str(tmp_path / "t.nc"), stdin=TEXT)
    assert (ran.status, ran.err) == (0, "")
    return tmp_path / "t.nc"


def test_the_checksum_is_that_of_its_author() -> None:
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_no_user_gave_the_fill_value(made: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    with h5py.File(made) as file:
        defined = {name: file[name].id.get_create_plist().fill_value_defined() for name in ("x", "filled", "rows")}
        assert defined == {
            "x": h5py.h5d.FILL_VALUE_DEFAULT,
            "filled": h5py.h5d.FILL_VALUE_USER_DEFINED,
            "rows": h5py.h5d.FILL_VALUE_DEFAULT,
        }
        assert [row.tolist() for row in file["rows"]] == [[1], [], [2, 3]]
        assert file["x"][:].tolist() == [b"a", b"", b"c"]
        assert list(file["x"].attrs["many"]) == list(range(1, 9))
        assert file[file["filled"].attrs["DIMENSION_LIST"][0][0]] == file["x"]


def test_the_netcdf_library_shows_no_fill(made: Path, nczarr_command: Callable[..., Ran]) -> None:
    shown = nczarr_command("dump", "-s", str(made)).text
    assert [line.strip() for line in shown.splitlines() if "_NoFill" in line] == [
        'x:_NoFill = "true" ;',
        'rows:_NoFill = "true" ;',
    ]


def test_a_damaged_header_is_not_touched(made: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    old = tmp_path / "old.h5"
    with h5py.File(old, "w", libver="earliest") as file:  # headers of version 1, without checksums
        file.create_dataset("v", data=["a"], dtype=h5py.string_dtype())
    before = old.read_bytes()
    with pytest.raises(OSError, match="the header of `/v`"):
        take_fills(str(old), ["/v"])
    assert old.read_bytes() == before
