"""Files of user-defined types, which HDF5 dates: no time is left in them, and readers do not mind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.formats.netcdf4.object_headers import first_block, take_times

TEXT = """netcdf t {
types:
  byte enum e {none = 0, a = 1} ;
  opaque(3) o ;
  int(*) l ;
  compound c { int x(3) ; double y ; } ;
variables:
  e v ;
data:
  v = a ;
group: g {
  types:
    opaque(4) a\\ b ;
}
}
"""


@pytest.fixture
def made(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    peer("netCDF4")
    nczarr.write(nczarr.from_cdl(TEXT), tmp_path / "t.nc")
    return tmp_path / "t.nc"


def test_no_type_says_when_it_was_made(made: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    with h5py.File(made) as file:
        places = [h5py.h5o.get_info(file[name].id).addr for name in ("e", "o", "l", "c", "g/a b")]
    with made.open("rb") as raw:
        for address in places:
            block = first_block(raw, address)
            assert block.times is not None
            assert not any(block.data[block.times])


def test_types_read_as_before(made: Path, peer: Callable[[str], ModuleType], tool: Callable[[str], str]) -> None:
    """The library, ncdump and our own reader, which verify checksums."""
    with peer("netCDF4").Dataset(made) as file:
        assert [*file.enumtypes, *file.vltypes, *file.cmptypes] == ["e", "l", "c"]
        assert file["v"][...] == 1
    shown = subprocess.run([tool("ncdump"), "-h", str(made)], capture_output=True, text=True, check=True).stdout
    assert "byte enum e {none = 0, a = 1} ;" in shown
    assert nczarr.diff(nczarr.from_cdl(TEXT), made) == []


def test_a_header_of_another_version_is_not_touched(made: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    with h5py.File(made.parent / "old.nc", "w", libver=("earliest", "v108")) as file:
        file["kind"] = h5py.special_dtype(vlen=int)
    before = (made.parent / "old.nc").read_bytes()
    with pytest.raises(OSError, match="its times are kept"):
        take_times(str(made.parent / "old.nc"), ["/kind"])
    assert (made.parent / "old.nc").read_bytes() == before
